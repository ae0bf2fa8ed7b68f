//! What is asked of a NIC and of a socket, and what was granted. Changes nothing itself.

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
    /// "Some", a driver's answer that says no more: what was asked for, and others.
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
    /// All filters. The place of each is Linux's number for it.
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

    /// Returns whether PTPv2 event messages over UDP are timestamped under this filter.
    pub const fn timestamps_ptp_v2_udp_events(self) -> bool {
        matches!(self, Self::All | Self::PtpV2Udp | Self::PtpV2)
    }

    /// Returns whether every packet that `wanted` has timestamped is timestamped under this filter too.
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

    /// Returns a filter that covers this one and `other`: one of them, or else all packets.
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
    /// Everything off: every NIC's default.
    pub const OFF: Self = Self {
        transmit: false,
        receive: ReceiveFilter::None,
    };

    /// Returns whether every packet that `wanted` has timestamped is timestamped under this configuration too.
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

/// The clock that a socket's timestamps come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Source {
    /// The system clock, timestamped by kernel or driver.
    #[default]
    Software,
    /// The NIC's clock; a packet the NIC does not timestamp has none.
    Hardware,
    /// The NIC's clock, or the system clock where the NIC did not timestamp: one timestamp
    /// per sent packet. Tell them apart by which field of
    /// [`Timestamps`](crate::timestamp::Timestamps) is filled.
    HardwareElseSoftware,
    /// Both, where the system gives both. Windows does not.
    Both,
}

impl Source {
    /// Returns whether a sent packet can come back with a timestamp of this source.
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
    /// The system carries the caller's id (`SCM_TS_OPT_ID` on Linux 6.13 and later,
    /// `SO_TIMESTAMP_ID` on Windows). Falls back to `Counter` where it can't.
    #[default]
    Carried,
    /// The kernel counts timestamped sends, and wirestamp maps its counter to the caller's ids.
    Counter,
}

/// The way in which a socket talks to the system. The calls, timestamps and outcomes are the same.
///
/// Populated on: Linux with the feature `io-uring`. Other systems have calls only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Engine {
    /// Calls, unless the environment variable `WIRESTAMP_ENGINE` is `ring`, or `ring:1472`
    /// for datagrams of up to 1472 bytes.
    #[default]
    Automatic,
    /// A system call a batch.
    Calls,
    /// Rings shared with the system (io_uring): receives in batches without a header a
    /// datagram, and transmit timestamps as completions. Where the system has none, or refuses
    /// it, [`Calls`](Self::Calls); [`Granted`] says so, and why.
    ///
    /// A ring is of one thread: the first that receives, or collects timestamps. Others can do the
    /// same at the same time, by calls.
    Ring {
        /// Bytes of the longest payload that can be received; a longer one is cut, and marked
        /// as truncated. The socket takes 128 buffers of this size and some 240 bytes, rounded
        /// up to 512 bytes; fewer, but at least 8, where that is over 1 MiB.
        #[cfg_attr(feature = "serde", serde(rename = "longest_bytes"))]
        longest: u16,
    },
}

/// The use of an io_uring by a socket, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum IoUringState {
    /// Nobody asked for it, or there is nothing for it to do.
    #[default]
    NotAsked,
    /// It does.
    InForce,
    /// The system does not allow it.
    Refused(IoUringUnavailable),
}

/// The reason that a socket uses no io_uring. Prints as `io_uring is forbidden here … (code 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct IoUringUnavailable {
    /// What is missing, and who can change it.
    pub cause: &'static str,
    /// The system's number.
    pub code: Option<i32>,
}

impl IoUringUnavailable {
    /// Makes one, for backends.
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

/// The whole timestamping configuration of a socket. What is omitted is off: configuring
/// transmit later without repeating receive switches receive off.
///
/// Source: `SIO_TIMESTAMPING` with `TIMESTAMPING_CONFIG` (`mstcpip.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Timestamping {
    /// Whether received datagrams carry a timestamp.
    pub receive: bool,
    /// `Some(capacity)`: sent datagrams with an id are timestamped, and up to `capacity` timestamps
    /// wait to be fetched. A timestamp that finds the buffer full is discarded; with capacity 0
    /// all are.
    pub transmit: Option<u16>,
    /// Which clock.
    pub source: Source,
    /// How long an id stays pending before it counts as lost. `None`: learnt from the
    /// delays that were observed (see [`crate::timestamp::TimestampDelay`]).
    #[cfg_attr(feature = "serde", serde(rename = "transmit_deadline_ns"))]
    pub transmit_deadline: Option<Span>,
    /// How ids travel.
    pub identification: Identification,
    /// Whether ICMP errors are queued as notices (Linux: `IP_RECVERR`).
    pub icmp_errors: bool,
    /// Whether received datagrams say to which address and through which interface they came
    /// (`IP_PKTINFO`, `IPV6_PKTINFO`). A control message for each one, so only on request; works without `receive`, too.
    pub packet_information: bool,
    /// How the socket talks to the system.
    pub engine: Engine,
    /// How long a receive of a batch that had to wait lets more datagrams gather: fewer
    /// wake-ups under load, for so much delay. Their timestamps are made already. Zero: not at all.
    #[cfg_attr(feature = "serde", serde(rename = "gather_ns"))]
    pub gather: Span,
    /// Whether the system also timestamps each datagram with an id as it enters the queueing discipline
    /// (`SOF_TIMESTAMPING_TX_SCHED`); works with `transmit` only. Supported on: Linux, and the simulator where it is one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::ops::Not::not"))]
    pub queueing: bool,
}

impl Timestamping {
    /// Makes a configuration with everything off, to switch on what is wanted.
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

    /// Everything off: for `configure`, to switch a socket's timestamping off.
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

    /// Switches transmit timestamps on, with room for `capacity` waiting ones.
    #[must_use]
    pub const fn transmit(mut self, capacity: u16) -> Self {
        self.transmit = Some(capacity);
        self
    }

    /// Chooses the clock that timestamps come from.
    #[must_use]
    pub const fn source(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    /// Fixes how long a transmit ID stays pending: a [`Duration`](core::time::Duration) or a [`Span`].
    #[must_use]
    pub fn transmit_deadline(mut self, deadline: impl Into<Span>) -> Self {
        self.transmit_deadline = Some(deadline.into());
        self
    }

    /// Chooses how transmit IDs travel with sent packets.
    #[must_use]
    pub const fn identification(mut self, identification: Identification) -> Self {
        self.identification = identification;
        self
    }

    /// Asks for ICMP errors as notices.
    #[must_use]
    pub const fn icmp_errors(mut self) -> Self {
        self.icmp_errors = true;
        self
    }

    /// Has received datagrams say to which address and through which interface they came:
    /// [`Received::destination`](crate::backend::Received::destination) and
    /// [`Received::interface`](crate::backend::Received::interface).
    #[must_use]
    pub const fn packet_information(mut self) -> Self {
        self.packet_information = true;
        self
    }

    /// Chooses how the socket talks to the system.
    #[must_use]
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Lets datagrams gather for so long after the first one that a batch had to wait for;
    /// a batch that waits already is given at once. 200 µs are a good value under load.
    #[must_use]
    pub fn gather(mut self, time: impl Into<Span>) -> Self {
        self.gather = time.into();
        self
    }

    /// Asks when each datagram with an id enters the queueing discipline, beside its transmit timestamps:
    /// [`TransmitRecord::queued`](crate::timestamp::TransmitRecord::queued). Calls that fetch records return it
    /// (`transmit_timestamps`, `wait_transmit_timestamps`); a [`TransmitAnswer`](crate::timestamp::TransmitAnswer) about
    /// one id does not have it.
    ///
    /// The kernel takes this timestamp after the send call has built the packet and before it waits in a queue
    /// (`tc-netem`, `fq`, a full NIC), so the difference to the transmit timestamp is the time in the queue. It is
    /// one more entry of the error queue per datagram, and one more for each further device layer (bond, VLAN,
    /// bridge), of which the first counts. It needs [`transmit`](Self::transmit); alone it does nothing.
    ///
    /// Supported on: Linux 5.10 and later, and the simulator where it is one. Elsewhere configuring fails with
    /// `NotSupported`: leave this out there.
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

    /// Refuses [`queueing`](Self::queueing), for backends whose system has no such timestamps.
    ///
    /// # Errors
    /// `NotSupported` if it is asked for.
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
    /// The configuration in force; `identification` is what is really used.
    pub timestamping: Timestamping,
    /// How many timestamps the system itself can hold before wirestamp collects them;
    /// `None` where the system does not say.
    #[cfg_attr(feature = "serde", serde(rename = "system_queue_timestamps"))]
    pub system_queue: Option<u32>,
    /// Whether datagrams are received through a ring.
    pub receive_ring: IoUringState,
    /// Whether transmit timestamps come through a ring.
    pub transmit_ring: IoUringState,
}

impl Granted {
    /// Makes one, for backends.
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

    /// Adds which rings are in use, for backends.
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
