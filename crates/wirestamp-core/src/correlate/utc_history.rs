//! Conversion of recent instants of the monotonic clock to UTC, from readings of both clocks: the
//! last step from a hardware timestamp to UTC.
//!
//! Each reading bounds the difference UTC − monotonic at that instant. Between two readings the
//! difference may have been slewed, within the system's limit, and stepped. An instant is therefore
//! converted with the readings before and after it, if they agree:
//!
//! - If both clocks are slewed alike (Linux), the difference is that of the reading before or of
//!   the reading after, even if a small, undetected step came in between. The error bound covers
//!   both.
//! - If the real-time clock may be slewed relative to the monotonic clock (Windows), each reading
//!   is widened by the possible slew since, and the narrowest one is used. A step that slewing
//!   could explain is not detected.
//!
//! Readings that contradict each other are on different sides of a step at an unknown time:
//! instants between them cannot be converted.

use super::{ClockGeneration, ConversionError, Estimate};
use crate::time::{
    Bounded, Monotonic, MonotonicTime, RealTimeClock, Span, Time, Utc, UtcCrossTimestamp,
};
use alloc::collections::VecDeque;

/// The smallest interval between kept readings that agree.
const SPACING: Span = Span::from_seconds(1);
/// The number of readings that are kept.
const KEPT: usize = 256;

/// A history of readings of the real-time and the monotonic clock, which converts instants of the
/// last minutes to UTC.
///
/// ```
/// use wirestamp_core::correlate::{ClockGeneration, Estimate, UtcHistory};
/// use wirestamp_core::time::{Bounded, Monotonic, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp, UtcTime};
///
/// let at = MonotonicTime::from_nanoseconds;
/// let reading = |now| UtcCrossTimestamp { before: at(now), utc: UtcTime::from_nanoseconds(now + 7_005), after: at(now + 10) };
/// let mut history = UtcHistory::new(RealTimeClock::LINUX);
/// history.observe(reading(1_000));
/// history.observe(reading(3_000));
///
/// let (bound, generation) = (Span::from_nanoseconds(3), ClockGeneration(0));
/// let estimate = Estimate::<Monotonic> { at: Bounded::new(at(2_000), bound), generation };
/// let converted = history.convert(&estimate, at(2_500)).expect("between two readings that agree");
/// assert_eq!(converted.at.value, UtcTime::from_nanoseconds(9_000));
/// assert_eq!(converted.at.bound, Span::from_nanoseconds(9)); // 3, half a reading's width, and rounding
/// ```
#[derive(Debug, Clone)]
pub struct UtcHistory {
    /// Oldest first.
    readings: VecDeque<UtcCrossTimestamp>,
    /// For each reading, the number of steps noticed before it.
    steps: VecDeque<u32>,
    /// How the clocks' difference can be slewed, and the rounding error of a reading.
    clock: RealTimeClock,
}

/// The interval of the clocks' difference, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Difference {
    low: i128,
    high: i128,
}

impl UtcHistory {
    /// Creates a history without readings.
    pub fn new(clock: RealTimeClock) -> Self {
        Self {
            readings: VecDeque::new(),
            steps: VecDeque::new(),
            clock,
        }
    }

    /// Adds a reading. Readings must come in the order in which they were made.
    pub fn observe(&mut self, reading: UtcCrossTimestamp) {
        let last = self.readings.back().zip(self.steps.back());
        let steps = last.map_or(0, |(last, steps)| {
            steps.saturating_add(u32::from(!self.agree(last, &reading)))
        });
        if self.replaces_last(&reading) {
            self.readings.pop_back();
            self.steps.pop_back();
        }
        if self.readings.len() == KEPT {
            self.readings.pop_front();
            self.steps.pop_front();
        }
        self.readings.push_back(reading);
        self.steps.push_back(steps);
    }

    /// Returns the generation of the real-time clock at an instant that [`convert`](Self::convert)
    /// converts: the number of steps noticed before it. The difference of UTC times of two
    /// generations is not an elapsed time.
    ///
    /// # Errors
    /// As [`convert`](Self::convert).
    pub fn generation(
        &self,
        estimate: &Estimate<Monotonic>,
        not_after: MonotonicTime,
    ) -> Result<ClockGeneration, ConversionError> {
        self.convert(estimate, not_after)?;
        let earliest = estimate.at.value - estimate.at.bound;
        let before = |reading: &UtcCrossTimestamp| reading.after <= earliest;
        let before = self.readings.iter().rposition(before);
        let steps = before.and_then(|place| self.steps.get(place));
        steps
            .map(|steps| ClockGeneration(*steps))
            .ok_or(ConversionError::UtcUnknown)
    }

    /// Converts an instant to UTC. `not_after` is the latest possible time of the instant, such as
    /// when a timestamp was read; there must be a reading after it.
    ///
    /// # Errors
    /// [`ConversionError::UtcUnknown`] if the real-time clock was stepped around that time, or was not read before it
    /// and after it.
    pub fn convert(
        &self,
        estimate: &Estimate<Monotonic>,
        not_after: MonotonicTime,
    ) -> Result<Estimate<Utc>, ConversionError> {
        self.difference_at(estimate, not_after)
            .and_then(|difference| difference.added_to(estimate))
            .ok_or(ConversionError::UtcUnknown)
    }

    fn difference_at(
        &self,
        estimate: &Estimate<Monotonic>,
        not_after: MonotonicTime,
    ) -> Option<Difference> {
        let earliest = estimate.at.value - estimate.at.bound;
        let latest = (estimate.at.value + estimate.at.bound)
            .min(not_after)
            .max(earliest);
        let before = self
            .readings
            .iter()
            .rposition(|reading| reading.after <= earliest)?;
        let after = self
            .readings
            .iter()
            .position(|reading| reading.before >= latest)?;
        // within one tick of the clock a reading can be both before and after
        let (first, last) = (before.min(after), before.max(after));
        let around = || self.readings.range(first..=last);
        if !around()
            .zip(around().skip(1))
            .all(|(one, next)| self.agree(one, next))
        {
            return None;
        }
        let differences = around().map(|reading| {
            let since = (latest - reading.before).max(reading.after - earliest);
            self.widened(reading, since)
        });
        if self.clock.slew_parts_per_million == 0 {
            differences.reduce(Difference::hull)
        } else {
            differences.min_by_key(|difference| difference.high - difference.low)
        }
    }

    fn difference(&self, reading: &UtcCrossTimestamp) -> Difference {
        let utc = i128::from(reading.utc.nanoseconds());
        let rounding = self.clock.tick.nanoseconds();
        Difference {
            low: utc - i128::from(reading.after.nanoseconds()) - rounding,
            high: utc - i128::from(reading.before.nanoseconds()) + rounding,
        }
    }

    /// The difference some time from a reading.
    fn widened(&self, reading: &UtcCrossTimestamp, since: Span) -> Difference {
        let by = self.clock.most_slew(since).nanoseconds();
        let Difference { low, high } = self.difference(reading);
        Difference {
            low: low - by,
            high: high + by,
        }
    }

    /// Whether `reading` agrees with the last one, so that the last one is not needed.
    fn replaces_last(&self, reading: &UtcCrossTimestamp) -> bool {
        let mut newest = self.readings.iter().rev();
        let (Some(last), Some(before)) = (newest.next(), newest.next()) else {
            return false;
        };
        reading.after - before.after < SPACING
            && self.agree(before, last)
            && self.agree(last, reading)
    }

    /// Whether two readings agree, without a step in between.
    fn agree(&self, one: &UtcCrossTimestamp, next: &UtcCrossTimestamp) -> bool {
        let one = self.widened(one, next.after - one.before);
        let next = self.difference(next);
        one.low <= next.high && next.low <= one.high
    }
}

impl Difference {
    fn hull(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Adds it to an instant; `None` outside the range of times.
    fn added_to(self, estimate: &Estimate<Monotonic>) -> Option<Estimate<Utc>> {
        let middle = self.low + (self.high - self.low) / 2;
        let half = (self.high - self.low + 1) / 2;
        let at = i128::from(estimate.at.value.nanoseconds()) + middle;
        Some(Estimate {
            at: Bounded::new(
                Time::from_nanoseconds(i64::try_from(at).ok()?),
                estimate.at.bound + Span::from_nanoseconds(half),
            ),
            generation: estimate.generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::UtcTime;

    const SECOND: i64 = 1_000_000_000;

    fn at(nanoseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(nanoseconds)
    }

    /// A cross timestamp that takes 100 ns, of a clock that is ahead by `difference`.
    fn reading(now: i64, difference: i64) -> UtcCrossTimestamp {
        UtcCrossTimestamp {
            before: at(now),
            utc: UtcTime::from_nanoseconds(now + 50 + difference),
            after: at(now + 100),
        }
    }

    fn estimate(now: i64, bound: i128) -> Estimate<Monotonic> {
        Estimate {
            at: Bounded::new(at(now), Span::from_nanoseconds(bound)),
            generation: ClockGeneration(4),
        }
    }

    fn history(slew: u32, readings: &[(i64, i64)]) -> UtcHistory {
        let mut history = UtcHistory::new(RealTimeClock {
            slew_parts_per_million: slew,
            ..RealTimeClock::LINUX
        });
        for &(now, difference) in readings {
            history.observe(reading(now, difference));
        }
        history
    }

    #[test]
    fn between_readings_that_agree_the_bound_covers_both_and_the_estimates_own() {
        let history = history(0, &[(0, 1_000), (10_000, 1_040)]);
        let utc = history
            .convert(&estimate(5_000, 7), at(6_000))
            .expect("known");
        // 949..=1051 and 989..=1091
        assert_eq!(utc.at.value, UtcTime::from_nanoseconds(5_000 + 1_020));
        assert_eq!(utc.at.bound, Span::from_nanoseconds(7 + 71));
        assert_eq!(utc.generation, ClockGeneration(4));
    }

    #[test]
    fn a_step_begins_a_generation_of_the_real_time_clock() {
        let mut history = history(0, &[(0, 1_000), (10_000, 1_040), (2 * SECOND, 900_000)]);
        let generation =
            |history: &UtcHistory, now| history.generation(&estimate(now, 7), at(now + 1_000));
        assert_eq!(generation(&history, 5_000), Ok(ClockGeneration(0)));
        assert_eq!(
            generation(&history, SECOND),
            Err(ConversionError::UtcUnknown)
        );
        for second in 3..600 {
            history.observe(reading(second * SECOND, 900_000));
        }
        history.observe(reading(600 * SECOND, 0));
        history.observe(reading(601 * SECOND, 0));
        // regardless of how many cross timestamps were forgotten since
        for (now, expected) in [(598, 1), (600, 2)] {
            let found = generation(&history, now * SECOND + SECOND / 2);
            assert_eq!(found, Ok(ClockGeneration(expected)));
        }
    }

    /// 948..=1052 and 989..=1092 if readings are rounded by 1 ns; 9 ns more in each direction for a
    /// coarser clock.
    #[test]
    fn what_readings_leave_open_is_halved_and_rounded_up() {
        for (tick, bound) in [(1, 72), (10, 81)] {
            let clock = RealTimeClock {
                slew_parts_per_million: 0,
                tick: Span::from_nanoseconds(tick),
            };
            let mut history = UtcHistory::new(clock);
            history.observe(reading(0, 1_000));
            history.observe(reading(10_000, 1_041));
            let utc = history.convert(&estimate(5_000, 7), at(6_000));
            let utc = utc.expect("known");
            assert_eq!(utc.at.value, UtcTime::from_nanoseconds(5_000 + 1_020));
            assert_eq!(utc.at.bound, Span::from_nanoseconds(7 + bound));
        }
    }

    /// The timestamp may have been made after the second reading, and then the step was before or after it.
    #[test]
    fn a_bound_that_reaches_beyond_a_reading_asks_for_the_next() {
        let history = history(0, &[(0, 0), (10_000, 0), (20_000, 5_000), (30_000, 5_000)]);
        let utc = history.convert(&estimate(9_000, 2_000), at(29_000));
        assert_eq!(utc, Err(ConversionError::UtcUnknown));
        assert!(history.convert(&estimate(9_000, 900), at(29_000)).is_ok());
    }

    #[test]
    fn a_reading_is_dropped_where_its_neighbours_are_less_than_the_spacing_apart() {
        let spacing = SPACING.saturating_nanoseconds();
        for (last, kept) in [(spacing - 1, 2), (spacing, 3)] {
            let history = history(0, &[(0, 0), (spacing / 2, 0), (last, 0)]);
            assert_eq!(history.readings.len(), kept);
        }
    }

    #[test]
    fn an_instant_beside_a_step_has_no_utc_and_those_before_and_after_have_theirs() {
        let history = history(0, &[(0, 0), (10_000, 0), (20_000, 5_000), (30_000, 5_000)]);
        let utc = |now, not_after| history.convert(&estimate(now, 10), at(not_after));
        assert_eq!(
            utc(5_000, 9_000).expect("before").at.value,
            UtcTime::from_nanoseconds(5_000)
        );
        assert_eq!(utc(15_000, 16_000), Err(ConversionError::UtcUnknown));
        assert_eq!(
            utc(25_000, 26_000).expect("after").at.value,
            UtcTime::from_nanoseconds(30_000)
        );
        // its bound reaches over the step
        let wide = estimate(25_000, 5_500);
        assert_eq!(
            history.convert(&wide, at(29_000)),
            Err(ConversionError::UtcUnknown)
        );
    }

    #[test]
    fn without_a_reading_before_and_after_nothing_is_said() {
        let history = history(0, &[(1_000, 0), (2_000, 0)]);
        for (now, not_after) in [(500, 900), (1_050, 1_060), (2_050, 2_060), (3_000, 3_000)] {
            let answer = history.convert(&estimate(now, 0), at(not_after));
            assert_eq!(answer, Err(ConversionError::UtcUnknown), "{now}");
        }
        // a bound that extends past the time at which the timestamp was read does not matter
        assert!(history.convert(&estimate(1_900, 600), at(1_950)).is_ok());
        let far = history.convert(&estimate(i64::MAX - 5, 0), MonotonicTime::MAX);
        assert_eq!(far, Err(ConversionError::UtcUnknown));
    }

    #[test]
    fn readings_within_one_tick_of_the_clock_are_before_and_after_at_once() {
        let within_a_tick = UtcCrossTimestamp {
            before: at(1_000),
            utc: UtcTime::from_nanoseconds(8_000),
            after: at(1_000),
        };
        for readings in 1..5 {
            let mut history = UtcHistory::new(RealTimeClock::LINUX);
            (0..readings).for_each(|_| history.observe(within_a_tick));
            let utc = history.convert(&estimate(1_000, 0), at(1_000));
            assert_eq!(
                utc.expect("known").at.value,
                UtcTime::from_nanoseconds(8_000)
            );
        }
        // of which one contradicts the others
        let mut history = history(0, &[(0, 0)]);
        let stepped = UtcCrossTimestamp {
            utc: UtcTime::from_nanoseconds(9_000),
            ..within_a_tick
        };
        for reading in [within_a_tick, within_a_tick, stepped, stepped] {
            history.observe(reading);
        }
        let utc = history.convert(&estimate(1_000, 0), at(1_000));
        assert_eq!(utc, Err(ConversionError::UtcUnknown));
    }

    #[test]
    fn slewing_widens_the_reading_that_says_most() {
        // 1000 ppm: after 1 ms, 1 µs
        let history = history(
            1_000,
            &[(0, 0), (SECOND, 900_000), (SECOND + 1_000_000, 901_000)],
        );
        let now = SECOND + 999_000;
        let utc = history.convert(&estimate(now, 0), at(now)).expect("known");
        let truth = now + 900_000 + 999;
        let off = (utc.at.value - UtcTime::from_nanoseconds(truth)).abs();
        assert!(off <= utc.at.bound, "{utc:?}, not {truth}");
        assert!(utc.at.bound < Span::from_nanoseconds(60), "{utc:?}");
        // half a second from any reading
        let utc = history
            .convert(&estimate(SECOND / 2, 0), at(SECOND / 2))
            .expect("known");
        assert!(utc.at.bound > Span::from_nanoseconds(500_000), "{utc:?}");
        assert!(utc.at.bound < Span::from_nanoseconds(501_000), "{utc:?}");
    }

    #[test]
    fn more_than_slewing_can_do_is_a_step() {
        let history = history(1_000, &[(0, 0), (SECOND, 1_002_000)]);
        let utc = history.convert(&estimate(SECOND / 2, 0), at(SECOND / 2));
        assert_eq!(utc, Err(ConversionError::UtcUnknown));
    }

    #[test]
    fn readings_are_thinned_but_for_steps_and_their_number_is_bounded() {
        let mut history = UtcHistory::new(RealTimeClock::LINUX);
        for number in 0..10_000 {
            history.observe(reading(number * SECOND / 100, 0));
        }
        assert!(
            (99..=102).contains(&history.readings.len()),
            "{}",
            history.readings.len()
        );
        let step_at = 100 * SECOND;
        history.observe(reading(step_at, 5_000));
        history.observe(reading(step_at + 1_000, 5_000));
        let soon = step_at + 500;
        let utc = history
            .convert(&estimate(soon, 0), at(soon))
            .expect("after the step");
        assert_eq!(utc.at.value, UtcTime::from_nanoseconds(soon + 5_000));
        for number in 0..10_000 {
            history.observe(reading(step_at + number * SECOND, number * 10_000));
        }
        assert_eq!(history.readings.len(), KEPT);
    }
}
