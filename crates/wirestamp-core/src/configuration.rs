//! Timestamping configurations of NICs and sockets, requested and granted.

use crate::capability::TimestampSource;
use crate::error::{Error, ErrorKind, Result};
use crate::time::Span;
use core::fmt;

/// The received packets that a NIC's hardware timestamps. Every Linux filter has its name
/// here (`HWTSTAMP_FILTER_*`, `linux/net_tstamp.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReceiveFilter {
    /// No packet.
    None,
    /// Every packet.
    All,
    /// "Some": a driver's answer that means the requested packets and possibly others.
    Some,
    /// PTPv1 over UDP, event messages.
    PtpV1Udp,
    /// PTPv1 over UDP, Sync only.
    PtpV1UdpSync,
    /// PTPv1 over UDP, Delay_Req only.
    PtpV1UdpDelayRequest,
    /// PTPv2 over UDP, event messages.
    PtpV2Udp,
    /// PTPv2 over UDP, Sync only.
    PtpV2UdpSync,
    /// PTPv2 over UDP, Delay_Req only.
    PtpV2UdpDelayRequest,
    /// PTPv2 over Ethernet, event messages.
    PtpV2Ethernet,
    /// PTPv2 over Ethernet, Sync only.
    PtpV2EthernetSync,
    /// PTPv2 over Ethernet, Delay_Req only.
    PtpV2EthernetDelayRequest,
    /// PTPv2 over anything, event messages.
    PtpV2,
    /// PTPv2 over anything, Sync only.
    PtpV2Sync,
    /// PTPv2 over anything, Delay_Req only.
    PtpV2DelayRequest,
    /// NTP packets.
    Ntp,
}

impl ReceiveFilter {
    /// All filters, each at the index that is its number in Linux.
    pub const ALL: &'static [Self] = &[
        Self::None,
        Self::All,
        Self::Some,
        Self::PtpV1Udp,
        Self::PtpV1UdpSync,
        Self::PtpV1UdpDelayRequest,
        Self::PtpV2Udp,
        Self::PtpV2UdpSync,
        Self::PtpV2UdpDelayRequest,
        Self::PtpV2Ethernet,
        Self::PtpV2EthernetSync,
        Self::PtpV2EthernetDelayRequest,
        Self::PtpV2,
        Self::PtpV2Sync,
        Self::PtpV2DelayRequest,
        Self::Ntp,
    ];

    /// Returns whether this filter timestamps PTPv2 event messages over UDP.
    pub const fn timestamps_ptp_v2_udp_events(self) -> bool {
        matches!(self, Self::All | Self::PtpV2Udp | Self::PtpV2)
    }

    /// Returns whether this filter timestamps all packets that `wanted` timestamps.
    pub fn covers(&self, wanted: Self) -> bool {
        use ReceiveFilter as F;
        *self == wanted
            || matches!(
                (self, wanted),
                (F::All, _)
                    | (_, F::None)
                    | (F::PtpV1Udp, F::PtpV1UdpSync | F::PtpV1UdpDelayRequest)
                    | (F::PtpV2Udp, F::PtpV2UdpSync | F::PtpV2UdpDelayRequest)
                    | (
                        F::PtpV2Ethernet,
                        F::PtpV2EthernetSync | F::PtpV2EthernetDelayRequest
                    )
                    | (F::PtpV2Sync, F::PtpV2UdpSync | F::PtpV2EthernetSync)
                    | (
                        F::PtpV2DelayRequest,
                        F::PtpV2UdpDelayRequest | F::PtpV2EthernetDelayRequest
                    )
                    | (
                        F::PtpV2,
                        F::PtpV2Udp
                            | F::PtpV2UdpSync
                            | F::PtpV2UdpDelayRequest
                            | F::PtpV2Ethernet
                            | F::PtpV2EthernetSync
                            | F::PtpV2EthernetDelayRequest
                            | F::PtpV2Sync
                            | F::PtpV2DelayRequest
                    )
            )
    }

    /// Returns a filter that covers this one and `other`: one of the two, or else
    /// [`All`](Self::All).
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        match () {
            () if self.covers(other) => self,
            () if other.covers(self) => other,
            () => Self::All,
        }
    }

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::All => "all",
            Self::Some => "some",
            Self::PtpV1Udp => "ptpv1_udp",
            Self::PtpV1UdpSync => "ptpv1_udp_sync",
            Self::PtpV1UdpDelayRequest => "ptpv1_udp_delay_request",
            Self::PtpV2Udp => "ptpv2_udp",
            Self::PtpV2UdpSync => "ptpv2_udp_sync",
            Self::PtpV2UdpDelayRequest => "ptpv2_udp_delay_request",
            Self::PtpV2Ethernet => "ptpv2_ethernet",
            Self::PtpV2EthernetSync => "ptpv2_ethernet_sync",
            Self::PtpV2EthernetDelayRequest => "ptpv2_ethernet_delay_request",
            Self::PtpV2 => "ptpv2",
            Self::PtpV2Sync => "ptpv2_sync",
            Self::PtpV2DelayRequest => "ptpv2_delay_request",
            Self::Ntp => "ntp",
        }
    }
}

/// The hardware timestamping configuration of a NIC: one setting per NIC, shared by all
/// programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareConfiguration {
    /// Whether sent packets can be timestamped.
    pub transmit: bool,
    /// Which received packets are timestamped.
    pub receive: ReceiveFilter,
}

impl HardwareConfiguration {
    /// All hardware timestamping off, the default of every NIC.
    pub const OFF: Self = Self {
        transmit: false,
        receive: ReceiveFilter::None,
    };

    /// Returns whether this configuration timestamps all packets that `wanted` timestamps.
    pub fn covers(&self, wanted: Self) -> bool {
        self.receive.covers(wanted.receive) && (self.transmit || !wanted.transmit)
    }

    /// Returns a configuration that covers this one and `other`.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Self {
            transmit: self.transmit || other.transmit,
            receive: self.receive.joined(other.receive),
        }
    }
}

/// The source of a socket's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Source {
    /// Software timestamps, made by the kernel or the driver.
    #[default]
    Software,
    /// Hardware timestamps. A packet that the NIC does not timestamp has none.
    Hardware,
    /// The hardware timestamp, or the software timestamp if the NIC made none: one timestamp per
    /// sent packet. The field of [`Timestamps`](crate::timestamp::Timestamps) that is set shows
    /// which one it is.
    HardwareElseSoftware,
    /// Both timestamps, if the system provides both. Windows does not.
    Both,
}

impl Source {
    /// Returns whether a sent packet can get a timestamp of `source`.
    pub const fn includes(self, source: TimestampSource) -> bool {
        match source {
            TimestampSource::Software => !matches!(self, Self::Hardware),
            TimestampSource::Hardware => !matches!(self, Self::Software),
        }
    }
}

/// The way in which transmit IDs travel with sent packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Identification {
    /// The system carries the caller's ID (`SCM_TS_OPT_ID` on Linux 6.13 and later,
    /// `SO_TIMESTAMP_ID` on Windows). Falls back to `Counter` if it cannot.
    #[default]
    Carried,
    /// The kernel counts timestamped datagrams, and wirestamp maps the counts to the caller's IDs.
    Counter,
}

/// The mechanism by which a socket receives and gets timestamps: system calls or io_uring. Methods,
/// timestamps and outcomes are the same.
///
/// io_uring requires Linux and the feature `io-uring`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Engine {
    /// System calls, unless the environment variable `WIRESTAMP_ENGINE` is `ring`, or `ring:1472`
    /// for datagrams of up to 1472 bytes.
    #[default]
    Automatic,
    /// One system call per batch.
    Calls,
    /// io_uring: receives in batches without a message header per datagram, and gets transmit
    /// timestamps as completions. If io_uring is not available, [`Calls`](Self::Calls) is used, and
    /// [`Granted`] has the reason.
    ///
    /// The ring belongs to the first thread that receives or collects timestamps. Other threads can
    /// do so at the same time through system calls.
    Ring {
        /// The longest payload that can be received, in bytes. Longer ones are truncated and marked
        /// as such. The socket allocates 128 buffers of this size plus about 240 bytes, rounded up
        /// to 512 bytes; fewer, but at least 8, if the total exceeds 1 MiB.
        #[cfg_attr(feature = "serde", serde(rename = "longest_bytes"))]
        longest: u16,
    },
}

/// Whether a socket uses io_uring in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum IoUringState {
    /// It was not requested, or it is not needed.
    #[default]
    NotAsked,
    /// It is used.
    InForce,
    /// It is not available.
    Refused(IoUringUnavailable),
}

/// The reason why io_uring is not available. Prints as `io_uring is forbidden here … (code 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct IoUringUnavailable {
    /// The missing prerequisite and how to provide it.
    pub cause: &'static str,
    /// The system's error number.
    pub code: Option<i32>,
}

impl IoUringUnavailable {
    /// Creates one, for backends.
    pub const fn new(cause: &'static str, code: Option<i32>) -> Self {
        Self { cause, code }
    }
}

impl fmt::Display for IoUringUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} (code {code})", self.cause),
            None => f.write_str(self.cause),
        }
    }
}

/// The whole timestamping configuration of a socket. It replaces the previous one: configuring
/// transmit timestamps without repeating receive timestamps switches the latter off.
///
/// Source: `SIO_TIMESTAMPING` with `TIMESTAMPING_CONFIG` (`mstcpip.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Timestamping {
    /// Whether received datagrams get a timestamp.
    pub receive: bool,
    /// The capacity of transmit timestamps: sent datagrams with an ID are timestamped, and up to
    /// this many timestamps wait to be fetched. Timestamps beyond that are discarded; with 0 all
    /// are. `None` switches transmit timestamps off.
    pub transmit: Option<u16>,
    /// The source of the timestamps.
    pub source: Source,
    /// The time after which an unresolved ID counts as missing. `None`: adapts to the observed
    /// delays (see [`crate::timestamp::TimestampDelay`]).
    #[cfg_attr(feature = "serde", serde(rename = "transmit_deadline_ns"))]
    pub transmit_deadline: Option<Span>,
    /// How transmit IDs are assigned to sent packets.
    pub identification: Identification,
    /// Whether ICMP errors are queued as notices (Linux: `IP_RECVERR`).
    pub icmp_errors: bool,
    /// Whether received datagrams report their destination address and interface (`IP_PKTINFO`,
    /// `IPV6_PKTINFO`). It costs a control message per datagram. Works without `receive` too.
    pub packet_information: bool,
    /// Whether to use system calls or io_uring.
    pub engine: Engine,
    /// How long a batch receive that had to wait lets more datagrams accumulate; zero by default.
    /// It saves wake-ups under load and delays the datagrams, but not their timestamps.
    #[cfg_attr(feature = "serde", serde(rename = "gather_ns"))]
    pub gather: Span,
    /// Whether the system also timestamps each datagram with an ID when it enters the queueing
    /// discipline (`SOF_TIMESTAMPING_TX_SCHED`). Requires `transmit`. Linux, and simulated Linux,
    /// only.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::ops::Not::not"))]
    pub queueing: bool,
}

impl Timestamping {
    /// Returns a configuration with everything off.
    ///
    /// ```
    /// # use wirestamp_core::configuration::Timestamping;
    /// let both = Timestamping::new().receive().transmit(64);
    /// # assert!(both.receive && both.transmit == Some(64));
    /// # assert_eq!(Timestamping::new(), Timestamping::OFF);
    /// ```
    pub const fn new() -> Self {
        Self::OFF
    }

    /// Everything off: switches a socket's timestamping off.
    pub const OFF: Self = Self {
        receive: false,
        transmit: None,
        source: Source::Software,
        transmit_deadline: None,
        identification: Identification::Carried,
        icmp_errors: false,
        packet_information: false,
        engine: Engine::Automatic,
        gather: Span::ZERO,
        queueing: false,
    };

    /// Switches receive timestamps on.
    #[must_use]
    pub const fn receive(mut self) -> Self {
        self.receive = true;
        self
    }

    /// Switches transmit timestamps on, with room for `capacity` unfetched ones.
    #[must_use]
    pub const fn transmit(mut self, capacity: u16) -> Self {
        self.transmit = Some(capacity);
        self
    }

    /// Sets the source of the timestamps.
    #[must_use]
    pub const fn source(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    /// Sets the time after which an unresolved transmit ID counts as missing: a
    /// [`Duration`](core::time::Duration) or a [`Span`].
    #[must_use]
    pub fn transmit_deadline(mut self, deadline: impl Into<Span>) -> Self {
        self.transmit_deadline = Some(deadline.into());
        self
    }

    /// Sets how transmit IDs are assigned to sent packets.
    #[must_use]
    pub const fn identification(mut self, identification: Identification) -> Self {
        self.identification = identification;
        self
    }

    /// Queues ICMP errors as notices.
    #[must_use]
    pub const fn icmp_errors(mut self) -> Self {
        self.icmp_errors = true;
        self
    }

    /// Makes received datagrams report their destination address and interface:
    /// [`Received::destination`](crate::backend::Received::destination) and
    /// [`Received::interface`](crate::backend::Received::interface).
    #[must_use]
    pub const fn packet_information(mut self) -> Self {
        self.packet_information = true;
        self
    }

    /// Sets whether the socket uses system calls or io_uring.
    #[must_use]
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Lets datagrams accumulate for `time` after the first one, if a batch receive had to wait;
    /// available datagrams are returned at once. 200 µs is a good value under load.
    #[must_use]
    pub fn gather(mut self, time: impl Into<Span>) -> Self {
        self.gather = time.into();
        self
    }

    /// Also timestamps each datagram with an ID when it enters the queueing discipline:
    /// [`TransmitRecord::queued`](crate::timestamp::TransmitRecord::queued). Only calls that fetch
    /// records return it (`transmit_timestamps`, `wait_transmit_timestamps`); a
    /// [`TransmitAnswer`](crate::timestamp::TransmitAnswer) for one ID does not.
    ///
    /// The kernel takes this timestamp after the send call has built the packet and before the
    /// packet waits in a queue (`tc-netem`, `fq`, a full NIC), so the difference from the transmit
    /// timestamp is the time in the queue. It costs one more entry of the error queue per datagram
    /// and device layer (bond, VLAN, bridge), of which the first is used. It requires
    /// [`transmit`](Self::transmit).
    ///
    /// Requires Linux 5.10 or later, or a simulated Linux. On other systems configuring fails with
    /// `NotSupported`.
    ///
    /// Source: `SOF_TIMESTAMPING_TX_SCHED` in the kernel's `Documentation/networking/timestamping.rst`.
    ///
    /// ```
    /// # use wirestamp_core::configuration::Timestamping;
    /// let with_queue = Timestamping::new().transmit(64).queueing();
    /// # assert!(with_queue.queueing && !Timestamping::new().queueing);
    /// ```
    #[must_use]
    pub const fn queueing(mut self) -> Self {
        self.queueing = true;
        self
    }

    /// Returns the most entries of the error queue that one transmit ID can have: one, one more with
    /// [`Source::Both`], which has an entry for each source, and one more with
    /// [`queueing`](Self::queueing).
    ///
    /// ```
    /// # use wirestamp_core::configuration::{Source, Timestamping};
    /// let both = Timestamping::new().transmit(64).source(Source::Both);
    /// assert_eq!(both.entries_per_id(), 2);
    /// assert_eq!(both.queueing().entries_per_id(), 3);
    /// ```
    pub const fn entries_per_id(&self) -> u32 {
        1 + matches!(self.source, Source::Both) as u32 + self.queueing as u32
    }

    /// Returns an error if [`queueing`](Self::queueing) is on. For backends without these
    /// timestamps.
    ///
    /// # Errors
    /// `NotSupported` if it is on.
    pub fn refuse_queueing(&self, socket: impl fmt::Display) -> Result<()> {
        if !self.queueing {
            return Ok(());
        }
        let cause = "this system does not timestamp the entry into the queueing discipline";
        let operation = "configure timestamping";
        Err(
            Error::new(ErrorKind::NotSupported, operation, socket, cause)
                .with_remedy("leave Timestamping::queueing out; Linux has it"),
        )
    }
}

/// The part of a [`Timestamping`] that the system granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Granted {
    /// The granted configuration; `identification` is the one in use.
    pub timestamping: Timestamping,
    /// The number of timestamps that the system can hold until wirestamp collects them; `None` if
    /// unknown. If they come with their packets (Linux, packets that can leave by several NICs),
    /// this is for packets of up to 1,500 bytes, and wirestamp collects those of longer ones earlier;
    /// of a `Timestamper`, which does not know the lengths, it is for packets of any length.
    #[cfg_attr(feature = "serde", serde(rename = "system_queue_timestamps"))]
    pub system_queue: Option<u32>,
    /// Whether datagrams are received through io_uring.
    pub receive_ring: IoUringState,
    /// Whether transmit timestamps come through io_uring.
    pub transmit_ring: IoUringState,
}

impl Granted {
    /// Creates one, for backends.
    pub const fn new(timestamping: Timestamping, system_queue: Option<u32>) -> Self {
        let ring = match timestamping.engine {
            Engine::Ring { .. } => {
                IoUringState::Refused(IoUringUnavailable::new("this system has calls only", None))
            }
            Engine::Automatic | Engine::Calls => IoUringState::NotAsked,
        };
        Self {
            timestamping,
            system_queue,
            receive_ring: ring,
            transmit_ring: ring,
        }
    }

    /// Sets whether io_uring is used, for backends.
    #[must_use]
    pub const fn with_rings(mut self, receive: IoUringState, transmit: IoUringState) -> Self {
        (self.receive_ring, self.transmit_ring) = (receive, transmit);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_covers_both_and_is_not_wider_than_needed() {
        for &first in ReceiveFilter::ALL {
            assert!(
                first.covers(first)
                    && first.covers(ReceiveFilter::None)
                    && ReceiveFilter::All.covers(first)
            );
            for &second in ReceiveFilter::ALL {
                let joined = first.joined(second);
                assert!(
                    joined.covers(first) && joined.covers(second),
                    "{first:?} and {second:?}: {joined:?}"
                );
                assert!(
                    !first.covers(second) || joined == first,
                    "{first:?} and {second:?}: {joined:?}"
                );
            }
        }
        assert!(!ReceiveFilter::PtpV2Udp.covers(ReceiveFilter::PtpV2));
        let transmit = HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::None,
        };
        let receive = HardwareConfiguration {
            transmit: false,
            receive: ReceiveFilter::PtpV2,
        };
        assert!(!transmit.covers(receive) && !receive.covers(transmit));
        assert_eq!(
            transmit.joined(receive),
            HardwareConfiguration {
                transmit: true,
                ..receive
            }
        );
    }
}
