//! The assumptions about the clocks, in the units of the fit.

use super::Assumptions;
use crate::time::Span;

/// The ratio of a frequency change, and of a time, by one clock to the same by the other: the rates
/// are within 1000 ppm of each other. The rest is for rounding.
const BY_EITHER_CLOCK: f64 = 1.005;
/// The largest value of `hidden`, 10 s. `CorrelatorOptions::fault` refuses assumptions that need more.
const LARGEST: f64 = 1e10;

/// The values of [`Assumptions`], per nanosecond and in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// That of the oscillators, and of unseen changes spread over the time in which they are made.
    pub(super) wander: f64,
    pub(super) tick: f32,
    /// How far a clock is from one whose unseen changes are spread out.
    pub(super) hidden: f32,
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
        let change = assumptions.unseen_change;
        let change = if change >= 0.0 && change.is_finite() {
            change * BY_EITHER_CLOCK
        } else {
            usual.unseen_change
        };
        let within = assumptions.unseen_within.max(Span::from_nanoseconds(1));
        let within = within.saturating_nanoseconds() as f64;
        Self {
            wander: wander / 1e9 + change / within,
            tick: rounded_up(tick.saturating_nanoseconds()),
            hidden: (change * within / 8.0 * BY_EITHER_CLOCK).min(LARGEST) as f32,
        }
    }
}

/// Returns the nanoseconds, or a little more: the nearest `f32` may be less.
fn rounded_up(nanoseconds: i64) -> f32 {
    let nearest = nanoseconds as f32;
    if f64::from(nearest) < nanoseconds as f64 {
        nearest * (1.0 + f32::EPSILON)
    } else {
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_never_taken_for_less() {
        for nanoseconds in [1, 8, 1_000_000, 16_777_217, 33_333_333, 999_999_937] {
            let tick = Span::from_nanoseconds(nanoseconds.into());
            let limits = Limits::of(&Assumptions {
                largest_tick: tick,
                ..Assumptions::USUAL
            });
            let taken = f64::from(limits.tick);
            let exact = nanoseconds as f64;
            assert!(
                (exact..exact * 1.000_001).contains(&taken),
                "{nanoseconds}: {taken}"
            );
        }
    }
}
