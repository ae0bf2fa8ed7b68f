//! The fast path for timestamps since the newest cross timestamp that can only be of the current
//! generation. All others take the general path.

use super::convert::LINGERS;
use super::fit::Converted;
use super::generation::LONGEST_GAP;
use super::model::Correlation;
use super::segment::Segment;
use super::{ClockGeneration, Estimate, SliceEstimate};
use crate::interface::InterfaceIndex;
use crate::time::{Bounded, HardwareTicks, Monotonic, MonotonicTime, Span};
use crate::timestamp::HardwareTimestamp;

/// A timestamp that was read this long after a generation began cannot be of the one before:
/// [`LINGERS`] plus twice the largest error bound.
const SETTLED: Span = Span::from_seconds(12);

/// Differences of system times after this one do not wrap.
const EARLIEST: MonotonicTime = MonotonicTime::from_nanoseconds(i64::MIN / 2);

/// [`LINGERS`], in nanoseconds.
const LONGEST_WAIT: u64 = LINGERS.nanoseconds() as u64;

/// The largest error bound.
const LARGEST_BOUND: Span = Span::from_seconds(1);

/// The newest line, limited to timestamps that were certainly read during its generation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front {
    /// The interface of the clock; 0 while nothing can be converted.
    interface: u32,
    generation: ClockGeneration,
    segment: Segment,
}

/// The newest line, and the period in which a timestamp of its generation must have been read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Express {
    pub(super) front: Front,
    /// The beginning and the length of that period.
    from: i64,
    during: u64,
}

impl Express {
    /// Converts nothing.
    pub(super) const NONE: Self = Self {
        front: Front::NONE,
        from: 0,
        during: 0,
    };

    pub(super) fn of(correlation: &Correlation) -> Self {
        let Some((run, fit)) = correlation
            .runs
            .back()
            .and_then(|run| Some((run, run.fit()?)))
        else {
            return Self::NONE;
        };
        let alone = correlation.runs.len() == 1;
        let from = if alone {
            MonotonicTime::MIN
        } else {
            run.first + SETTLED
        };
        let until = if correlation.ended.is_some() {
            run.last
        } else {
            run.last + LONGEST_GAP
        };
        if until < from {
            return Self::NONE;
        }
        // a timestamp is read no earlier than its time minus the bound, and no later than its time
        // plus the longest wait
        let start = fit.front().start();
        let is_settled = start > EARLIEST && (alone || start - LARGEST_BOUND >= from);
        let segment = fit.front().cut(if is_settled {
            until - LINGERS
        } else {
            MonotonicTime::MIN
        });
        Self {
            front: Front {
                interface: correlation.interface.get(),
                generation: run.number,
                segment,
            },
            from: from.nanoseconds(),
            during: until.nanoseconds().wrapping_sub(from.nanoseconds()) as u64,
        }
    }

    /// Accepts the conversion of an older timestamp with the current generation, which began at
    /// `first`, if it can only be of this generation.
    pub(super) fn admit(
        &self,
        converted: Converted,
        first: MonotonicTime,
        read_at: MonotonicTime,
    ) -> Option<Estimate<Monotonic>> {
        let Converted { at, bound } = converted;
        let in_generation = at.nanoseconds().saturating_add(bound) >= first.nanoseconds();
        let fits = self.front.interface != 0
            && self.spans(read_at)
            && waited_little(at.nanoseconds(), bound as u64, read_at);
        let generation = self.front.generation;
        (in_generation && fits).then(|| Estimate {
            at: Bounded::new(at, Span::from_nanoseconds(i128::from(bound))),
            generation,
        })
    }

    /// Whether a timestamp that was read at this time can be of this generation.
    pub(super) fn spans(&self, read_at: MonotonicTime) -> bool {
        read_at.nanoseconds().wrapping_sub(self.from) as u64 <= self.during
    }
}

impl Front {
    /// Converts nothing.
    pub(super) const NONE: Self = Self {
        interface: 0,
        generation: ClockGeneration(0),
        segment: Segment::NONE,
    };

    #[inline]
    pub(super) fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Estimate<Monotonic>> {
        if timestamp.interface.map_or(0, InterfaceIndex::get) != self.interface {
            return None;
        }
        let distance = self.segment.distance(timestamp.ticks)?;
        let (at, bound) = (self.segment.at(distance), self.segment.bound(distance));
        waited_little(at, bound, timestamp.read_at).then(|| Estimate {
            at: Bounded::new(
                MonotonicTime::from_nanoseconds(at),
                Span::from_nanoseconds(i128::from(bound)),
            ),
            generation: self.generation,
        })
    }

    /// Takes one pass without a branch per timestamp, and a second one only if the newest cross
    /// timestamp is so old that a timestamp may have waited too long.
    #[inline(always)]
    pub(super) fn convert_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
        into: &mut [MonotonicTime],
    ) -> Option<SliceEstimate> {
        let count = ticks.len().min(into.len());
        let (ticks, into) = (&ticks[..count], &mut into[..count]);
        let most = self.segment.convert_slice(ticks, into)?;
        let fits = |distance| {
            waited_little(
                self.segment.at(distance),
                self.segment.bound(distance),
                read_at,
            )
        };
        let least = if fits(0) {
            0
        } else {
            ticks
                .iter()
                .filter_map(|ticks| self.segment.distance(*ticks))
                .min()?
        };
        let bound = Span::from_nanoseconds(i128::from(self.segment.bound(most)));
        (count > 0 && fits(least) && fits(most)).then_some(SliceEstimate {
            bound,
            generation: self.generation,
        })
    }

    pub(super) const WORDS: usize = 1 + Segment::WORDS;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = u64::from(self.interface) << 32 | u64::from(self.generation.0);
        words[1..].copy_from_slice(&self.segment.to_words());
        words
    }

    #[inline]
    pub(super) fn from_words(words: &[u64; Self::WORDS]) -> Self {
        let [names, segment @ ..] = words;
        let (interface, generation) = ((names >> 32) as u32, ClockGeneration(*names as u32));
        Self {
            interface,
            generation,
            segment: Segment::from_words(segment),
        }
    }
}

/// Whether a timestamp was made neither after it was read nor long before.
#[inline]
fn waited_little(at: i64, bound: u64, read_at: MonotonicTime) -> bool {
    let waited_at_most = read_at
        .nanoseconds()
        .wrapping_sub(at)
        .wrapping_add(bound as i64) as u64;
    waited_at_most < LONGEST_WAIT
}
