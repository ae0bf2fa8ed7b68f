//! Closed intervals of floats.

/// All values from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    pub(super) const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// All values within `radius` of zero.
    pub(super) const fn around_zero(radius: f64) -> Self {
        Self::new(-radius, radius)
    }

    pub(super) fn middle(self) -> f64 {
        self.low + (self.high - self.low) / 2.0
    }

    pub(super) fn width(self) -> f64 {
        self.high - self.low
    }

    pub(super) fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    pub(super) fn clamp(self, value: f64) -> f64 {
        if value < self.low {
            self.low
        } else if value > self.high {
            self.high
        } else {
            value
        }
    }

    /// Converts to f32, rounded outward.
    pub(super) fn rounded_outward(self) -> [f32; 2] {
        const ULP: f64 = 1.2e-7;
        let room = |value: f64| {
            if value < 0.0 {
                -value * ULP
            } else {
                value * ULP
            }
        };
        [
            (self.low - room(self.low)) as f32,
            (self.high + room(self.high)) as f32,
        ]
    }

    pub(super) fn of_rounded([low, high]: [f32; 2]) -> Self {
        Self::new(low.into(), high.into())
    }

    #[must_use]
    pub(super) fn shifted(self, by: f64) -> Self {
        Self::new(self.low + by, self.high + by)
    }

    #[must_use]
    pub(super) fn widened(self, by: f64) -> Self {
        Self::new(self.low - by, self.high + by)
    }

    /// The gap between two intervals; negative if they overlap.
    pub(super) fn gap(self, other: Self) -> f64 {
        self.low.max(other.low) - self.high.min(other.high)
    }

    /// The intersection; `None` if the intervals miss each other by more than `rounding`.
    pub(super) fn and(self, other: Self, rounding: f64) -> Option<Self> {
        let both = Self::new(self.low.max(other.low), self.high.min(other.high));
        if both.low <= both.high {
            Some(both)
        } else if both.low - both.high <= rounding {
            let middle = both.middle();
            Some(Self::new(middle, middle))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_what_two_miss_each_other_by() {
        let (one, other) = (Interval::new(-1.0, 2.0), Interval::new(5.0, 9.0));
        assert_eq!((one.gap(other), other.gap(one)), (3.0, 3.0));
        assert!((one.gap(Interval::new(1.5, 9.0)) + 0.5).abs() < 1e-9);
        assert_eq!(
            (one.middle(), one.width(), one.half_width()),
            (0.5, 3.0, 1.5)
        );
        assert_eq!(one.shifted(2.0), Interval::new(1.0, 4.0));
        assert_eq!(one.widened(2.0), Interval::new(-3.0, 4.0));
        assert_eq!(Interval::around_zero(2.0), Interval::new(-2.0, 2.0));
        for (value, expected) in [(-7.0, -1.0), (0.5, 0.5), (7.0, 2.0)] {
            assert!((one.clamp(value) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn shorter_floats_are_hardly_wider() {
        for (low, high) in [
            (1.0 + 1e-9, 3.0 + 1e-9),
            (-3.0 - 1e-9, -1.0 - 1e-9),
            (-1e9 - 1.0, 1e9 + 1.0),
        ] {
            let one = Interval::new(low, high);
            let rounded = Interval::of_rounded(one.rounded_outward());
            assert!(rounded.low <= low && rounded.high >= high, "{rounded:?}");
            let most = 3e-7 * low.abs().max(high.abs());
            assert!(rounded.low >= low - most && rounded.high <= high + most);
        }
    }

    #[test]
    fn contradicts_only_beyond_rounding() {
        let one = Interval::new(0.0, 2.0);
        assert_eq!(
            one.and(Interval::new(1.0, 5.0), 0.0),
            Some(Interval::new(1.0, 2.0))
        );
        assert_eq!(one.and(Interval::new(2.5, 5.0), 0.1), None);
        assert_eq!(
            one.and(Interval::new(2.5, 5.0), 0.6),
            Some(Interval::new(2.25, 2.25))
        );
        let touching = Interval::new(2.0, 5.0);
        assert_eq!(one.and(touching, 0.0), Some(Interval::new(2.0, 2.0)));
        let apart = Interval::new(2.5, 5.0);
        assert_eq!(one.and(apart, 0.5), Some(Interval::new(2.25, 2.25)));
    }
}
