//! One run (generation) of a hardware clock: its cross timestamps, its period, and whether a cross
//! timestamp still belongs to it.

use super::fit::{Contradiction, Fit, MEASURED, SLEW, STATED};
use super::interval::Interval;
use super::limits::Limits;
use super::reading::{Reading, difference, magnitude};
use super::{ClockGeneration, GenerationCause};
use crate::interface::InterfaceIndex;
use crate::time::{Frequency, HardwareTicks, MonotonicTime, Span};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The longest gap between cross timestamps that does not end the run: a minute plus the time until
/// the next one.
pub(super) const LONGEST_GAP: Span = Span::from_seconds(90);
/// The largest change of the rate that an oscillator can cause.
const RATE_CHANGE: f64 = 200e-6;
/// The uncertainty below which a rate counts as known from cross timestamps.
const RATE_KNOWN: f64 = 100e-6;
/// The possible nanoseconds per tick: counters run at 1 kHz to 10 GHz, with some margin.
const POSSIBLE_SCALES: Interval = Interval::new(0.09, 1.1e6);
/// The number of cross timestamps that are kept until two of them determine the frequency.
const KEPT_UNSCALED: usize = 16;
/// A run that ends by itself after at most this many cross timestamps had a wrong rate.
const DOUBTED: u32 = 3;
/// The fastest slew: chronyd slews by up to 83,333 ppm; the rest is for the error of the rate.
const FAST_SLEW: f64 = 84.5e-3;
/// The largest change of the rate at a notification: from any adjustment to any other.
const AFTER_EVENT: f64 = 2.0 * SLEW;
/// The ratio of a rate's true to its apparent change: it changed somewhere between two cross
/// timestamps.
const LATE_CHANGE: f64 = 4.0;

/// The knowledge of the clocks' relation.
#[derive(Debug, Clone)]
enum Knowledge {
    /// The frequency is unknown, and no two cross timestamps are far enough apart to determine it.
    Readings(Vec<Reading>),
    /// Conversions are possible.
    Fit(Box<Fit>),
}

/// One run of a hardware clock.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) number: ClockGeneration,
    pub(super) cause: GenerationCause,
    /// The system time of the first cross timestamp.
    pub(super) first: MonotonicTime,
    /// The system time of the last cross timestamp.
    pub(super) last: MonotonicTime,
    newest: HardwareTicks,
    knowledge: Knowledge,
    /// The nanoseconds per tick in the previous run, if known.
    rate_before: Option<Interval>,
    /// The counter's step in the previous run in ticks, or 0.
    counts_by: u64,
    readings: u32,
    /// The device that has this clock, if it is not the interface itself.
    pub(super) device: Option<InterfaceIndex>,
}

impl Run {
    /// Begins a run with `reading`. `stated` is the nominal frequency, if it is reliable.
    pub(super) fn new(
        cause: GenerationCause,
        reading: Reading,
        stated: Option<Frequency>,
        limits: Limits,
    ) -> Self {
        Self::of((ClockGeneration(0), cause), reading, stated, (0, limits))
    }

    fn of(
        (number, cause): (ClockGeneration, GenerationCause),
        reading: Reading,
        stated: Option<Frequency>,
        (counts_by, limits): (u64, Limits),
    ) -> Self {
        let fit = |frequency: Frequency| {
            Fit::new(
                1e9 / frequency.hertz() as f64,
                STATED,
                &reading,
                counts_by,
                limits,
            )
        };
        let knowledge = match stated {
            Some(frequency) => Knowledge::Fit(Box::new(fit(frequency))),
            None => Knowledge::Readings(Vec::from([reading])),
        };
        let (first, last, newest) = (reading.middle, reading.middle, reading.ticks);
        Self {
            number,
            cause,
            first,
            last,
            newest,
            knowledge,
            rate_before: None,
            counts_by,
            readings: 1,
            device: None,
        }
    }

    /// Begins a run with `reading` after `previous`, whose rate is the best known one and which
    /// `contradiction` ended.
    #[must_use]
    pub(super) fn after(
        previous: &mut Self,
        cause: GenerationCause,
        reading: Reading,
        (stated, limits): (Option<Frequency>, Limits),
        contradiction: Option<Contradiction>,
    ) -> Self {
        let number = ClockGeneration(previous.number.0.wrapping_add(1));
        let counts_by = previous.fit().map_or(previous.counts_by, Fit::counts_by);
        let mut run = Self::of((number, cause), reading, stated, (counts_by, limits));
        run.rate_before = previous.known_rate();
        let trusted = run.rate_before.is_some() && previous.readings > DOUBTED;
        let known = previous.fit().filter(|_| trusted);
        if let Some(fit) =
            known.and_then(|fit| Fit::after(fit, new_limits(fit, cause, contradiction), &reading))
        {
            run.knowledge = Knowledge::Fit(Box::new(fit));
        }
        previous.close(contradiction.is_some());
        run
    }

    /// Begins a run with `reading` of another clock than that of `previous`, from which it learns
    /// nothing.
    #[must_use]
    pub(super) fn of_another_clock(
        previous: &mut Self,
        reading: Reading,
        stated: Option<Frequency>,
        limits: Limits,
    ) -> Self {
        previous.close(false);
        let number = ClockGeneration(previous.number.0.wrapping_add(1));
        let cause = GenerationCause::ClockReplaced;
        Self::of((number, cause), reading, stated, (0, limits))
    }

    /// Ends the run.
    fn close(&mut self, contradicted: bool) {
        if let Knowledge::Fit(fit) = &mut self.knowledge {
            fit.close(contradicted);
        }
    }

    /// Adds a cross timestamp like [`add`](Self::add). If the width of brackets is unknown, the
    /// sequence shows it: each cross timestamp was made before the next one began.
    pub(super) fn follow_up(
        &mut self,
        reading: &Reading,
        limits: Limits,
    ) -> Result<(), (GenerationCause, Option<Contradiction>)> {
        if let (Knowledge::Fit(fit), false) = (&mut self.knowledge, reading.told) {
            let until = difference(reading.middle, self.last) + reading.step;
            fit.narrow(self.newest, self.last, until)
                .map_err(|contradiction| (contradiction.cause(), Some(contradiction)))?;
        }
        self.add(reading, limits)
    }

    /// Adds a cross timestamp, or returns the contradiction without a change if it cannot belong to
    /// this run.
    fn add(
        &mut self,
        reading: &Reading,
        limits: Limits,
    ) -> Result<(), (GenerationCause, Option<Contradiction>)> {
        if reading.ticks.since(self.newest) < 0 {
            return Err((GenerationCause::CounterBackwards, None));
        }
        if reading.middle - self.last > LONGEST_GAP {
            return Err((GenerationCause::Gap, None));
        }
        let added = self.knowledge.add(reading, self.counts_by, limits);
        added.map_err(|contradiction| (contradiction.cause(), Some(contradiction)))?;
        (self.last, self.newest) = (reading.middle, reading.ticks);
        self.readings = self.readings.saturating_add(1);
        if self.cause == GenerationCause::Contradiction {
            self.tell_rate_change();
        }
        Ok(())
    }

    /// Whether a cross timestamp from before the last one fits, so that it is only late. If it does
    /// not fit, the system clock was set back.
    pub(super) fn agrees(&self, reading: &Reading) -> bool {
        match self.fit().and_then(|fit| fit.convert(reading.ticks)) {
            Some(converted) => {
                let off = magnitude(difference(reading.middle, converted.at));
                off <= converted.bound as f64 + reading.bracket.half_width()
            }
            None => reading.ticks.since(self.newest) <= 0,
        }
    }

    /// Distinguishes a new frequency from a step, which a single cross timestamp cannot do.
    fn tell_rate_change(&mut self) {
        let (Some(before), Some(now)) = (self.rate_before, self.known_rate()) else {
            return;
        };
        let change = (now.low / before.high - 1.0).max(before.low / now.high - 1.0);
        if change > RATE_CHANGE {
            self.cause = GenerationCause::FrequencyChange;
        }
    }

    /// The fit, if the frequency is known.
    pub(super) fn fit(&self) -> Option<&Fit> {
        match &self.knowledge {
            Knowledge::Fit(fit) => Some(fit),
            Knowledge::Readings(_) => None,
        }
    }

    /// The nanoseconds per tick, if cross timestamps determine it.
    pub(super) fn known_rate(&self) -> Option<Interval> {
        let rate = self.fit()?.rate();
        (rate.half_width() <= RATE_KNOWN * rate.middle()).then_some(rate)
    }

    /// The number of cross timestamps in use.
    pub(super) fn readings(&self) -> usize {
        self.readings as usize
    }
}

impl Knowledge {
    fn add(
        &mut self,
        reading: &Reading,
        counts_by: u64,
        limits: Limits,
    ) -> Result<(), Contradiction> {
        let readings = match self {
            Self::Fit(fit) => return fit.add(reading),
            Self::Readings(readings) => readings,
        };
        let scale = readings
            .iter()
            .filter_map(|earlier| scale(earlier, reading))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((scale, _)) = scale {
            let mut fit = Fit::new(scale, MEASURED, &readings[0], counts_by, limits);
            readings[1..]
                .iter()
                .chain([reading])
                .try_for_each(|reading| fit.add(reading))?;
            *self = Self::Fit(Box::new(fit));
            return Ok(());
        }
        readings.push(*reading);
        if readings.len() > KEPT_UNSCALED {
            readings.remove(1); // keeps the first, which is the farthest, and the last, which is the next one's neighbour
        }
        Ok(())
    }
}

/// The limits of the rate after an event, as fractions relative to the scale. An apparent step can
/// be a new rate, a program that steps a clock may also set its rate, and a restart may undo an
/// adjustment.
fn new_limits(fit: &Fit, cause: GenerationCause, contradiction: Option<Contradiction>) -> Interval {
    let implied = contradiction.map_or(0.0, |found| found.by / found.after);
    // a gain that is impossible since the last cross timestamp is a step
    let possible = match contradiction {
        Some(_) if implied <= STATED.high => (LATE_CHANGE * implied).clamp(SLEW, STATED.high),
        Some(_) if implied <= FAST_SLEW && cause != GenerationCause::HardwareStep => FAST_SLEW,
        Some(_) => SLEW,
        None if cause == GenerationCause::CounterBackwards => SLEW,
        None => AFTER_EVENT,
    };
    fit.relative_rate().widened(possible)
}

/// The nanoseconds per tick from two cross timestamps, with its uncertainty, if that is small
/// enough and the result possible.
fn scale(earlier: &Reading, later: &Reading) -> Option<(f64, f64)> {
    let ticks = later.ticks.since(earlier.ticks) as f64;
    let span = (later.middle - earlier.middle).nanoseconds() as f64;
    let span = Interval::new(
        span + later.bracket.low - earlier.bracket.high,
        span + later.bracket.high - earlier.bracket.low,
    );
    // one tick in each direction: the instant of the reading between two counts is unknown
    let scale = Interval::new(span.low / (ticks + 1.0), span.high / (ticks - 1.0));
    let uncertainty = scale.half_width() / scale.middle();
    let possible =
        ticks > 1.0 && scale.low > POSSIBLE_SCALES.low && scale.high < POSSIBLE_SCALES.high;
    (possible && uncertainty <= STATED.high).then_some((scale.middle(), uncertainty))
}
