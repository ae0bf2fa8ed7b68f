//! Fast slews of this host's clock, by readings of how far adjustments have moved it.

use super::Session;
use wirestamp_core::time::{Adjusted, Bounded, Span};

/// The fast slews until now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slews {
    newest: Option<Adjusted>,
    /// How far they have moved the clock at most, in both directions together.
    pub(super) total: Span,
}

impl Slews {
    fn note(&mut self, reading: Adjusted) {
        let Some(before) = self.newest.replace(reading) else {
            return;
        };
        let by = reading.by.value - before.by.value;
        let moved = Bounded::new(by, reading.by.bound + before.by.bound);
        if Adjusted::is_fast(moved, reading.at - before.at) {
            self.total += moved.value.abs() + moved.bound;
        }
    }
}

impl Session {
    /// Takes a reading of how far adjustments have moved the monotonic clock. With one before each request, and one after
    /// each reply was read, a time daemon's fast slew of this host's clock (by more than 1,000 ppm) is part of error
    /// bounds, and neither a step nor a reason to reject a reply.
    pub fn adjusted(&mut self, reading: Adjusted) {
        self.slews.note(reading);
    }
}

#[cfg(test)]
mod tests;
