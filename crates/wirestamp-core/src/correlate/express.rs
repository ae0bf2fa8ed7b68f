//! Owns the short cut for stamps made since the newest reading, where no choice of epochs is
//! left. Refuses nothing: what it can't convert is searched for.

use super::convert::LINGERS;
use super::epoch::LONGEST_GAP;
use super::fit::Converted;
use super::model::Correlation;
use super::segment::Segment;
use super::{Epoch, Estimate, SliceEstimate};
use crate::time::{HardwareTicks, Span, System, SystemTime};

/// A stamp read so long after an epoch began is not of the one before: [`LINGERS`] and twice
/// the largest bound.
const SETTLED: Span = Span::from_seconds(12);
/// The largest bound that is given, in nanoseconds.
const LARGEST_BOUND: u64 = 1_000_000_000;

/// The newest line, and when a stamp must have been read to be converted by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Express {
    segment: Segment,
    /// When the epoch began.
    first: i64,
    from: i64,
    until: i64,
    epoch: Epoch,
}

impl Express {
    pub(super) fn of(correlation: &Correlation) -> Option<Self> {
        let run = correlation.runs.back()?;
        let segment = *run.fit()?.front();
        let alone = correlation.runs.len() == 1;
        let from = if alone { SystemTime::MIN } else { run.first + SETTLED };
        let until = if correlation.ended.is_some() { run.last } else { run.last + LONGEST_GAP };
        let first = run.first.nanoseconds();
        Some(Self { segment, first, from: from.nanoseconds(), until: until.nanoseconds(), epoch: run.number })
    }

    #[inline]
    pub(super) fn convert(&self, ticks: HardwareTicks, read_at: SystemTime) -> Option<Estimate<System>> {
        let distance = self.segment.distance(ticks)?;
        let (at, bound) = (self.segment.at(distance), self.segment.bound(distance));
        self.fits(at, bound, read_at).then(|| Estimate {
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
        let waited = read.wrapping_sub(at);
        // all at once: one branch
        (read >= self.from)
            & (read <= self.until)
            & (bound < LARGEST_BOUND)
            & (waited >= -bound.cast_signed())
            & (waited < LINGERS.saturating_nanoseconds())
    }
}
