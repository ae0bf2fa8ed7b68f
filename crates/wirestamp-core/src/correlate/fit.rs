//! The fit of one generation's cross timestamps: the intervals of offset and rate that are
//! consistent with all of them, and an estimate inside. [`super::position`] converts timestamps
//! with it.
//!
//! A cross timestamp states that the system clock was within its bracket when the counter showed
//! `h`. Extrapolated to the next batch, with the limits of the rate and room for wander, it narrows
//! that batch's interval; and any two instants far enough apart limit the rate. Offset and rate are
//! kept as two intervals. The exact set is a polygon, but the corners that this adds do not affect
//! extrapolation to the future.

pub(super) use super::contradiction::Contradiction;
pub(super) use super::position::Converted;

use super::bank::Bank;
use super::interval::Interval;
use super::knots::{KEPT, Knot, Knots};
use super::learning::{Learning, pair_rates};
use super::limits::Limits;
use super::path::PathWidth;
use super::prior::Wander;
use super::reading::{Reading, difference};
use super::segment::{Line, Segment};
use super::step::Step;
use crate::time::{HardwareTicks, MonotonicTime};
use alloc::boxed::Box;

/// The largest error of a nominal frequency: 1000 ppm. An oscillator is within 200 ppm and a
/// disciplined system clock within 500 ppm of the nominal frequency.
pub(super) const STATED: Interval = Interval::around_zero(1e-3);
/// The largest error of a measured frequency: two cross timestamps far enough apart bound it to the
/// width of [`STATED`], from where it may wander.
pub(super) const MEASURED: Interval = Interval::around_zero(2e-3);
/// The longest gap between cross timestamps of one batch, in nanoseconds.
const BATCH: f64 = 1e6;
/// The f64 rounding error in nanoseconds: intervals that miss each other by less count as touching.
pub(super) const ROUNDING: f64 = 0.01;
/// The rounding error of rates.
pub(super) const RATE_ROUNDING: f64 = 1e-12;
/// The largest sudden change of a clock's frequency by a program: 500 ppm, the limit of adjtime and
/// the kernel, plus room for the uncertainty of the previous rate.
pub(super) const SLEW: f64 = 505e-6;
/// The part of an error bound for rounding to whole nanoseconds.
pub(super) const WHOLE: f64 = 0.51;
pub(super) const PER_SECOND: f64 = 1e9;
/// The reach of the newest line in nanoseconds: somewhat longer than the longest gap.
const REACH: f64 = 100e9;

/// The fit of one generation.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// The nominal nanoseconds per tick; rates are fractions relative to it.
    pub(super) scale: f64,
    pub(super) step: Step,
    /// The newest one is the open batch.
    pub(super) knots: Knots,
    /// The rate at the newest knot, as a fraction relative to the scale.
    pub(super) rate: Interval,
    pub(super) best_rate: f64,
    /// The allowed wander per nanosecond: [`Wander::allowed`].
    pub(super) wander: f64,
    pub(super) front: Segment,
    pub(super) learning: Option<Box<Learning>>,
}

impl Fit {
    /// Creates a fit. `scale` is the nanoseconds per tick, with a relative error within `rates`;
    /// `counted` is the counter's known step in ticks, or 0.
    pub(super) fn new(
        scale: f64,
        rates: Interval,
        first: &Reading,
        counted: u64,
        limits: Limits,
    ) -> Self {
        let bank = Bank::new(rates.middle() * PER_SECOND, rates.half_width() * PER_SECOND);
        let step = Step::new(scale, counted, limits.tick.into());
        Self::open(
            step,
            scale,
            rates,
            first,
            (
                bank,
                Wander::new(limits.wander),
                PathWidth::new(),
                limits.hidden,
            ),
        )
    }

    /// Creates a fit after an event, with the known oscillator and path of the previous one.
    pub(super) fn after(previous: &Self, limits: Interval, first: &Reading) -> Option<Self> {
        let learning = previous.learning.as_ref()?;
        let (bank, wander) = (
            learning.bank.clone().after_step(),
            learning.wander.clone().after_step(),
        );
        Some(Self::open(
            previous.step.clone(),
            previous.scale,
            limits,
            first,
            (bank, wander, learning.path.clone(), previous.knots.hidden),
        ))
    }

    fn open(
        step: Step,
        scale: f64,
        limits: Interval,
        first: &Reading,
        known: (Bank, Wander, PathWidth, f32),
    ) -> Self {
        let (bank, wander, path, hidden) = known;
        let told = first
            .bracket
            .widened(half_of(&step, limits) + f64::from(hidden));
        let knot = Knot {
            ticks: first.ticks,
            at: first.middle,
            allowed: told,
            centre: 0.0,
            bend: 0.0,
        };
        let line = Line {
            ticks: first.ticks,
            at: first.middle,
            offset: 0.0,
            rate: 0.0,
            half_width: 0.0,
            spread: 0.0,
            wander: 0.0,
            scale,
        };
        let allowed = wander.allowed();
        let learning = Learning {
            bank,
            told,
            likely: told,
            known: first.told,
            middles: first.centre,
            readings: 1.0,
            system_step: first.step,
            carried: limits,
            agreed_since: first.ticks,
            since_last: 0.0,
            brackets: [told.rounded_outward(); KEPT],
            path,
            wander,
        };
        let mut fit = Self {
            scale,
            step,
            knots: Knots::new(knot, hidden),
            rate: limits,
            best_rate: limits.middle(),
            wander: allowed,
            front: Segment::new(&line, 0.0),
            learning: Some(Box::new(learning)),
        };
        fit.publish();
        fit
    }

    /// Ends the fit and releases the memory that only further cross timestamps need. `contradicted`
    /// is true if the next one could not be of this run, so the change may have come before the
    /// newest one.
    pub(super) fn close(&mut self, contradicted: bool) {
        if contradicted {
            self.reopen();
            self.publish();
        }
        self.learning = None;
    }

    /// Adds a cross timestamp that is newer than all others. Does not change anything on a
    /// contradiction.
    pub(super) fn add(&mut self, reading: &Reading) -> Result<(), Contradiction> {
        let newest = self.knots.newest();
        let ticks = reading.ticks.since(newest.ticks);
        let (width, gained) = newest.way_to(reading.ticks, reading.middle, self.scale);
        let known = self.step.clone();
        self.step.see(ticks.unsigned_abs(), self.scale);
        let bracket = reading.bracket.widened(self.half_tick());
        let added = if width <= BATCH {
            self.join(reading, bracket, width, gained)
        } else {
            self.begin(reading, bracket, width, gained)
        };
        if added.is_err() {
            self.step = known; // a stepped counter continues from any value
        }
        added
    }

    /// The upper limit of the counter's step in ticks; 0 if unknown.
    pub(super) fn counts_by(&self) -> u64 {
        self.step.divisor()
    }

    /// Narrows the newest cross timestamp: when the counter showed `ticks`, the system clock was at
    /// `at` or at most `until` nanoseconds later. Does not change anything on a contradiction.
    pub(super) fn narrow(
        &mut self,
        ticks: HardwareTicks,
        at: MonotonicTime,
        until: f64,
    ) -> Result<(), Contradiction> {
        let half_tick = self.half_tick();
        let Some(learning) = &mut self.learning else {
            return Ok(());
        };
        let newest = self.knots.newest_mut();
        let (width, gained) = newest.way_to(ticks, at, self.scale);
        let high = until + half_tick + gained - self.rate.low * width;
        // the next cross timestamp shows whether a batch contradicts itself
        if high >= newest.allowed.high || high < learning.told.low {
            return Ok(());
        }
        if high < newest.allowed.low - ROUNDING {
            let since = learning.since_last.max(BATCH);
            return Err(Contradiction {
                by: newest.allowed.low - high,
                after: since,
                elapsed: since,
                usual: 0.0,
            });
        }
        newest.allowed.high = high.max(newest.allowed.low);
        learning.told.high = learning.told.high.min(high);
        self.narrowed();
        self.publish();
        Ok(())
    }

    /// The nanoseconds per tick at the newest cross timestamp.
    pub(super) fn rate(&self) -> Interval {
        Interval::new(
            self.scale * (1.0 + self.rate.low),
            self.scale * (1.0 + self.rate.high),
        )
    }

    /// The same as a fraction relative to the scale.
    pub(super) fn relative_rate(&self) -> Interval {
        self.rate
    }

    /// The estimate of the rate, in nanoseconds per tick.
    pub(super) fn best_rate(&self) -> f64 {
        self.scale * (1.0 + self.best_rate)
    }

    /// The line from the newest batch on.
    pub(super) fn front(&self) -> &Segment {
        &self.front
    }

    /// The beginning of the open batch on the hardware clock.
    pub(super) fn newest_ticks(&self) -> HardwareTicks {
        self.knots.newest().ticks
    }

    /// The beginning of the cross timestamps that agree with the newest one.
    pub(super) fn agreed_since(&self) -> Option<HardwareTicks> {
        self.learning.as_ref().map(|learning| learning.agreed_since)
    }

    /// The assumed wander before and after the newest cross timestamp, per second.
    pub(super) fn believed(&self) -> Option<(f64, f64)> {
        let wander = &self.learning.as_ref()?.wander;
        Some((wander.seen() * PER_SECOND, wander.believed() * PER_SECOND))
    }

    /// Adds a cross timestamp to the open batch.
    fn join(
        &mut self,
        reading: &Reading,
        bracket: Interval,
        width: f64,
        gained: f64,
    ) -> Result<(), Contradiction> {
        let Some(learning) = &mut self.learning else {
            return Ok(());
        };
        let here = Interval::new(
            bracket.low - self.rate.high * width,
            bracket.high - self.rate.low * width,
        )
        .shifted(gained);
        let newest = self.knots.newest_mut();
        let by = newest.allowed.gap(here);
        let contradiction = Contradiction {
            by,
            after: BATCH,
            elapsed: BATCH,
            usual: 0.0,
        };
        let both = newest.allowed.and(here, ROUNDING).ok_or(contradiction)?;
        learning.told = learning.told.and(here, ROUNDING).ok_or(contradiction)?;
        learning.known &= reading.told;
        let moved = gained - self.best_rate * width;
        let likely = learning.likely.and(bracket.shifted(moved), ROUNDING);
        let likely = likely.unwrap_or(learning.told);
        (learning.middles, learning.readings) = (
            learning.middles + reading.centre + moved,
            learning.readings + 1.0,
        );
        // then it does not narrow the bound either: at other frequencies it constrains less than
        // those before
        if likely == learning.likely && learning.known {
            return Ok(());
        }
        learning.likely = likely;
        newest.allowed = both;
        self.narrowed();
        self.publish();
        Ok(())
    }

    /// Adds the first cross timestamp of a new batch.
    fn begin(
        &mut self,
        reading: &Reading,
        bracket: Interval,
        width: f64,
        gained: f64,
    ) -> Result<(), Contradiction> {
        let Some(learning) = &mut self.learning else {
            return Ok(());
        };
        let newest = self.knots.newest();
        // by the system clock: a restarted counter can have any difference
        let elapsed = difference(reading.middle, newest.at);
        let wandered = self.wander * elapsed * elapsed / 2.0;
        let low = newest.allowed.low + self.rate.low * width - wandered - gained;
        let predicted = Interval::new(
            low,
            newest.allowed.high + self.rate.high * width + wandered - gained,
        );
        let (by, usual) = (predicted.gap(bracket), learning.since_last);
        let contradiction = Contradiction {
            by,
            after: width,
            elapsed,
            usual,
        };
        let allowed = predicted.and(bracket, ROUNDING).ok_or(contradiction)?;
        learning.complete(self.step.nanoseconds(), self.best_rate);
        (learning.middles, learning.readings, learning.system_step) =
            (reading.centre, 1.0, reading.step);
        learning.bank.predict(width / PER_SECOND, gained);
        self.rate = self.rate.widened(self.wander * width);
        learning.carried = self.rate;
        let wander = learning.wander.allowed();
        self.believe_in(wander);
        self.remember(width);
        let Some(learning) = &mut self.learning else {
            return Ok(());
        };
        (learning.told, learning.likely) = (bracket, bracket);
        (learning.known, learning.since_last) = (reading.told, width);
        self.knots.push(Knot {
            ticks: reading.ticks,
            at: reading.middle,
            allowed,
            centre: 0.0,
            bend: 0.0,
        });
        self.narrowed();
        self.publish();
        Ok(())
    }

    /// Estimates the rate again after the newest knot's interval was narrowed, unless the cross
    /// timestamps contradict an undisturbed oscillator.
    fn narrowed(&mut self) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        let newest = self.knots.newest();
        // the clock that is learnt may be ahead in one reading and behind in the next
        let grain =
            self.step.nanoseconds() + learning.system_step + 2.0 * f64::from(self.knots.hidden);
        if learning.path.too_narrow(newest.allowed, grain)
            && !learning.path.too_narrow(learning.told, grain)
        {
            let disagreement = learning.told.width() - newest.allowed.width();
            let implied = 2.0 * disagreement / learning.since_last.max(BATCH);
            self.disbelieve(implied);
        }
        let rate = self
            .learning
            .as_ref()
            .map(|learning| pair_rates(&self.knots, learning, self.scale, self.wander));
        match rate {
            Some(Some(rate)) => self.rate = rate,
            Some(None) => self.contradicted(),
            None => {}
        }
        self.look_back();
    }

    /// Handles remembered instants that contradict each other about the rate.
    fn contradicted(&mut self) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        learning.wander.grow(); // it may be a poor oscillator
        let wander = learning.wander.allowed();
        self.believe_in(wander);
        self.disbelieve(0.0);
    }

    /// Narrows the previous batch by the newest one.
    fn look_back(&mut self) {
        let newest = *self.knots.newest();
        let (scale, wander, rate) = (self.scale, self.wander, self.rate);
        if self
            .learning
            .as_ref()
            .is_some_and(|learning| learning.agreed_since == newest.ticks)
        {
            return;
        }
        let Some(before) = self.knots.previous_mut() else {
            return;
        };
        let (width, gained) = before.way_to(newest.ticks, newest.at, scale);
        let wandered = wander * width * width / 2.0;
        let low = newest.allowed.low + gained - rate.high * width - wandered;
        let high = newest.allowed.high + gained - rate.low * width + wandered;
        if let Some(both) = before.allowed.and(Interval::new(low, high), 0.0) {
            before.allowed = both;
        }
    }

    /// Computes the line from the newest batch on.
    fn publish(&mut self) {
        let Some(learning) = &self.learning else {
            return;
        };
        let measured = learning.measured(self.step.nanoseconds());
        let (offset, rate) = learning.bank.guess(measured);
        let newest = self.knots.newest();
        let mut centre = newest.allowed.clamp(offset);
        if let Some(before) = self.knots.all().iter().rev().nth(1) {
            // time does not run backwards between knots, however wide the brackets are
            let way = difference(newest.at, before.at) - before.centre();
            let (least, most) = (
                before.way_to(newest.ticks, newest.at, self.scale).0 * 0.5,
                f64::INFINITY,
            );
            centre = Interval::new(least, most).clamp(centre + way) - way;
        }
        self.best_rate = self.rate.clamp(rate / PER_SECOND);
        let (ticks, at) = (newest.ticks, newest.at);
        self.knots.newest_mut().centre = centre as f32;
        let centre = self.knots.newest().centre();
        let line = Line {
            ticks,
            at,
            offset: centre,
            rate: self.best_rate,
            half_width: self.knots.newest().half_width() + self.half_tick() + WHOLE,
            spread: (self.rate.high - self.best_rate).max(self.best_rate - self.rate.low),
            wander: self.wander,
            scale: self.scale,
        };
        self.front = Segment::new(&line, REACH);
    }

    /// Half a tick, because a timestamp's estimate is for the middle of its tick, and what unseen
    /// changes hide.
    pub(super) fn half_tick(&self) -> f64 {
        half_of(&self.step, self.rate) + f64::from(self.knots.hidden)
    }
}

/// Half of a counter's step at any rate of `rates`, in nanoseconds of the system clock.
fn half_of(step: &Step, rates: Interval) -> f64 {
    step.nanoseconds() / 2.0 * (1.0 + rates.high.max(0.0))
}
