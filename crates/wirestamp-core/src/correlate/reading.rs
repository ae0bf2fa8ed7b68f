//! What one cross timestamp says, in differences. Remembers nothing.

use super::interval::Interval;
use crate::time::{HardwareTicks, MonotonicTime};

/// What one cross timestamp says: when the counter showed `ticks`, the system clock stood at
/// `middle` plus something in `bracket`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) ticks: HardwareTicks,
    pub(super) middle: MonotonicTime,
    pub(super) bracket: Interval,
    /// Where in the bracket it most likely stood.
    pub(super) centre: f64,
    /// Whether the width of the bracket is known and not guessed.
    pub(super) told: bool,
    /// The system clock's step, in nanoseconds.
    pub(super) step: f64,
}

/// Later minus earlier, in nanoseconds. Exact up to 104 days, and then to 2⁻⁵³ of itself.
pub(super) fn difference(later: MonotonicTime, earlier: MonotonicTime) -> f64 {
    match later.nanoseconds().checked_sub(earlier.nanoseconds()) {
        Some(nanoseconds) => nanoseconds as f64,
        None => (later - earlier).nanoseconds() as f64,
    }
}

pub(super) fn magnitude(value: f64) -> f64 {
    if value < 0.0 { -value } else { value }
}

/// To the nearest whole number, or the nearest end of the range.
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
