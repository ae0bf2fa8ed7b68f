//! Converts instants of this host between the engine's and the NTP client's types.

use crate::moment::Moment;
use wirestamp::time::{RealTimeClock, UtcCrossTimestamp};
use wirestamp::{Bounded, Span};
use wirestamp_ntp::LocalTime;

/// A moment as a client of NTP takes it.
pub(super) fn local_time(moment: &Moment) -> LocalTime {
    let reading = &moment.reading;
    let half = Span::from_nanoseconds((reading.after - reading.before).nanoseconds() / 2);
    let unsure = (reading.after - reading.before) - half;
    LocalTime {
        utc: Bounded::exact(reading.utc),
        monotonic: Bounded::new(reading.before + half, unsure),
        adjusted: moment.adjusted,
    }
}

/// The instant of a sample, as wide as its times are unsure.
pub(super) fn moment_of(sampled: &LocalTime, real_time_clock: RealTimeClock) -> Moment {
    let LocalTime {
        utc,
        monotonic,
        adjusted,
    } = *sampled;
    let unsure = monotonic.bound + utc.bound;
    let reading = UtcCrossTimestamp {
        before: monotonic.value - unsure,
        utc: utc.value,
        after: monotonic.value + unsure,
    };
    Moment {
        adjusted,
        real_time_clock,
        ..Moment::of(reading)
    }
}
