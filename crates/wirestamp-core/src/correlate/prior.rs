//! How fast the relative frequency of two clocks may change.
//!
//! Bounds rest on the contract: a limit that no common oscillator exceeds, however quiet this one
//! has been; a quiet hour does not prove a quiet minute. If the readings show more, more counts.

use super::reading::magnitude;

/// Less is never learnt: 10⁻⁹ a second.
const QUIET: f64 = 1e-18;
/// More is no wander: 10⁻⁵ a second.
const WILDEST: f64 = 1e-14;
/// A rate is compared with one so many batches earlier.
const APART: u32 = 8;
/// And at least so many nanoseconds.
const APART_TIME: f64 = 4e9;
/// Rates farther apart, in nanoseconds, don't tell how fast they changed between: 30 s.
const SWING: f64 = 30e9;
/// What was learnt is doubled: the next change may be larger.
const SAFETY: f64 = 2.0;

/// A change of frequency by one clock is by the other what it is times the cube of the ratio of their rates,
/// which is within 1000 ppm of 1.
const BY_EITHER_CLOCK: f64 = 1.0031;

/// Wander of the oscillators.
#[derive(Debug, Clone)]
pub(super) struct Wander {
    /// The contract's.
    limit: f64,
    learnt: f64,
    /// An earlier rate, how long ago it was and how many batches.
    rate: f64,
    ago: f64,
    batches: u32,
    /// For how long the oscillator has been seen.
    age: f64,
}

impl Wander {
    /// `limit`: per nanosecond.
    pub(super) const fn new(limit: f64) -> Self {
        Self {
            limit,
            learnt: limit,
            rate: f64::NAN,
            ago: 0.0,
            batches: 0,
            age: 0.0,
        }
    }

    /// After an event: the oscillator is the same, its rate may be another.
    #[must_use]
    pub(super) const fn after_step(mut self) -> Self {
        (self.rate, self.ago, self.batches) = (f64::NAN, 0.0, 0);
        self
    }

    /// Per nanosecond: what readings have shown, doubled. No bound rests on it alone.
    pub(super) const fn seen(&self) -> f64 {
        self.learnt
    }

    /// Per nanosecond of either clock: what bounds rest on.
    pub(super) fn believed(&self) -> f64 {
        self.learnt.max(self.limit)
    }

    /// The same per nanosecond of the hardware clock, by which bounds are reckoned.
    pub(super) fn allowed(&self) -> f64 {
        self.believed() * BY_EITHER_CLOCK
    }

    /// `elapsed` nanoseconds after the last one the rate is estimated to be `rate`.
    pub(super) fn observe(&mut self, rate: f64, elapsed: f64) {
        self.ago += elapsed;
        self.age += elapsed;
        self.batches += 1;
        if self.rate.is_nan() && self.batches >= APART / 2 {
            (self.rate, self.ago, self.batches) = (rate, 0.0, 0);
        }
        if self.batches < APART || self.ago < APART_TIME {
            return;
        }
        let change = magnitude(rate - self.rate) / self.ago * SAFETY;
        // halves in 20 s, or in a third of the time that was seen
        let half_life = (self.age / 3.0).max(20e9);
        let kept = self.learnt / (1.0 + self.ago / half_life);
        // what swings faster than it is looked at is not seen
        let floor = if self.ago > SWING {
            self.limit.max(QUIET)
        } else {
            QUIET
        };
        self.learnt = change.max(kept).clamp(floor, WILDEST);
        (self.rate, self.ago, self.batches) = (rate, 0.0, 0);
    }

    /// The readings contradict what was learnt.
    pub(super) fn grow(&mut self) {
        self.learnt = (self.believed() * 2.0).min(WILDEST);
    }
}
