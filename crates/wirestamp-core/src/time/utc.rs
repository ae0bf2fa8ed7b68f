//! The offset between the real-time clock and the monotonic clock, and notices its steps.
//!
//! Linux gives software timestamps on the real-time clock. Between steps its distance to the
//! monotonic clock is constant, so every reading of both narrows one interval; a reading
//! that contradicts the interval *is* a step.

use super::{MonotonicTime, Span, UtcTime};

/// The real-time clock read between two readings of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "crate::serialized::UtcReading",
        into = "crate::serialized::UtcReading"
    )
)]
pub struct UtcCrossTimestamp {
    /// The monotonic clock just before.
    pub before: MonotonicTime,
    /// The real-time clock in between.
    pub utc: UtcTime,
    /// The monotonic clock just after.
    pub after: MonotonicTime,
}

/// The limits within which a system's real-time clock runs against its monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealTimeClock {
    /// How fast it is moved against the monotonic clock at most, other than by steps: 0 where both are
    /// slewed alike.
    pub slew_parts_per_million: u32,
    /// How finely it and the monotonic clock count: what they show is rounded down to the coarser of
    /// their ticks.
    pub tick: Span,
}

impl RealTimeClock {
    /// Linux: slewed together with the monotonic clock, counting nanoseconds.
    pub const LINUX: Self = Self {
        slew_parts_per_million: 0,
        tick: Span::from_nanoseconds(1),
    };
}

/// A timestamp of the real-time clock, placed on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedUtc {
    /// The truth lies within `bound` of `at`.
    At {
        /// The timestamp on the monotonic clock.
        at: MonotonicTime,
        /// How far the truth can be from `at`.
        bound: Span,
        /// Whether the real-time clock was stepped between timestamp and reading (the older
        /// offset was used).
        stepped: bool,
    },
    /// The real-time clock was stepped around the time of the timestamp, and the timestamp fits
    /// either side of the step or neither: no time can be given.
    Stepped,
}

/// Readings of the clocks are printed to the nanosecond and rounded down.
const ROUNDING: i64 = 1;
/// A timestamp can have been made so much before it came to the queue that it is read from.
const LAG: Span = Span::from_seconds(1);
/// How many steps back a timestamp can still be resolved.
const SEGMENTS: usize = 4;

/// UTC − monotonic lies in `low..=high` from one step to the next. Neither is seen, and whoever
/// reads the clocks may be held up between two of them: each side has the limit that is safe.
#[derive(Debug, Clone, Copy)]
struct Segment {
    low: i64,
    high: i64,
    /// This one held by then.
    begun_by: MonotonicTime,
    /// And it still did then, or later.
    held_at: MonotonicTime,
}

/// The offset between the real-time and the monotonic clock, with its recent steps. What every timestamp needs stands together
/// in memory: a program with a thousand sockets has one of these for each.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct UtcModel {
    /// An offset that is not among the segments may have held until then.
    forgotten: MonotonicTime,
    /// All timestamps still to be placed came to their queue later.
    floor: MonotonicTime,
    known: usize,
    /// Newest first; entries from `known` on are not in use.
    segments: [Segment; SEGMENTS],
}

impl UtcModel {
    /// Starts from one reading, when there was no timestamp yet.
    pub fn new(reading: UtcCrossTimestamp) -> Self {
        let segment = Segment::new(reading);
        Self {
            segments: [segment; SEGMENTS],
            known: 1,
            forgotten: MonotonicTime::MIN,
            floor: reading.before,
        }
    }

    /// Notes that all timestamps still to be placed came to their queue after `at`: it was seen empty then, or
    /// gave a timestamp of then. Without that, a step back would leave every timestamp in doubt until
    /// the real-time clock is where it was before.
    #[inline]
    pub fn emptied(&mut self, at: MonotonicTime) {
        self.floor = self.floor.max(at);
        if self.floor - LAG > self.segments[0].begun_by {
            self.known = 1; // nothing is left that an older offset could place
        }
    }

    /// Takes a reading in; returns the size of the step if the real-time clock was stepped
    /// since the last one. A step that is smaller than the readings are wide does not show, and two
    /// steps between two readings are one.
    pub fn observe(&mut self, reading: UtcCrossTimestamp) -> Option<Span> {
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
        earliest: MonotonicTime,
        latest: MonotonicTime,
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

    /// Returns whether the real-time clock was not stepped since the oldest timestamp still to be placed, given the
    /// difference of the clocks just now, read exactly. Then [`place`](Self::place) is right for
    /// every timestamp made until now.
    #[inline]
    pub fn is_unchanged(&self, difference: i64) -> bool {
        let current = &self.segments[0];
        self.known == 1 && current.is_exact() && (current.low..=current.high).contains(&difference)
    }

    /// Places a timestamp of the real-time clock on the monotonic clock where it
    /// [was not stepped](Self::is_unchanged); the truth is within [`bound`](Self::bound) of it.
    #[inline]
    pub fn place(&self, timestamp: UtcTime) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(
            timestamp
                .nanoseconds()
                .saturating_sub(self.segments[0].middle()),
        )
    }

    /// Returns half the width of the interval in which the current offset is known to lie.
    #[inline]
    pub fn bound(&self) -> Span {
        Span::from_nanoseconds(i128::from(self.segments[0].half_width()))
    }

    /// Converts an instant since the last step to the real-time clock; off by at most
    /// [`bound`](Self::bound).
    #[inline]
    pub fn to_utc(&self, at: MonotonicTime) -> UtcTime {
        UtcTime::from_nanoseconds(at.nanoseconds().saturating_add(self.segments[0].middle()))
    }

    /// Places a timestamp of the real-time clock on the monotonic clock. `read_at`: when the timestamp
    /// was fetched, so the latest it can have been made.
    #[inline]
    pub fn resolve(&self, timestamp: UtcTime, read_at: MonotonicTime) -> ResolvedUtc {
        let (at, slack) = self.segments[0].place(timestamp);
        let not_before = (self.floor - LAG).nanoseconds().saturating_sub(slack);
        if self.known == 1 && at >= not_before && at <= read_at.nanoseconds().saturating_add(slack)
        {
            return resolved(at, slack, false);
        }
        self.search(timestamp, read_at)
    }

    /// The same where the real-time clock was stepped.
    fn search(&self, timestamp: UtcTime, read_at: MonotonicTime) -> ResolvedUtc {
        let mut found = None;
        for (steps_back, segment) in self.segments[..self.known].iter().enumerate() {
            let (at, slack) = segment.place(timestamp);
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
                return ResolvedUtc::Stepped;
            }
            found = Some(resolved(at, slack, steps_back > 0));
        }
        found.unwrap_or(ResolvedUtc::Stepped)
    }
}

#[inline]
fn resolved(at: i64, slack: i64, stepped: bool) -> ResolvedUtc {
    let (at, bound) = (
        MonotonicTime::from_nanoseconds(at),
        Span::from_nanoseconds(i128::from(slack)),
    );
    ResolvedUtc::At { at, bound, stepped }
}

impl Segment {
    fn new(reading: UtcCrossTimestamp) -> Self {
        let utc = reading.utc.nanoseconds();
        Self {
            low: utc
                .saturating_sub(reading.after.nanoseconds())
                .saturating_sub(ROUNDING),
            high: utc
                .saturating_sub(reading.before.nanoseconds())
                .saturating_add(ROUNDING),
            begun_by: reading.after,
            held_at: reading.before,
        }
    }

    /// Where a timestamp lies on the monotonic clock, and how far that can be off, in nanoseconds.
    #[inline]
    fn place(&self, timestamp: UtcTime) -> (i64, i64) {
        (
            timestamp.nanoseconds().saturating_sub(self.middle()),
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
