//! The assumptions about the clocks, in the units of the fit.

use super::Assumptions;
use crate::time::Span;

/// The values of [`Assumptions`], per nanosecond and in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) wander: f64,
    pub(super) tick: f64,
}

impl Limits {
    /// Converts assumptions. NaN and negative values are replaced by the defaults.
    pub(super) fn of(assumptions: &Assumptions) -> Self {
        let usual = Assumptions::USUAL;
        let wander = assumptions.wander_per_second;
        let wander = if wander >= 0.0 && wander.is_finite() {
            wander
        } else {
            usual.wander_per_second
        };
        let tick = assumptions.largest_tick.max(Span::from_nanoseconds(1));
        Self {
            wander: wander / 1e9,
            tick: tick.saturating_nanoseconds() as f64,
        }
    }
}
