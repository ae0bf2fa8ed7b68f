//! What the peers share: points on differences, lines through them, and the shortest
//! reading. Chooses no points.

use super::Converted;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};

/// Both clocks at one instant; the fractions lie on top of the whole numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) ticks: HardwareTicks,
    /// Ticks.
    pub(super) tick_fraction: f64,
    pub(super) system: MonotonicTime,
    /// ns.
    pub(super) system_fraction: f64,
}

impl Point {
    /// The counter against the middle of the bracket.
    pub(super) fn middle(reading: &CrossTimestamp) -> Self {
        Self {
            ticks: reading.hardware(),
            tick_fraction: 0.0,
            system: reading.monotonic_before(),
            system_fraction: delay(reading) / 2.0,
        }
    }

    /// The counter against the second system time.
    pub(super) fn after(reading: &CrossTimestamp) -> Self {
        Self {
            system: reading.monotonic_after(),
            system_fraction: 0.0,
            ..Self::middle(reading)
        }
    }

    /// Nominal ns that the counter ran since `origin`, and how much more the system clock did.
    pub(super) fn since(&self, origin: &Self, period: f64) -> (f64, f64) {
        let ticks =
            self.ticks.since(origin.ticks) as f64 + (self.tick_fraction - origin.tick_fraction);
        let x = ticks * period;
        let system = (self.system - origin.system).nanoseconds() as f64;
        (
            x,
            system + (self.system_fraction - origin.system_fraction) - x,
        )
    }
}

/// A straight relation: at `origin` the system clock is `offset` later, and gains `slope`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) origin: Point,
    /// ns.
    pub(super) offset: f64,
    /// Relative.
    pub(super) slope: f64,
    /// Nominal ns per tick.
    pub(super) period: f64,
}

impl Line {
    /// Nominal ns from the origin to `ticks`.
    pub(super) fn age(&self, ticks: HardwareTicks) -> f64 {
        (ticks.since(self.origin.ticks) as f64 - self.origin.tick_fraction) * self.period
    }

    /// The system time at `ticks`, without a bound.
    pub(super) fn at(&self, ticks: HardwareTicks) -> Converted {
        let x = self.age(ticks);
        let fraction = self.origin.system_fraction + self.offset + x + self.slope * x;
        Converted {
            whole: self.origin.system,
            fraction,
            bound: None,
        }
    }

    /// How far `point` lies above the line, ns.
    pub(super) fn residual(&self, point: &Point) -> f64 {
        let (x, y) = point.since(&self.origin, self.period);
        y - self.offset - self.slope * x
    }

    /// The line through two points, from the second.
    pub(super) fn through(first: &Point, second: Point, period: f64) -> Self {
        let (x, y) = first.since(&second, period);
        let slope = if x < 0.0 { y / x } else { 0.0 };
        Self {
            origin: second,
            offset: 0.0,
            slope,
            period,
        }
    }

    /// Least squares; the newest point comes last and is the origin.
    pub(super) fn least_squares<'a>(
        points: impl Iterator<Item = &'a Point> + Clone,
        origin: Point,
        period: f64,
    ) -> Self {
        let (mut n, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
        for point in points.clone() {
            let (x, y) = point.since(&origin, period);
            (n, sum_x, sum_y) = (n + 1.0, sum_x + x, sum_y + y);
        }
        let (mean_x, mean_y) = (sum_x / n, sum_y / n);
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for point in points {
            let (x, y) = point.since(&origin, period);
            sxx += (x - mean_x) * (x - mean_x);
            sxy += (x - mean_x) * (y - mean_y);
        }
        let slope = if sxx > 0.0 { sxy / sxx } else { 0.0 };
        Self {
            origin,
            offset: mean_y - slope * mean_x,
            slope,
            period,
        }
    }
}

/// The width of a bracket as the peers see it, ns.
pub(super) fn delay(reading: &CrossTimestamp) -> f64 {
    (reading.monotonic_after() - reading.monotonic_before()).nanoseconds() as f64
}

/// The reading with the narrowest bracket.
pub(super) fn shortest(readings: &[CrossTimestamp]) -> Option<&CrossTimestamp> {
    readings
        .iter()
        .min_by_key(|reading| reading.monotonic_after() - reading.monotonic_before())
}
