//! A cross timestamp in the form that the fit uses.

use super::interval::Interval;
use crate::time::{HardwareTicks, MonotonicTime};

/// A cross timestamp: when the counter showed `ticks`, the system clock was at `middle` plus a
/// value in `bracket`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) ticks: HardwareTicks,
    pub(super) middle: MonotonicTime,
    pub(super) bracket: Interval,
    /// The most likely value in the bracket.
    pub(super) centre: f64,
    /// Whether the width of the bracket is known rather than assumed.
    pub(super) told: bool,
    /// The system clock's tick in nanoseconds.
    pub(super) step: f64,
}

/// The difference in nanoseconds, exact up to 104 days, beyond that to a relative error of 2⁻⁵³.
pub(super) fn difference(later: MonotonicTime, earlier: MonotonicTime) -> f64 {
    match later.nanoseconds().checked_sub(earlier.nanoseconds()) {
        Some(nanoseconds) => nanoseconds as f64,
        None => (later - earlier).nanoseconds() as f64,
    }
}

pub(super) fn magnitude(value: f64) -> f64 {
    if value < 0.0 { -value } else { value }
}

/// Rounds to the nearest whole number, saturating.
pub(super) fn rounded(value: f64) -> i64 {
    let half = if value < 0.0 { -0.5 } else { 0.5 };
    (value + half) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_rounding_are_right_at_the_ends_of_the_range() {
        let at = MonotonicTime::from_nanoseconds;
        assert!((difference(at(5), at(7)) + 2.0).abs() < 1e-9);
        let all = difference(MonotonicTime::MAX, MonotonicTime::MIN);
        assert!((all / 2f64.powi(64) - 1.0).abs() < 1e-9);
        assert_eq!([-1.5, -0.4, 0.4, 1.5].map(rounded), [-2, 0, 0, 2]);
        assert_eq!([-1e30, 1e30].map(rounded), [i64::MIN, i64::MAX]);
        assert!((magnitude(-2.0) - 2.0).abs() < 1e-9 && (magnitude(2.0) - 2.0).abs() < 1e-9);
    }
}
