//! How a system's real-time clock can run against its monotonic clock, and which change of their distance is a step.

use super::{Bounded, Span, UtcCrossTimestamp};

/// The properties of a system's real-time clock relative to its monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealTimeClock {
    /// The largest slew relative to the monotonic clock, in ppm, steps aside; 0 if both are slewed
    /// alike.
    pub slew_parts_per_million: u32,
    /// The coarser of the ticks of both clocks, to which their values are rounded down.
    pub tick: Span,
}

impl RealTimeClock {
    /// Linux: slewed together with the monotonic clock, counting nanoseconds.
    pub const LINUX: Self = Self {
        slew_parts_per_million: 0,
        tick: Span::from_nanoseconds(1),
    };

    /// Returns how far the real-time clock was slewed against the monotonic clock from one reading to a later one, or
    /// `None` if it was stepped in between.
    ///
    /// Positive: the real-time clock ran faster. What the readings leave open and a slew explains counts as a slew, so a
    /// step that is as small is not noticed.
    ///
    /// ```
    /// use wirestamp_core::time::{Bounded, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp, UtcTime};
    /// let reading = |before, utc, after| UtcCrossTimestamp {
    ///     before: MonotonicTime::from_nanoseconds(before),
    ///     utc: UtcTime::from_nanoseconds(utc),
    ///     after: MonotonicTime::from_nanoseconds(after),
    /// };
    /// let (then, now) = (reading(0, 1_000_010, 20), reading(5_000_000, 6_000_010, 5_000_020));
    /// assert_eq!(RealTimeClock::LINUX.slewed(&then, &now), Some(Bounded::exact(Span::ZERO)));
    /// let stepped = reading(5_000_000, 6_000_110, 5_000_020);
    /// assert_eq!(RealTimeClock::LINUX.slewed(&then, &stepped), None);
    /// ```
    #[must_use]
    pub fn slewed(
        &self,
        then: &UtcCrossTimestamp,
        now: &UtcCrossTimestamp,
    ) -> Option<Bounded<Span>> {
        let passed = now.utc - then.utc;
        let shortest = now.before - then.after;
        let longest = now.after - then.before;
        // each value is rounded down, so that each difference is off by less than a tick
        let rounded = Span::from_nanoseconds(2 * self.tick.nanoseconds());
        let parts = i128::from(self.slew_parts_per_million);
        let most = (longest.nanoseconds().max(0) * parts + 999_999) / 1_000_000;
        let most = Span::from_nanoseconds(most);
        let low = (passed - longest - rounded).max(-most);
        let high = (passed - shortest + rounded).min(most);
        if low > high {
            return None;
        }
        let middle = (low.nanoseconds() + high.nanoseconds()).div_euclid(2);
        let middle = Span::from_nanoseconds(middle);
        Some(Bounded::new(middle, high - middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{MonotonicTime, UtcTime};
    use proptest::prelude::*;

    const WINDOWS: RealTimeClock = RealTimeClock {
        slew_parts_per_million: 1_000,
        tick: Span::from_nanoseconds(100),
    };

    /// A reading of width `widths`, of a real-time clock that is `ahead`; its values are rounded
    /// down to ticks.
    fn reading(at: i64, widths: (i64, i64), ahead: i64, tick: i64) -> UtcCrossTimestamp {
        let shown = |time: i64| time.div_euclid(tick) * tick;
        UtcCrossTimestamp {
            before: MonotonicTime::from_nanoseconds(shown(at - widths.0)),
            utc: UtcTime::from_nanoseconds(shown(at + ahead)),
            after: MonotonicTime::from_nanoseconds(shown(at + widths.1)),
        }
    }

    proptest! {
        #[test]
        fn a_slew_is_inside_and_no_step(
            at in -1_000_000_000_000i64..1_000_000_000_000,
            passed in 0i64..1_000_000,
            widths in [0i64..3, 0i64..3, 0i64..3, 0i64..3],
            share in -1.0f64..1.0,
            windows: bool,
        ) {
            let clock = if windows { WINDOWS } else { RealTimeClock::LINUX };
            let most = passed * i64::from(clock.slew_parts_per_million) / 1_000_000;
            let truth = (most as f64 * share) as i64;
            let tick = i64::try_from(clock.tick.nanoseconds()).expect("small");
            let then = reading(at, (widths[0], widths[1]), 7_777, tick);
            let now = reading(at + passed, (widths[2], widths[3]), 7_777 + truth, tick);
            let slewed = clock.slewed(&then, &now).expect("no step");
            prop_assert!(slewed.contains(Span::from_nanoseconds(truth.into())), "{truth}: {slewed}");
            prop_assert!(slewed.bound.nanoseconds() <= i128::from(most) + 1, "{slewed}");
        }

        #[test]
        fn a_step_that_nothing_explains_is_one(
            at in -1_000_000_000_000i64..1_000_000_000_000,
            passed in 0i64..100_000_000_000,
            widths in [0i64..50_000, 0i64..50_000, 0i64..50_000, 0i64..50_000],
            beyond in 1i64..1_000_000_000_000,
            back: bool,
            windows: bool,
        ) {
            let clock = if windows { WINDOWS } else { RealTimeClock::LINUX };
            let tick = i64::try_from(clock.tick.nanoseconds()).expect("small");
            let wide: i64 = widths.iter().sum();
            let slew = (passed + wide) * i64::from(clock.slew_parts_per_million) / 1_000_000;
            let by = wide + slew + 4 * tick + 1 + beyond;
            let by = if back { -by } else { by };
            let then = reading(at, (widths[0], widths[1]), 0, tick);
            let now = reading(at + passed, (widths[2], widths[3]), by, tick);
            prop_assert_eq!(clock.slewed(&then, &now), None);
        }
    }
}
