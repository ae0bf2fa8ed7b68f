//! The few instants of a generation (knots) at which the relation of the clocks is remembered.
//!
//! The older they are, the farther apart they are: a rate is best estimated from an instant some
//! tens of seconds ago, and timestamps are mostly of the last second.

use super::interval::Interval;
use super::reading::{difference, magnitude};
use crate::time::{HardwareTicks, MonotonicTime};

/// The number of knots that are kept.
pub(super) const KEPT: usize = 10;
/// The age in nanoseconds beyond which knots may be dropped: 300 s.
const OLD: f64 = 300e9;

/// The relation at one instant: when the counter showed `ticks`, the system clock was at `at` plus
/// a value in `allowed`, most likely `centre`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knot {
    pub(super) ticks: HardwareTicks,
    pub(super) at: MonotonicTime,
    pub(super) allowed: Interval,
    /// An f32 is enough, because the half width is computed from the chosen centre.
    pub(super) centre: f32,
    /// The largest deviation from the straight line to the next instant in nanoseconds, in addition
    /// to the uncertainty at its ends. Rounded up.
    pub(super) bend: f32,
}

impl Knot {
    pub(super) fn centre(&self) -> f64 {
        f64::from(self.centre)
    }

    /// The error bound of the centre.
    pub(super) fn half_width(&self) -> f64 {
        (self.allowed.high - self.centre()).max(self.centre() - self.allowed.low)
    }

    /// The difference from here to a later reading: nanoseconds of the scale, and the system
    /// clock's gain on it.
    pub(super) fn way_to(&self, ticks: HardwareTicks, at: MonotonicTime, scale: f64) -> (f64, f64) {
        let width = ticks.since(self.ticks) as f64 * scale;
        (width, difference(at, self.at) - width)
    }
}

/// The knots, oldest first; never empty.
#[derive(Debug, Clone)]
pub(super) struct Knots {
    all: [Knot; KEPT],
    count: u8,
    /// The number of newest knots without a contradiction.
    agreeing: u8,
    /// Whether cross timestamps have shown a change that no oscillator makes.
    pub(super) changed: bool,
    /// How far the clock may be from what is remembered of it: see
    /// [`Limits::hidden`](super::limits::Limits).
    pub(super) hidden: f32,
}

impl Knots {
    /// Begins with an instant; the clock may be `hidden` nanoseconds from what is remembered.
    pub(super) fn new(first: Knot, hidden: f32) -> Self {
        Self {
            all: [first; KEPT],
            count: 1,
            agreeing: 1,
            changed: false,
            hidden,
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

    /// The second newest.
    pub(super) fn previous_mut(&mut self) -> Option<&mut Knot> {
        self.count
            .checked_sub(2)
            .map(|place| &mut self.all[usize::from(place)])
    }

    pub(super) fn all_mut(&mut self) -> &mut [Knot] {
        &mut self.all[..usize::from(self.count)]
    }

    /// Appends one that is newer than all others. There must be room.
    pub(super) fn push(&mut self, knot: Knot) {
        self.all[usize::from(self.count)] = knot;
        self.count += 1;
        self.agreeing += 1;
    }

    /// Notes such a change, at the newest instant or before it, hidden by the brackets.
    pub(super) fn contradict(&mut self) {
        (self.changed, self.agreeing) = (true, 0);
    }

    /// Whether the period from `earliest` (`None` for the beginning) to `latest` is between
    /// instants that agree, with three later ones (`docs/error-bound.md`, A6).
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

    /// Whether readings have shown no change since the instant at `place`.
    pub(super) fn agree_from(&self, place: usize) -> bool {
        place >= usize::from(self.count - self.agreeing)
    }

    /// The knot to drop to make room, one that adds little.
    pub(super) fn crowded(&self, now: MonotonicTime) -> Option<usize> {
        (usize::from(self.count) == KEPT).then(|| self.dispensable(now))
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.all.copy_within(place + 1.., place);
        let agrees = self.agree_from(place);
        self.agreeing -= u8::from(agrees);
        self.count -= 1;
    }

    /// The knot whose neighbours are closest together for their age.
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
        let mut knots = Knots::new(knot(seconds[0]), 0.0);
        for seconds in &seconds[1..] {
            assert_eq!(knots.crowded(knots.newest().at), None, "there is room");
            knots.push(knot(*seconds));
        }
        knots
    }

    /// 81 s has its neighbours within 2 s and is 19 s old: a ninth; the second best, 82 s, has 16
    /// of 18.
    #[test]
    fn the_one_with_the_closest_neighbours_for_its_age_goes() {
        let knots = knots([0, 20, 40, 60, 80, 81, 82, 97, 98, 100]);
        assert_eq!(knots.crowded(knots.newest().at), Some(5));
    }

    #[test]
    fn readings_agree_from_the_first_instant_after_a_change() {
        let mut knots = knots([0, 20, 40, 60, 80, 81, 82, 97, 98, 100]);
        assert!(knots.agree_from(0));
        knots.contradict();
        assert!(!knots.agree_from(KEPT - 1));
        knots.remove(3);
        knots.push(*knots.newest());
        assert!(knots.agree_from(KEPT - 1) && !knots.agree_from(KEPT - 2));
        knots.remove(0);
        assert!(knots.agree_from(KEPT - 2) && !knots.agree_from(KEPT - 3));
    }

    #[test]
    fn what_is_older_than_five_minutes_goes_first() {
        for (last, place) in [(299, 5), (300, 5), (301, 0)] {
            let knots = knots([0, 220, 240, 260, 280, 281, 282, 297, 298, last]);
            assert_eq!(knots.crowded(knots.newest().at), Some(place), "{last}");
        }
    }
}
