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

/// civil − steady lies in `low..=high` from one step to the next. Neither is seen, and whoever
/// reads the clocks may be held up between two of them: each side has the limit that is safe.
#[derive(Debug, Clone, Copy)]
struct Segment {
    low: i64,
    high: i64,
    /// This one held by then.
    begun_by: SystemTime,
    /// And it still did then, or later.
    held_at: SystemTime,
}

/// The offset between the civil and the steady clock, with its recent steps.
#[derive(Debug, Clone)]
pub struct WallOffset {
    /// Newest first; entries from `known` on are not in use.
    segments: [Segment; SEGMENTS],
    known: usize,
    /// An offset that is not among them may have held until then.
    forgotten: SystemTime,
    /// All stamps still to be placed came to their queue later.
    floor: SystemTime,
}

impl WallOffset {
    /// Starts from one reading, when there was no stamp yet.
    pub fn new(reading: WallReading) -> Self {
        let segment = Segment::new(reading);
        Self {
            segments: [segment; SEGMENTS],
            known: 1,
            forgotten: SystemTime::MIN,
            floor: reading.before,
        }
    }

    /// All stamps still to be placed came to their queue after `at`: it was seen empty then, or
    /// gave a stamp of then. Without that, a step back would leave every stamp in doubt until
    /// the civil clock is where it was before.
    #[inline]
    pub fn emptied(&mut self, at: SystemTime) {
        self.floor = self.floor.max(at);
        if self.floor - LAG > self.segments[0].begun_by {
            self.known = 1; // nothing is left that an older offset could place
        }
    }

    /// Takes a reading in; returns the size of the step if the civil clock was stepped
    /// since the last one. A step that is smaller than the readings are wide does not show, and two
    /// steps between two readings are one.
    pub fn observe(&mut self, reading: WallReading) -> Option<Span> {
        let fresh = Segment::new(reading);
        let current = &mut self.segments[0];
        let (low, high) = (current.low.max(fresh.low), current.high.min(fresh.high));
        if low <= high {
            (current.low, current.high) = (low, high);
            current.held_at = current.held_at.max(fresh.held_at);
            return None;
        }
        Some(self.step_to(fresh))
    }

    /// As [`observe`](Self::observe), of a difference of the clocks that was read exactly, at some
    /// instant from `earliest` to `latest`: a step of 2 ns shows, which is less than two readings can
    /// lie apart.
    pub fn observe_exactly(
        &mut self,
        difference: i64,
        earliest: SystemTime,
        latest: SystemTime,
    ) -> Option<Span> {
        let (low, high) = (
            difference.saturating_sub(ROUNDING),
            difference.saturating_add(ROUNDING),
        );
        let current = &mut self.segments[0];
        if (current.low..=current.high).contains(&difference) {
            if !current.is_exact() {
                (current.low, current.high) = (low, high); // once: many steps of 1 ns add up
            }
            current.held_at = current.held_at.max(earliest);
            return None;
        }
        Some(self.step_to(Segment {
            low,
            high,
            begun_by: latest,
            held_at: earliest,
        }))
    }

    fn step_to(&mut self, fresh: Segment) -> Span {
        let step = i128::from(fresh.middle()) - i128::from(self.segments[0].middle());
        if self.known == SEGMENTS {
            self.forgotten = self.segments[SEGMENTS - 2].begun_by;
        }
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
        self.known == 1 && current.is_exact() && (current.low..=current.high).contains(&difference)
    }

    /// Places a stamp of the civil clock on the steady clock where it
    /// [was not stepped](Self::is_unchanged); the truth is within [`bound`](Self::bound) of it.
    #[inline]
    pub fn place(&self, stamp: WallTime) -> SystemTime {
        SystemTime::from_nanoseconds(
            stamp
                .nanoseconds()
                .saturating_sub(self.segments[0].middle()),
        )
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
        if self.known == 1 && at >= not_before && at <= read_at.nanoseconds().saturating_add(slack)
        {
            return resolved(at, slack, false);
        }
        self.search(stamp, read_at)
    }

    /// The same where the civil clock was stepped.
    fn search(&self, stamp: WallTime, read_at: SystemTime) -> WallResolution {
        let mut found = None;
        for (steps_back, segment) in self.segments[..self.known].iter().enumerate() {
            let (at, slack) = segment.place(stamp);
            let older = self.segments[..self.known].get(steps_back + 1);
            let not_before = older
                .map_or(self.forgotten, |older| older.held_at)
                .max(self.floor - LAG);
            let not_after = if steps_back == 0 {
                read_at
            } else {
                self.segments[steps_back - 1].begun_by
            };
            if at < not_before.nanoseconds().saturating_sub(slack)
                || at > not_after.nanoseconds().saturating_add(slack)
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
    let (at, bound) = (
        SystemTime::from_nanoseconds(at),
        Span::from_nanoseconds(i128::from(slack)),
    );
    WallResolution::At { at, bound, stepped }
}

impl Segment {
    fn new(reading: WallReading) -> Self {
        let wall = reading.wall.nanoseconds();
        Self {
            low: wall
                .saturating_sub(reading.after.nanoseconds())
                .saturating_sub(ROUNDING),
            high: wall
                .saturating_sub(reading.before.nanoseconds())
                .saturating_add(ROUNDING),
            begun_by: reading.after,
            held_at: reading.before,
        }
    }

    /// Where a stamp lies on the steady clock, and how far that can be off, in nanoseconds.
    #[inline]
    fn place(&self, stamp: WallTime) -> (i64, i64) {
        (
            stamp.nanoseconds().saturating_sub(self.middle()),
            self.half_width(),
        )
    }

    const fn is_exact(&self) -> bool {
        self.high.saturating_sub(self.low) <= 2 * ROUNDING
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
mod tests;
