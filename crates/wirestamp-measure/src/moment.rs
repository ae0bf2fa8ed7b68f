//! Instants of this host.

use wirestamp::time::{Adjusted, RealTimeClock, UtcCrossTimestamp};
use wirestamp::{Bounded, MonotonicTime, Span, UdpSocket, UtcTime};

/// An instant on both of the system's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// On the monotonic clock.
    pub now: MonotonicTime,
    /// Both clocks, read beside each other.
    pub reading: UtcCrossTimestamp,
    /// How far adjustments had moved the monotonic clock ([`Adjusted`]); `None`: unknown.
    pub adjusted: Option<Bounded<Span>>,
    /// How the real-time clock can run against the monotonic clock.
    pub real_time_clock: RealTimeClock,
}

impl Moment {
    /// Returns the instant at which a reading of both clocks was over, on a host whose clocks run as Linux' do.
    pub const fn of(reading: UtcCrossTimestamp) -> Self {
        Self {
            now: reading.after,
            reading,
            adjusted: None,
            real_time_clock: RealTimeClock::LINUX,
        }
    }

    /// Returns the time of the real-time clock.
    pub const fn utc(&self) -> UtcTime {
        self.reading.utc
    }

    pub(crate) fn by(socket: &UdpSocket) -> Self {
        let before = socket.adjusted();
        let moment = Self::of(socket.utc_cross_timestamp());
        let after = socket.adjusted();
        let mut adjusted = before.until(&after, moment.reading.before);
        // the real-time clock was read somewhat later
        let width = moment.reading.after - moment.reading.before;
        adjusted.bound += Adjusted::most_within(width);
        Self {
            adjusted: Some(adjusted),
            real_time_clock: socket.real_time_clock(),
            ..moment
        }
    }
}
