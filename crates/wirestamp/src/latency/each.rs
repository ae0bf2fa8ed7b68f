//! The result of a latency measurement for a single packet.

use wirestamp_core::correlate::ConversionError;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_core::timestamp::MissingReason;

/// The latencies of one packet: see
/// [`LatencyRun::send_packets_to`](super::LatencyRun::send_packets_to).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketLatency {
    /// The packet's number in the measurement, from 1.
    pub number: u64,
    /// The time just before the send call, on the monotonic clock.
    pub sent: MonotonicTime,
    /// The kernel's transmit timestamp on the real-time clock; `None` if there is none.
    pub left: Option<UtcTime>,
    /// The time from just before the send call to the transmit timestamp. The error bounds here are
    /// those of converting the timestamps to the monotonic clock; a value smaller than its error
    /// bound can be negative.
    pub send_path: Option<Bounded<Span>>,
    /// The time from just before the send call to the entry into the queueing discipline; `None`
    /// also if that was not [requested](super::LatencyOptions::queueing).
    pub to_queue: Option<Bounded<Span>>,
    /// The time from the entry into the queueing discipline to the transmit timestamp.
    pub from_queue: Option<Bounded<Span>>,
    /// The time from the transmit timestamp to the receive timestamp; with an echo service, the
    /// round trip.
    pub wire: Option<Bounded<Span>>,
    /// The time from the receive timestamp to just after the receive call.
    pub receive_path: Option<Bounded<Span>>,
    /// The reason why a time is missing, the first if there are several; `None` if none is missing.
    pub missing: Option<NotMeasured>,
}

impl PacketLatency {
    /// Returns whether the packet arrived in time. Its times can still be missing if it has no
    /// timestamps.
    pub const fn has_arrived(&self) -> bool {
        !matches!(
            self.missing,
            Some(NotMeasured::NotArrived | NotMeasured::Late)
        )
    }
}

/// The reason why a packet's times are incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotMeasured {
    /// The packet did not arrive within the timeout.
    NotArrived,
    /// The packet arrived after the timeout.
    Late,
    /// The transmit timestamp is missing.
    TransmitTimestamp(MissingReason),
    /// The packet has no transmit or receive timestamp of the requested source.
    NotTimestamped,
    /// A hardware timestamp could not be converted.
    Conversion(ConversionError),
}

impl NotMeasured {
    /// Returns the name of the variant: `not_arrived`, `late`, `transmit_timestamp`, `timestamp` or
    /// `conversion`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotArrived => "not_arrived",
            Self::Late => "late",
            Self::TransmitTimestamp(_) => "transmit_timestamp",
            Self::NotTimestamped => "timestamp",
            Self::Conversion(_) => "conversion",
        }
    }

    /// Returns the name of the underlying reason, if there is one.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::TransmitTimestamp(reason) => Some(reason.name()),
            Self::Conversion(error) => Some(error.name()),
            _ => None,
        }
    }
}
