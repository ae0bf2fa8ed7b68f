//! Packets that contradicted each other while the clock was adjusted otherwise than at the beginning.

/// A fresh contradiction has nothing to do with one so many nanoseconds before it.
const FORGOTTEN: i64 = 900 * 1_000_000_000;

/// A contradiction beside an adjustment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt {
    /// How far adjustments moved the clock per nanosecond.
    pub(super) slope: f64,
    /// The adjustment is the same if it differs by no more.
    pub(super) tolerance: f64,
    /// The local time.
    pub(super) at: i64,
}

impl Doubt {
    /// Whether a fresh contradiction may have the same cause, after the slopes between two readings.
    pub(super) fn lasts(&self, slopes: (f64, f64), now: i64) -> bool {
        let is_recent = now.saturating_sub(self.at) <= FORGOTTEN;
        is_recent
            && slopes.0 <= self.slope + self.tolerance
            && self.slope - self.tolerance <= slopes.1
    }

    /// Whether a fresh one is beside the same adjustment.
    pub(super) fn is_confirmed_by(&self, fresh: &Self) -> bool {
        (self.slope - fresh.slope).abs() <= fresh.tolerance
    }
}
