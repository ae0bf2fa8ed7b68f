//! Owns the few instants of an epoch at which the relation of the clocks is remembered.
//! Does not know how they were found.
//!
//! They lie the farther apart the older they are: a rate is told best from an instant some
//! tens of seconds ago, a stamp asks for the last second.

use super::interval::Interval;
use super::reading::{difference, magnitude};
use crate::time::{HardwareTicks, SystemTime};

/// How many are kept.
const KEPT: usize = 10;
/// Older ones may go altogether, in nanoseconds: 300 s.
const OLD: f64 = 300e9;

/// What is known of one instant: when the counter showed `ticks`, the system clock stood at
/// `at` plus something in `allowed`, and most likely plus `centre`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knot {
    pub(super) ticks: HardwareTicks,
    pub(super) at: SystemTime,
    pub(super) allowed: Interval,
    pub(super) centre: f64,
}

impl Knot {
    /// How far the truth can be from the centre.
    pub(super) fn half_width(&self) -> f64 {
        (self.allowed.high - self.centre).max(self.centre - self.allowed.low)
    }

    /// From here to `later`: nanoseconds of the scale, and by how much the system clock gained
    /// on it.
    pub(super) fn way_to(&self, ticks: HardwareTicks, at: SystemTime, scale: f64) -> (f64, f64) {
        let width = ticks.since(self.ticks) as f64 * scale;
        (width, difference(at, self.at) - width)
    }
}

/// Oldest first; never empty.
#[derive(Debug, Clone)]
pub(super) struct Knots {
    all: [Knot; KEPT],
    count: usize,
}

impl Knots {
    pub(super) fn new(first: Knot) -> Self {
        Self { all: [first; KEPT], count: 1 }
    }

    pub(super) fn all(&self) -> &[Knot] {
        &self.all[..self.count]
    }

    pub(super) fn newest(&self) -> &Knot {
        &self.all[self.count - 1]
    }

    pub(super) fn newest_mut(&mut self) -> &mut Knot {
        &mut self.all[self.count - 1]
    }

    /// The one before the newest.
    pub(super) fn previous_mut(&mut self) -> Option<&mut Knot> {
        self.count.checked_sub(2).map(|place| &mut self.all[place])
    }

    /// Appends one that is newer than all others; one that tells little goes.
    pub(super) fn push(&mut self, knot: Knot) {
        if self.count == KEPT {
            let dispensable = self.dispensable(knot.at);
            self.all.copy_within(dispensable + 1.., dispensable);
            self.count -= 1;
        }
        self.all[self.count] = knot;
        self.count += 1;
    }

    /// The one whose neighbours lie closest together for their age.
    fn dispensable(&self, now: SystemTime) -> usize {
        if difference(now, self.all[0].at) > OLD {
            return 0;
        }
        let crowding = |place: usize| {
            let gap = difference(self.all[place + 1].at, self.all[place - 1].at);
            gap / magnitude(difference(now, self.all[place].at)).max(1.0)
        };
        let places = 1..KEPT - 2;
        places
            .map(|place| (place, crowding(place)))
            .fold((1, f64::INFINITY), |least, this| if this.1 < least.1 { this } else { least })
            .0
    }
}
