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

/// [`LINGERS`], in nanoseconds.
const LONGEST_WAIT: u64 = LINGERS.nanoseconds() as u64;

/// The newest line, and when a stamp must have been read to be converted by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Express {
    /// Whose clock; 0 while nothing can be converted.
    interface: u32,
    epoch: Epoch,
    segment: Segment,
    /// The earliest time at which a stamp must have been read, and for how long after it.
    from: i64,
    during: u64,
}

impl Express {
    /// Converts nothing.
    pub(super) const NONE: Self = Self { interface: 0, epoch: Epoch(0), segment: Segment::NONE, from: 0, during: 0 };

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

    /// What the current epoch, which began at `first`, makes of an older stamp, if that can only
    /// be of this epoch.
    pub(super) fn admit(
        &self,
        converted: Converted,
        first: SystemTime,
        read_at: SystemTime,
    ) -> Option<Estimate<System>> {
        let Converted { at, bound } = converted;
        let in_epoch = at.nanoseconds().saturating_add(bound) >= first.nanoseconds();
        let fits = self.interface != 0 && self.fits(at.nanoseconds(), bound.cast_unsigned(), read_at);
        (in_epoch && fits).then(|| Estimate { at, bound: Span::from_nanoseconds(i128::from(bound)), epoch: self.epoch })
    }

    /// One pass without a branch per stamp; a second one only if the newest reading is so old
    /// that a stamp could have lingered.
    #[inline(always)]
    pub(super) fn convert_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: SystemTime,
        into: &mut [SystemTime],
    ) -> Option<SliceEstimate> {
        let count = ticks.len().min(into.len());
        let (ticks, into) = (&ticks[..count], &mut into[..count]);
        let most = self.segment.convert_slice(ticks, into)?;
        let fits = |distance| self.fits(self.segment.at(distance), self.segment.bound(distance), read_at);
        let least = if fits(0) { 0 } else { ticks.iter().filter_map(|ticks| self.segment.distance(*ticks)).min()? };
        let bound = Span::from_nanoseconds(i128::from(self.segment.bound(most)));
        (count > 0 && fits(least) && fits(most)).then_some(SliceEstimate { bound, epoch: self.epoch })
    }

    /// Whether a stamp of that time can only be of this epoch: not made after it was read,
    /// nor long before.
    #[inline]
    fn fits(&self, at: i64, bound: u64, read_at: SystemTime) -> bool {
        let read = read_at.nanoseconds();
        let since_from = read.wrapping_sub(self.from).cast_unsigned();
        let waited_at_most = read.wrapping_sub(at).wrapping_add(bound.cast_signed()).cast_unsigned();
        (since_from <= self.during) & (waited_at_most < LONGEST_WAIT)
    }

    pub(super) const WORDS: usize = 3 + Segment::WORDS;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        words[0] = u64::from(self.interface) << 32 | u64::from(self.epoch.0);
        words[1] = self.from.cast_unsigned();
        words[2] = self.during;
        words[3..].copy_from_slice(&self.segment.to_words());
        words
    }

    #[inline]
    pub(super) fn from_words(words: &[u64; Self::WORDS]) -> Self {
        let [names, from, during, segment @ ..] = words;
        Self {
            interface: (names >> 32) as u32,
            epoch: Epoch(*names as u32),
            segment: Segment::from_words(segment),
            from: from.cast_signed(),
            during: *during,
        }
    }
}
