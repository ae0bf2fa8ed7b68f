//! What a measurement says of one packet. Sums nothing up.

use wirestamp_core::correlate::ConversionError;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_core::timestamp::MissingReason;

/// What was measured of one packet: see [`LatencyRun::send_packets_to`](super::LatencyRun::send_packets_to).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketLatency {
    /// Its number in the measurement, from 1.
    pub number: u64,
    /// Just before the send call.
    pub sent: MonotonicTime,
    /// When it left by the real-time clock, as the kernel's timestamp says; `None`: there is none.
    pub left: Option<UtcTime>,
    /// From just before the send call to the transmit timestamp. The error bound of this and of the other times is what
    /// placing the timestamps on the monotonic clock adds; where it is larger than the time, the value can be negative.
    pub send_path: Option<Bounded<Span>>,
    /// From just before the send call to the entry into the queueing discipline; `None` also where that was not
    /// [asked for](super::LatencyOptions::queueing).
    pub to_queue: Option<Bounded<Span>>,
    /// From the queueing discipline to the transmit timestamp.
    pub from_queue: Option<Bounded<Span>>,
    /// From the transmit timestamp to the receive timestamp; with an echo service, the round trip.
    pub wire: Option<Bounded<Span>>,
    /// From the receive timestamp to just after the receive call.
    pub receive_path: Option<Bounded<Span>>,
    /// Why one of these is missing; the first reason if there are several. `None`: all are there.
    pub missing: Option<NotMeasured>,
}

impl PacketLatency {
    /// Returns whether it arrived in time. A packet that did may still have no times, for want of timestamps.
    pub const fn has_arrived(&self) -> bool {
        !matches!(
            self.missing,
            Some(NotMeasured::NotArrived | NotMeasured::Late)
        )
    }
}

/// Why a packet's times are incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotMeasured {
    /// It had not arrived when it was given up, after the timeout.
    NotArrived,
    /// It took longer than the timeout.
    Late,
    /// Its transmit timestamp is missing.
    TransmitTimestamp(MissingReason),
    /// It was sent or arrived without a timestamp of the wanted source.
    NotTimestamped,
    /// A hardware timestamp could not be converted.
    Conversion(ConversionError),
}

impl NotMeasured {
    /// Returns what is missing, in a word: `not_arrived`, `late`, `transmit_timestamp`, `timestamp` or `conversion`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotArrived => "not_arrived",
            Self::Late => "late",
            Self::TransmitTimestamp(_) => "transmit_timestamp",
            Self::NotTimestamped => "timestamp",
            Self::Conversion(_) => "conversion",
        }
    }

    /// Returns why, where there is a reason beside the name.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::TransmitTimestamp(reason) => Some(reason.name()),
            Self::Conversion(error) => Some(error.name()),
            _ => None,
        }
    }
}
