//! The width of undelayed brackets.
//!
//! The intersection of all cross timestamps of a stable relation is about as wide as the narrowest
//! bracket, which has the shortest delays in both directions. If it is narrower, the relation is
//! not a straight line: a clock was stepped slightly, or the frequency wanders faster than assumed.

use super::bank::Measurement;
use super::interval::Interval;

/// The fraction of the narrowest bracket by which the intersection may be narrower by chance.
const CHANCE: f64 = 0.05;
/// The rate at which the narrowest bracket is forgotten, per batch.
const FORGETTING: f64 = 0.0002;
/// The number of batches after which the usual width is known.
const ENOUGH: f64 = 8.0;
/// The smoothing factor of the usual excess.
const FOLLOWING: f64 = 0.05;

/// The statistics of batches' widths, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct PathWidth {
    narrowest: f64,
    /// The usual excess of batches over the narrowest bracket.
    excess: f64,
    batches: f64,
}

impl PathWidth {
    pub(super) const fn new() -> Self {
        Self {
            narrowest: f64::INFINITY,
            excess: 0.0,
            batches: 0.0,
        }
    }

    /// Notes a complete batch.
    pub(super) fn see(&mut self, told: Interval) {
        let width = told.width();
        self.batches = (self.batches + 1.0).min(1e6);
        if width < self.narrowest {
            self.narrowest = width;
        }
        let excess = (width - self.narrowest).min(4.0 * self.excess + CHANCE * self.narrowest);
        self.excess += FOLLOWING * (excess - self.excess);
        self.narrowest += FORGETTING * excess.min(CHANCE * self.narrowest);
    }

    /// Whether an interval is narrower than the path allows. `grain` is the tick of both clocks.
    pub(super) fn too_narrow(&self, interval: Interval, grain: f64) -> bool {
        self.batches >= ENOUGH
            && interval.width() + self.excess + CHANCE * self.narrowest + grain < self.narrowest
    }

    /// The measurement of the offset by a batch. In a bracket with an excess width either end may
    /// be delayed, so the centre is uncertain by half the excess. `grain` is the variance of the
    /// centre due to both clocks' ticks.
    pub(super) fn measurement(&self, told: Interval, grain: f64) -> Measurement {
        let (width, batches) = (told.width(), self.batches.max(1.0));
        let narrowest = if width < self.narrowest {
            width
        } else {
            self.narrowest
        };
        let excess = width - narrowest + 0.1 * narrowest / batches;
        Measurement {
            centre: told.middle(),
            variance: excess * excess / 12.0 + grain + 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(width: f64) -> Interval {
        Interval::new(3.0, 3.0 + width)
    }

    /// Batches of 1000 ns, then only batches of 1400 ns.
    #[test]
    fn what_is_usual_beyond_the_narrowest_follows_slowly() {
        let mut path = PathWidth::new();
        path.see(width(1_000.0));
        assert!((path.narrowest - 1_000.0).abs() < 1e-9 && path.excess.abs() < 1e-9);
        path.see(width(1_400.0));
        // no more than 5 % of the narrowest counts at a time, and a twentieth of that is added
        assert!((path.excess - 50.0 / 20.0).abs() < 1e-9);
        assert!((path.narrowest - (1_000.0 + 50.0 * 2e-4)).abs() < 1e-9);
        let narrowest = path.narrowest;
        path.see(width(1_400.0));
        let counted = 4.0 * 2.5 + 0.05 * narrowest;
        assert!((path.excess - (2.5 + 0.05 * (counted - 2.5))).abs() < 1e-9);
        let (excess, narrowest) = (path.excess, path.narrowest);
        path.see(width(narrowest + 20.0));
        assert!((path.excess - (excess + 0.05 * (20.0 - excess))).abs() < 1e-9);
        assert!((path.narrowest - (narrowest + 20.0 * 2e-4)).abs() < 1e-9);
        path.see(width(900.0));
        assert!((path.narrowest - 900.0).abs() < 1e-9, "at once");
        // of an excess of 4 · 60 + 45 ns, no more than 5 % of the narrowest is forgotten at a time
        path.excess = 60.0;
        path.see(width(2_000.0));
        assert!((path.narrowest - (900.0 + 45.0 * 2e-4)).abs() < 1e-9);
    }

    #[test]
    fn an_interval_is_too_narrow_where_it_lacks_more_than_chance_and_the_clocks_explain() {
        let mut path = PathWidth::new();
        let lacks = |path: &PathWidth, by: f64, grain: f64| {
            path.too_narrow(width(path.narrowest - by), grain)
        };
        for _ in 0..7 {
            path.see(width(1_000.0));
        }
        assert!(!lacks(&path, 900.0, 0.0), "seven batches tell nothing");
        path.see(width(1_000.0));
        assert!(lacks(&path, 51.0, 0.0) && !lacks(&path, 49.0, 0.0));
        assert!(lacks(&path, 72.0, 21.0) && !lacks(&path, 70.0, 21.0));
        path.excess = 30.0;
        assert!(lacks(&path, 102.0, 21.0) && !lacks(&path, 100.0, 21.0));
    }

    /// The centre is uniformly distributed over half the excess: a twelfth of the square.
    #[test]
    fn a_wide_batch_counts_less() {
        let mut path = PathWidth::new();
        (0..4).for_each(|_| path.see(width(1_000.0)));
        let wide = path.measurement(width(1_240.0), 7.0);
        assert!((wide.centre - 623.0).abs() < 1e-9);
        // a tenth of the narrowest over four batches: 25 ns
        assert!((wide.variance - (265.0 * 265.0 / 12.0 + 7.5)).abs() < 1e-6);
        let narrow = path.measurement(width(400.0), 0.0);
        assert!((narrow.variance - (10.0 * 10.0 / 12.0 + 0.5)).abs() < 1e-6);
        let first = PathWidth::new().measurement(width(1_000.0), 0.0);
        assert!((first.variance - (100.0 * 100.0 / 12.0 + 0.5)).abs() < 1e-6);
    }
}
