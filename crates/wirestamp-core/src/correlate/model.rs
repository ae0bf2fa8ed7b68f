//! The division of a NIC's cross timestamps into clock generations.

use super::burst::Agreement;
use super::convert::LINGERS;
use super::express::Express;
use super::fit::{Contradiction, Fit};
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

/// The most interfaces that can be stacked.
const MOST_DEVICES: usize = 8;
/// The number of runs that are remembered besides the current one.
pub(super) const REMEMBERED: usize = 4;
/// The assumed width of a bracket that the driver does not report: slow NICs are read through a
/// management bus in about 100 µs, and the reading can be interrupted.
const UNKNOWN_BRACKET: Span = Span::from_milliseconds(1);
/// The uncertainty of latched readings, in nanoseconds: the resynchronisation of two clock domains
/// and the delay of the bus between them.
const LATCH: f64 = 50.0;
/// The system clock's tick on Windows, in nanoseconds: the performance counter usually runs at 10
/// MHz.
const PERFORMANCE_COUNTER_STEP: f64 = 100.0;
/// The system clock's tick on other systems, in nanoseconds.
const NANOSECOND: f64 = 1.0;

/// The interfaces below another one.
#[derive(Debug, Clone, Default)]
struct Devices {
    all: [Option<InterfaceIndex>; MOST_DEVICES],
    /// The one of them that has the clock.
    last: Option<InterfaceIndex>,
}

/// The effect of a cross timestamp on a [`Correlation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It was added to the current generation.
    Accepted,
    /// It began a generation.
    Opened(GenerationCause),
    /// It is older than the last one and was not used.
    Outdated,
}

/// The relation between a NIC's clock and the monotonic clock, learnt from cross timestamps.
///
/// The error bound includes the width of the brackets, the ticks of both clocks, frequency changes
/// within the [`Assumptions`], and a nanosecond for rounding. The estimate is for the middle of a
/// timestamp's tick. A program that changes the frequency of either clock without a notification
/// violates the assumptions until cross timestamps show the change; then all affected conversions
/// get a wider bound, including those of earlier timestamps. `docs/error-bound.md` explains the
/// guarantees.
///
/// Conversions without a cross timestamp in between preserve the order of a generation's
/// timestamps. A new cross timestamp moves the line by less than the error bounds, so that a later
/// conversion can give an earlier time.
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
    /// Further interfaces whose timestamps are of this clock. Boxed, because most clocks have none.
    devices: Option<Box<Devices>>,
    nominal: Option<Frequency>,
    /// Whether the cross timestamps agree with the nominal frequency.
    reliable: bool,
    /// Oldest first; the last one is current.
    pub(super) runs: VecDeque<Run>,
    /// The last cross timestamp of the newest forgotten run.
    pub(super) forgotten: Option<MonotonicTime>,
    /// Set if the current run has ended: the cause of the run that the next cross timestamp begins.
    pub(super) ended: Option<GenerationCause>,
    widest: Option<Span>,
    /// The system clock's tick in nanoseconds, if set by the caller.
    system_step: Option<f64>,
    limits: Limits,
    /// How long a timestamp may wait unread before another generation is more likely.
    pub(super) lingers: Span,
    /// The fast path of conversions.
    pub(super) express: Express,
}

impl Correlation {
    /// Creates a correlation without cross timestamps. `nominal` is the frequency that the driver
    /// reports, if any. It is only a start value, and is dropped if cross timestamps contradict it.
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

    /// Sets the tick frequency of the system clock in cross timestamps. By default its tick is 100
    /// ns for those of a Windows driver, and 1 ns for others.
    #[must_use]
    pub fn with_system_frequency(mut self, frequency: Frequency) -> Self {
        let exact = 1_000_000_000 % frequency.hertz() == 0;
        // a tick that is not a whole number of nanoseconds was rounded down
        self.system_step =
            Some(1e9 / frequency.hertz() as f64 + if exact { 0.0 } else { NANOSECOND });
        self
    }

    /// Sets assumptions other than [`Assumptions::USUAL`], for generations that begin later. Error
    /// bounds hold only as long as the assumptions are true.
    #[must_use]
    pub fn with_assumptions(mut self, assumptions: &Assumptions) -> Self {
        self.limits = Limits::of(assumptions);
        self
    }

    /// Sets how long a timestamp may wait before it is read; the default is 10 s. The shorter, the
    /// sooner after a step a timestamp can only be of the new generation.
    #[must_use]
    pub fn with_longest_wait(mut self, wait: Span) -> Self {
        self.lingers = wait.min(LINGERS);
        self
    }

    /// Returns the interface of the clock.
    pub fn interface(&self) -> InterfaceIndex {
        self.interface
    }

    /// Sets the interfaces below a VLAN or bond that timestamps of this clock may name, the one
    /// that has the clock last. Replaces those of an earlier call; after
    /// [`replace_clock`](Self::replace_clock) they apply to the new clock. If the last device
    /// changes without `replace_clock`, it shares the clock, and the current generation, which is
    /// of the former device, ends. Of more than eight devices (the most that Linux stacks) the last
    /// eight are used.
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

    /// Whether this clock, or one with remembered cross timestamps, belongs to a device below the
    /// interface.
    pub(super) fn is_of(&self, device: InterfaceIndex) -> bool {
        let had = |run: &Run| run.device == Some(device);
        self.is_below(device) || self.runs.iter().any(had)
    }

    /// Whether a run is of the clock of a device below the interface. Devices above the one with
    /// the clock do not change.
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

    /// Returns the nominal frequency that the driver reports.
    pub fn nominal(&self) -> Option<Frequency> {
        self.nominal
    }

    /// Adds a cross timestamp. They must come in the order in which they were taken, without
    /// overlap.
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
            self.reliable = false; // the contradiction may have been with the nominal frequency
        }
        self.open(cause, reading, contradiction)
    }

    /// Ends the current generation: the next cross timestamp begins a new one. Until then,
    /// conversions fail for timestamps that were read after the last cross timestamp; earlier ones
    /// are converted as before.
    pub fn restart(&mut self, cause: GenerationCause) {
        // a replaced clock stays replaced, whatever else happens before its first cross timestamp
        if !self.runs.is_empty() && self.ended != Some(GenerationCause::ClockReplaced) {
            self.ended = Some(cause);
        }
        self.express = Express::of(self);
    }

    /// Continues with another hardware clock with nominal frequency `nominal`: a bond failed over,
    /// or the interface came back, perhaps with another index. Ends the current generation like
    /// [`restart`](Self::restart), and forgets what was learnt of the former clock. The numbers of
    /// generations continue.
    pub fn replace_clock(&mut self, interface: InterfaceIndex, nominal: Option<Frequency>) {
        (self.interface, self.nominal) = (interface, nominal);
        (self.reliable, self.widest) = (true, None);
        self.restart(GenerationCause::ClockReplaced);
    }

    /// Returns the hardware clock's frequency relative to the monotonic clock; `None` until it is
    /// known.
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

    /// Returns the current expectation of the oscillators' wander; `None` until the frequency is
    /// known.
    pub fn prior(&self) -> Option<Prior> {
        let run = self.runs.back()?;
        let (seen, unseen) = run.fit()?.believed()?;
        Some(Prior {
            seen_per_second: seen,
            unseen_per_second: unseen,
            generation: run.number,
        })
    }

    /// Since when cross timestamps agree; `None` before the first one.
    pub(super) fn agreement(&self) -> Option<Agreement> {
        let run = self.runs.back()?;
        Some(Agreement {
            generation: run.number,
            since: run.fit().and_then(Fit::agreed_since),
        })
    }

    /// How well the newest batch's offset is known, in nanoseconds, and the frequency, as a
    /// fraction; `None` until it is known at all.
    pub(super) fn uncertainty(&self) -> Option<(f64, f64)> {
        let fit = self.runs.back()?.fit()?;
        Some((fit.knots.newest().half_width(), fit.rate.half_width()))
    }

    /// Returns the current generation; `None` before the first cross timestamp.
    pub fn generation(&self) -> Option<ClockGeneration> {
        self.runs.back().map(|run| run.number)
    }

    /// Returns why the current generation began. One cross timestamp cannot distinguish a step from
    /// a new frequency, so a [`Contradiction`](GenerationCause::Contradiction) can become a
    /// [`FrequencyChange`](GenerationCause::FrequencyChange) with later ones.
    pub fn cause(&self) -> Option<GenerationCause> {
        self.runs.back().map(|run| run.cause)
    }

    /// Returns the number of cross timestamps in the current generation, of which few are kept.
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
                // it was taken after the previous one
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

    /// Starts over after the system clock was set back, which invalidates the times of all earlier
    /// generations.
    fn begin_anew(&mut self, reading: Reading) -> Pushed {
        let pushed = self.open(GenerationCause::SystemStep, reading, None);
        self.runs.drain(..self.runs.len() - 1);
        self.forgotten = None;
        pushed
    }

    /// Uses a doubted nominal frequency again once the cross timestamps agree with it.
    fn check_nominal(&mut self) {
        let known = self.runs.back().and_then(Run::known_rate);
        if let (Some(rate), Some(nominal)) = (known, self.nominal) {
            let off = rate.middle() * nominal.hertz() as f64 / 1e9 - 1.0;
            self.reliable = off > super::fit::STATED.low && off < super::fit::STATED.high;
        }
    }
}
