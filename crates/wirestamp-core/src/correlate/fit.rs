//! Owns what the readings of one epoch say about the relation of two clocks: for every
//! instant an interval that contains the truth, and a best guess inside it.
//! Knows nothing of epochs, resets or stamps.
//!
//! A reading says: when the counter showed `h`, the system clock stood within this bracket.
//! It says so about other counter values too, ever more loosely, because the rate is known
//! only within limits and wanders. What all readings say together, at each reading, is kept;
//! a conversion looks at the nearest readings on both sides and needs no others.

use super::interval::Interval;
use crate::time::{HardwareTicks, SystemTime};
use alloc::vec::Vec;

/// How many readings are kept.
const KEPT: usize = 64;
/// How fast a rate may change: 3·10⁻⁸ a second, per nanosecond. Thermal ramps of common
/// oscillators reach 10⁻⁸ a second, a poor one swinging by 1 ppm in five minutes 2·10⁻⁸; the
/// rest is for the discipline of the system clock. Anything faster is a contradiction, and
/// opens an epoch.
const WANDER: f64 = 3e-17;
/// How far a stated frequency can be off: 1000 ppm. An oscillator is within 200 ppm and
/// a disciplined system clock within 500 ppm of their nominal rates.
pub(super) const STATED: Interval = Interval::around_zero(1e-3);
/// Where the frequency had to be measured: the two readings that were far enough apart bound
/// it to [`STATED`]'s width, and it may wander from there.
pub(super) const MEASURED: Interval = Interval::around_zero(2e-3);
/// A time known no better is not known, in nanoseconds: a stamp hours away from every reading.
const LARGEST_BOUND: f64 = 1e9;
/// The finest step that a counter of nanoseconds is trusted to make: one period of 125 MHz,
/// the usual core clock of an adapter.
const NANOSECOND_COUNTER_STEP: f64 = 8.0;
/// The coarsest step that is looked for in the readings.
const COARSEST_STEP: f64 = 100.0;
/// Intervals that miss each other by less are taken to touch: f64 rounding, nanoseconds.
const ROUNDING: f64 = 0.01;
/// The same for rates.
const RATE_ROUNDING: f64 = 1e-12;

/// What one cross timestamp says: when the counter showed `ticks`, the system clock stood at
/// `middle` plus something in `bracket`, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) ticks: HardwareTicks,
    pub(super) middle: SystemTime,
    pub(super) bracket: Interval,
}

/// The readings contradict one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contradiction;

/// A reading in the light of the others.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    ticks: HardwareTicks,
    middle: SystemTime,
    /// What it says by itself.
    bracket: Interval,
    /// What all say together about its instant.
    tight: Interval,
    /// Within which the rate is here, as a fraction above the scale's.
    rate: Interval,
}

/// A straight line through the readings, relative to the newest.
#[derive(Debug, Clone, Copy)]
struct Line {
    offset: f64,
    rate: f64,
}

/// A converted instant: `at` plus or minus `bound` nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Converted {
    pub(super) at: SystemTime,
    pub(super) bound: i64,
}

/// The readings of one epoch.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// Nanoseconds per tick; true rates are given as fractions above it.
    scale: f64,
    limits: Interval,
    /// Greatest common divisor of all counter differences; 0 while there is none.
    divisor: u64,
    /// Oldest first; never empty once a reading was added.
    anchors: Vec<Anchor>,
    line: Line,
}

impl Fit {
    /// No readings. `scale`: nanoseconds per tick, off by a fraction within `limits`.
    pub(super) fn new(scale: f64, limits: Interval) -> Self {
        let line = Line { offset: 0.0, rate: 0.0 };
        Self { scale, limits, divisor: 0, anchors: Vec::with_capacity(KEPT + 1), line }
    }

    /// Takes in a reading that is newer than all others. After a contradiction this fit is
    /// spoilt: add to a copy.
    pub(super) fn add(&mut self, reading: &Reading) -> Result<(), Contradiction> {
        if let Some(newest) = self.anchors.last() {
            self.divisor = greatest_common_divisor(self.divisor, reading.ticks.since(newest.ticks).unsigned_abs());
        }
        let bracket = reading.bracket.widened(self.step() / 2.0);
        let (ticks, middle) = (reading.ticks, reading.middle);
        self.anchors.push(Anchor { ticks, middle, bracket, tight: bracket, rate: self.limits });
        self.compare_with_newest()?;
        self.pass_rates_on()?;
        self.pass_times_on()?;
        if self.anchors.len() > KEPT {
            self.drop_one();
        }
        self.line = self.draw_line();
        Ok(())
    }

    pub(super) fn readings(&self) -> usize {
        self.anchors.len()
    }

    /// Nanoseconds per tick at the newest reading.
    pub(super) fn rate(&self) -> Option<Interval> {
        let rate = self.anchors.last()?.rate;
        Some(Interval::new(self.scale * (1.0 + rate.low), self.scale * (1.0 + rate.high)))
    }

    /// The best guess at it.
    pub(super) fn best_rate(&self) -> f64 {
        self.scale * (1.0 + self.line.rate)
    }

    /// When the counter showed `ticks`; `None` where that is not known to a second.
    pub(super) fn convert(&self, ticks: HardwareTicks) -> Option<Converted> {
        let newest = self.anchors.last()?;
        let distance = ticks.since(newest.ticks);
        let after = self.anchors.partition_point(|anchor| anchor.ticks.since(newest.ticks) <= distance);
        let base = self.anchors[after.saturating_sub(1)];
        let from_base = self.nanoseconds(base.ticks, ticks);
        let mut allowed = base.propagated(from_base);
        if let Some(next) = self.anchors.get(after).filter(|_| after > 0) {
            let from_next = self.nanoseconds(next.ticks, ticks);
            // relative to base's line, as `allowed` is
            let shift = difference(next.middle, base.middle) - self.nanoseconds(base.ticks, next.ticks);
            allowed = allowed.and(next.propagated(from_next).shifted(shift), f64::INFINITY)?;
        }
        let from_newest = self.nanoseconds(newest.ticks, ticks);
        let guess = self.line.offset + self.line.rate * from_newest + difference(newest.middle, base.middle)
            - self.nanoseconds(base.ticks, newest.ticks);
        let guess = allowed.clamp(guess);
        let slack = 1.0 + self.step() / 2.0 + magnitude(from_base) * f64::EPSILON * 4.0;
        let bound = (allowed.high - guess).max(guess - allowed.low) + slack;
        if bound > LARGEST_BOUND {
            return None;
        }
        let at = i128::from(base.middle.nanoseconds()) + rounded(from_base + guess);
        let at = i64::try_from(at).ok().map(SystemTime::from_nanoseconds)?;
        Some(Converted { at, bound: bound as i64 + 1 })
    }

    /// What the counter shows at `at`, and how many ticks that can be off; `None` beyond half
    /// the counter's range.
    pub(super) fn invert(&self, at: SystemTime) -> Option<(HardwareTicks, u64)> {
        let newest = self.anchors.last()?;
        let mut ticks = newest.ticks;
        // the rate is within 0.2 % of the scale, so each round leaves 0.2 % of the error
        for _ in 0..8 {
            let error = difference(at, self.convert(ticks)?.at);
            let correction = i64::try_from(rounded(error / self.scale)).ok()?;
            if correction == 0 {
                break;
            }
            newest.ticks.since(ticks).checked_sub(correction)?;
            ticks = ticks.plus(correction);
        }
        let converted = self.convert(ticks)?;
        let off = magnitude(difference(at, converted.at)) + converted.bound as f64;
        // 0.2 % for the rate, one tick for the counter's own step
        let bound = rounded(off * 1.002 / self.scale) + 2;
        Some((ticks, u64::try_from(bound).ok()?))
    }

    /// The counter's step in nanoseconds: at least one tick.
    fn step(&self) -> f64 {
        let seen = if self.divisor == 0 { COARSEST_STEP } else { self.divisor as f64 * self.scale };
        let counts_nanoseconds = magnitude(self.scale - 1.0) < 0.01;
        let least = if counts_nanoseconds { NANOSECOND_COUNTER_STEP } else { self.scale };
        seen.min(COARSEST_STEP).max(least)
    }

    fn nanoseconds(&self, from: HardwareTicks, to: HardwareTicks) -> f64 {
        to.since(from) as f64 * self.scale
    }

    /// What the newest and each earlier reading say about the mean rate between them, and so
    /// about the rate at either.
    fn compare_with_newest(&mut self) -> Result<(), Contradiction> {
        let Some((newest, earlier)) = self.anchors.split_last_mut() else { return Ok(()) };
        for anchor in earlier {
            let width = newest.ticks.since(anchor.ticks) as f64 * self.scale;
            if width <= 0.0 {
                continue;
            }
            let elapsed = difference(newest.middle, anchor.middle);
            let gained = elapsed - width;
            let low = (gained + newest.bracket.low - anchor.tight.high) / width;
            let high = (gained + newest.bracket.high - anchor.tight.low) / width;
            let mean = Interval::new(low, high).widened(WANDER * elapsed / 2.0);
            anchor.rate = anchor.rate.and(mean, RATE_ROUNDING).ok_or(Contradiction)?;
            newest.rate = newest.rate.and(mean, RATE_ROUNDING).ok_or(Contradiction)?;
        }
        Ok(())
    }

    /// A rate here limits the rate there.
    fn pass_rates_on(&mut self) -> Result<(), Contradiction> {
        both_ways(&mut self.anchors, |from, to| {
            let elapsed = magnitude(difference(to.middle, from.middle));
            to.rate = to.rate.and(from.rate.widened(WANDER * elapsed), RATE_ROUNDING).ok_or(Contradiction)?;
            Ok(())
        })
    }

    /// A time here limits the time there.
    fn pass_times_on(&mut self) -> Result<(), Contradiction> {
        let scale = self.scale;
        both_ways(&mut self.anchors, |from, to| {
            let width = to.ticks.since(from.ticks) as f64 * scale;
            let rate = from.rate.and(to.rate, f64::INFINITY).ok_or(Contradiction)?;
            let shift = width - difference(to.middle, from.middle);
            let told = Anchor { rate, ..*from }.propagated(width).shifted(shift);
            to.tight = to.tight.and(told, ROUNDING).ok_or(Contradiction)?;
            Ok(())
        })
    }

    /// Drops the reading that says least beyond what the others say, or else the oldest.
    /// The newest stays: the future is told from it.
    fn drop_one(&mut self) {
        let candidates = &self.anchors[..self.anchors.len() - 1];
        let redundancy = candidates.iter().map(Anchor::redundancy).enumerate();
        let most = redundancy.fold((0, 0.0), |most, this| if this.1 > most.1 { this } else { most });
        self.anchors.remove(most.0);
    }

    /// Weighted least squares through what is known at each reading; old ones weigh less,
    /// because the rate may have wandered since.
    fn draw_line(&self) -> Line {
        let Some(newest) = self.anchors.last() else { return self.line };
        let points = self.anchors.iter().map(|anchor| {
            let x = self.nanoseconds(newest.ticks, anchor.ticks);
            let y = difference(anchor.middle, newest.middle) + anchor.tight.middle() - x;
            let uncertainty = anchor.tight.half_width() + WANDER * x * x / 2.0 + 1.0;
            (x, y, 1.0 / (uncertainty * uncertainty))
        });
        let sum = |part: fn(f64, f64) -> f64| points.clone().map(|(x, y, weight)| weight * part(x, y)).sum::<f64>();
        let weights = sum(|_, _| 1.0);
        let (mean_x, mean_y) = (sum(|x, _| x) / weights, sum(|_, y| y) / weights);
        let (mut squares, mut products) = (0.0, 0.0);
        for (x, y, weight) in points.clone() {
            squares += weight * (x - mean_x) * (x - mean_x);
            products += weight * (x - mean_x) * (y - mean_y);
        }
        let slope = if squares > 0.0 { products / squares } else { newest.rate.middle() };
        let rate = newest.rate.clamp(slope);
        Line { offset: mean_y - rate * mean_x, rate }
    }
}

impl Anchor {
    /// What it says about the instant `width` nanoseconds of the scale later (or earlier),
    /// relative to the scale's straight line through its middle.
    fn propagated(&self, width: f64) -> Interval {
        let (one, other) = (self.rate.low * width, self.rate.high * width);
        let wandered = WANDER * width * width / 2.0;
        Interval::new(self.tight.low + one.min(other) - wandered, self.tight.high + one.max(other) + wandered)
    }

    /// By how much its bracket is wider, on its better side, than what the others say.
    fn redundancy(&self) -> f64 {
        (self.tight.low - self.bracket.low).min(self.bracket.high - self.tight.high)
    }
}

/// Lets each neighbour tell the next, from the oldest to the newest and back.
fn both_ways(
    anchors: &mut [Anchor],
    tell: impl Fn(&Anchor, &mut Anchor) -> Result<(), Contradiction>,
) -> Result<(), Contradiction> {
    for later in 1..anchors.len() {
        let (before, after) = anchors.split_at_mut(later);
        tell(&before[later - 1], &mut after[0])?;
    }
    for later in (1..anchors.len()).rev() {
        let (before, after) = anchors.split_at_mut(later);
        tell(&after[0], &mut before[later - 1])?;
    }
    Ok(())
}

/// Later minus earlier, in nanoseconds. Exact up to 104 days, and then to 2⁻⁵³ of itself.
fn difference(later: SystemTime, earlier: SystemTime) -> f64 {
    (later - earlier).nanoseconds() as f64
}

fn magnitude(value: f64) -> f64 {
    if value < 0.0 { -value } else { value }
}

/// To the nearest whole number.
fn rounded(value: f64) -> i128 {
    let half = if value < 0.0 { -0.5 } else { 0.5 };
    (value + half) as i128
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
