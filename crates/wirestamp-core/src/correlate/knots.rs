//! The few instants of a generation at which the relation of the clocks is remembered.
//! Does not know how they were found.
//!
//! They lie the farther apart the older they are: a rate is estimated best from an instant some
//! tens of seconds ago, a timestamp asks for the last second.

use super::interval::Interval;
use super::reading::{difference, magnitude};
use crate::time::{HardwareTicks, MonotonicTime};

/// How many are kept.
pub(super) const KEPT: usize = 10;
/// Older ones may go altogether, in nanoseconds: 300 s.
const OLD: f64 = 300e9;

/// What is known of one instant: when the counter showed `ticks`, the system clock stood at
/// `at` plus something in `allowed`, and most likely plus `centre`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knot {
    pub(super) ticks: HardwareTicks,
    pub(super) at: MonotonicTime,
    pub(super) allowed: Interval,
    /// A shorter float is enough: it is a choice, and the half width is reckoned from it.
    pub(super) centre: f32,
    /// How far the relation can leave the straight line from here to the next instant, in
    /// nanoseconds, beside what is uncertain at its ends. Rounded up.
    pub(super) bend: f32,
}

impl Knot {
    pub(super) fn centre(&self) -> f64 {
        f64::from(self.centre)
    }

    /// How far the truth can be from the centre.
    pub(super) fn half_width(&self) -> f64 {
        (self.allowed.high - self.centre()).max(self.centre() - self.allowed.low)
    }

    /// From here to `later`: nanoseconds of the scale, and by how much the system clock gained
    /// on it.
    pub(super) fn way_to(&self, ticks: HardwareTicks, at: MonotonicTime, scale: f64) -> (f64, f64) {
        let width = ticks.since(self.ticks) as f64 * scale;
        (width, difference(at, self.at) - width)
    }
}

/// Oldest first; never empty.
#[derive(Debug, Clone)]
pub(super) struct Knots {
    all: [Knot; KEPT],
    count: u8,
    /// How many of the newest contradict nothing before them.
    agreeing: u8,
    /// Whether readings have shown a change that no oscillator makes.
    pub(super) changed: bool,
}

impl Knots {
    pub(super) fn new(first: Knot) -> Self {
        Self {
            all: [first; KEPT],
            count: 1,
            agreeing: 1,
            changed: false,
        }
    }

    pub(super) fn all(&self) -> &[Knot] {
        &self.all[..usize::from(self.count)]
    }

    pub(super) fn newest(&self) -> &Knot {
        &self.all[usize::from(self.count) - 1]
    }

    pub(super) fn newest_mut(&mut self) -> &mut Knot {
        &mut self.all[usize::from(self.count) - 1]
    }

    /// The one before the newest.
    pub(super) fn previous_mut(&mut self) -> Option<&mut Knot> {
        self.count
            .checked_sub(2)
            .map(|place| &mut self.all[usize::from(place)])
    }

    pub(super) fn all_mut(&mut self) -> &mut [Knot] {
        &mut self.all[..usize::from(self.count)]
    }

    /// Appends one that is newer than all others. There is room for it.
    pub(super) fn push(&mut self, knot: Knot) {
        self.all[usize::from(self.count)] = knot;
        self.count += 1;
        self.agreeing += 1;
    }

    /// Readings have shown such a change: at the newest instant, or before it where brackets hid it.
    pub(super) fn contradict(&mut self) {
        (self.changed, self.agreeing) = (true, 0);
    }

    /// Whether nothing contradicts what was so from `earliest` to `latest`: that lies between instants that agree, and three of them
    /// came later (`docs/error-bound.md`, A6). `None`: since ever.
    pub(super) fn agree_around(
        &self,
        earliest: Option<MonotonicTime>,
        latest: MonotonicTime,
    ) -> bool {
        let all = self.all();
        let agreeing = &all[all.len() - usize::from(self.agreeing)..];
        let [first, .., third, _, _] = agreeing else {
            return false;
        };
        let begins = match earliest {
            Some(earliest) => earliest >= first.at,
            None => agreeing.len() == all.len(),
        };
        begins && latest <= third.at
    }

    /// Which one must go before there is room: one that adds little.
    pub(super) fn crowded(&self, now: MonotonicTime) -> Option<usize> {
        (usize::from(self.count) == KEPT).then(|| self.dispensable(now))
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.all.copy_within(place + 1.., place);
        let agrees = place >= usize::from(self.count - self.agreeing);
        self.agreeing -= u8::from(agrees);
        self.count -= 1;
    }

    /// The one whose neighbours lie closest together for their age.
    fn dispensable(&self, now: MonotonicTime) -> usize {
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
            .fold((1, f64::INFINITY), |least, this| {
                if this.1 < least.1 { this } else { least }
            })
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten instants at these seconds.
    fn knots(seconds: [i64; KEPT]) -> Knots {
        let knot = |seconds: i64| Knot {
            ticks: HardwareTicks::new(0),
            at: MonotonicTime::from_nanoseconds(seconds * 1_000_000_000),
            allowed: Interval::around_zero(1.0),
            centre: 0.0,
            bend: 0.0,
        };
        let mut knots = Knots::new(knot(seconds[0]));
        for seconds in &seconds[1..] {
            assert_eq!(knots.crowded(knots.newest().at), None, "there is room");
            knots.push(knot(*seconds));
        }
        knots
    }

    /// 81 s has its neighbours within 2 s and is 19 s old: a ninth; the next best, 82 s, has 16 of 18.
    #[test]
    fn the_one_with_the_closest_neighbours_for_its_age_goes() {
        let knots = knots([0, 20, 40, 60, 80, 81, 82, 97, 98, 100]);
        assert_eq!(knots.crowded(knots.newest().at), Some(5));
    }

    #[test]
    fn what_is_older_than_five_minutes_goes_first() {
        for (last, place) in [(299, 5), (300, 5), (301, 0)] {
            let knots = knots([0, 220, 240, 260, 280, 281, 282, 297, 298, last]);
            assert_eq!(knots.crowded(knots.newest().at), Some(place), "{last}");
        }
    }
}
