//! How a system's real-time clock can run against its monotonic clock, and which change of their distance is a step.

use super::{Bounded, MonotonicTime, Span, UtcCrossTimestamp, UtcTime};

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
    /// The loosest of all systems, where the host of a timestamp is not known: Windows' limits. No
    /// slew is taken for a step, and more steps for a slew.
    pub const ANY: Self = Self {
        slew_parts_per_million: 1_000,
        tick: Span::from_nanoseconds(100),
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
        let (shortest, longest) = (now.before - then.after, now.after - then.before);
        self.explained([passed; 2], [shortest, longest])
    }

    /// Returns the same for timestamps that are known on both clocks, each with an error bound: the
    /// real-time clock advanced by `passed` from one to another while the monotonic clock advanced
    /// by `elapsed`.
    ///
    /// ```
    /// use wirestamp_core::time::{Bounded, RealTimeClock, Span};
    /// let span = Span::from_nanoseconds;
    /// let (passed, elapsed) = (Bounded::exact(span(5_000_040)), Bounded::new(span(5_000_000), span(50)));
    /// assert_eq!(RealTimeClock::LINUX.slewed_in(passed, elapsed), Some(Bounded::exact(Span::ZERO)));
    /// let stepped = Bounded::exact(span(5_000_140));
    /// assert_eq!(RealTimeClock::LINUX.slewed_in(stepped, elapsed), None);
    /// ```
    #[must_use]
    pub fn slewed_in(
        &self,
        passed: Bounded<Span>,
        elapsed: Bounded<Span>,
    ) -> Option<Bounded<Span>> {
        let limits = |span: Bounded<Span>| [span.least(), span.most()];
        self.explained(limits(passed), limits(elapsed))
    }

    /// Returns the largest slew in `elapsed`.
    pub(crate) fn most_slew(&self, elapsed: Span) -> Span {
        let parts = i128::from(self.slew_parts_per_million);
        let by = elapsed.nanoseconds().max(0) * parts;
        Span::from_nanoseconds((by + 999_999) / 1_000_000)
    }

    /// Converts a time of the monotonic clock to UTC by one reading of both clocks, before or after
    /// it. The error bound contains the slew in between, and no step.
    ///
    /// ```
    /// use wirestamp_core::time::{Bounded, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp, UtcTime};
    /// let monotonic = MonotonicTime::from_nanoseconds;
    /// let reading = UtcCrossTimestamp {
    ///     before: monotonic(5_000_000),
    ///     utc: UtcTime::from_nanoseconds(9_000_000),
    ///     after: monotonic(5_000_200),
    /// };
    /// let earlier = Bounded::new(monotonic(4_000_100), Span::from_nanoseconds(50));
    /// let utc = RealTimeClock::LINUX.utc_at(earlier, &reading);
    /// assert_eq!(utc, Bounded::new(UtcTime::from_nanoseconds(8_000_000), Span::from_nanoseconds(151)));
    /// // 0.1 % of a millisecond, and a tick of 100 ns instead of 1 ns
    /// let utc = RealTimeClock::ANY.utc_at(earlier, &reading);
    /// assert!(utc.bound > Span::from_nanoseconds(1_250) && utc.bound < Span::from_nanoseconds(1_252));
    /// ```
    #[must_use]
    pub fn utc_at(
        &self,
        at: Bounded<MonotonicTime>,
        reading: &UtcCrossTimestamp,
    ) -> Bounded<UtcTime> {
        let UtcCrossTimestamp { before, utc, after } = *reading;
        let half = Span::from_nanoseconds((after - before).nanoseconds().div_euclid(2));
        let since = at.value - (before + half);
        // the wider half, and each value is rounded down to a tick
        let unsure = at.bound + ((after - before) - half) + self.tick;
        Bounded::new(utc + since, unsure + self.most_slew(since.abs() + unsure))
    }

    /// Returns the slew by the limits of what passed on each clock; `None`: a slew does not explain them.
    fn explained(&self, passed: [Span; 2], elapsed: [Span; 2]) -> Option<Bounded<Span>> {
        // each value is rounded down, so that each difference is off by less than a tick
        let rounded = Span::from_nanoseconds(2 * self.tick.nanoseconds());
        let most = self.most_slew(elapsed[0].abs().max(elapsed[1].abs()));
        let low = (passed[0] - elapsed[1] - rounded).max(-most);
        let high = (passed[1] - elapsed[0] + rounded).min(most);
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

        /// However late the clocks are read, and whatever was slewed until then.
        #[test]
        fn a_time_in_utc_is_within_its_bound(
            at in -1_000_000_000i64..1_000_000_000,
            later in -5_000_000_000i64..5_000_000_000,
            bound in 0i64..50_000,
            off in -1.0f64..1.0,
            widths in (0i64..100_000, 0i64..100_000),
            ahead in -1_000_000_000i64..1_000_000_000_000,
            share in -1.0f64..1.0,
            windows: bool,
        ) {
            let clock = if windows { WINDOWS } else { RealTimeClock::LINUX };
            let tick = i64::try_from(clock.tick.nanoseconds()).expect("small");
            let most = i64::from(clock.slew_parts_per_million) as f64 * later.abs() as f64 / 1e6;
            let read = reading(at + later, widths, ahead, tick);
            let truth = UtcTime::from_nanoseconds(at + ahead - (most * share) as i64);
            let shown = at + (bound as f64 * off) as i64;
            let span = Span::from_nanoseconds(bound.into());
            let shown = Bounded::new(MonotonicTime::from_nanoseconds(shown), span);
            let utc = clock.utc_at(shown, &read);
            prop_assert!(utc.contains(truth), "{utc:?}, not {truth:?}");
            let narrow = 2 * bound + widths.0 + widths.1 + 2 * tick + 2 * most as i64 + 200;
            prop_assert!(utc.bound <= Span::from_nanoseconds(narrow.into()), "{utc:?}");
        }

        /// A timestamp whose error bound on the monotonic clock contains the truth shows a step
        /// only if there is one, and each that is larger than all that is unsure.
        #[test]
        fn timestamps_with_bounds_show_steps_and_nothing_else(
            passed in -1_000_000_000i64..100_000_000_000,
            bounds in [0i64..50_000, 0i64..50_000],
            off in [-1.0f64..1.0, -1.0f64..1.0],
            share in -1.0f64..1.0,
            beyond in 1i64..1_000_000_000_000,
            back: bool,
            windows: bool,
        ) {
            let clock = if windows { WINDOWS } else { RealTimeClock::LINUX };
            let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
            let most = passed.abs() * i64::from(clock.slew_parts_per_million) / 1_000_000;
            let slew = (most as f64 * share) as i64;
            let wrong: i64 = bounds.iter().zip(off).map(|(bound, off)| (*bound as f64 * off) as i64).sum();
            let elapsed = Bounded::new(span(passed + wrong), span(bounds.iter().sum()));
            let slewed = clock.slewed_in(Bounded::exact(span(passed + slew)), elapsed);
            prop_assert!(slewed.is_some_and(|by| by.contains(span(slew))), "{slew}: {slewed:?}");
            let tick = i64::try_from(clock.tick.nanoseconds()).expect("small");
            let wide: i64 = bounds.iter().sum();
            let slack = 2 * wide + 2 * most + wide / 400 + 2 * tick + 6;
            let by = if back { -slack - beyond } else { slack + beyond };
            let stepped = Bounded::exact(span(passed + slew + by));
            prop_assert_eq!(clock.slewed_in(stepped, elapsed), None);
        }
    }
}
