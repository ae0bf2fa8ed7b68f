//! Signed time spans.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use core::time::Duration;

/// A signed time span in nanoseconds. It has 128 bits, which hold the difference of any two
/// instants of a clock, and sums of billions of such differences.
///
/// It is negative if the second event came first. Latencies can be negative by up to the error
/// bound of their timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i128);

impl Span {
    /// A span of zero.
    pub const ZERO: Self = Self(0);

    /// Creates a span from nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i128) -> Self {
        Self(nanoseconds)
    }

    /// Creates a span from microseconds.
    pub const fn from_microseconds(microseconds: i64) -> Self {
        Self(microseconds as i128 * 1_000)
    }

    /// Creates a span from milliseconds.
    pub const fn from_milliseconds(milliseconds: i64) -> Self {
        Self(milliseconds as i128 * 1_000_000)
    }

    /// Creates a span from seconds.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds as i128 * 1_000_000_000)
    }

    /// Returns the span in nanoseconds.
    pub const fn nanoseconds(self) -> i128 {
        self.0
    }

    /// Returns the span in nanoseconds if it fits into 64 bits, as nearly all spans do.
    #[inline]
    pub(super) const fn narrow(self) -> Option<i64> {
        let low = self.0 as i64;
        if low as i128 == self.0 {
            Some(low)
        } else {
            None
        }
    }

    /// Returns the span in nanoseconds, saturating at 64 bits.
    #[inline]
    pub const fn saturating_nanoseconds(self) -> i64 {
        match self.narrow() {
            Some(nanoseconds) => nanoseconds,
            None if self.0 < 0 => i64::MIN,
            None => i64::MAX,
        }
    }

    /// Returns the absolute value.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }

    /// Returns whether the span is negative: the second event came first.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Converts to the standard library's type; zero if negative.
    pub fn to_duration(self) -> Duration {
        let nanoseconds = self.0.max(0).unsigned_abs();
        let seconds = u64::try_from(nanoseconds / 1_000_000_000).unwrap_or(u64::MAX);
        Duration::new(seconds, (nanoseconds % 1_000_000_000) as u32)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration.as_nanos() as i128) // at most 2^64 s: fits
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl Span {
    /// Returns the part that printing cuts off.
    pub(super) fn cut_off(self) -> Self {
        let magnitude = self.0.unsigned_abs();
        let printed = match magnitude {
            0..1_000 => 1,
            _ => 10_u128.pow(magnitude.ilog10().min(11) - 2),
        };
        Self((magnitude % printed) as i128)
    }
}

/// Prints three significant digits in a suitable unit, rounded down: `687 ns`, `1.17 µs`, `20.0
/// ms`, `3.50 s`.
///
/// An error bound printed this way is up to 1 % too small: print the
/// [`Estimate`](crate::correlate::Estimate) instead, which rounds it up.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        let (unit, per) = match magnitude {
            0..1_000 => return f.pad(&alloc::format!("{sign}{magnitude} ns")),
            1_000..1_000_000 => ("µs", 1_000),
            1_000_000..1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", 1_000_000_000),
        };
        let hundredths = magnitude / (per / 100);
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let text = match whole {
            0..10 => alloc::format!("{sign}{whole}.{rest:02} {unit}"),
            10..100 => alloc::format!("{sign}{whole}.{} {unit}", rest / 10),
            _ => alloc::format!("{sign}{whole} {unit}"),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn prints_with_a_fitting_unit() {
        let shown = |ns| Span::from_nanoseconds(ns).to_string();
        assert_eq!(shown(687), "687 ns");
        assert_eq!(shown(-1_172), "-1.17 µs");
        assert_eq!(shown(20_040_000), "20.0 ms");
        assert_eq!(shown(999_999_999), "999 ms");
        assert_eq!(shown(3_500_000_000), "3.50 s");
    }

    #[test]
    fn the_unit_changes_at_a_thousand() {
        let shown = |ns| Span::from_nanoseconds(ns).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(999), "999 ns");
        assert_eq!(shown(1_000), "1.00 µs");
        assert_eq!(shown(-999_999), "-999 µs");
        assert_eq!(shown(1_000_000), "1.00 ms");
        assert_eq!(shown(1_000_000_000), "1.00 s");
        assert_eq!(shown(86_400_000_000_000), "86400 s");
        assert_eq!(
            std::format!("{:>8}|", Span::from_nanoseconds(7)),
            "    7 ns|"
        );
        assert_eq!(std::format!("{:8}|", Span::from_seconds(7)), "7.00 s  |");
    }

    #[test]
    fn units_convert_exactly() {
        assert_eq!(Span::from_microseconds(3).nanoseconds(), 3_000);
        assert_eq!(Span::from_milliseconds(-3).nanoseconds(), -3_000_000);
        assert_eq!(Span::from_seconds(3).nanoseconds(), 3_000_000_000);
        assert_eq!(
            Span::from_seconds(i64::MAX).nanoseconds(),
            i128::from(i64::MAX) * 1_000_000_000
        );
    }

    #[test]
    fn arithmetic_is_that_of_whole_numbers() {
        let span = Span::from_nanoseconds;
        let mut sum = span(5);
        sum += span(-7);
        assert_eq!((sum, -sum, sum.abs()), (span(-2), span(2), span(2)));
        sum -= span(-3);
        assert_eq!((sum, span(5) - span(7)), (span(1), span(-2)));
        assert_eq!([1, 2, 4].into_iter().map(span).sum::<Span>(), span(7));
        assert!(span(-1).is_negative());
        assert!(!span(0).is_negative() && !span(1).is_negative());
    }

    #[test]
    fn what_64_bits_do_not_hold_is_the_nearest_end() {
        for ns in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(
                Span::from_nanoseconds(ns.into()).saturating_nanoseconds(),
                ns
            );
        }
        let beyond = |ns: i64, more| Span::from_nanoseconds(i128::from(ns) + more);
        assert_eq!(beyond(i64::MAX, 1).saturating_nanoseconds(), i64::MAX);
        assert_eq!(beyond(i64::MIN, -1).saturating_nanoseconds(), i64::MIN);
    }

    #[test]
    fn durations_convert_both_ways_and_never_wrap() {
        let span = Span::from_nanoseconds(3_000_000_007);
        assert_eq!(span.to_duration(), Duration::new(3, 7));
        assert_eq!(Span::from(Duration::new(3, 7)), span);
        let span = Span::from(Duration::new(u64::MAX, 999_999_999));
        assert_eq!(span.to_duration(), Duration::new(u64::MAX, 999_999_999));
        assert_eq!(Span::from_nanoseconds(-1).to_duration(), Duration::ZERO);
        assert_eq!(
            Span::from_nanoseconds(i128::MAX) + Span::from_nanoseconds(1),
            Span::from_nanoseconds(i128::MAX)
        );
    }
}
