//! Owns the conversions of one adapter's clock, and the choice of the epoch to make them with.
//! Fits nothing itself.
//!
//! Which epoch? A counter restarts, so one stamp can fit several runs of it. A run is known
//! to have lasted from its first reading to its last; it *may* have lasted from the last
//! reading before it to the first one after it. A stamp is converted only if it lies in the
//! known time of one run and can't as well be of another.

use super::epoch::{LONGEST_GAP, Run};
use super::fit::{Converted, Reading};
use super::interval::Interval;
use super::{Epoch, EpochCause, Estimate, HardwareEstimate, RateEstimate, Refusal};
use crate::cross::{CrossMethod, CrossTimestamp};
use crate::interface::InterfaceIndex;
use crate::stamp::HardwareStamp;
use crate::time::{Frequency, Span, System, SystemTime};
use alloc::collections::VecDeque;

/// How many runs are remembered behind the current one.
const REMEMBERED: usize = 4;
/// How long a stamp is expected to wait unread. If it seems to have waited longer, a restart
/// of the counter is the better explanation wherever one can have happened.
const LINGERS: Span = Span::from_seconds(10);
/// The width of a bracket that a driver does not tell, while none is known: slow adapters
/// are read through a management bus in about 100 µs, and the reading can be interrupted.
const UNKNOWN_BRACKET: Span = Span::from_milliseconds(1);
/// Latched readings agree to this: the resynchronisation of two clock domains and the delay
/// of the bus between them, a few tens of nanoseconds.
const LATCH: f64 = 50.0;
/// The system clock's step on Windows: the usual performance counter runs at 10 MHz.
const PERFORMANCE_COUNTER_STEP: f64 = 100.0;
/// And on the others.
const NANOSECOND: f64 = 1.0;

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It belongs to the current epoch.
    Accepted,
    /// It opened an epoch.
    Opened(EpochCause),
    /// It is older than the last one: not used.
    Outdated,
}

/// The relation between one adapter's clock and the system clock, learnt from readings.
///
/// The bound of a conversion is never less than the narrowest bracket allows, the steps of
/// both clocks, what the rate can have done since the nearest readings, and a nanosecond for
/// rounding. It holds as long as the rate changes by less than 3·10⁻⁸ a second; what
/// changes faster is noticed at the next reading and opens an epoch.
///
/// Within an epoch, and between two readings, conversions keep the order of the stamps.
///
/// ```
/// use wirestamp_core::correlate::{Correlation, EpochCause, Pushed};
/// use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
/// use wirestamp_core::interface::InterfaceIndex;
/// use wirestamp_core::stamp::HardwareStamp;
/// use wirestamp_core::time::{Frequency, HardwareTicks, SystemTime};
///
/// let (at, ticks) = (SystemTime::from_nanoseconds, HardwareTicks::new);
/// let interface = InterfaceIndex::new(2).expect("not zero");
/// let mut correlation = Correlation::new(interface, Some(Frequency::GIGAHERTZ));
/// let reading = CrossTimestamp::new(at(1_000_000), ticks(500_600), at(1_001_200), CrossMethod::Extended);
/// assert_eq!(correlation.push(&reading.expect("valid")), Pushed::Opened(EpochCause::Start));
///
/// let stamp = HardwareStamp { ticks: ticks(510_600), interface: Some(interface), read_at: at(1_020_000) };
/// let estimate = correlation.to_system(&stamp).expect("in the epoch");
/// assert!((estimate.at - at(1_010_600)).abs() <= estimate.bound);
/// ```
#[derive(Debug, Clone)]
pub struct Correlation {
    interface: InterfaceIndex,
    nominal: Option<Frequency>,
    /// Whether the readings go with the nominal frequency.
    reliable: bool,
    /// Oldest first; the last one is current.
    runs: VecDeque<Run>,
    /// The last reading of the newest run that was forgotten.
    forgotten: Option<SystemTime>,
    /// The current run has ended; the next reading opens one for this cause.
    ended: Option<EpochCause>,
    widest: Option<Span>,
}

impl Correlation {
    /// No reading yet. `nominal`: the frequency that the driver states, if it does; only a
    /// start, and dropped if the readings contradict it.
    pub fn new(interface: InterfaceIndex, nominal: Option<Frequency>) -> Self {
        let runs = VecDeque::with_capacity(REMEMBERED + 2);
        Self { interface, nominal, reliable: true, runs, forgotten: None, ended: None, widest: None }
    }

    /// Whose clock.
    pub fn interface(&self) -> InterfaceIndex {
        self.interface
    }

    /// The frequency that the driver states.
    pub fn nominal(&self) -> Option<Frequency> {
        self.nominal
    }

    /// Takes a reading in. Readings come in the order in which they were made.
    pub fn push(&mut self, cross: &CrossTimestamp) -> Pushed {
        self.widest = self.widest.max(cross.bracket());
        let reading = self.reading(cross);
        let Some(current) = self.runs.back_mut() else { return self.open(EpochCause::Start, reading) };
        if reading.middle < current.last {
            return Pushed::Outdated;
        }
        let cause = match (self.ended, current.with(&reading)) {
            (None, Ok(longer)) => {
                *current = longer;
                self.check_nominal();
                return Pushed::Accepted;
            }
            (None, Err(cause)) => cause,
            (Some(cause), _) => cause,
        };
        if cause == EpochCause::Contradiction && current.known_rate().is_none() {
            self.reliable = false; // perhaps it was the stated frequency that was contradicted
        }
        self.open(cause, reading)
    }

    /// Ends the current epoch: the next reading opens a new one. Until then, stamps that were
    /// read after the last reading are refused; earlier ones are converted as before.
    pub fn restart(&mut self, cause: EpochCause) {
        if !self.runs.is_empty() {
            self.ended = Some(cause);
        }
    }

    /// The system time at which a stamp was made.
    ///
    /// # Errors
    /// [`Refusal::OtherClock`] for a stamp of another interface's clock or of none;
    /// [`NotReady`](Refusal::NotReady), [`Stale`](Refusal::Stale): take a reading;
    /// [`OutsideEpochs`](Refusal::OutsideEpochs), [`Ambiguous`](Refusal::Ambiguous): the stamp
    /// can't be placed, now or (mostly) ever.
    pub fn to_system(&self, stamp: &HardwareStamp) -> Result<Estimate<System>, Refusal> {
        if stamp.interface != Some(self.interface) {
            return Err(Refusal::OtherClock);
        }
        let current = self.runs.back().ok_or(Refusal::NotReady)?;
        self.check_age(current, stamp.read_at)?;
        let mut candidates = [None; REMEMBERED + 1];
        for (place, candidate) in candidates.iter_mut().enumerate().take(self.runs.len()) {
            *candidate = self.candidate(place, stamp)?;
        }
        choose(&candidates).map(Candidate::estimate)
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
        let run = self.runs.iter().rev().find(|run| run.first <= at).ok_or(Refusal::OutsideEpochs)?;
        if run.number != current.number && at > run.last {
            return Err(Refusal::OutsideEpochs);
        }
        let fit = run.fit().ok_or(Refusal::NotReady)?;
        let (ticks, bound) = fit.invert(at).ok_or(Refusal::OutsideEpochs)?;
        Ok(HardwareEstimate { ticks, bound, epoch: run.number })
    }

    /// The hardware clock's frequency against the system clock; `None` before it is known.
    pub fn rate(&self) -> Option<RateEstimate> {
        let run = self.runs.back()?;
        let (allowed, best) = (run.fit()?.rate()?, run.fit()?.best_rate());
        let bound = (allowed.high / best - 1.0).max(best / allowed.low - 1.0);
        Some(RateEstimate { hertz: 1e9 / best, bound_parts_per_billion: bound * 1e9 + 1e-3, epoch: run.number })
    }

    /// The current epoch; `None` before the first reading.
    pub fn epoch(&self) -> Option<Epoch> {
        self.runs.back().map(|run| run.number)
    }

    /// What opened the current epoch. One reading can't tell a step from a new rate, so a
    /// [`Contradiction`](EpochCause::Contradiction) can become a
    /// [`RateChange`](EpochCause::RateChange) with the readings that follow.
    pub fn cause(&self) -> Option<EpochCause> {
        self.runs.back().map(|run| run.cause)
    }

    /// How many readings the current epoch stands on: at most 64 are kept.
    pub fn readings(&self) -> usize {
        self.runs.back().map_or(0, Run::readings)
    }

    fn reading(&self, cross: &CrossTimestamp) -> Reading {
        let middle = cross.middle();
        let half = |end: SystemTime| (end - middle).nanoseconds() as f64;
        let step = if cross.method() == CrossMethod::Driver { PERFORMANCE_COUNTER_STEP } else { NANOSECOND };
        let told = Interval::new(half(cross.system_before()), half(cross.system_after()) + step);
        let bracket = match cross.bracket() {
            Some(Span::ZERO) => told.widened(LATCH),
            Some(_) => told,
            None => told.widened(self.widest.unwrap_or(UNKNOWN_BRACKET).saturating_nanoseconds() as f64),
        };
        Reading { ticks: cross.hardware(), middle, bracket }
    }

    fn open(&mut self, cause: EpochCause, reading: Reading) -> Pushed {
        let stated = self.nominal.filter(|_| self.reliable);
        let run = match self.runs.back() {
            None => Run::new(Epoch(0), cause, reading, stated),
            Some(last) => Run::new(Epoch(last.number.0.wrapping_add(1)), cause, reading, stated).after(last),
        };
        self.runs.push_back(run);
        if self.runs.len() > REMEMBERED + 1 {
            self.forgotten = self.runs.pop_front().map(|run| run.last);
        }
        self.ended = None;
        Pushed::Opened(cause)
    }

    /// A frequency that was doubted counts again once the readings agree with it.
    fn check_nominal(&mut self) {
        let known = self.runs.back().and_then(Run::known_rate);
        if let (Some(rate), Some(nominal)) = (known, self.nominal) {
            let off = rate.middle() * nominal.hertz() as f64 / 1e9 - 1.0;
            self.reliable = off > super::fit::STATED.low && off < super::fit::STATED.high;
        }
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
        let (Some(run), Some(current)) = (self.runs.get(place), self.runs.back()) else { return Ok(None) };
        let before = place.checked_sub(1).map_or(self.forgotten, |before| Some(self.runs[before].last));
        if before.is_some_and(|last| stamp.read_at <= last) {
            return Ok(None);
        }
        let Some(Converted { at, bound }) = run.fit().ok_or(Refusal::NotReady)?.convert(stamp.ticks) else {
            return Ok(None);
        };
        let bound = Span::from_nanoseconds(bound.into());
        let (earliest, latest) = (at - bound, at + bound);
        // it may have lasted from the reading before it to the one after it
        let possible_until = self.runs.get(place + 1).map_or(stamp.read_at, |next| next.first.min(stamp.read_at));
        if before.is_some_and(|last| latest < last) || earliest > possible_until {
            return Ok(None);
        }
        let known_until = if run.number == current.number { stamp.read_at } else { run.last };
        let unnoticed_restart = stamp.read_at > current.last && latest < current.last - LINGERS;
        let known = latest >= run.first && earliest <= known_until && !unnoticed_restart;
        let lingered = latest < stamp.read_at - LINGERS;
        Ok(Some(Candidate { at, bound, epoch: run.number, known, lingered }))
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
        Estimate { at: self.at, bound: self.bound, epoch: self.epoch }
    }
}

/// The known candidate that waited least and has the least bound. Where another one as likely
/// says the same time within the bounds it does not matter which is right, and the bound
/// covers both; where it says another time, nobody knows.
fn choose(candidates: &[Option<Candidate>]) -> Result<Candidate, Refusal> {
    let all = || candidates.iter().flatten();
    let best = all().filter(|candidate| candidate.known).min_by_key(|candidate| (candidate.lingered, candidate.bound));
    let mut best = *best.ok_or(Refusal::OutsideEpochs)?;
    for other in all().filter(|other| other.epoch != best.epoch && other.lingered <= best.lingered) {
        let apart = (best.at - other.at).abs();
        if apart > best.bound + other.bound {
            return Err(Refusal::Ambiguous);
        }
        best.bound = best.bound.max(apart + other.bound);
    }
    Ok(best)
}
