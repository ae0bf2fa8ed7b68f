//! The amount by which frequency adjustments have moved the monotonic clock.

use super::{Bounded, MonotonicTime, Span};

/// The largest adjustment without a fast slew changes one of so many nanoseconds: 500 ppm of
/// frequency (`MAXFREQ` of adjtimex(2)) plus 500 ppm by adjtime(3), per nanosecond of the unadjusted
/// clock. The adjusted one counts fewer of them when it is slowed: 999 of a million.
const MOST: i128 = 990;
/// The largest one with a fast slew (the kernel changes a tick by at most 10 %), in the same way:
/// 10.1 % of the unadjusted clock is 11.2 % of one that is slowed by as much.
const FASTEST: i128 = 8;

/// The amount by which frequency adjustments have moved the monotonic clock.
///
/// It counts from an unknown start: only the difference of two readings is meaningful. On Linux it
/// is `CLOCK_MONOTONIC` minus `CLOCK_MONOTONIC_RAW`, which counts the same oscillator and is never
/// adjusted. Windows' performance counter is never adjusted.
///
/// ```
/// use wirestamp_core::time::{Adjusted, Bounded, MonotonicTime, Span};
/// let reading = |second: i64, by| Adjusted {
///     at: MonotonicTime::from_nanoseconds(second * 1_000_000_000),
///     by: Bounded::new(Span::from_nanoseconds(by), Span::from_nanoseconds(40)),
/// };
/// // 100 ppm in a second
/// let (before, after) = (reading(7, 5_000), reading(8, 105_000));
/// assert!(before.until(&after, before.at).contains(Span::from_nanoseconds(5_000)));
/// assert!(before.until(&after, before.at).bound < Span::from_microseconds(51));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjusted {
    /// The monotonic clock just after the reading.
    pub at: MonotonicTime,
    /// How far adjustments have moved the clock (positive: forward, they made it run faster).
    pub by: Bounded<Span>,
}

impl Adjusted {
    /// Returns the value for a clock that is never adjusted.
    #[must_use]
    pub const fn never(at: MonotonicTime) -> Self {
        Self {
            at,
            by: Bounded::exact(Span::ZERO),
        }
    }

    /// Returns the largest amount by which adjustments, fast slews included, can move the clock
    /// while it counts `elapsed`.
    #[must_use]
    pub fn most_within(elapsed: Span) -> Span {
        within(elapsed, FASTEST)
    }

    /// Returns whether adjustments that have moved the clock by `moved` while it counted `elapsed`
    /// included a fast slew: more than 1,000 ppm.
    #[must_use]
    pub fn is_fast(moved: Bounded<Span>, elapsed: Span) -> bool {
        moved.value.abs() > moved.bound + within(elapsed.abs(), MOST)
    }

    /// Returns how far adjustments may have moved the clock beside those that are usual, at most backward (zero or negative)
    /// and at most forward (zero or positive).
    ///
    /// `moved` is what readings show, and `usual` what the usual adjustments moved it meanwhile. Zero is always between the
    /// results: the readings' error bounds can hide a slew, so they always count.
    #[must_use]
    pub fn beside(moved: Bounded<Span>, usual: Bounded<Span>) -> (Span, Span) {
        let (back, forward) = (moved.least() - usual.most(), moved.most() - usual.least());
        (back.min(Span::ZERO), forward.max(Span::ZERO))
    }

    /// Returns how far adjustments had moved the clock at `at`, a time between this reading and a
    /// later one.
    ///
    /// It assumes adjustments of up to 1,000 ppm of the unadjusted clock in either direction at any
    /// time, and beside them a faster slew of up to 10 % (chronyd's are up to 83,333 ppm) that keeps
    /// its direction between the two readings.
    #[must_use]
    pub fn until(&self, later: &Self, at: MonotonicTime) -> Bounded<Span> {
        let [begun, left] = [at - self.at, later.at - at].map(Span::abs);
        let (least, most) = (
            [self.by.least(), later.by.least()],
            [self.by.most(), later.by.most()],
        );
        // a fast slew leads away from one of the readings, so the other one is the limit
        let slow = [within(begun, MOST), within(left, MOST)];
        let low = (least[0] - slow[0]).min(least[1] - slow[1]);
        let high = (most[0] + slow[0]).max(most[1] + slow[1]);
        let fast = [begun, left].map(Self::most_within);
        let lowest = (least[0] - fast[0]).max(least[1] - fast[1]);
        let highest = (most[0] + fast[0]).min(most[1] + fast[1]);
        let (low, high) = match low.max(lowest) <= high.min(highest) {
            true => (low.max(lowest), high.min(highest)),
            false => (low, high),
        };
        let middle = (low.nanoseconds() + high.nanoseconds()).div_euclid(2);
        let half = high.nanoseconds() - middle;
        Bounded::new(Span::from_nanoseconds(middle), Span::from_nanoseconds(half))
    }
}

/// One of so many nanoseconds, rounded up.
const fn within(elapsed: Span, share: i128) -> Span {
    Span::from_nanoseconds(elapsed.nanoseconds() / share + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const fn reading(at: i64, by: i128) -> Adjusted {
        Adjusted {
            at: MonotonicTime::from_nanoseconds(at),
            by: Bounded::new(Span::from_nanoseconds(by), Span::from_nanoseconds(40)),
        }
    }

    /// It runs 500 ppm fast from the first reading to the middle, then 500 ppm slow.
    #[test]
    fn an_adjustment_that_comes_and_goes_between_two_readings_is_inside() {
        let (before, after) = (reading(0, 0), reading(10_000_000, 0));
        for at in (0..=10_000_000).step_by(100_000) {
            let truth = i128::from(at.min(10_000_000 - at)) / 2_000;
            let known = before.until(&after, MonotonicTime::from_nanoseconds(at));
            assert!(
                known.contains(Span::from_nanoseconds(truth)),
                "{at}: {known}"
            );
        }
        let soon = before.until(&after, MonotonicTime::from_nanoseconds(50_000));
        // a fast slew and back again is not excluded
        assert!(soon.bound < Span::from_nanoseconds(6_400), "{soon}");
    }

    /// chronyd begins to slew by 83,333 ppm at any time between them.
    #[test]
    fn a_fast_slew_is_inside() {
        for begun in (0..10_000_000).step_by(500_000) {
            let truth = |at: i64| i128::from((at - begun).max(0)) / 12;
            let (before, after) = (reading(0, 0), reading(10_000_000, truth(10_000_000)));
            for at in (0..=10_000_000).step_by(100_000) {
                let known = before.until(&after, MonotonicTime::from_nanoseconds(at));
                let truth = Span::from_nanoseconds(truth(at));
                assert!(known.contains(truth), "{begun}, {at}: {known}");
            }
        }
    }

    /// It runs 50 ppm slow all the time, and chronyd begins to slew it forward just before the later reading.
    #[test]
    fn a_fast_slew_against_a_slow_one_is_inside() {
        let truth = |at: i64| i128::from((at - 49_900_000).max(0)) / 12 - i128::from(at) / 20_000;
        let (before, after) = (reading(0, 0), reading(50_000_000, truth(50_000_000)));
        for at in (0..=50_000_000).step_by(100_000) {
            let known = before.until(&after, MonotonicTime::from_nanoseconds(at));
            let truth = Span::from_nanoseconds(truth(at));
            assert!(known.contains(truth), "{at}: {known}, really {truth}");
        }
    }

    /// An adjustment for a while: its length on the adjusted clock, its rate within 1,000 ppm, and the rate of a fast
    /// slew, both of the unadjusted clock.
    type Turn = (i64, f64, f64);

    fn moved(turns: &[Turn], until: i64) -> f64 {
        let (mut begun, mut by) = (0, 0.0);
        for (length, slow, fast) in turns {
            let lasted = (until - begun).clamp(0, *length);
            by += (slow + fast) / (1.0 + slow + fast) * lasted as f64;
            begun += length;
        }
        by
    }

    fn slow() -> impl proptest::strategy::Strategy<Value = f64> {
        use proptest::strategy::Just;
        proptest::prop_oneof![1 => Just(-1e-3), 1 => Just(1e-3), 2 => -1e-3..1e-3f64]
    }

    fn fast() -> impl proptest::strategy::Strategy<Value = f64> {
        use proptest::strategy::Just;
        proptest::prop_oneof![3 => Just(0.0), 1 => Just(0.1), 1 => 0.0..0.1f64]
    }

    proptest::proptest! {
        #[test]
        fn adjustments_within_the_assumptions_are_inside(
            turns in proptest::collection::vec((1i64..10_000_000, slow(), fast()), 1..6),
            calm: bool,
            back: bool,
            parts in proptest::array::uniform8(0.0..=1.0f64),
        ) {
            let scale = match (calm, back) {
                (true, _) => 0.0,
                (false, true) => -1.0,
                (false, false) => 1.0,
            };
            let turns: Vec<Turn> = turns
                .into_iter()
                .map(|(length, slow, fast)| (length, slow, scale * fast))
                .collect();
            let all: i64 = turns.iter().map(|turn| turn.0).sum();
            let (before, after) = (reading(0, 0), reading(all, moved(&turns, all) as i128));
            for part in parts {
                let at = (part * all as f64) as i64;
                let known = before.until(&after, MonotonicTime::from_nanoseconds(at));
                let truth = Span::from_nanoseconds(moved(&turns, at) as i128);
                proptest::prop_assert!(known.contains(truth), "{at} of {all}: {known}, really {truth}");
            }
        }
    }
}
