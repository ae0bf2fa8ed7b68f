//! The measurement of where packets spend their time: what is asked and what comes out.
//! How it is run is in `run`; what the figures are between is in `wirestamp-core`.
//!
//! Three paths, as the specification's page "Winsock timestamping" defines them: the *send
//! path* from just before the send call to the transmit timestamp, the *wire* from timestamp to
//! timestamp, the *receive path* from the receive timestamp to just after the receive call.

mod each;
mod ends;
mod limits;
mod packet;
mod queueing;
mod run;
mod tally;
mod warm_up;

pub use each::{NotMeasured, PacketLatency};
pub use ends::Endpoint;
pub use run::{LatencyRun, Progress};
pub use wirestamp_core::latency::{Bucket, Histogram, Summary};

use std::net::SocketAddr;
use std::time::Duration;
use wirestamp_core::capability::{AddressFamily, TimestampSource};
use wirestamp_core::correlate::ConversionError;
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::MissingReason;

/// The options of a latency measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyOptions {
    /// How many datagrams; at least 1.
    pub count: u64,
    /// How long after the first one none is sent any more, even if there were fewer. `None`: however long it takes.
    pub duration: Option<Duration>,
    /// Bytes of payload of each, from [`SMALLEST`](Self::SMALLEST) to what UDP carries.
    pub size: usize,
    /// Datagrams per second. `None`, without an `interval`: one after another, the next when the last has arrived;
    /// that is the latency without load. If one takes four times longer than any before (and at
    /// least 20 ms), the next is sent all the same.
    pub rate: Option<u32>,
    /// From one datagram to the next, instead of a `rate`; both are an error.
    pub interval: Option<Duration>,
    /// Over IPv4 or IPv6.
    pub family: AddressFamily,
    /// On the system clock, or on the NIC's clock, converted.
    pub source: TimestampSource,
    /// Somebody who returns every datagram to its sender (a UDP echo service). Needed on
    /// NICs that don't loop back; the wire is then the round trip outside this host.
    pub peer: Option<SocketAddr>,
    /// How long a datagram may take, from just before the send call to its arrival, before it counts
    /// as lost. With a rate, its transmit timestamp as well; without, that is waited for as long as
    /// those before it suggest.
    pub timeout: Duration,
    /// How many datagrams may be sent while the oldest of them is in flight. If `rate` and `timeout`
    /// can need more, the measurement fails before it begins; if the program was held up and more are due, sending
    /// waits. Memory is taken as it is needed.
    pub max_in_flight: u32,
    /// Whether the send path is split where a packet enters the queueing discipline: see
    /// [`Timestamping::queueing`](crate::Timestamping::queueing). `NotSupported` where the system has no such
    /// timestamps.
    pub queueing: bool,
}

impl LatencyOptions {
    /// The smallest payload: it holds what identifies a datagram.
    pub const SMALLEST: usize = packet::HEADER;

    /// From one datagram to the next; `None`: the next is sent when the last has arrived.
    fn apart(&self) -> Option<Span> {
        let at = |rate: u32| Span::from_nanoseconds(1_000_000_000 / i128::from(rate.max(1)));
        self.rate.map(at).or(self.interval.map(Span::from))
    }
}

/// 10,000 datagrams of 64 bytes over IPv4, one after another, on the system clock; each may take
/// 2 seconds, and 1,000,000 may be in flight.
impl Default for LatencyOptions {
    fn default() -> Self {
        Self {
            count: 10_000,
            duration: None,
            size: 64,
            rate: None,
            interval: None,
            family: AddressFamily::Ipv4,
            source: TimestampSource::Software,
            peer: None,
            timeout: Duration::from_secs(2),
            max_in_flight: 1_000_000,
            queueing: false,
        }
    }
}

/// Packets and timestamps that a measurement lost, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Losses {
    /// Datagrams that did not arrive within the timeout. The two counts that follow are parts of it; the
    /// others never arrived before the measurement ended.
    pub packets: u64,
    /// Those of them that arrived later. They are looked out for until the measurement ends.
    pub late: u64,
    /// Those of them that found the receive buffer of this host full.
    pub receive_buffer_full: u64,
    /// Datagrams whose transmit timestamp was lost, by [`MissingReason::ALL`]: see
    /// [`transmit_timestamps_for`](Self::transmit_timestamps_for).
    pub(crate) transmit_timestamps: [u64; MissingReason::ALL.len()],
    /// Datagrams that arrived without a receive timestamp.
    pub receive_timestamps: u64,
    /// Hardware timestamps that could not be converted to system time.
    pub conversions: u64,
    /// Why the last of these could not be.
    pub last_refusal: Option<ConversionError>,
}

impl Losses {
    /// Returns how many datagrams never arrived before the measurement ended, and did not find the receive
    /// buffer of this host full either.
    pub fn never_arrived(&self) -> u64 {
        self.packets - self.late - self.receive_buffer_full
    }

    /// Returns how many transmit timestamps were missing for `reason`.
    pub fn transmit_timestamps_for(&self, reason: MissingReason) -> u64 {
        self.transmit_timestamps[reason as usize]
    }

    /// Returns how many transmit timestamps were missing, for whatever reason.
    pub fn transmit_timestamps_in_all(&self) -> u64 {
        self.transmit_timestamps.iter().sum()
    }

    /// Returns whether nothing was lost.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The result of a measurement: where the packets spent their time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyReport {
    /// Whose clock timestamped.
    pub source: TimestampSource,
    /// Datagrams sent, warm-up not counted.
    pub packets: u64,
    /// Those of them that were still in flight when the measurement was stopped.
    pub unresolved: u64,
    /// How long the warm-up took: until timestamps came and the correlators were ready, or the longest wait.
    pub warm_up: Span,
    /// The largest bound of a timestamp's place on the system clock; `None` if none was placed.
    pub max_bound: Option<Span>,
    /// What was lost of them.
    pub lost: Losses,
    /// From just before the send call to the transmit timestamp.
    pub send_path: Histogram,
    /// First part of the send path: from just before the send call to the entry into the queueing discipline. Empty
    /// unless [asked for](LatencyOptions::queueing).
    pub to_queue: Histogram,
    /// Second part: from the entry into the queueing discipline to the transmit timestamp. Empty likewise.
    pub from_queue: Histogram,
    /// From the transmit timestamp to the receive timestamp.
    pub wire: Histogram,
    /// From the receive timestamp to just after the receive call.
    pub receive_path: Histogram,
}
