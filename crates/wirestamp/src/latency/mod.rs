//! Latency measurements: how long packets take through the send path, the wire and the receive
//! path. [`LatencyOptions`] configures one, [`LatencyRun`] runs it, [`LatencyReport`] is its
//! result.
//!
//! Microsoft's page "Winsock timestamping" defines the three parts. The *send path* is from just
//! before the send call to the transmit timestamp, the *wire* from there to the receive timestamp,
//! the *receive path* from there to just after the receive call.

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
    /// The number of datagrams; at least 1.
    pub count: u64,
    /// The longest time for sending, from the first datagram on; fewer datagrams are sent if it
    /// ends earlier. `None` for no limit.
    pub duration: Option<Duration>,
    /// The payload of each datagram in bytes, from [`SMALLEST`](Self::SMALLEST) to 65,507.
    pub size: usize,
    /// Datagrams per second. If this and `interval` are `None`, each datagram is sent when the
    /// previous one has arrived, which measures the latency without load. If one takes four times
    /// longer than any before (and at least 20 ms), the next is sent without waiting for it.
    pub rate: Option<u32>,
    /// The time from one datagram to the next, instead of a `rate`. Setting both is an error.
    pub interval: Option<Duration>,
    /// IPv4 or IPv6.
    pub family: AddressFamily,
    /// Whether to use software timestamps, or hardware timestamps converted to the monotonic clock.
    pub source: TimestampSource,
    /// The address of a UDP echo service, which returns every datagram to its sender. Required
    /// except on loopback and simulated interfaces. The wire is then the round trip outside this
    /// host.
    pub peer: Option<SocketAddr>,
    /// The longest time from just before the send call to the arrival of a datagram; later ones
    /// count as lost. With a rate or interval, it is also the deadline of the transmit timestamp;
    /// without, that deadline adapts to the previous timestamps.
    pub timeout: Duration,
    /// The largest number of datagrams that are sent while the oldest of them is in flight. If
    /// `rate` and `timeout` can require more, the measurement fails before it begins. If the
    /// program was delayed and more are due, sending waits.
    pub max_in_flight: u32,
    /// Whether to split the send path where a packet enters the queueing discipline: see
    /// [`Timestamping::queueing`](crate::Timestamping::queueing). The measurement fails with
    /// `NotSupported` if the system has no such timestamps.
    pub queueing: bool,
}

impl LatencyOptions {
    /// The smallest payload in bytes: it holds the fields that identify a datagram.
    pub const SMALLEST: usize = packet::HEADER;

    /// The time from one datagram to the next; `None` if each is sent when the previous one has
    /// arrived.
    fn apart(&self) -> Option<Span> {
        let at = |rate: u32| Span::from_nanoseconds(1_000_000_000 / i128::from(rate.max(1)));
        self.rate.map(at).or(self.interval.map(Span::from))
    }
}

/// 10,000 datagrams of 64 bytes over IPv4, one after another, with software timestamps, a timeout
/// of 2 seconds and at most 1,000,000 in flight.
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

/// The numbers of packets and timestamps that a measurement lost, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Losses {
    /// Datagrams that did not arrive within the timeout. It includes the next two counts; the
    /// others did not arrive before the measurement ended.
    pub packets: u64,
    /// Those of `packets` that arrived after the timeout and before the measurement ended.
    pub late: u64,
    /// Those of `packets` that this host dropped because the receive buffer was full.
    pub receive_buffer_full: u64,
    /// Datagrams without a transmit timestamp, in the order of [`MissingReason::ALL`]: see
    /// [`transmit_timestamps_for`](Self::transmit_timestamps_for).
    pub(crate) transmit_timestamps: [u64; MissingReason::ALL.len()],
    /// Datagrams that arrived without a receive timestamp.
    pub receive_timestamps: u64,
    /// Hardware timestamps that could not be converted to the monotonic clock.
    pub conversions: u64,
    /// The conversion error of the last of these.
    pub last_refusal: Option<ConversionError>,
}

impl Losses {
    /// Returns the number of datagrams that had not arrived when the measurement ended, except
    /// those that this host dropped because the receive buffer was full.
    pub fn never_arrived(&self) -> u64 {
        self.packets - self.late - self.receive_buffer_full
    }

    /// Returns the number of transmit timestamps that were missing for `reason`.
    pub fn transmit_timestamps_for(&self, reason: MissingReason) -> u64 {
        self.transmit_timestamps[reason as usize]
    }

    /// Returns the number of missing transmit timestamps, for all reasons together.
    pub fn transmit_timestamps_in_all(&self) -> u64 {
        self.transmit_timestamps.iter().sum()
    }

    /// Returns whether nothing was lost.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The result of a latency measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyReport {
    /// The source of the timestamps.
    pub source: TimestampSource,
    /// The number of datagrams sent, without the warm-up.
    pub packets: u64,
    /// Those of `packets` that were still in flight when the measurement was stopped.
    pub unresolved: u64,
    /// The duration of the warm-up: until timestamps came and the correlators were ready, or the
    /// longest wait.
    pub warm_up: Span,
    /// The largest error bound of a timestamp on the monotonic clock; `None` if no timestamp was
    /// converted.
    pub max_bound: Option<Span>,
    /// The packets and timestamps that were lost.
    pub lost: Losses,
    /// The times from just before the send call to the transmit timestamp.
    pub send_path: Histogram,
    /// The first part of the send path: from just before the send call to the entry into the
    /// queueing discipline. Empty unless [requested](LatencyOptions::queueing).
    pub to_queue: Histogram,
    /// The second part of the send path: from the entry into the queueing discipline to the
    /// transmit timestamp. Empty unless [requested](LatencyOptions::queueing).
    pub from_queue: Histogram,
    /// The times from the transmit timestamp to the receive timestamp.
    pub wire: Histogram,
    /// The times from the receive timestamp to just after the receive call.
    pub receive_path: Histogram,
}
