//! What the readings of one generation say about the relation of two clocks: the set of
//! offsets and rates that none of them rules out, and a best guess inside it.
//! Knows nothing of generations, resets or timestamps; where a timestamp lies is for [`super::position`].
//!
//! A reading says: when the counter showed `h`, the system clock stood within this bracket.
//! Carried on to the next batch of readings, within the limits of the rate and with room for
//! wander, it narrows what that one says; and any two instants far enough apart limit the rate.
//! Offset and rate are kept as two intervals: the corners of the exact polygon that this cuts
//! off are not the ones from which the future is extrapolated.

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

/// How far a stated frequency can be off: 1000 ppm. An oscillator is within 200 ppm and
/// a disciplined system clock within 500 ppm of their nominal rates.
pub(super) const STATED: Interval = Interval::around_zero(1e-3);
/// Where the frequency had to be measured: the two readings that were far enough apart bound
/// it to [`STATED`]'s width, and it may wander from there.
pub(super) const MEASURED: Interval = Interval::around_zero(2e-3);
/// Readings closer together are one batch, in nanoseconds.
const BATCH: f64 = 1e6;
/// Intervals that miss each other by less are taken to touch: f64 rounding, nanoseconds.
pub(super) const ROUNDING: f64 = 0.01;
/// The same for rates.
pub(super) const RATE_ROUNDING: f64 = 1e-12;
/// A program may change the frequency of a clock by so much at once: adjtime's limit and the
/// kernel's, 500 ppm, and room for what was not yet seen of the rate before.
pub(super) const SLEW: f64 = 505e-6;
/// What rounding to whole nanoseconds adds to a bound.
pub(super) const WHOLE: f64 = 0.51;
pub(super) const PER_SECOND: f64 = 1e9;
/// How far the newest line reaches, in nanoseconds: somewhat beyond the longest gap.
const REACH: f64 = 100e9;

/// The readings of one generation.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// Nanoseconds per tick; true rates are given as fractions above it.
    pub(super) scale: f64,
    pub(super) step: Step,
    /// The newest one is the open batch.
    pub(super) knots: Knots,
    /// At the newest knot, as a fraction above the scale's.
    pub(super) rate: Interval,
    pub(super) best_rate: f64,
    /// Per nanosecond, as [`Wander::allowed`].
    pub(super) wander: f64,
    pub(super) front: Segment,
    pub(super) learning: Option<Box<Learning>>,
}

impl Fit {
    /// `scale`: nanoseconds per tick, off by a fraction within `rates`.
    /// `counted`: what the counter is known to count by, in ticks, or 0.
    pub(super) fn new(
        scale: f64,
        rates: Interval,
        first: &Reading,
        counted: u64,
        limits: Limits,
    ) -> Self {
        let bank = Bank::new(rates.middle() * PER_SECOND, rates.half_width() * PER_SECOND);
        let step = Step::new(scale, counted, limits.tick);
        Self::open(
            step,
            scale,
            rates,
            first,
            (bank, Wander::new(limits.wander), PathWidth::new()),
        )
    }

    /// After an event, with the oscillator and the way that are known from before.
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
            (bank, wander, learning.path.clone()),
        ))
    }

    fn open(
        step: Step,
        scale: f64,
        limits: Interval,
        first: &Reading,
        known: (Bank, Wander, PathWidth),
    ) -> Self {
        let (bank, wander, path) = known;
        let told = first.bracket.widened(half_of(&step, limits));
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
            knots: Knots::new(knot),
            rate: limits,
            best_rate: limits.middle(),
            wander: allowed,
            front: Segment::new(&line, 0.0),
            learning: Some(Box::new(learning)),
        };
        fit.publish();
        fit
    }

    /// No more readings come: gives back what only they need. `contradicted`: the next one could not
    /// be of this run, so that what changed may have changed before the newest.
    pub(super) fn close(&mut self, contradicted: bool) {
        if contradicted {
            self.reopen();
            self.publish();
        }
        self.learning = None;
    }

    /// Takes in a reading that is newer than all others. A contradiction changes nothing.
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
            self.step = known; // a counter that was stepped counts on from anywhere
        }
        added
    }

    /// What the counter counts by at most, in ticks; 0 if nothing was seen.
    pub(super) fn counts_by(&self) -> u64 {
        self.step.divisor()
    }

    /// When the counter showed `ticks`, in the newest reading, the system clock stood at `at` or at
    /// most `until` nanoseconds later. A contradiction changes nothing.
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
        // a batch that contradicts itself is for the next reading to tell
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

    /// Nanoseconds per tick at the newest reading.
    pub(super) fn rate(&self) -> Interval {
        Interval::new(
            self.scale * (1.0 + self.rate.low),
            self.scale * (1.0 + self.rate.high),
        )
    }

    /// The same as fractions above the scale's.
    pub(super) fn relative_rate(&self) -> Interval {
        self.rate
    }

    /// The best guess at it, in nanoseconds per tick.
    pub(super) fn best_rate(&self) -> f64 {
        self.scale * (1.0 + self.best_rate)
    }

    /// The line since the newest batch.
    pub(super) fn front(&self) -> &Segment {
        &self.front
    }

    /// When the open batch began, on the hardware clock.
    pub(super) fn newest_ticks(&self) -> HardwareTicks {
        self.knots.newest().ticks
    }

    /// The wander that is believed: before and after the newest reading, per second.
    pub(super) fn believed(&self) -> Option<(f64, f64)> {
        let wander = &self.learning.as_ref()?.wander;
        Some((wander.seen() * PER_SECOND, wander.believed() * PER_SECOND))
    }

    /// One more reading of the open batch.
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
        // then it leaves the bound as it is, too: at other frequencies it says less than those before
        if likely == learning.likely && learning.known {
            return Ok(());
        }
        learning.likely = likely;
        newest.allowed = both;
        self.narrowed();
        self.publish();
        Ok(())
    }

    /// The first reading of a new batch.
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
        // of the system clock: a counter that restarted may seem to have come any way
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

    /// The newest knot's interval was narrowed: finds the rate anew, unless the readings are not
    /// about one oscillator that is left alone.
    fn narrowed(&mut self) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        let newest = self.knots.newest();
        let grain = self.step.nanoseconds() + learning.system_step;
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

    /// What remembered instants say of the rate contradicts itself.
    fn contradicted(&mut self) {
        let Some(learning) = &mut self.learning else {
            return;
        };
        learning.wander.grow(); // perhaps it is a poor oscillator
        let wander = learning.wander.allowed();
        self.believe_in(wander);
        self.disbelieve(0.0);
    }

    /// What the newest batch says about the one before it.
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

    /// Draws the line since the newest batch.
    fn publish(&mut self) {
        let Some(learning) = &self.learning else {
            return;
        };
        let measured = learning.measured(self.step.nanoseconds());
        let (offset, rate) = learning.bank.guess(measured);
        let newest = self.knots.newest();
        let mut centre = newest.allowed.clamp(offset);
        if let Some(before) = self.knots.all().iter().rev().nth(1) {
            // time does not run backwards from knot to knot, however wide the brackets are
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

    /// A timestamp says no more than its tick: the estimate is for the middle of it.
    pub(super) fn half_tick(&self) -> f64 {
        half_of(&self.step, self.rate)
    }
}

/// Half of a counter's step at any of `rates`, in nanoseconds of the system clock.
fn half_of(step: &Step, rates: Interval) -> f64 {
    step.nanoseconds() / 2.0 * (1.0 + rates.high.max(0.0))
}
