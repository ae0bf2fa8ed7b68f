//! The conversions, and the choice of the clock generation for each.
//!
//! A counter restarts, so one timestamp can fit several runs of it. A run certainly lasted from its
//! first cross timestamp to its last; it *may* have lasted from the last one before it to the first
//! one after it. A timestamp is converted only if it is within the certain time of one run and
//! cannot be of another.

use super::fit::Converted;
use super::generation::{LONGEST_GAP, Run};
use super::model::{Correlation, REMEMBERED};
use super::{ClockGeneration, ConversionError, Estimate, HardwareEstimate, SliceEstimate};
use crate::interface::InterfaceIndex;
use crate::time::{Bounded, HardwareTicks, Monotonic, MonotonicTime, Span};
use crate::timestamp::HardwareTimestamp;

/// The longest expected wait of a timestamp before it is read. If it seems to have waited longer, a
/// restart of the counter is more likely, if there can have been one.
pub(super) const LINGERS: Span = Span::from_seconds(10);

impl Correlation {
    /// Converts a hardware timestamp to the monotonic clock.
    ///
    /// # Errors
    /// [`ConversionError::OtherClock`] for a timestamp of another interface's clock;
    /// [`UnknownDevice`](ConversionError::UnknownDevice) for one that names no device;
    /// [`NotReady`](ConversionError::NotReady) and [`Stale`](ConversionError::Stale) until there is
    /// another cross timestamp; [`OutsideGenerations`](ConversionError::OutsideGenerations) and
    /// [`Ambiguous`](ConversionError::Ambiguous) if the clock was reset around the timestamp,
    /// usually for good.
    #[inline]
    pub fn to_monotonic(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        match self.express.front.convert(timestamp) {
            Some(estimate) => Ok(estimate),
            None => self.look_back(timestamp),
        }
    }

    /// Converts a timestamp that is older than the newest cross timestamps.
    #[inline(never)]
    fn look_back(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        let device = timestamp.interface.filter(|found| *found != self.interface);
        match device {
            Some(device) => self.of_device(device, timestamp),
            None if timestamp.interface.is_none() => Err(ConversionError::UnknownDevice),
            None => match self.of_current(timestamp) {
                Some(estimate) => Ok(estimate),
                None => Ok(self.search(timestamp, self.lingers, None)?.estimate()),
            },
        }
    }

    /// Converts a timestamp that names a device below the interface: only a clock that this device
    /// had then can have made it.
    fn of_device(
        &self,
        device: InterfaceIndex,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        if !self.is_of(device) {
            return Err(ConversionError::OtherClock);
        }
        let timestamp = &HardwareTimestamp {
            interface: Some(self.interface),
            ..*timestamp
        };
        let is_current = self
            .runs
            .back()
            .is_some_and(|run| self.can_be_of(run, device));
        let front = || self.express.front.convert(timestamp);
        match is_current
            .then(|| front().or_else(|| self.of_current(timestamp)))
            .flatten()
        {
            Some(estimate) => Ok(estimate),
            None => Ok(self
                .search(timestamp, self.lingers, Some(device))?
                .estimate()),
        }
    }

    /// Converts with the current generation, if the timestamp can only be of that.
    fn of_current(&self, timestamp: &HardwareTimestamp) -> Option<Estimate<Monotonic>> {
        let run = self.runs.back()?;
        let converted = run.fit()?.convert(timestamp.ticks)?;
        self.express.admit(converted, run.first, timestamp.read_at)
    }

    /// Converts a timestamp that was made at `earliest` or later and read an unknown time before
    /// its `read_at`.
    pub(super) fn made_since(
        &self,
        earliest: MonotonicTime,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        let chosen = self.search(timestamp, timestamp.read_at - earliest, None)?;
        if chosen.lingered {
            return Err(ConversionError::OutsideGenerations);
        }
        Ok(chosen.estimate())
    }

    /// Converts with one of several generations. A timestamp waits unread for at most `lingers`;
    /// `device` made it, if known.
    fn search(
        &self,
        timestamp: &HardwareTimestamp,
        lingers: Span,
        device: Option<InterfaceIndex>,
    ) -> Result<Candidate, ConversionError> {
        let current = self.runs.back().ok_or(ConversionError::NotReady)?;
        self.check_age(current, timestamp.read_at)?;
        let mut candidates = [None; REMEMBERED + 1];
        let can_be = |run: &Run| device.is_none_or(|device| self.can_be_of(run, device));
        for (place, candidate) in candidates.iter_mut().enumerate().take(self.runs.len()) {
            if can_be(&self.runs[place]) {
                *candidate = self.candidate(place, timestamp, lingers)?;
            }
        }
        let chosen = choose(&candidates)?;
        let since = (!chosen.lingered).then(|| timestamp.read_at - lingers);
        if self.can_be_of_unknown_rate(timestamp, since, can_be) {
            Err(ConversionError::Ambiguous)
        } else {
            Ok(chosen)
        }
    }

    /// Whether the timestamp may also be of a run that ended before its frequency was known, and
    /// that may have lasted beyond `since`.
    fn can_be_of_unknown_rate(
        &self,
        timestamp: &HardwareTimestamp,
        since: Option<MonotonicTime>,
        can_be: impl Fn(&Run) -> bool,
    ) -> bool {
        let mut before = self.forgotten;
        self.runs
            .iter()
            .zip(self.runs.iter().skip(1))
            .any(|(run, next)| {
                let came_later = before
                    .replace(run.last)
                    .is_none_or(|last| timestamp.read_at > last);
                run.fit().is_none()
                    && can_be(run)
                    && came_later
                    && since.is_none_or(|since| next.first >= since)
            })
    }

    /// Converts an instant of the monotonic clock to ticks of the hardware clock.
    ///
    /// # Errors
    /// [`ConversionError::NotReady`] and [`Stale`](ConversionError::Stale) until there is another
    /// cross timestamp; [`OutsideGenerations`](ConversionError::OutsideGenerations) if `at` is
    /// before the first cross timestamp or between two generations.
    pub fn to_hardware(&self, at: MonotonicTime) -> Result<HardwareEstimate, ConversionError> {
        let current = self.runs.back().ok_or(ConversionError::NotReady)?;
        self.check_age(current, at)?;
        let run = self
            .runs
            .iter()
            .rev()
            .find(|run| run.first <= at)
            .ok_or(ConversionError::OutsideGenerations)?;
        if run.number != current.number && at > run.last {
            return Err(ConversionError::OutsideGenerations);
        }
        let fit = run.fit().ok_or(ConversionError::NotReady)?;
        let (ticks, bound) = fit.invert(at).ok_or(ConversionError::OutsideGenerations)?;
        Ok(HardwareEstimate {
            ticks,
            bound,
            generation: run.number,
        })
    }

    /// Returns the generation that a timestamp made now would be converted with.
    ///
    /// # Errors
    /// [`ConversionError::NotReady`] until the frequency is known, and after
    /// [`restart`](Self::restart) until the next cross timestamp;
    /// [`Stale`](ConversionError::Stale).
    pub fn readiness(&self, now: MonotonicTime) -> Result<ClockGeneration, ConversionError> {
        let current = self.runs.back().ok_or(ConversionError::NotReady)?;
        if self.ended.is_some() || current.fit().is_none() {
            return Err(ConversionError::NotReady);
        }
        self.check_age(current, now)?;
        Ok(current.number)
    }

    /// Converts like [`to_monotonic`](Self::to_monotonic), but fails with
    /// [`NotReady`](ConversionError::NotReady) until there is a cross timestamp *after* the
    /// timestamp. The estimate then lies between cross timestamps, which reduces the error while
    /// the frequency changes, at the cost of waiting for one batch.
    ///
    /// # Errors
    /// As [`to_monotonic`](Self::to_monotonic).
    pub fn to_monotonic_settled(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        let estimate = self.to_monotonic(timestamp)?;
        let current = self.runs.back().ok_or(ConversionError::NotReady)?;
        let newest = current
            .fit()
            .ok_or(ConversionError::NotReady)?
            .newest_ticks();
        let settled = estimate.generation != current.number || timestamp.ticks.since(newest) <= 0;
        if settled {
            Ok(estimate)
        } else {
            Err(ConversionError::NotReady)
        }
    }

    /// Converts many timestamps of this clock, in any order, that were read together at `read_at`.
    /// Writes their times to `into`, a slice of the same length, and returns one error bound that
    /// holds for all of them.
    ///
    /// Timestamps since the newest cross timestamp, all in the current generation, take about a
    /// nanosecond each, and a fraction of that if the caller is compiled for wide vectors (as
    /// `wirestamp::Correlator::to_monotonic_slice` is). Others are converted one by one.
    ///
    /// # Errors
    /// The error of the first timestamp that fails, or
    /// [`OutsideGenerations`](ConversionError::OutsideGenerations) if they are not all of one
    /// generation. The contents of `into` are then unspecified: convert the timestamps one by one
    /// with [`to_monotonic`](Self::to_monotonic).
    ///
    /// # Panics
    /// Never; if the lengths differ, the shorter one is used.
    #[inline(always)]
    pub fn to_monotonic_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
        into: &mut [MonotonicTime],
    ) -> Result<SliceEstimate, ConversionError> {
        match self.express.front.convert_slice(ticks, read_at, into) {
            Some(estimate) => Ok(estimate),
            None => self.each_of(ticks, read_at, into),
        }
    }

    #[inline(never)]
    fn each_of(
        &self,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
        into: &mut [MonotonicTime],
    ) -> Result<SliceEstimate, ConversionError> {
        let mut all: Option<SliceEstimate> = None;
        for (&ticks, into) in ticks.iter().zip(into) {
            let one = self.to_monotonic(&HardwareTimestamp {
                ticks,
                interface: Some(self.interface),
                read_at,
            })?;
            *into = one.at.value;
            let sofar = all.get_or_insert(SliceEstimate {
                bound: one.at.bound,
                generation: one.generation,
            });
            if sofar.generation != one.generation {
                return Err(ConversionError::OutsideGenerations);
            }
            sofar.bound = sofar.bound.max(one.at.bound);
        }
        all.ok_or(ConversionError::NotReady)
    }

    fn check_age(&self, current: &Run, at: MonotonicTime) -> Result<(), ConversionError> {
        match at - current.last {
            age if age <= Span::ZERO => Ok(()),
            _ if self.ended.is_some() => Err(ConversionError::OutsideGenerations),
            age if age > LONGEST_GAP => Err(ConversionError::Stale),
            _ => Ok(()),
        }
    }

    /// Converts with one run; `None` if the timestamp cannot be of it.
    fn candidate(
        &self,
        place: usize,
        timestamp: &HardwareTimestamp,
        lingers: Span,
    ) -> Result<Option<Candidate>, ConversionError> {
        let (Some(run), Some(current)) = (self.runs.get(place), self.runs.back()) else {
            return Ok(None);
        };
        let before = place
            .checked_sub(1)
            .map_or(self.forgotten, |before| Some(self.runs[before].last));
        if before.is_some_and(|last| timestamp.read_at <= last) {
            return Ok(None);
        }
        let is_current = run.number == current.number;
        let fit = match run.fit() {
            Some(fit) => fit,
            None if is_current => return Err(ConversionError::NotReady),
            None => return Ok(None), // it gets no more cross timestamps
        };
        let Some(Converted { at, bound }) = fit.convert(timestamp.ticks) else {
            return Ok(None);
        };
        let bound = Span::from_nanoseconds(bound.into());
        let (earliest, latest) = (at - bound, at + bound);
        // it may have lasted from the cross timestamp before it to the one after it
        let possible_until = self
            .runs
            .get(place + 1)
            .map_or(timestamp.read_at, |next| next.first.min(timestamp.read_at));
        if before.is_some_and(|last| latest < last) || earliest > possible_until {
            return Ok(None);
        }
        let known_until = if is_current {
            timestamp.read_at
        } else {
            run.last
        };
        let unnoticed_restart = timestamp.read_at > current.last && latest < current.last - LINGERS;
        let known = latest >= run.first && earliest <= known_until && !unnoticed_restart;
        let lingered = latest < timestamp.read_at - lingers;
        Ok(Some(Candidate {
            at,
            bound,
            generation: run.number,
            known,
            lingered,
        }))
    }
}

/// The result of converting a timestamp with one run.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    at: MonotonicTime,
    bound: Span,
    generation: ClockGeneration,
    /// Whether the run certainly lasted at that time.
    known: bool,
    /// Whether the timestamp would have waited unread for too long.
    lingered: bool,
}

impl Candidate {
    fn estimate(self) -> Estimate<Monotonic> {
        Estimate {
            at: Bounded::new(self.at, self.bound),
            generation: self.generation,
        }
    }
}

/// Chooses the certain candidate with the shortest wait and the smallest error bound. If another,
/// equally likely one agrees within the bounds, the bound is extended to cover both; if it does not
/// agree, the timestamp is ambiguous.
fn choose(candidates: &[Option<Candidate>]) -> Result<Candidate, ConversionError> {
    let all = || candidates.iter().flatten();
    let best = all()
        .filter(|candidate| candidate.known)
        .min_by_key(|candidate| (candidate.lingered, candidate.bound));
    let mut best = *best.ok_or(ConversionError::OutsideGenerations)?;
    for other in
        all().filter(|other| other.generation != best.generation && other.lingered <= best.lingered)
    {
        let apart = (best.at - other.at).abs();
        if apart > best.bound + other.bound {
            return Err(ConversionError::Ambiguous);
        }
        best.bound = best.bound.max(apart + other.bound);
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At `at` in that generation, with an error of at most `bound`.
    fn candidate(generation: u32, at: i64, bound: i128) -> Option<Candidate> {
        Some(Candidate {
            at: MonotonicTime::from_nanoseconds(at),
            bound: Span::from_nanoseconds(bound),
            generation: ClockGeneration(generation),
            known: true,
            lingered: false,
        })
    }

    /// The better one is within 5 of 100, the other one within 7 of the value that much later.
    #[test]
    fn the_bound_of_two_that_agree_covers_both() {
        for (apart, bound) in [(0, Some(7)), (3, Some(10)), (12, Some(19)), (13, None)] {
            for at in [100 + apart, 100 - apart] {
                let chosen = choose(&[candidate(0, at, 7), None, candidate(1, 100, 5)]);
                let expected = bound.map(Span::from_nanoseconds);
                assert_eq!(chosen.as_ref().ok().map(|chosen| chosen.bound), expected);
                if let Ok(chosen) = chosen {
                    assert_eq!(chosen.generation, ClockGeneration(1));
                }
            }
        }
    }
}
