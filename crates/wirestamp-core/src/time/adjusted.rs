//! The amount by which frequency adjustments have moved the monotonic clock.

use super::{Bounded, MonotonicTime, Span};

/// The largest adjustment without a fast slew, as nanoseconds per nanosecond of change: 500 ppm of
/// frequency (`MAXFREQ` of adjtimex(2)) plus 500 ppm by adjtime(3).
const MOST: i128 = 1_000;

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

    /// Returns how far adjustments had moved the clock at `at`, a time between this reading and a
    /// later one.
    ///
    /// It assumes adjustments of up to 1,000 ppm in either direction at any time. A faster slew
    /// (chronyd's are up to 83,333 ppm) must keep its direction between the two readings.
    #[must_use]
    pub fn until(&self, later: &Self, at: MonotonicTime) -> Bounded<Span> {
        let nearest = (at - self.at).abs().min((later.at - at).abs());
        let unsure = Span::from_nanoseconds(nearest.nanoseconds() / MOST + 1);
        let least = self.by.least().min(later.by.least()) - unsure;
        let most = self.by.most().max(later.by.most()) + unsure;
        let middle = (least.nanoseconds() + most.nanoseconds()).div_euclid(2);
        let half = most.nanoseconds() - middle;
        Bounded::new(Span::from_nanoseconds(middle), Span::from_nanoseconds(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(soon.bound < Span::from_nanoseconds(100), "{soon}");
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
}
