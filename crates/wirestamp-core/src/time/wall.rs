//! Owns the offset between the civil clock and the steady clock, and notices its steps.
//!
//! Linux gives software stamps on the civil clock. Between steps its distance to the
//! steady clock is constant, so every reading of both narrows one interval; a reading
//! that contradicts the interval *is* a step.

use super::{Span, SystemTime, WallTime};

/// The civil clock read between two readings of the steady clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallReading {
    /// The steady clock just before.
    pub before: SystemTime,
    /// The civil clock in between.
    pub wall: WallTime,
    /// The steady clock just after.
    pub after: SystemTime,
}

/// Where a civil-clock stamp lies on the steady clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WallResolution {
    /// The truth lies within `bound` of `at`.
    At {
        /// The stamp on the steady clock.
        at: SystemTime,
        /// How far the truth can be from `at`.
        bound: Span,
        /// Whether the civil clock was stepped between stamp and reading (the older
        /// offset was used).
        stepped: bool,
    },
    /// The civil clock was stepped around the time of the stamp, and the stamp fits
    /// either side of the step or neither: no time can be given.
    Stepped,
}

/// Readings of the clocks are printed to the nanosecond and rounded down.
const ROUNDING: i64 = 1;
/// A stamp can have been made so much before it came to the queue that it is read from.
const LAG: Span = Span::from_seconds(1);
/// How many steps back a stamp can still be resolved.
const SEGMENTS: usize = 4;

/// civil − steady lies in `low..=high` for all of `first..=last`.
#[derive(Debug, Clone, Copy)]
struct Segment {
    low: i64,
    high: i64,
    first: SystemTime,
    last: SystemTime,
}

/// The offset between the civil and the steady clock, with its recent steps.
#[derive(Debug, Clone)]
pub struct WallOffset {
    /// Newest first; entries from `known` on are not in use.
    segments: [Segment; SEGMENTS],
    known: usize,
    /// All stamps still to be placed came to their queue later.
    floor: SystemTime,
}

impl WallOffset {
    /// Starts from one reading, when there was no stamp yet.
    pub fn new(reading: WallReading) -> Self {
        let segment = Segment::new(reading);
        Self { segments: [segment; SEGMENTS], known: 1, floor: reading.before }
    }

    /// All stamps still to be placed came to their queue after `at`: it was seen empty then, or
    /// gave a stamp of then. Without that, a step back would leave every stamp in doubt until
    /// the civil clock is where it was before.
    #[inline]
    pub fn emptied(&mut self, at: SystemTime) {
        self.floor = self.floor.max(at);
        if self.floor - LAG > self.segments[0].first {
            self.known = 1; // nothing is left that an older offset could place
        }
    }

    /// Takes a reading in; returns the size of the step if the civil clock was stepped
    /// since the last one.
    pub fn observe(&mut self, reading: WallReading) -> Option<Span> {
        let fresh = Segment::new(reading);
        let current = &mut self.segments[0];
        let (low, high) = (current.low.max(fresh.low), current.high.min(fresh.high));
        if low <= high {
            (current.low, current.high) = (low, high);
            current.last = current.last.max(reading.after);
            return None;
        }
        Some(self.step_to(fresh))
    }

    /// As [`observe`](Self::observe), of a difference of the clocks that was read exactly at `at`: a
    /// step of 2 ns shows, which is less than two readings can lie apart.
    pub fn observe_exactly(&mut self, difference: i64, at: SystemTime) -> Option<Span> {
        let (low, high) = (difference.saturating_sub(ROUNDING), difference.saturating_add(ROUNDING));
        let current = &mut self.segments[0];
        if (current.low..=current.high).contains(&difference) {
            (current.low, current.high, current.last) = (low, high, current.last.max(at));
            return None;
        }
        Some(self.step_to(Segment { low, high, first: at, last: at }))
    }

    fn step_to(&mut self, fresh: Segment) -> Span {
        let step = i128::from(fresh.middle()) - i128::from(self.segments[0].middle());
        self.segments.copy_within(0..SEGMENTS - 1, 1);
        self.segments[0] = fresh;
        self.known = (self.known + 1).min(SEGMENTS);
        Span::from_nanoseconds(step)
    }

    /// Whether the civil clock was not stepped since the oldest stamp still to be placed, given the
    /// difference of the clocks just now, read exactly. Then [`place`](Self::place) is right for
    /// every stamp made until now.
    #[inline]
    pub fn is_unchanged(&self, difference: i64) -> bool {
        let current = &self.segments[0];
        let is_exact = current.high.saturating_sub(current.low) <= 2 * ROUNDING;
        self.known == 1 && is_exact && (current.low..=current.high).contains(&difference)
    }

    /// Places a stamp of the civil clock on the steady clock where it
    /// [was not stepped](Self::is_unchanged); the truth is within [`bound`](Self::bound) of it.
    #[inline]
    pub fn place(&self, stamp: WallTime) -> SystemTime {
        SystemTime::from_nanoseconds(stamp.nanoseconds().saturating_sub(self.segments[0].middle()))
    }

    /// Half the width of the interval that the current offset is known to lie in.
    #[inline]
    pub fn bound(&self) -> Span {
        Span::from_nanoseconds(i128::from(self.segments[0].half_width()))
    }

    /// Now, or any instant since the last step, on the civil clock; off by at most
    /// [`bound`](Self::bound).
    #[inline]
    pub fn to_wall(&self, at: SystemTime) -> WallTime {
        WallTime::from_nanoseconds(at.nanoseconds().saturating_add(self.segments[0].middle()))
    }

    /// Places a stamp of the civil clock on the steady clock. `read_at`: when the stamp
    /// was fetched, so the latest it can have been made.
    #[inline]
    pub fn resolve(&self, stamp: WallTime, read_at: SystemTime) -> WallResolution {
        let (at, slack) = self.segments[0].place(stamp);
        let not_before = (self.floor - LAG).nanoseconds().saturating_sub(slack);
        if self.known == 1 && at >= not_before && at <= read_at.nanoseconds().saturating_add(slack) {
            return resolved(at, slack, false);
        }
        self.search(stamp, read_at)
    }

    /// The same where the civil clock was stepped.
    fn search(&self, stamp: WallTime, read_at: SystemTime) -> WallResolution {
        let mut found = None;
        for (steps_back, segment) in self.segments[..self.known].iter().enumerate() {
            let (at, slack) = segment.place(stamp);
            let known = self.segments[..self.known].get(steps_back + 1).map_or(SystemTime::MIN, |older| older.last);
            let not_before = known.max(self.floor - LAG);
            let not_after = if steps_back == 0 { read_at } else { self.segments[steps_back - 1].first };
            if at < not_before.nanoseconds().saturating_sub(slack) || at > not_after.nanoseconds().saturating_add(slack)
            {
                continue;
            }
            if found.is_some() {
                return WallResolution::Stepped;
            }
            found = Some(resolved(at, slack, steps_back > 0));
        }
        found.unwrap_or(WallResolution::Stepped)
    }
}

#[inline]
fn resolved(at: i64, slack: i64, stepped: bool) -> WallResolution {
    let (at, bound) = (SystemTime::from_nanoseconds(at), Span::from_nanoseconds(i128::from(slack)));
    WallResolution::At { at, bound, stepped }
}

impl Segment {
    fn new(reading: WallReading) -> Self {
        let wall = reading.wall.nanoseconds();
        Self {
            low: wall.saturating_sub(reading.after.nanoseconds()).saturating_sub(ROUNDING),
            high: wall.saturating_sub(reading.before.nanoseconds()).saturating_add(ROUNDING),
            first: reading.before,
            last: reading.after,
        }
    }

    /// Where a stamp lies on the steady clock, and how far that can be off, in nanoseconds.
    #[inline]
    fn place(&self, stamp: WallTime) -> (i64, i64) {
        (stamp.nanoseconds().saturating_sub(self.middle()), self.half_width())
    }

    #[inline]
    fn middle(&self) -> i64 {
        self.low + (self.high - self.low) / 2
    }

    #[inline]
    fn half_width(&self) -> i64 {
        (self.high - self.low + 1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFSET: i64 = 1_700_000_000_000_000_000;

    fn reading(at: i64, offset: i64, width: i64) -> WallReading {
        WallReading {
            before: SystemTime::from_nanoseconds(at),
            wall: WallTime::from_nanoseconds(at + width / 3 + offset),
            after: SystemTime::from_nanoseconds(at + width),
        }
    }

    fn stamp(at: i64, offset: i64) -> WallTime {
        WallTime::from_nanoseconds(at + offset)
    }

    #[test]
    fn readings_narrow_the_bound_and_hold_the_truth() {
        let mut offset = WallOffset::new(reading(1_000, OFFSET, 900));
        assert!(offset.bound() > Span::from_nanoseconds(400));
        assert_eq!(offset.observe(reading(5_000, OFFSET, 30)), None);
        assert_eq!(offset.observe(reading(9_000, OFFSET, 50_000)), None, "a preempted reading harms nothing");
        assert!(offset.bound() <= Span::from_nanoseconds(16));
        let WallResolution::At { at, bound, stepped } =
            offset.resolve(stamp(7_000, OFFSET), SystemTime::from_nanoseconds(70_000))
        else {
            panic!("not resolved")
        };
        assert!((at - SystemTime::from_nanoseconds(7_000)).abs() <= bound);
        assert!(!stepped);
    }

    #[test]
    fn a_stamp_from_before_a_step_is_placed_with_the_older_offset() {
        for step in [100_000_000_000, -100_000_000_000] {
            let mut offset = WallOffset::new(reading(1_000, OFFSET, 30));
            offset.observe(reading(1_000_000, OFFSET, 30));
            let seen = offset.observe(reading(2_000_000, OFFSET + step, 30)).expect("a step");
            assert!((seen.nanoseconds() - i128::from(step)).abs() < 40);
            let read_at = SystemTime::from_nanoseconds(2_000_100);
            let resolved = offset.resolve(stamp(900_000, OFFSET), read_at);
            let WallResolution::At { at, stepped: true, .. } = resolved else { panic!("{resolved:?}") };
            assert!((at - SystemTime::from_nanoseconds(900_000)).abs() <= Span::from_nanoseconds(16));
        }
    }

    #[test]
    fn a_stamp_that_fits_both_sides_of_a_small_step_is_not_guessed() {
        let mut offset = WallOffset::new(reading(1_000, OFFSET, 30));
        offset.observe(reading(2_000_000, OFFSET + 5_000, 30)).expect("a step");
        // made between the last reading before the step and the first one after it
        let resolved = offset.resolve(stamp(1_000_000, OFFSET), SystemTime::from_nanoseconds(2_000_100));
        assert_eq!(resolved, WallResolution::Stepped);
    }

    #[test]
    fn after_a_step_back_stamps_are_placed_at_once() {
        let (seconds, back) = (|count: i64| count * 1_000_000_000, -3_600);
        let mut offset = WallOffset::new(reading(seconds(10_000), OFFSET, 30));
        let place = |offset: &WallOffset, at: i64| {
            let resolved = offset.resolve(stamp(at, OFFSET + seconds(back)), SystemTime::from_nanoseconds(at + 50));
            matches!(resolved, WallResolution::At { stepped: false, .. })
        };
        // stepped before its first stamp: nothing is older than the offset itself
        let mut young = offset.clone();
        young.observe(reading(seconds(10_001), OFFSET + seconds(back), 30)).expect("a step");
        assert!(place(&young, seconds(10_001)));
        // stepped later: the same civil time was shown an hour before
        offset.observe(reading(seconds(20_000), OFFSET, 30));
        offset.observe(reading(seconds(20_010), OFFSET + seconds(back), 30)).expect("a step");
        assert!(!place(&offset, seconds(20_009)), "an hour ago, or now?");
        offset.emptied(SystemTime::from_nanoseconds(seconds(20_010)));
        assert!(place(&offset, seconds(20_010)) && place(&offset, seconds(20_011)));
        // and in the end the step is history
        let difference = OFFSET + seconds(back);
        assert_eq!(offset.observe_exactly(difference, SystemTime::from_nanoseconds(seconds(20_010))), None);
        assert!(!offset.is_unchanged(difference), "stamps from before may still come");
        offset.emptied(SystemTime::from_nanoseconds(seconds(20_012)));
        assert!(offset.is_unchanged(difference));
    }

    #[test]
    fn an_exact_difference_is_as_good_as_it_says_until_a_step() {
        let mut offset = WallOffset::new(reading(1_000, OFFSET, 900));
        let at = SystemTime::from_nanoseconds;
        assert!(!offset.is_unchanged(OFFSET), "not known exactly yet");
        assert_eq!(offset.observe_exactly(OFFSET, at(4_000)), None);
        assert_eq!(offset.bound(), Span::from_nanoseconds(1));
        assert!(offset.is_unchanged(OFFSET) && !offset.is_unchanged(OFFSET + 2));
        assert_eq!(offset.place(stamp(5_000, OFFSET)), at(5_000));
        // less than a reading can see, and more than the bound allows for
        assert_eq!(offset.observe_exactly(OFFSET - 2, at(9_000)), Some(Span::from_nanoseconds(-2)));
        assert!(!offset.is_unchanged(OFFSET - 2), "older stamps may still come");
    }

    #[test]
    fn a_stamp_from_the_future_is_not_believed() {
        let offset = WallOffset::new(reading(1_000, OFFSET, 30));
        let resolved = offset.resolve(stamp(10_000_000, OFFSET), SystemTime::from_nanoseconds(5_000));
        assert_eq!(resolved, WallResolution::Stepped);
    }
}
