//! Owns the short cut for stamps made since the newest reading, where no choice of epochs is
//! left. Refuses nothing: what it can't convert is searched for.

use super::convert::LINGERS;
use super::epoch::LONGEST_GAP;
use super::fit::Converted;
use super::model::Correlation;
use super::segment::Segment;
use super::{Epoch, Estimate, SliceEstimate};
use crate::interface::InterfaceIndex;
use crate::stamp::HardwareStamp;
use crate::time::{HardwareTicks, Span, System, SystemTime};

/// A stamp read so long after an epoch began is not of the one before: [`LINGERS`] and twice
/// the largest bound.
const SETTLED: Span = Span::from_seconds(12);
/// The largest bound that is given, in nanoseconds.
const LARGEST_BOUND: u64 = 1_000_000_000;

/// [`LINGERS`], in nanoseconds.
const LONGEST_WAIT: u64 = LINGERS.nanoseconds() as u64;

/// The newest line, and when a stamp must have been read to be converted by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Express {
    /// Whose clock; 0 while nothing can be converted.
    interface: u32,
    epoch: Epoch,
    segment: Segment,
    /// When the epoch began.
    first: i64,
    /// The earliest time at which a stamp must have been read, and for how long after it.
    from: i64,
    during: u64,
}

impl Express {
    /// Converts nothing.
    pub(super) const NONE: Self =
        Self { interface: 0, epoch: Epoch(0), segment: Segment::NONE, first: i64::MAX, from: 0, during: 0 };

    pub(super) fn of(correlation: &Correlation) -> Self {
        let Some((run, fit)) = correlation.runs.back().and_then(|run| Some((run, run.fit()?))) else {
            return Self::NONE;
        };
        let alone = correlation.runs.len() == 1;
        let from = if alone { SystemTime::MIN } else { run.first + SETTLED };
        let until = if correlation.ended.is_some() { run.last } else { run.last + LONGEST_GAP };
        if until < from {
            return Self::NONE;
        }
        Self {
            interface: correlation.interface.get(),
            epoch: run.number,
            segment: *fit.front(),
            first: run.first.nanoseconds(),
            from: from.nanoseconds(),
            during: until.nanoseconds().wrapping_sub(from.nanoseconds()).cast_unsigned(),
        }
    }

    #[inline]
    pub(super) fn convert(&self, stamp: &HardwareStamp) -> Option<Estimate<System>> {
        if stamp.interface.map_or(0, InterfaceIndex::get) != self.interface {
            return None;
        }
        let distance = self.segment.distance(stamp.ticks)?;
        let (at, bound) = (self.segment.at(distance), self.segment.bound(distance));
        self.fits(at, bound, stamp.read_at).then(|| Estimate {
            at: SystemTime::from_nanoseconds(at),
            bound: Span::from_nanoseconds(i128::from(bound)),
            epoch: self.epoch,
        })
    }

    /// What the current epoch makes of an older stamp, if that can only be of this epoch.
    pub(super) fn admit(&self, converted: Converted, read_at: SystemTime) -> Option<Estimate<System>> {
        let Converted { at, bound } = converted;
        let in_epoch = at.nanoseconds().saturating_add(bound) >= self.first;
        (in_epoch && self.fits(at.nanoseconds(), bound.cast_unsigned(), read_at)).then(|| Estimate {
            at,
            bound: Span::from_nanoseconds(i128::from(bound)),
            epoch: self.epoch,
        })
    }

    /// Two passes without a branch per stamp: where do they lie, and what are their times.
    pub(super) fn convert_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: SystemTime,
        into: &mut [SystemTime],
    ) -> Option<SliceEstimate> {
        let count = ticks.len().min(into.len());
        let (ticks, into) = (&ticks[..count], &mut into[..count]);
        let first = *ticks.first()?;
        let ends = |(least, most): (i64, i64), ticks: &HardwareTicks| {
            let from_first = ticks.since(first);
            (least.min(from_first), most.max(from_first))
        };
        let (least, most) = ticks.iter().fold((0, 0), ends);
        let (least, most) = (self.segment.distance(first.plus(least))?, self.segment.distance(first.plus(most))?);
        let bound = self.segment.bound(most);
        let fits = |distance| self.fits(self.segment.at(distance), self.segment.bound(distance), read_at);
        if least > most || !fits(least) || !fits(most) {
            return None;
        }
        let segment = self.segment;
        for (into, ticks) in into.iter_mut().zip(ticks) {
            *into = SystemTime::from_nanoseconds(segment.at(segment.way(*ticks)));
        }
        Some(SliceEstimate { bound: Span::from_nanoseconds(i128::from(bound)), epoch: self.epoch })
    }

    /// Whether a stamp of that time can only be of this epoch: not made after it was read,
    /// nor long before.
    #[inline]
    fn fits(&self, at: i64, bound: u64, read_at: SystemTime) -> bool {
        let read = read_at.nanoseconds();
        let since_from = read.wrapping_sub(self.from).cast_unsigned();
        let waited_at_most = read.wrapping_sub(at).wrapping_add(bound.cast_signed()).cast_unsigned();
        (since_from <= self.during) & (bound < LARGEST_BOUND) & (waited_at_most < LONGEST_WAIT)
    }

    pub(super) const WORDS: usize = 4 + Segment::WORDS;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = u64::from(self.interface) << 32 | u64::from(self.epoch.0);
        words[1] = self.first.cast_unsigned();
        words[2] = self.from.cast_unsigned();
        words[3] = self.during;
        words[4..].copy_from_slice(&self.segment.to_words());
        words
    }

    #[inline]
    pub(super) fn from_words(words: &[u64; Self::WORDS]) -> Self {
        let [names, first, from, during, segment @ ..] = words;
        Self {
            interface: (names >> 32) as u32,
            epoch: Epoch(*names as u32),
            segment: Segment::from_words(segment),
            first: first.cast_signed(),
            from: from.cast_signed(),
            during: *during,
        }
    }
}
