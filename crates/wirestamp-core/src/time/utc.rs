//! The offset between the real-time clock and the monotonic clock, and the detection of steps.
//!
//! Linux makes software timestamps on the real-time clock. Between steps its offset from the
//! monotonic clock is constant, so every reading of both narrows the same interval; a reading that
//! contradicts the interval shows a step.

use super::{MonotonicTime, Span, UtcTime};

/// A reading of the real-time clock between two readings of the monotonic clock.
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

/// The result of converting a timestamp of the real-time clock to the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedUtc {
    /// The timestamp was converted.
    At {
        /// The timestamp on the monotonic clock.
        at: MonotonicTime,
        /// The error bound of `at`.
        bound: Span,
        /// Whether the real-time clock was stepped between the timestamp and its reading, so that
        /// an older offset was used.
        stepped: bool,
    },
    /// The real-time clock was stepped around the time of the timestamp, which fits both sides of
    /// the step or neither, so it cannot be converted.
    Stepped,
}

/// The rounding error of clock readings, which are rounded down to a nanosecond.
const ROUNDING: i64 = 1;
/// The longest time from a timestamp to its arrival in the queue that it is read from.
const LAG: Span = Span::from_seconds(1);
/// The number of offsets that are remembered, one per step.
const SEGMENTS: usize = 4;

/// The interval `low..=high` of UTC − monotonic from one step to the next. The steps themselves are
/// not observed, and the reading thread may be delayed between two readings, so each end has the
/// safe limit.
#[derive(Debug, Clone, Copy)]
struct Segment {
    low: i64,
    high: i64,
    /// The offset was valid at this time at the latest.
    begun_by: MonotonicTime,
    /// The offset was still valid at this time.
    held_at: MonotonicTime,
}

/// The offset between the real-time and the monotonic clock, with its recent steps. The fields that
/// every timestamp needs are adjacent in memory, because a program with a thousand sockets has one
/// model for each.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct UtcModel {
    /// Until this time an offset may have been valid that is no longer among the segments.
    forgotten: MonotonicTime,
    /// All timestamps that are still to be converted came to their queue after this.
    floor: MonotonicTime,
    known: usize,
    /// Newest first; entries from `known` on are unused.
    segments: [Segment; SEGMENTS],
}

impl UtcModel {
    /// Creates a model from one reading, before the first timestamp.
    pub fn new(reading: UtcCrossTimestamp) -> Self {
        let segment = Segment::new(reading);
        Self {
            segments: [segment; SEGMENTS],
            known: 1,
            forgotten: MonotonicTime::MIN,
            floor: reading.before,
        }
    }

    /// Notes that all timestamps that are still to be converted came to their queue after `at`,
    /// because the queue was empty then or returned a timestamp from then. Without this, a step
    /// back would make all timestamps ambiguous until the real-time clock reaches its old value.
    #[inline]
    pub fn emptied(&mut self, at: MonotonicTime) {
        self.floor = self.floor.max(at);
        if self.floor - LAG > self.segments[0].begun_by {
            self.known = 1; // no remaining timestamp can need an older offset
        }
    }

    /// Adds a reading, and returns the size of the step if the real-time clock was stepped since
    /// the last one (positive: forward). A step smaller than the width of the readings is not
    /// detected; two steps between two readings count as one.
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

    /// Adds an exact difference of the clocks, read at some instant from `earliest` to `latest`,
    /// like [`observe`](Self::observe). It detects steps down to 2 ns, less than the time between
    /// two readings.
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
                (current.low, current.high) = (low, high); // only once, because many steps of 1 ns would add up
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

    /// Returns whether the real-time clock was not stepped since the oldest timestamp that is still
    /// to be converted, given the exact difference of the clocks now. If true,
    /// [`place`](Self::place) is correct for every timestamp until now.
    #[inline]
    pub fn is_unchanged(&self, difference: i64) -> bool {
        let current = &self.segments[0];
        self.known == 1 && current.is_exact() && (current.low..=current.high).contains(&difference)
    }

    /// Converts a timestamp of the real-time clock to the monotonic clock, if that [was not
    /// stepped](Self::is_unchanged); the error bound is [`bound`](Self::bound).
    #[inline]
    pub fn place(&self, timestamp: UtcTime) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(
            timestamp
                .nanoseconds()
                .saturating_sub(self.segments[0].middle()),
        )
    }

    /// Returns the error bound of the current offset: half the width of its interval.
    #[inline]
    pub fn bound(&self) -> Span {
        Span::from_nanoseconds(i128::from(self.segments[0].half_width()))
    }

    /// Converts an instant since the last step to the real-time clock; the error bound is
    /// [`bound`](Self::bound).
    #[inline]
    pub fn to_utc(&self, at: MonotonicTime) -> UtcTime {
        UtcTime::from_nanoseconds(at.nanoseconds().saturating_add(self.segments[0].middle()))
    }

    /// Converts a timestamp of the real-time clock to the monotonic clock. `read_at` is the time at
    /// which it was read, the latest at which it can have been made.
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

    /// Converts a timestamp if the real-time clock was stepped.
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

    /// Converts a timestamp to the monotonic clock, and returns its error bound, both in
    /// nanoseconds.
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
