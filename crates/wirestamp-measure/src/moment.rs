//! Instants of this host.

use wirestamp::time::UtcCrossTimestamp;
use wirestamp::{Bounded, MonotonicTime, Span, UdpSocket, UtcTime};

/// An instant on both of the system's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// On the monotonic clock.
    pub now: MonotonicTime,
    /// Both clocks, read beside each other.
    pub reading: UtcCrossTimestamp,
    /// How far adjustments had moved the monotonic clock ([`Adjusted`](wirestamp::time::Adjusted)); `None`: unknown.
    pub adjusted: Option<Bounded<Span>>,
}

impl Moment {
    /// Returns the instant at which a reading of both clocks was over.
    pub const fn of(reading: UtcCrossTimestamp) -> Self {
        Self {
            now: reading.after,
            reading,
            adjusted: None,
        }
    }

    /// Returns the time of the real-time clock.
    pub const fn utc(&self) -> UtcTime {
        self.reading.utc
    }

    pub(crate) fn by(socket: &UdpSocket) -> Self {
        let moment = Self::of(socket.utc_cross_timestamp());
        let adjusted = socket.adjusted();
        Self {
            adjusted: Some(adjusted.until(&adjusted, moment.reading.before)),
            ..moment
        }
    }
}
