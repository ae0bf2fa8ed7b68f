//! Owns the conversions, and the choice of the epoch to make them with. Learns nothing.
//!
//! Which epoch? A counter restarts, so one stamp can fit several runs of it. A run is known
//! to have lasted from its first reading to its last; it *may* have lasted from the last
//! reading before it to the first one after it. A stamp is converted only if it lies in the
//! known time of one run and can't as well be of another.

use super::epoch::{LONGEST_GAP, Run};
use super::fit::Converted;
use super::model::{Correlation, REMEMBERED};
use super::{Epoch, Estimate, HardwareEstimate, Refusal, SliceEstimate};
use crate::stamp::HardwareStamp;
use crate::time::{HardwareTicks, Span, System, SystemTime};

/// How long a stamp is expected to wait unread. If it seems to have waited longer, a restart
/// of the counter is the better explanation wherever one can have happened.
pub(super) const LINGERS: Span = Span::from_seconds(10);

impl Correlation {
    /// The system time at which a stamp was made.
    ///
    /// # Errors
    /// [`Refusal::OtherClock`] for a stamp of another interface's clock or of none;
    /// [`NotReady`](Refusal::NotReady), [`Stale`](Refusal::Stale): take a reading;
    /// [`OutsideEpochs`](Refusal::OutsideEpochs), [`Ambiguous`](Refusal::Ambiguous): the stamp
    /// can't be placed, now or (mostly) ever.
    #[inline]
    pub fn to_system(&self, stamp: &HardwareStamp) -> Result<Estimate<System>, Refusal> {
        match self.express.front.convert(stamp) {
            Some(estimate) => Ok(estimate),
            None => self.look_back(stamp),
        }
    }

    /// The same for a stamp that is older than the newest readings.
    #[inline(never)]
    fn look_back(&self, stamp: &HardwareStamp) -> Result<Estimate<System>, Refusal> {
        if stamp.interface != Some(self.interface) {
            return Err(Refusal::OtherClock);
        }
        let current = self
            .runs
            .back()
            .and_then(|run| Some((run.first, run.fit()?.convert(stamp.ticks)?)));
        match current
            .and_then(|(first, converted)| self.express.admit(converted, first, stamp.read_at))
        {
            Some(estimate) => Ok(estimate),
            None => self.search(stamp),
        }
    }

    /// The same where there is a choice of epochs.
    fn search(&self, stamp: &HardwareStamp) -> Result<Estimate<System>, Refusal> {
        let current = self.runs.back().ok_or(Refusal::NotReady)?;
        self.check_age(current, stamp.read_at)?;
        let mut candidates = [None; REMEMBERED + 1];
        for (place, candidate) in candidates.iter_mut().enumerate().take(self.runs.len()) {
            *candidate = self.candidate(place, stamp)?;
        }
        let chosen = choose(&candidates)?;
        if self.can_be_of_unknown_rate(stamp, chosen.lingered) {
            Err(Refusal::Ambiguous)
        } else {
            Ok(chosen.estimate())
        }
    }

    /// Whether a run that ended before its rate was known can have made the stamp as well.
    /// `lingered`: also if it then waited for long.
    fn can_be_of_unknown_rate(&self, stamp: &HardwareStamp, lingered: bool) -> bool {
        let mut before = self.forgotten;
        self.runs
            .iter()
            .zip(self.runs.iter().skip(1))
            .any(|(run, next)| {
                let came_later = before
                    .replace(run.last)
                    .is_none_or(|last| stamp.read_at > last);
                run.fit().is_none()
                    && came_later
                    && (lingered || next.first >= stamp.read_at - self.lingers)
            })
    }

    /// What the hardware clock showed at a system time.
    ///
    /// # Errors
    /// [`Refusal::NotReady`], [`Stale`](Refusal::Stale): take a reading;
    /// [`OutsideEpochs`](Refusal::OutsideEpochs): `at` lies before the first reading, or
    /// between two epochs.
    pub fn to_hardware(&self, at: SystemTime) -> Result<HardwareEstimate, Refusal> {
        let current = self.runs.back().ok_or(Refusal::NotReady)?;
        self.check_age(current, at)?;
        let run = self
            .runs
            .iter()
            .rev()
            .find(|run| run.first <= at)
            .ok_or(Refusal::OutsideEpochs)?;
        if run.number != current.number && at > run.last {
            return Err(Refusal::OutsideEpochs);
        }
        let fit = run.fit().ok_or(Refusal::NotReady)?;
        let (ticks, bound) = fit.invert(at).ok_or(Refusal::OutsideEpochs)?;
        Ok(HardwareEstimate {
            ticks,
            bound,
            epoch: run.number,
        })
    }

    /// As [`to_system`](Self::to_system), but refuses with [`NotReady`](Refusal::NotReady)
    /// until a reading was taken *after* the stamp was made. The estimate then lies between
    /// readings, not beyond them: a fraction of the error while the rate changes, for the price
    /// of waiting for one batch.
    ///
    /// # Errors
    /// As [`to_system`](Self::to_system).
    pub fn to_system_settled(&self, stamp: &HardwareStamp) -> Result<Estimate<System>, Refusal> {
        let estimate = self.to_system(stamp)?;
        let current = self.runs.back().ok_or(Refusal::NotReady)?;
        let newest = current.fit().ok_or(Refusal::NotReady)?.newest_ticks();
        let settled = estimate.epoch != current.number || stamp.ticks.since(newest) <= 0;
        if settled {
            Ok(estimate)
        } else {
            Err(Refusal::NotReady)
        }
    }

    /// Converts many stamps of this clock that were read together at `read_at`, in any order.
    /// Writes their times to `into`, of the same length, and returns one bound that holds for
    /// each of them.
    ///
    /// Stamps made since the newest reading, all in the current epoch, take about a nanosecond
    /// each, and a fraction of that where the caller is compiled for wide vectors (as
    /// `wirestamp::Correlator::to_system_slice` is); any others are converted one by one.
    ///
    /// # Errors
    /// The first stamp's refusal, if any is refused or they are not all of one epoch
    /// ([`OutsideEpochs`](Refusal::OutsideEpochs)): `into` then holds nothing of use. Convert
    /// them one by one with [`to_system`](Self::to_system) to keep the others.
    ///
    /// # Panics
    /// Never; if the lengths differ, the shorter one counts.
    #[inline(always)]
    pub fn to_system_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: SystemTime,
        into: &mut [SystemTime],
    ) -> Result<SliceEstimate, Refusal> {
        match self.express.front.convert_slice(ticks, read_at, into) {
            Some(estimate) => Ok(estimate),
            None => self.each_of(ticks, read_at, into),
        }
    }

    #[inline(never)]
    fn each_of(
        &self,
        ticks: &[HardwareTicks],
        read_at: SystemTime,
        into: &mut [SystemTime],
    ) -> Result<SliceEstimate, Refusal> {
        let mut all: Option<SliceEstimate> = None;
        for (&ticks, into) in ticks.iter().zip(into) {
            let one = self.to_system(&HardwareStamp {
                ticks,
                interface: Some(self.interface),
                read_at,
            })?;
            *into = one.at;
            let sofar = all.get_or_insert(SliceEstimate {
                bound: one.bound,
                epoch: one.epoch,
            });
            if sofar.epoch != one.epoch {
                return Err(Refusal::OutsideEpochs);
            }
            sofar.bound = sofar.bound.max(one.bound);
        }
        all.ok_or(Refusal::NotReady)
    }

    fn check_age(&self, current: &Run, at: SystemTime) -> Result<(), Refusal> {
        match at - current.last {
            age if age <= Span::ZERO => Ok(()),
            _ if self.ended.is_some() => Err(Refusal::OutsideEpochs),
            age if age > LONGEST_GAP => Err(Refusal::Stale),
            _ => Ok(()),
        }
    }

    /// What a run makes of a stamp; `None` if the stamp can't be of it.
    fn candidate(&self, place: usize, stamp: &HardwareStamp) -> Result<Option<Candidate>, Refusal> {
        let (Some(run), Some(current)) = (self.runs.get(place), self.runs.back()) else {
            return Ok(None);
        };
        let before = place
            .checked_sub(1)
            .map_or(self.forgotten, |before| Some(self.runs[before].last));
        if before.is_some_and(|last| stamp.read_at <= last) {
            return Ok(None);
        }
        let is_current = run.number == current.number;
        let fit = match run.fit() {
            Some(fit) => fit,
            None if is_current => return Err(Refusal::NotReady),
            None => return Ok(None), // no more readings come of it
        };
        let Some(Converted { at, bound }) = fit.convert(stamp.ticks) else {
            return Ok(None);
        };
        let bound = Span::from_nanoseconds(bound.into());
        let (earliest, latest) = (at - bound, at + bound);
        // it may have lasted from the reading before it to the one after it
        let possible_until = self
            .runs
            .get(place + 1)
            .map_or(stamp.read_at, |next| next.first.min(stamp.read_at));
        if before.is_some_and(|last| latest < last) || earliest > possible_until {
            return Ok(None);
        }
        let known_until = if is_current { stamp.read_at } else { run.last };
        let unnoticed_restart = stamp.read_at > current.last && latest < current.last - LINGERS;
        let known = latest >= run.first && earliest <= known_until && !unnoticed_restart;
        let lingered = latest < stamp.read_at - self.lingers;
        Ok(Some(Candidate {
            at,
            bound,
            epoch: run.number,
            known,
            lingered,
        }))
    }
}

/// What one run makes of a stamp.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    at: SystemTime,
    bound: Span,
    epoch: Epoch,
    /// Whether the run is known to have lasted at that time.
    known: bool,
    /// Whether the stamp would have waited unread for long.
    lingered: bool,
}

impl Candidate {
    fn estimate(self) -> Estimate<System> {
        Estimate {
            at: self.at,
            bound: self.bound,
            epoch: self.epoch,
        }
    }
}

/// The known candidate that waited least and has the least bound. Where another one as likely
/// says the same time within the bounds it does not matter which is right, and the bound
/// covers both; where it says another time, nobody knows.
fn choose(candidates: &[Option<Candidate>]) -> Result<Candidate, Refusal> {
    let all = || candidates.iter().flatten();
    let best = all()
        .filter(|candidate| candidate.known)
        .min_by_key(|candidate| (candidate.lingered, candidate.bound));
    let mut best = *best.ok_or(Refusal::OutsideEpochs)?;
    for other in all().filter(|other| other.epoch != best.epoch && other.lingered <= best.lingered)
    {
        let apart = (best.at - other.at).abs();
        if apart > best.bound + other.bound {
            return Err(Refusal::Ambiguous);
        }
        best.bound = best.bound.max(apart + other.bound);
    }
    Ok(best)
}
