//! Instants of the true system clock. What a program reads of it is coarser.

use core::ops::{Add, Sub};
use wirestamp_core::time::MonotonicTime;

/// Where the system clock stands when a run begins: three days after boot, a whole number of
/// every quantum used here.
const BOOT: i64 = 259_200_000_000_000;
const PER_NANOSECOND: i64 = 1_000;
const PER_SECOND: f64 = 1e12;

/// An instant of the true system clock, in picoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(i64);

impl Moment {
    /// From picoseconds.
    pub const fn from_picoseconds(picoseconds: i64) -> Self {
        Self(picoseconds)
    }

    /// From seconds, to the nearest picosecond.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * PER_SECOND).round() as i64)
    }

    /// In picoseconds.
    pub const fn picoseconds(self) -> i64 {
        self.0
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PER_SECOND
    }

    /// `nanoseconds` later, to the nearest picosecond.
    #[must_use]
    pub fn plus_nanoseconds(self, nanoseconds: f64) -> Self {
        Self(self.0 + (nanoseconds * PER_NANOSECOND as f64).round() as i64)
    }

    /// What a program reads at this instant from a clock that counts in steps of `quantum`
    /// nanoseconds.
    pub const fn read(self, quantum: i64) -> MonotonicTime {
        let quanta = self.0.div_euclid(quantum * PER_NANOSECOND);
        MonotonicTime::from_nanoseconds(BOOT + quanta * quantum)
    }

    /// The instant at which the system clock stands at `time` exactly.
    pub const fn of(time: MonotonicTime) -> Self {
        Self((time.nanoseconds() - BOOT) * PER_NANOSECOND)
    }

    /// How far an estimate, `fraction` nanoseconds after `whole`, lies behind this instant.
    /// Exact where the two are near: only their difference is ever a float.
    pub fn error_of(self, whole: MonotonicTime, fraction: f64) -> f64 {
        let whole = i128::from(whole.nanoseconds() - BOOT) * i128::from(PER_NANOSECOND);
        (whole - i128::from(self.0)) as f64 / PER_NANOSECOND as f64 + fraction
    }
}

impl Add for Moment {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Moment {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_rounded_down_to_the_quantum() {
        let moment = Moment::from_picoseconds(1_234_567);
        assert_eq!(moment.read(1).nanoseconds() - BOOT, 1_234);
        assert_eq!(moment.read(100).nanoseconds() - BOOT, 1_200);
    }

    #[test]
    fn an_error_is_estimate_minus_truth() {
        let moment = Moment::from_picoseconds(2_000_000_000_000_000_250);
        let error = moment.error_of(moment.read(1), 0.375);
        assert!((error - 0.125).abs() < 1e-12, "{error}");
    }
}
