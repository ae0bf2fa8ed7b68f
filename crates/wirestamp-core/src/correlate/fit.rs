//! Owns what the readings of one epoch say about the relation of two clocks: the set of
//! offsets and rates that none of them rules out, and a best guess inside it.
//! Knows nothing of epochs, resets or stamps.
//!
//! A reading says: when the counter showed `h`, the system clock stood within this bracket.
//! Carried on to the next batch of readings, within the limits of the rate and with room for
//! wander, it narrows what that one says; and any two instants far enough apart limit the rate.
//! Offset and rate are kept as two intervals: the corners of the exact polygon that this cuts
//! off are not the ones from which the future is told.

use super::bank::{Bank, Measurement};
use super::interval::Interval;
use super::knots::{Knot, Knots};
use super::path::PathWidth;
use super::prior::Wander;
use super::reading::{Reading, difference, magnitude, rounded};
use super::segment::{Line, Segment};
use super::step::Step;
use super::{Epoch, FineEstimate};
use crate::time::{HardwareTicks, System, SystemTime};
use alloc::boxed::Box;

/// How far a stated frequency can be off: 1000 ppm. An oscillator is within 200 ppm and
/// a disciplined system clock within 500 ppm of their nominal rates.
pub(super) const STATED: Interval = Interval::around_zero(1e-3);
/// Where the frequency had to be measured: the two readings that were far enough apart bound
/// it to [`STATED`]'s width, and it may wander from there.
pub(super) const MEASURED: Interval = Interval::around_zero(2e-3);
/// Readings closer together are one batch, in nanoseconds.
const BATCH: f64 = 1e6;
/// A time known no better is not known, in nanoseconds: a stamp hours away from every reading.
const LARGEST_BOUND: f64 = 1e9;
/// Intervals that miss each other by less are taken to touch: f64 rounding, nanoseconds.
const ROUNDING: f64 = 0.01;
/// The same for rates.
const RATE_ROUNDING: f64 = 1e-12;
/// After an event the rate may be another by so much: adapters forget how they were adjusted.
pub(super) const AFTER_EVENT: f64 = 110e-6;
/// How often the wander is believed to be stronger before old knots are disbelieved.
const GROWTHS: u32 = 4;
/// What rounding to whole nanoseconds adds to a bound.
const WHOLE: f64 = 0.51;
/// Variance of a reading whose width nobody tells, in ns².
const GUESSED: f64 = 1e4;
const PER_SECOND: f64 = 1e9;
/// In a nanosecond.
const PICOSECONDS: f64 = 1e3;

/// The readings contradict one another. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contradiction {
    pub(super) by: f64,
    /// Since the batch before, by the hardware clock and by the system clock.
    pub(super) after: f64,
    pub(super) elapsed: f64,
    /// From that batch to the one before it; 0 if there is none.
    pub(super) usual: f64,
}

/// A converted instant: `at` plus or minus `bound` nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Converted {
    pub(super) at: SystemTime,
    pub(super) bound: i64,
}

/// An instant before it is rounded: `base` plus `offset`, plus or minus `half_width` nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Placed {
    base: SystemTime,
    offset: f64,
    half_width: f64,
}

/// What is needed only while readings come.
#[derive(Debug, Clone)]
pub(super) struct Learning {
    bank: Bank,
    /// What the open batch says by itself.
    told: Interval,
    /// Whether the widths of its brackets are known; if not, the mean of its middles counts.
    known: bool,
    middles: f64,
    readings: f64,
    /// The system clock's step, in nanoseconds.
    system_step: f64,
    /// The rate before the open batch.
    carried: Interval,
    /// Since when the readings agree: rates are not told from earlier ones.
    agreed_since: HardwareTicks,
    /// From the batch before to the open one, in nanoseconds.
    since_last: f64,
    /// How long ago the rate may have changed unseen: that, or half of what it was before.
    recent: f64,
    path: PathWidth,
    wander: Wander,
}

/// The readings of one epoch.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// Nanoseconds per tick; true rates are given as fractions above it.
    scale: f64,
    step: Step,
    /// The newest one is the open batch.
    knots: Knots,
    /// At the newest knot, as a fraction above the scale's.
    rate: Interval,
    best_rate: f64,
    /// Per nanosecond, as [`Wander::unseen`].
    wander: f64,
    front: Segment,
    learning: Option<Box<Learning>>,
}

impl Fit {
    /// `scale`: nanoseconds per tick, off by a fraction within `limits`.
    /// `counted`: what the counter is known to count by, in ticks, or 0.
    pub(super) fn new(scale: f64, limits: Interval, first: &Reading, counted: u64) -> Self {
        let spread = limits.half_width() * PER_SECOND;
        let bank = Bank::new(limits.middle() * PER_SECOND, spread);
        Self::open(Step::new(scale, counted), scale, limits, first, (bank, Wander::new(), PathWidth::new()))
    }

    /// After an event, with the oscillator and the way that are known from before.
    pub(super) fn after(previous: &Self, limits: Interval, first: &Reading) -> Option<Self> {
        let learning = previous.learning.as_ref()?;
        let (bank, wander) = (learning.bank.clone().after_step(), learning.wander.clone().after_step());
        Some(Self::open(previous.step.clone(), previous.scale, limits, first, (bank, wander, learning.path.clone())))
    }

    fn open(step: Step, scale: f64, limits: Interval, first: &Reading, known: (Bank, Wander, PathWidth)) -> Self {
        let (bank, wander, path) = known;
        let told = first.bracket.widened(step.nanoseconds() / 2.0);
        let knot = Knot { ticks: first.ticks, at: first.middle, allowed: told, centre: 0.0 };
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
        let unseen = wander.unseen();
        let learning = Learning {
            bank,
            told,
            known: first.told,
            middles: first.centre,
            readings: 1.0,
            system_step: first.step,
            carried: limits,
            agreed_since: first.ticks,
            since_last: 0.0,
            recent: 0.0,
            path,
            wander,
        };
        let mut fit = Self {
            scale,
            step,
            knots: Knots::new(knot),
            rate: limits,
            best_rate: limits.middle(),
            wander: unseen,
            front: Segment::new(&line, 0.0),
            learning: Some(Box::new(learning)),
        };
        fit.publish();
        fit
    }

    /// No more readings come: gives back what only they need.
    pub(super) fn close(&mut self) {
        self.learning = None;
    }

    /// Takes in a reading that is newer than all others. A contradiction changes nothing.
    pub(super) fn add(&mut self, reading: &Reading) -> Result<(), Contradiction> {
        let newest = self.knots.newest();
        let ticks = reading.ticks.since(newest.ticks);
        let (width, gained) = newest.way_to(reading.ticks, reading.middle, self.scale);
        let known = (self.step.divisor() != 0).then(|| self.step.clone());
        self.step.see(ticks.unsigned_abs(), self.scale);
        let bracket = reading.bracket.widened(self.step.nanoseconds() / 2.0);
        let added = if width <= BATCH {
            self.join(reading, bracket, width, gained)
        } else {
            self.begin(reading, bracket, width, gained)
        };
        if let (Err(_), Some(known)) = (&added, known) {
            self.step = known; // a counter that was stepped counts on from anywhere
        }
        added
    }

    /// What the counter is known to count by, in ticks; 0 if too few were seen.
    pub(super) fn counts_by(&self) -> u64 {
        self.step.divisor()
    }

    /// When the counter showed `ticks`, in the newest reading, the system clock stood at `at` or at
    /// most `until` nanoseconds later.
    pub(super) fn narrow(&mut self, ticks: HardwareTicks, at: SystemTime, until: f64) {
        let Some(learning) = &mut self.learning else { return };
        let newest = self.knots.newest_mut();
        let (width, gained) = newest.way_to(ticks, at, self.scale);
        let high = until + self.step.nanoseconds() / 2.0 + gained - self.rate.low * width;
        // what contradicts is for the next reading to tell
        if high >= newest.allowed.high || high < newest.allowed.low.max(learning.told.low) {
            return;
        }
        (newest.allowed.high, learning.told.high) = (high, learning.told.high.min(high));
        self.narrowed();
        self.publish();
    }

    /// Nanoseconds per tick at the newest reading.
    pub(super) fn rate(&self) -> Interval {
        Interval::new(self.scale * (1.0 + self.rate.low), self.scale * (1.0 + self.rate.high))
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
        Some((wander.seen() * PER_SECOND, wander.unseen() * PER_SECOND))
    }

    /// One more reading of the open batch.
    fn join(&mut self, reading: &Reading, bracket: Interval, width: f64, gained: f64) -> Result<(), Contradiction> {
        let Some(learning) = &mut self.learning else { return Ok(()) };
        let here =
            Interval::new(bracket.low - self.rate.high * width, bracket.high - self.rate.low * width).shifted(gained);
        let newest = self.knots.newest_mut();
        let by = newest.allowed.gap(here);
        let contradiction = Contradiction { by, after: BATCH, elapsed: BATCH, usual: 0.0 };
        let both = newest.allowed.and(here, ROUNDING).ok_or(contradiction)?;
        learning.told = learning.told.and(here, ROUNDING).ok_or(contradiction)?;
        learning.known &= reading.told;
        let centre = reading.centre + gained - self.best_rate * width;
        (learning.middles, learning.readings) = (learning.middles + centre, learning.readings + 1.0);
        if both == newest.allowed && learning.known {
            return Ok(());
        }
        newest.allowed = both;
        self.narrowed();
        self.publish();
        Ok(())
    }

    /// The first reading of a new batch.
    fn begin(&mut self, reading: &Reading, bracket: Interval, width: f64, gained: f64) -> Result<(), Contradiction> {
        let Some(learning) = &mut self.learning else { return Ok(()) };
        let newest = self.knots.newest();
        // of the system clock: a counter that restarted may seem to have come any way
        let elapsed = difference(reading.middle, newest.at);
        let wandered = self.wander * elapsed * elapsed / 2.0;
        let low = newest.allowed.low + self.rate.low * width - wandered - gained;
        let predicted = Interval::new(low, newest.allowed.high + self.rate.high * width + wandered - gained);
        let (by, usual) = (predicted.gap(bracket), learning.since_last);
        let contradiction = Contradiction { by, after: width, elapsed, usual };
        let allowed = predicted.and(bracket, ROUNDING).ok_or(contradiction)?;
        learning.complete(self.step.nanoseconds(), self.best_rate);
        (learning.middles, learning.readings, learning.system_step) = (reading.centre, 1.0, reading.step);
        learning.bank.predict(width / PER_SECOND, gained);
        (learning.told, learning.known, learning.since_last) = (bracket, reading.told, width);
        learning.recent = width.max(learning.recent / 2.0);
        self.wander = learning.wander.unseen();
        learning.carried = self.rate.widened(self.wander * width);
        self.rate = learning.carried;
        self.knots.push(Knot { ticks: reading.ticks, at: reading.middle, allowed, centre: 0.0 });
        self.narrowed();
        self.publish();
        Ok(())
    }

    /// The newest knot's interval was narrowed: believes it or the open batch alone, and finds
    /// the rate anew.
    fn narrowed(&mut self) {
        let Some(learning) = &mut self.learning else { return };
        let newest = self.knots.newest_mut();
        let grain = self.step.nanoseconds() + learning.system_step;
        if learning.path.too_narrow(newest.allowed, grain) && !learning.path.too_narrow(learning.told, grain) {
            let disagreement = learning.told.width() - newest.allowed.width();
            newest.allowed = learning.told;
            learning.agreed_since = newest.ticks;
            let implied = 2.0 * disagreement / learning.since_last.max(BATCH);
            learning.carried = learning.carried.widened(implied.clamp(AFTER_EVENT, STATED.high));
        }
        for _ in 0..GROWTHS {
            if let Ok(rate) = pair_rates(&self.knots, learning, self.scale, self.wander, false) {
                self.rate = rate;
                break;
            }
            learning.wander.grow();
            self.wander = learning.wander.unseen();
        }
        if let Ok(rate) = pair_rates(&self.knots, learning, self.scale, self.wander, true) {
            self.rate = rate;
        }
        self.look_back();
    }

    /// What the newest batch says about the one before it.
    fn look_back(&mut self) {
        let newest = *self.knots.newest();
        let (scale, wander, rate) = (self.scale, self.wander, self.rate);
        if self.learning.as_ref().is_some_and(|learning| learning.agreed_since == newest.ticks) {
            return;
        }
        let Some(before) = self.knots.previous_mut() else { return };
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
        let Some(learning) = &self.learning else { return };
        let measured = learning.measured(self.step.nanoseconds());
        let (offset, rate) = learning.bank.guess(measured);
        let newest = self.knots.newest();
        let mut centre = newest.allowed.clamp(offset);
        if let Some(before) = self.knots.all().iter().rev().nth(1) {
            // time does not run backwards from knot to knot, however wide the brackets are
            let way = difference(newest.at, before.at) - before.centre;
            let (least, most) = (before.way_to(newest.ticks, newest.at, self.scale).0 * 0.5, f64::INFINITY);
            centre = Interval::new(least, most).clamp(centre + way) - way;
        }
        self.best_rate = self.rate.clamp(rate / PER_SECOND);
        let (ticks, at) = (newest.ticks, newest.at);
        self.knots.newest_mut().centre = centre;
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
        self.front = Segment::new(&line, 70e9);
    }

    /// A stamp says no more than its tick: the estimate is for the middle of it.
    fn half_tick(&self) -> f64 {
        self.step.nanoseconds() / 2.0
    }

    /// When the counter showed `ticks`; `None` where that is not known to a second.
    pub(super) fn convert(&self, ticks: HardwareTicks) -> Option<Converted> {
        if let Some(distance) = self.front.distance(ticks) {
            let bound = self.front.bound(distance);
            let at = SystemTime::from_nanoseconds(self.front.at(distance));
            return ((bound as f64) < LARGEST_BOUND).then_some(Converted { at, bound: bound.cast_signed() });
        }
        let Placed { base, offset, half_width } = self.look_up(ticks);
        let bound = half_width + WHOLE;
        if bound.is_nan() || bound >= LARGEST_BOUND {
            return None;
        }
        let at = base.nanoseconds().checked_add(rounded(offset)).map(SystemTime::from_nanoseconds)?;
        Some(Converted { at, bound: bound as i64 + 1 })
    }

    /// The same to the picosecond, of epoch 0.
    pub(super) fn convert_fine(&self, ticks: HardwareTicks) -> Option<FineEstimate<System>> {
        let Placed { base, offset, half_width } = match self.front.distance(ticks) {
            Some(distance) => {
                let (base, offset, half_width) = self.front.unrounded(distance);
                Placed { base, offset, half_width: half_width - WHOLE }
            }
            None => self.look_up(ticks),
        };
        if half_width.is_nan() || half_width >= LARGEST_BOUND {
            return None;
        }
        let below = offset as i64 - i64::from(offset < 0.0);
        let picoseconds = ((offset - below as f64) * PICOSECONDS + 0.5) as i64;
        let (carried, picoseconds) = (picoseconds / 1_000, picoseconds % 1_000);
        let at = base.nanoseconds().checked_add(below)?.checked_add(carried)?;
        Some(FineEstimate {
            at: SystemTime::from_nanoseconds(at),
            picoseconds: u16::try_from(picoseconds).ok()?,
            bound_picoseconds: ((half_width + ROUNDING) * PICOSECONDS) as u64 + 1,
            epoch: Epoch(0),
        })
    }

    /// Where a stamp lies that is older than the newest batch.
    fn look_up(&self, ticks: HardwareTicks) -> Placed {
        let newest = self.knots.newest();
        let distance = ticks.since(newest.ticks);
        let knots = self.knots.all();
        // most stamps are recent
        let earlier = knots.iter().rposition(|knot| knot.ticks.since(newest.ticks) <= distance);
        let after = earlier.map_or(0, |place| place + 1);
        let (base, offset, half_width) = match (after.checked_sub(1).map(|place| &knots[place]), knots.get(after)) {
            (Some(before), Some(next)) => self.between(before, next, ticks),
            (Some(last), None) => self.beyond(last, self.rate, self.best_rate, ticks),
            (None, _) => {
                let rate = self.oldest_rate();
                self.beyond(&knots[0], rate, rate.clamp(self.mean_rate()), ticks)
            }
        };
        let half_width = half_width + self.half_tick() + magnitude(offset) * f64::EPSILON * 4.0;
        Placed { base: base.at, offset, half_width }
    }

    /// On the chord from knot to knot: an instant relative to the first, and its uncertainty.
    fn between<'a>(&self, before: &'a Knot, next: &Knot, ticks: HardwareTicks) -> (&'a Knot, f64, f64) {
        let all = next.ticks.since(before.ticks) as f64;
        let part = ticks.since(before.ticks) as f64 / all;
        let way = difference(next.at, before.at) + next.centre - before.centre;
        let bent = self.wander * (all * self.scale) * (all * self.scale) / 8.0;
        let half_width = before.half_width() * (1.0 - part) + next.half_width() * part;
        (before, before.centre + way * part, half_width + bent)
    }

    /// Before the first knot or after the last one.
    fn beyond<'a>(&self, knot: &'a Knot, rate: Interval, best: f64, ticks: HardwareTicks) -> (&'a Knot, f64, f64) {
        let width = ticks.since(knot.ticks) as f64 * self.scale;
        let spread = (rate.high - best).max(best - rate.low);
        let far = magnitude(width);
        let half_width = knot.half_width() + spread * far + self.wander * far * far / 2.0;
        (knot, knot.centre + width * (1.0 + best), half_width)
    }

    /// The mean rate from the first knot to the newest.
    fn mean_rate(&self) -> f64 {
        let [first, .., last] = self.knots.all() else { return self.best_rate };
        let (width, gained) = first.way_to(last.ticks, last.at, self.scale);
        (gained + last.centre - first.centre) / width
    }

    /// The rate at the first knot.
    fn oldest_rate(&self) -> Interval {
        let [first, rest @ ..] = self.knots.all() else { return self.rate };
        let age = rest.last().map_or(0.0, |last| first.way_to(last.ticks, last.at, self.scale).0);
        let mut rate = self.rate.widened(self.wander * age);
        for knot in rest {
            let (width, gained) = first.way_to(knot.ticks, knot.at, self.scale);
            let pair = mean(first.allowed, knot.allowed, width, gained).widened(self.wander * width / 2.0);
            rate = rate.and(pair, RATE_ROUNDING).unwrap_or(rate);
        }
        rate
    }

    /// What the counter shows at `at`, and how many ticks that can be off; `None` beyond half
    /// the counter's range.
    pub(super) fn invert(&self, at: SystemTime) -> Option<(HardwareTicks, u64)> {
        let newest = self.knots.newest();
        let mut ticks = newest.ticks;
        // the rate is within 0.2 % of the scale, so each round leaves 0.2 % of the error
        for _ in 0..8 {
            let error = difference(at, self.convert(ticks)?.at);
            let correction = rounded(error / self.scale);
            if correction == 0 {
                break;
            }
            newest.ticks.since(ticks).checked_sub(correction)?;
            ticks = ticks.plus(correction);
        }
        let converted = self.convert(ticks)?;
        let off = magnitude(difference(at, converted.at)) + converted.bound as f64;
        // 0.2 % for the rate, one tick for the counter's own step
        let bound = rounded(off * 1.002 / self.scale).checked_add(2)?;
        Some((ticks, u64::try_from(bound).ok()?))
    }
}

impl Learning {
    /// What the open batch says of the offset.
    fn measured(&self, step: f64) -> Measurement {
        let ticks = self.readings.min(2.0); // its two ends come from two readings, mostly
        let grain = step * step / (12.0 * ticks) + self.system_step * self.system_step / 24.0;
        if self.known {
            return self.path.measurement(self.told, grain);
        }
        // nobody knows which of them were delayed: one that surprises counts less
        let centre = self.middles / self.readings;
        let surprise = self.bank.surprise(centre);
        Measurement { centre, variance: GUESSED + grain + surprise * surprise }
    }

    /// The open batch is complete; `rate` is the best guess.
    fn complete(&mut self, step: f64, rate: f64) {
        if self.known {
            self.path.see(self.told);
        }
        self.bank.update(self.measured(step));
        self.wander.observe(rate, self.since_last);
    }
}

/// The rate at the newest knot, from the others. `Err` if they contradict each other, unless
/// `any`: then those that do are passed over.
fn pair_rates(knots: &Knots, learning: &Learning, scale: f64, unseen: f64, any: bool) -> Result<Interval, ()> {
    let mut rate = learning.carried;
    let Some((newest, earlier)) = knots.all().split_last() else { return Ok(rate) };
    let recent = learning.recent;
    let agreeing = |knot: &&Knot| knot.ticks.since(learning.agreed_since) >= 0;
    for knot in earlier.iter().rev().take_while(agreeing) {
        let (width, gained) = knot.way_to(newest.ticks, newest.at, scale);
        let slack = learning.wander.seen() * width / 2.0 + unseen * recent.min(width / 2.0);
        let pair = mean(knot.allowed, newest.allowed, width, gained).widened(slack);
        rate = match rate.and(pair, RATE_ROUNDING) {
            Some(both) => both,
            None if any => rate,
            None => return Err(()),
        };
    }
    Ok(rate)
}

/// The mean rate over a way.
fn mean(from: Interval, to: Interval, width: f64, gained: f64) -> Interval {
    let per = 1.0 / width;
    Interval::new((gained + to.low - from.high) * per, (gained + to.high - from.low) * per)
}
