//! The possible deviation of the clocks' relation from the straight line between two remembered
//! instants: by the oscillator's wander, or by a program's change that cross timestamps reveal.
//!
//! The statements and their proofs are in `docs/error-bound.md`; the numbers in comments are theirs.

use super::fit::{Fit, MEASURED, SLEW, STATED};
use super::interval::Interval;
use super::knots::{KEPT, Knot};
use super::reading::magnitude;

/// Compensates rounding to f32.
const ROUNDED_UP: f64 = 1.0 + 1e-6;

/// Converts to f32, rounded up.
fn at_least(nanoseconds: f64) -> f32 {
    (nanoseconds * ROUNDED_UP) as f32
}

/// The deviation from the chord over `width` nanoseconds, if the frequency changes by `wander` per
/// nanosecond (1).
pub(super) fn bent(wander: f64, width: f64) -> f64 {
    wander * width * width / 8.0
}

impl Fit {
    /// Keeps the newest instant, because a new batch begins `width` nanoseconds later.
    pub(super) fn remember(&mut self, width: f64) {
        let bend = at_least(bent(self.wander, width));
        let Some(learning) = &mut self.learning else {
            return;
        };
        let newest = self.knots.newest_mut();
        newest.bend = bend;
        let (at, told) = (newest.at, learning.told);
        let place = self.knots.all().len() - 1;
        learning.brackets[place] = told.rounded_outward();
        if let Some(place) = self.knots.crowded(at) {
            self.forget(place);
        }
    }

    /// Drops an instant: its two chords become one longer chord (2).
    fn forget(&mut self, place: usize) {
        let (scale, wander) = (self.scale, self.wander);
        let Some(learning) = &mut self.learning else {
            return;
        };
        if let (Some(before), [this, next, ..]) = (place.checked_sub(1), &self.knots.all()[place..])
        {
            let previous = &self.knots.all()[before];
            let (first, second) = (
                Way::between(previous, this, scale),
                Way::between(this, next, scale),
            );
            let (all, part) = (
                first.width + second.width,
                first.width / (first.width + second.width),
            );
            let chord = (first.gained + second.gained) * part;
            let told = Interval::of_rounded(learning.brackets[place]);
            let off = magnitude(first.gained - chord)
                + (told.high - this.centre()).max(this.centre() - told.low);
            let there = previous.half_width() * (1.0 - part) + next.half_width() * part;
            let bends = f64::from(previous.bend.max(this.bend));
            let passed = bends + (off - there).max(0.0);
            // if only wander bent it, the longer chord's own bend is a limit too
            let bend = if self.knots.agree_from(before) {
                passed.min(bent(wander, all))
            } else {
                passed
            };
            self.knots.all_mut()[before].bend = at_least(bend);
        }
        self.knots.remove(place);
        learning.brackets.copy_within(place + 1.., place);
    }

    /// Allows for faster wander, also between the remembered instants.
    pub(super) fn believe_in(&mut self, wander: f64) {
        if wander > self.wander {
            let scale = self.scale;
            let knots = self.knots.all_mut();
            for place in 1..knots.len() {
                let width = Way::between(&knots[place - 1], &knots[place], scale).width;
                let before = &mut knots[place - 1];
                before.bend = before.bend.max(at_least(bent(wander, width)));
            }
        }
        self.wander = wander;
    }

    /// Handles a change that no oscillator makes, at an unknown time: batches no longer constrain
    /// each other, and from the newest one on the rate is estimated again. `implied` is the
    /// apparent change of the rate.
    pub(super) fn disbelieve(&mut self, implied: f64) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        learning.agreed_since = self.knots.newest().ticks;
        learning.carried = learning.carried.widened(implied.clamp(SLEW, STATED.high));
        learning.wander = learning.wander.clone().after_step(); // the change is not wander
        self.rate = learning.carried;
        self.reopen();
    }

    /// Reduces each instant to its own batch; between two of them there may have been a change (3).
    pub(super) fn reopen(&mut self) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        let place = self.knots.all().len() - 1;
        learning.brackets[place] = learning.told.rounded_outward();
        for (knot, told) in self.knots.all_mut().iter_mut().zip(&learning.brackets) {
            knot.allowed = Interval::of_rounded(*told);
            knot.centre = knot.allowed.clamp(knot.centre()) as f32;
        }
        self.knots.contradict();
        let bends: [f64; KEPT] = core::array::from_fn(|place| self.change_after(place));
        for (knot, bend) in self.knots.all_mut().iter_mut().zip(bends) {
            knot.bend = knot.bend.max(at_least(bend));
        }
    }

    /// The largest deviation from the chord by a change between one instant and the next.
    fn change_after(&self, place: usize) -> f64 {
        let knots = self.knots.all();
        let [Some(this), Some(next)] = [place, place + 1].map(|place| knots.get(place)) else {
            return 0.0;
        };
        let way = Way::between(this, next, self.scale);
        // the limit of the frequency's deviation from the scale on either side of the change
        let farthest = MEASURED.high * way.width
            + magnitude(way.gained)
            + this.half_width()
            + next.half_width();
        let least = match self.missed_after(place) {
            Some(missed) => missed.min(farthest),
            None => STATED.high * way.width / 2.0,
        };
        least + bent(self.wander, way.width)
    }

    /// The limit for a single change: the extrapolation of the instants before or after it misses
    /// the other end by at most this. `None` if there are neither.
    fn missed_after(&self, place: usize) -> Option<f64> {
        let knots = self.knots.all();
        let (this, next) = (knots.get(place)?, knots.get(place + 1)?);
        let way = Way::between(this, next, self.scale);
        let missed = |from: &Knot, to: &Knot| {
            let other = Way::between(from, to, self.scale);
            let carried = way.width / other.width;
            let off = magnitude(way.gained - other.gained * carried);
            let unsure = this.half_width()
                + next.half_width()
                + (from.half_width() + to.half_width()) * carried;
            off + unsure + self.wander * way.width * (way.width + other.width) / 2.0
        };
        let before = place.checked_sub(1).and_then(|place| knots.get(place));
        let before = before.map(|before| missed(before, this));
        let after = knots.get(place + 2).map(|after| missed(next, after));
        before.into_iter().chain(after).reduce(f64::min)
    }
}

/// The difference between the centres of two instants: nanoseconds of the scale, and the system
/// clock's gain on it.
#[derive(Debug, Clone, Copy)]
struct Way {
    width: f64,
    gained: f64,
}

impl Way {
    fn between(from: &Knot, to: &Knot, scale: f64) -> Self {
        let (width, gained) = from.way_to(to.ticks, to.at, scale);
        Self {
            width,
            gained: gained + to.centre() - from.centre(),
        }
    }
}

#[cfg(test)]
mod tests;
