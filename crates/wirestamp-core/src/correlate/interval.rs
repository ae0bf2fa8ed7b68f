//! Closed intervals of differences. Knows nothing of clocks.

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

    /// In shorter floats, not narrower.
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

    /// By how much they miss each other; negative where they overlap.
    pub(super) fn gap(self, other: Self) -> f64 {
        self.low.max(other.low) - self.high.min(other.high)
    }

    /// What both allow; `None` if they contradict each other by more than `rounding`.
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
    }
}
