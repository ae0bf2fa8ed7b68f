//! One run of a hardware clock: its readings, its span of time, and whether a reading
//! still belongs to it. Does not choose between runs.

use super::fit::{Contradiction, Fit, MEASURED, SLEW, STATED};
use super::interval::Interval;
use super::limits::Limits;
use super::reading::{Reading, difference, magnitude};
use super::{ClockGeneration, GenerationCause};
use crate::interface::InterfaceIndex;
use crate::time::{Frequency, HardwareTicks, MonotonicTime, Span};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Without a reading for this long, nobody knows what happened to the counter. A minute and the
/// time until the next reading comes are bridged.
pub(super) const LONGEST_GAP: Span = Span::from_seconds(90);
/// A rate that changed by more is not an oscillator's doing.
const RATE_CHANGE: f64 = 200e-6;
/// Below this uncertainty a rate counts as known from the readings.
const RATE_KNOWN: f64 = 100e-6;
/// Counters run at 1 kHz to 10 GHz; nanoseconds per tick, with a little room.
const POSSIBLE_SCALES: Interval = Interval::new(0.09, 1.1e6);
/// Readings kept until two of them tell the frequency.
const KEPT_UNSCALED: usize = 16;
/// A run of so few readings that ends by itself had its rate wrong.
const DOUBTED: u32 = 3;
/// chronyd slews the system clock by up to 83,333 ppm; and what a rate is off besides.
const FAST_SLEW: f64 = 84.5e-3;
/// After a notification: from any adjustment that a program may have made to any other.
const AFTER_EVENT: f64 = 2.0 * SLEW;
/// How much farther than it looks a rate may have changed: it did so somewhere between two
/// readings.
const LATE_CHANGE: f64 = 4.0;

/// How far the relation is known.
#[derive(Debug, Clone)]
enum Knowledge {
    /// The frequency is unknown, and no two readings are far enough apart to tell it.
    Readings(Vec<Reading>),
    /// Conversions can be made.
    Fit(Box<Fit>),
}

/// One run of a hardware clock.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) number: ClockGeneration,
    pub(super) cause: GenerationCause,
    /// The system time of the first reading.
    pub(super) first: MonotonicTime,
    /// And of the last.
    pub(super) last: MonotonicTime,
    newest: HardwareTicks,
    knowledge: Knowledge,
    /// Nanoseconds per tick in the run before, if that was known.
    rate_before: Option<Interval>,
    /// What the counter counted by before, in ticks, or 0.
    counts_by: u64,
    readings: u32,
    /// The device that has this clock, if it is another than the interface.
    pub(super) device: Option<InterfaceIndex>,
}

impl Run {
    /// Opened by `reading`. `stated`: the frequency, if it can be relied on.
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

    /// Opened by `reading` after `previous`, whose rate is the best that is known.
    /// `contradiction`: what ended the other.
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

    /// Opened by `reading` of another clock than the one of `previous`, of which it learns nothing.
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

    /// No more readings come of it.
    fn close(&mut self, contradicted: bool) {
        if let Knowledge::Fit(fit) = &mut self.knowledge {
            fit.close(contradicted);
        }
    }

    /// As [`add`](Self::add). Where the width of brackets is unknown, the readings themselves show it:
    /// each was made before the next one began.
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

    /// Takes one more reading in, or returns why it cannot belong to this run: then nothing
    /// changes.
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

    /// Whether a reading from before the last one fits: then it only comes late. If it does not,
    /// the system clock was set back.
    pub(super) fn agrees(&self, reading: &Reading) -> bool {
        match self.fit().and_then(|fit| fit.convert(reading.ticks)) {
            Some(converted) => {
                let off = magnitude(difference(reading.middle, converted.at));
                off <= converted.bound as f64 + reading.bracket.half_width()
            }
            None => reading.ticks.since(self.newest) <= 0,
        }
    }

    /// One reading can't tell a step from a new rate; the ones that follow can.
    fn tell_rate_change(&mut self) {
        let (Some(before), Some(now)) = (self.rate_before, self.known_rate()) else {
            return;
        };
        let change = (now.low / before.high - 1.0).max(before.low / now.high - 1.0);
        if change > RATE_CHANGE {
            self.cause = GenerationCause::FrequencyChange;
        }
    }

    /// The conversions, if the frequency is known.
    pub(super) fn fit(&self) -> Option<&Fit> {
        match &self.knowledge {
            Knowledge::Fit(fit) => Some(fit),
            Knowledge::Readings(_) => None,
        }
    }

    /// Nanoseconds per tick, if the readings tell it.
    pub(super) fn known_rate(&self) -> Option<Interval> {
        let rate = self.fit()?.rate();
        (rate.half_width() <= RATE_KNOWN * rate.middle()).then_some(rate)
    }

    /// How many readings it stands on.
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
            readings.remove(1); // the first is the farthest, the last the next one's neighbour
        }
        Ok(())
    }
}

/// Within which fractions above the scale's the rate is after an event. What looks like a step
/// can be a new rate, who steps a clock may set its rate as well, and a restart may undo an
/// adjustment.
fn new_limits(fit: &Fit, cause: GenerationCause, contradiction: Option<Contradiction>) -> Interval {
    let implied = contradiction.map_or(0.0, |found| found.by / found.after);
    // what no clock could have gained since the last reading is a step
    let possible = match contradiction {
        Some(_) if implied <= STATED.high => (LATE_CHANGE * implied).clamp(SLEW, STATED.high),
        Some(_) if implied <= FAST_SLEW && cause != GenerationCause::HardwareStep => FAST_SLEW,
        Some(_) => SLEW,
        None if cause == GenerationCause::CounterBackwards => SLEW,
        None => AFTER_EVENT,
    };
    fit.relative_rate().widened(possible)
}

/// Nanoseconds per tick from two readings and the uncertainty of it, if that is small enough
/// and the result possible.
fn scale(earlier: &Reading, later: &Reading) -> Option<(f64, f64)> {
    let ticks = later.ticks.since(earlier.ticks) as f64;
    let span = (later.middle - earlier.middle).nanoseconds() as f64;
    let span = Interval::new(
        span + later.bracket.low - earlier.bracket.high,
        span + later.bracket.high - earlier.bracket.low,
    );
    // one tick each way: when between two counts it was read is unknown
    let scale = Interval::new(span.low / (ticks + 1.0), span.high / (ticks - 1.0));
    let uncertainty = scale.half_width() / scale.middle();
    let possible =
        ticks > 1.0 && scale.low > POSSIBLE_SCALES.low && scale.high < POSSIBLE_SCALES.high;
    (possible && uncertainty <= STATED.high).then_some((scale.middle(), uncertainty))
}
