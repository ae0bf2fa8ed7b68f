//! The readings of one NIC's clock and their division into generations. Fits nothing and
//! converts nothing itself.

use super::convert::LINGERS;
use super::express::Express;
use super::fit::Contradiction;
use super::generation::Run;
use super::interval::Interval;
use super::limits::Limits;
use super::reading::{Reading, difference};
use super::{Assumptions, ClockGeneration, FrequencyEstimate, GenerationCause, Prior};
use crate::cross::{CrossMethod, CrossTimestamp};
use crate::interface::InterfaceIndex;
use crate::time::{Frequency, MonotonicTime, Span};
use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// So many interfaces stand on one another at most.
const MOST_DEVICES: usize = 8;
/// How many runs are remembered behind the current one.
pub(super) const REMEMBERED: usize = 4;
/// The width of a bracket that a driver does not tell, while none is known: slow NICs
/// are read through a management bus in about 100 µs, and the reading can be interrupted.
const UNKNOWN_BRACKET: Span = Span::from_milliseconds(1);
/// Latched readings agree to this: the resynchronisation of two clock domains and the delay
/// of the bus between them, a few tens of nanoseconds.
const LATCH: f64 = 50.0;
/// The system clock's step on Windows: the usual performance counter runs at 10 MHz.
const PERFORMANCE_COUNTER_STEP: f64 = 100.0;
/// And on the others.
const NANOSECOND: f64 = 1.0;

/// Interfaces below another one.
#[derive(Debug, Clone, Default)]
struct Devices {
    all: [Option<InterfaceIndex>; MOST_DEVICES],
    /// That of them which has the clock.
    last: Option<InterfaceIndex>,
}

/// The effect of a reading on a [`Correlation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It belongs to the current generation.
    Accepted,
    /// It opened a generation.
    Opened(GenerationCause),
    /// It is older than the last one: not used.
    Outdated,
}

/// The relation between one NIC's clock and the system clock, learnt from readings.
///
/// The error bound contains all that the brackets leave open, the ticks of both clocks, what the
/// frequency can have done besides ([`Assumptions`]), and a nanosecond for rounding. The estimate
/// is for the middle of a timestamp's tick. A program that changes the frequency of either clock
/// without a notification breaks the assumptions until readings show it: then all that it can have
/// touched gets a wider bound, timestamps from before included. What is guaranteed when, and why, is in
/// `docs/error-bound.md`.
///
/// Conversions made without a reading in between keep the order of the timestamps of one generation. A
/// reading moves the line, by less than the bounds: it can turn back what was converted before.
///
/// ```
/// use wirestamp_core::correlate::{Correlation, GenerationCause, Pushed};
/// use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
/// use wirestamp_core::interface::InterfaceIndex;
/// use wirestamp_core::timestamp::HardwareTimestamp;
/// use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};
///
/// let (at, ticks) = (MonotonicTime::from_nanoseconds, HardwareTicks::new);
/// let interface = InterfaceIndex::new(2).expect("not zero");
/// let mut correlation = Correlation::new(interface, Some(Frequency::GIGAHERTZ));
/// let reading = CrossTimestamp::new(at(1_000_000), ticks(500_600), at(1_001_200), CrossMethod::Extended);
/// assert_eq!(correlation.push(&reading.expect("valid")), Pushed::Opened(GenerationCause::Start));
///
/// let timestamp = HardwareTimestamp { ticks: ticks(510_600), interface: Some(interface), read_at: at(1_020_000) };
/// let estimate = correlation.to_monotonic(&timestamp).expect("in the generation");
/// assert!(estimate.at.contains(at(1_010_600)));
/// ```
#[derive(Debug, Clone)]
pub struct Correlation {
    pub(super) interface: InterfaceIndex,
    /// Others whose timestamps are of this clock. Most clocks have none, and a correlation is small.
    devices: Option<Box<Devices>>,
    nominal: Option<Frequency>,
    /// Whether the readings go with the nominal frequency.
    reliable: bool,
    /// Oldest first; the last one is current.
    pub(super) runs: VecDeque<Run>,
    /// The last reading of the newest run that was forgotten.
    pub(super) forgotten: Option<MonotonicTime>,
    /// The current run has ended; the next reading opens one for this cause.
    pub(super) ended: Option<GenerationCause>,
    widest: Option<Span>,
    /// How finely the system clock counts, in nanoseconds, if somebody said so.
    system_step: Option<f64>,
    limits: Limits,
    /// How long a timestamp may wait unread before another generation is the better explanation.
    pub(super) lingers: Span,
    /// How most timestamps are converted.
    pub(super) express: Express,
}

impl Correlation {
    /// Makes a correlation without a reading. `nominal`: the frequency that the driver states, if it does; only a
    /// start, and dropped if the readings contradict it.
    pub fn new(interface: InterfaceIndex, nominal: Option<Frequency>) -> Self {
        let runs = VecDeque::with_capacity(REMEMBERED + 1);
        Self {
            interface,
            devices: None,
            nominal,
            reliable: true,
            runs,
            forgotten: None,
            ended: None,
            widest: None,
            system_step: None,
            limits: Limits::of(&Assumptions::USUAL),
            lingers: LINGERS,
            express: Express::NONE,
        }
    }

    /// Says how finely the system clock of the readings counts. Without it, readings made by a
    /// Windows driver are taken to count 100 ns and others 1 ns.
    #[must_use]
    pub fn with_system_frequency(mut self, frequency: Frequency) -> Self {
        let exact = 1_000_000_000 % frequency.hertz() == 0;
        // a tick that is no whole number of nanoseconds was rounded down
        self.system_step =
            Some(1e9 / frequency.hertz() as f64 + if exact { 0.0 } else { NANOSECOND });
        self
    }

    /// Says what is assumed of the clocks instead of [`Assumptions::USUAL`]: bounds hold as long as it
    /// is true. For generations that begin later.
    #[must_use]
    pub fn with_assumptions(mut self, assumptions: &Assumptions) -> Self {
        self.limits = Limits::of(assumptions);
        self
    }

    /// Says how long a timestamp may wait before it is read; without it, 10 s. The shorter, the
    /// sooner after a step a timestamp is sure to be of the new generation.
    #[must_use]
    pub fn with_longest_wait(mut self, wait: Span) -> Self {
        self.lingers = wait.min(LINGERS);
        self
    }

    /// Returns the interface whose clock it is.
    pub fn interface(&self) -> InterfaceIndex {
        self.interface
    }

    /// Says which other interfaces' timestamps are of this clock: those below a VLAN or bond, by which timestamps are named
    /// that its packets have, the one that has the clock last. Replaces those of an earlier call; after
    /// [`replace_clock`](Self::replace_clock) they are those of the clock that comes. A timestamp that is named by the last one is of
    /// a clock that was behind it. Another last one, without `replace_clock`, shares the clock: the current generation ends, which is of
    /// the former one. Of more than eight, as many as Linux puts on one another, the last count.
    pub fn set_devices(&mut self, devices: impl IntoIterator<Item = InterfaceIndex>) {
        self.devices = None;
        for (place, device) in devices.into_iter().enumerate() {
            let known = self.devices.get_or_insert_default();
            known.all[place % MOST_DEVICES] = Some(device);
            known.last = Some(device);
        }
        let device = self.device();
        if let Some(run) = self.runs.back_mut().filter(|_| self.ended.is_none()) {
            if run.device.is_some_and(|former| device != Some(former)) {
                self.restart(GenerationCause::Notification);
            } else {
                run.device = device;
            }
        }
    }

    /// Whether this clock is behind that device below the interface, or one was of which readings are remembered.
    pub(super) fn is_of(&self, device: InterfaceIndex) -> bool {
        let had = |run: &Run| run.device == Some(device);
        self.is_below(device) || self.runs.iter().any(had)
    }

    /// Whether a run is of the clock of a device below the interface. What is above the device that has the clock stays.
    pub(super) fn can_be_of(&self, run: &Run, device: InterfaceIndex) -> bool {
        let has_not = self.device() != Some(device);
        run.device == Some(device) || (has_not && self.is_below(device))
    }

    fn is_below(&self, device: InterfaceIndex) -> bool {
        let devices = self.devices.as_ref();
        devices.is_some_and(|devices| devices.all.contains(&Some(device)))
    }

    fn device(&self) -> Option<InterfaceIndex> {
        self.devices.as_ref().and_then(|devices| devices.last)
    }

    /// Returns the frequency that the driver states.
    pub fn nominal(&self) -> Option<Frequency> {
        self.nominal
    }

    /// Takes a reading in. Readings come in the order in which they were made, each begun when the
    /// one before was over.
    pub fn push(&mut self, cross: &CrossTimestamp) -> Pushed {
        let pushed = self.take(cross);
        self.express = Express::of(self);
        pushed
    }

    fn take(&mut self, cross: &CrossTimestamp) -> Pushed {
        self.widest = self.widest.max(cross.bracket());
        let reading = self.reading(cross);
        let Some(current) = self.runs.back_mut() else {
            return self.open(GenerationCause::Start, reading, None);
        };
        if reading.middle < current.last {
            return if current.agrees(&reading) {
                Pushed::Outdated
            } else {
                self.begin_anew(reading)
            };
        }
        let (cause, contradiction) = match self.ended {
            Some(cause) => (cause, None),
            None => match current.follow_up(&reading, self.limits) {
                Ok(()) => {
                    self.check_nominal();
                    return Pushed::Accepted;
                }
                Err(reason) => reason,
            },
        };
        if contradiction.is_some() && current.known_rate().is_none() {
            self.reliable = false; // perhaps it was the stated frequency that was contradicted
        }
        self.open(cause, reading, contradiction)
    }

    /// Ends the current generation: the next reading opens a new one. Until then, timestamps that were
    /// read after the last reading fail; earlier ones are converted as before.
    pub fn restart(&mut self, cause: GenerationCause) {
        // another clock stays another one, whatever else happens before its first reading
        if !self.runs.is_empty() && self.ended != Some(GenerationCause::ClockReplaced) {
            self.ended = Some(cause);
        }
        self.express = Express::of(self);
    }

    /// Continues with another hardware clock, whose nominal frequency is `nominal`: a bond failed over, or the interface
    /// came back, perhaps under another number. Ends the current generation as [`restart`](Self::restart) does; nothing
    /// that was learnt of the former clock is assumed of this one. The numbers of generations go on.
    pub fn replace_clock(&mut self, interface: InterfaceIndex, nominal: Option<Frequency>) {
        (self.interface, self.nominal) = (interface, nominal);
        (self.reliable, self.widest) = (true, None);
        self.restart(GenerationCause::ClockReplaced);
    }

    /// Returns the hardware clock's frequency against the monotonic clock; `None` before it is known.
    pub fn frequency(&self) -> Option<FrequencyEstimate> {
        let run = self.runs.back()?;
        let (allowed, best) = (run.fit()?.rate(), run.fit()?.best_rate());
        let bound = (allowed.high / best - 1.0).max(best / allowed.low - 1.0);
        Some(FrequencyEstimate {
            hertz: 1e9 / best,
            error_bound_parts_per_billion: bound * 1e9 + 1e-3,
            generation: run.number,
        })
    }

    /// Returns what is believed about the oscillators just now; `None` before the rate is known.
    pub fn prior(&self) -> Option<Prior> {
        let run = self.runs.back()?;
        let (seen, unseen) = run.fit()?.believed()?;
        Some(Prior {
            seen_per_second: seen,
            unseen_per_second: unseen,
            generation: run.number,
        })
    }

    /// Returns the current generation; `None` before the first reading.
    pub fn generation(&self) -> Option<ClockGeneration> {
        self.runs.back().map(|run| run.number)
    }

    /// Returns what opened the current generation. One reading can't tell a step from a new rate, so a
    /// [`Contradiction`](GenerationCause::Contradiction) can become a
    /// [`FrequencyChange`](GenerationCause::FrequencyChange) with the readings that follow.
    pub fn cause(&self) -> Option<GenerationCause> {
        self.runs.back().map(|run| run.cause)
    }

    /// Returns how many readings the current generation stands on: few are kept.
    pub fn readings(&self) -> usize {
        self.runs.back().map_or(0, Run::readings)
    }

    fn reading(&self, cross: &CrossTimestamp) -> Reading {
        let middle = cross.middle();
        let half = |end: MonotonicTime| (end - middle).nanoseconds() as f64;
        let usual = if cross.method() == CrossMethod::Driver {
            PERFORMANCE_COUNTER_STEP
        } else {
            NANOSECOND
        };
        let step = self.system_step.unwrap_or(usual);
        let told = Interval::new(
            half(cross.monotonic_before()),
            half(cross.monotonic_after()) + step,
        );
        let bracket = match cross.bracket() {
            Some(Span::ZERO) => told.widened(LATCH),
            Some(_) => told,
            None => {
                let width = self
                    .widest
                    .unwrap_or(UNKNOWN_BRACKET)
                    .saturating_nanoseconds() as f64;
                // it was made after the one before
                let since = self
                    .runs
                    .back()
                    .map(|run| difference(middle, run.last))
                    .filter(|since| *since >= 0.0);
                let guessed = told.widened(width);
                Interval::new(
                    guessed.low.max(since.map_or(guessed.low, |since| -since)),
                    guessed.high,
                )
            }
        };
        let centre = told.middle();
        Reading {
            ticks: cross.hardware(),
            middle,
            bracket,
            centre,
            told: cross.bracket().is_some(),
            step,
        }
    }

    fn open(
        &mut self,
        cause: GenerationCause,
        reading: Reading,
        contradiction: Option<Contradiction>,
    ) -> Pushed {
        let stated = self.nominal.filter(|_| self.reliable);
        let device = self.device();
        let mut run = match self.runs.back_mut() {
            None => Run::new(cause, reading, stated, self.limits),
            Some(last) if cause == GenerationCause::ClockReplaced => {
                Run::of_another_clock(last, reading, stated, self.limits)
            }
            Some(last) => Run::after(last, cause, reading, (stated, self.limits), contradiction),
        };
        run.device = device;
        if self.runs.len() > REMEMBERED {
            self.forgotten = self.runs.pop_front().map(|run| run.last);
        }
        self.runs.push_back(run);
        self.ended = None;
        Pushed::Opened(cause)
    }

    /// The system clock was set back: the times of all earlier generations mean something else now.
    fn begin_anew(&mut self, reading: Reading) -> Pushed {
        let pushed = self.open(GenerationCause::SystemStep, reading, None);
        self.runs.drain(..self.runs.len() - 1);
        self.forgotten = None;
        pushed
    }

    /// A frequency that was doubted counts again once the readings agree with it.
    fn check_nominal(&mut self) {
        let known = self.runs.back().and_then(Run::known_rate);
        if let (Some(rate), Some(nominal)) = (known, self.nominal) {
            let off = rate.middle() * nominal.hertz() as f64 / 1e9 - 1.0;
            self.reliable = off > super::fit::STATED.low && off < super::fit::STATED.high;
        }
    }
}
