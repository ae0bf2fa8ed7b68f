//! How wide brackets are when nothing delays them. Knows no clocks.
//!
//! What all readings of a quiet relation say together is about as wide as the narrowest
//! bracket: the shortest ways there and back. If it is narrower, the readings are not about
//! one straight line: somebody stepped a clock a little, or the rate wanders faster than
//! believed.

use super::bank::Measurement;
use super::interval::Interval;

/// A share of the narrowest bracket that two readings may lack by chance.
const CHANCE: f64 = 0.05;
/// How fast the narrowest bracket is forgotten, per batch.
const FORGETTING: f64 = 0.0002;
/// So many batches tell what is usual.
const ENOUGH: f64 = 8.0;
/// How fast the usual excess follows.
const FOLLOWING: f64 = 0.05;

/// Widths of batches, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct PathWidth {
    narrowest: f64,
    /// What batches have on top of it, usually.
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

    /// A complete batch.
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

    /// Whether an interval is narrower than the way allows. `grain`: of both clocks.
    pub(super) fn too_narrow(&self, interval: Interval, grain: f64) -> bool {
        self.batches >= ENOUGH
            && interval.width() + self.excess + CHANCE * self.narrowest + grain < self.narrowest
    }

    /// What a batch says of the offset. Of a bracket that is wider than it could be, either
    /// end is off: the centre anywhere within half the excess.
    /// `grain`: variance of what both clocks' steps do to the centre.
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
