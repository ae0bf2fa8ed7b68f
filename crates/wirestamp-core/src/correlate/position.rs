//! The position of a timestamp in a generation's fit: after the newest cross timestamp, between two
//! remembered instants, or before all of them.

use super::fit::{Fit, RATE_ROUNDING, ROUNDING, STATED, WHOLE};
use super::interval::Interval;
use super::knots::Knot;
use super::learning::mean;
use super::reading::{difference, magnitude, rounded};
use super::{ClockGeneration, FineEstimate};
use crate::time::{HardwareTicks, Monotonic, MonotonicTime};

/// The largest error bound in nanoseconds; beyond, a time counts as unknown. It occurs hours away
/// from all cross timestamps.
const LARGEST_BOUND: f64 = 1e9;
/// Picoseconds per nanosecond.
const PICOSECONDS: f64 = 1e3;
/// The smallest assumed error of the rate when ticks are computed from nanoseconds.
const FASTEST: f64 = 2e-3;

/// A converted instant: `at` ± `bound` nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Converted {
    pub(super) at: MonotonicTime,
    pub(super) bound: i64,
}

/// An instant before rounding: `base` + `offset` ± `half_width` nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Placed {
    base: MonotonicTime,
    offset: f64,
    half_width: f64,
}

impl Fit {
    /// Converts `ticks`; `None` if the error bound exceeds a second.
    pub(super) fn convert(&self, ticks: HardwareTicks) -> Option<Converted> {
        if let Some(distance) = self.front.distance(ticks) {
            return Some(Converted {
                at: MonotonicTime::from_nanoseconds(self.front.at(distance)),
                bound: self.front.bound(distance) as i64,
            });
        }
        let Placed {
            base,
            offset,
            half_width,
        } = self.look_up(ticks);
        let bound = half_width + WHOLE;
        if bound.is_nan() || bound >= LARGEST_BOUND {
            return None;
        }
        let at = base
            .nanoseconds()
            .checked_add(rounded(offset))
            .map(MonotonicTime::from_nanoseconds)?;
        Some(Converted {
            at,
            bound: bound as i64 + 1,
        })
    }

    /// Converts to picoseconds, with generation 0 as a placeholder.
    pub(super) fn convert_fine(&self, ticks: HardwareTicks) -> Option<FineEstimate<Monotonic>> {
        let Placed {
            base,
            offset,
            half_width,
        } = match self.front.distance(ticks) {
            Some(distance) => {
                let (base, offset, half_width) = self.front.unrounded(distance);
                Placed {
                    base,
                    offset,
                    half_width: half_width - WHOLE,
                }
            }
            None => self.look_up(ticks),
        };
        if half_width.is_nan() || half_width >= LARGEST_BOUND {
            return None;
        }
        let below = offset as i64 - i64::from(offset < 0.0);
        let picoseconds = ((offset - below as f64) * PICOSECONDS + 0.5) as i64;
        let (carried, picoseconds) = (picoseconds / 1_000, picoseconds % 1_000);
        let at = base
            .nanoseconds()
            .checked_add(below)?
            .checked_add(carried)?;
        Some(FineEstimate {
            at: MonotonicTime::from_nanoseconds(at),
            picoseconds: u16::try_from(picoseconds).ok()?,
            bound_picoseconds: ((half_width + ROUNDING) * PICOSECONDS) as u64 + 1,
            generation: ClockGeneration(0),
        })
    }

    /// Positions a timestamp that is older than the newest batch.
    fn look_up(&self, ticks: HardwareTicks) -> Placed {
        let newest = self.knots.newest();
        let distance = ticks.since(newest.ticks);
        let knots = self.knots.all();
        // most timestamps are recent
        let earlier = knots
            .iter()
            .rposition(|knot| knot.ticks.since(newest.ticks) <= distance);
        let after = earlier.map_or(0, |place| place + 1);
        let (base, offset, half_width) = match (
            after.checked_sub(1).map(|place| &knots[place]),
            knots.get(after),
        ) {
            (Some(before), Some(next)) => self.between(before, next, ticks),
            (Some(last), None) => self.beyond(last, self.rate, self.best_rate, ticks),
            (None, _) => {
                let rate = self.oldest_rate();
                self.beyond(&knots[0], rate, rate.clamp(self.mean_rate()), ticks)
            }
        };
        let half_width = half_width + self.half_tick() + magnitude(offset) * f64::EPSILON * 4.0;
        Placed {
            base: base.at,
            offset,
            half_width,
        }
    }

    /// Positions a timestamp on the chord between two knots, relative to the first.
    fn between<'a>(
        &self,
        before: &'a Knot,
        next: &Knot,
        ticks: HardwareTicks,
    ) -> (&'a Knot, f64, f64) {
        let all = next.ticks.since(before.ticks) as f64;
        let part = ticks.since(before.ticks) as f64 / all;
        let way = difference(next.at, before.at) + next.centre() - before.centre();
        let half_width = before.half_width() * (1.0 - part) + next.half_width() * part;
        (
            before,
            before.centre() + way * part,
            half_width + f64::from(before.bend),
        )
    }

    /// Positions a timestamp before the first knot or after the last one.
    fn beyond<'a>(
        &self,
        knot: &'a Knot,
        rate: Interval,
        best: f64,
        ticks: HardwareTicks,
    ) -> (&'a Knot, f64, f64) {
        let width = ticks.since(knot.ticks) as f64 * self.scale;
        let spread = (rate.high - best).max(best - rate.low);
        let far = magnitude(width);
        let half_width = knot.half_width() + spread * far + self.wander * far * far / 2.0;
        (knot, knot.centre() + width * (1.0 + best), half_width)
    }

    /// The mean rate from the first knot to the newest.
    fn mean_rate(&self) -> f64 {
        let [first, .., last] = self.knots.all() else {
            return self.best_rate;
        };
        let (width, gained) = first.way_to(last.ticks, last.at, self.scale);
        (gained + last.centre() - first.centre()) / width
    }

    /// The rate at the first knot.
    fn oldest_rate(&self) -> Interval {
        let [first, rest @ ..] = self.knots.all() else {
            return self.rate;
        };
        let age = rest
            .last()
            .map_or(0.0, |last| first.way_to(last.ticks, last.at, self.scale).0);
        let mut rate = self.rate.widened(self.wander * age);
        for knot in rest {
            let (width, gained) = first.way_to(knot.ticks, knot.at, self.scale);
            let pair =
                mean(first.allowed, knot.allowed, width, gained).widened(self.wander * width / 2.0);
            rate = rate.and(pair, RATE_ROUNDING).unwrap_or(rate);
        }
        // cross timestamps on the other side of a change do not apply
        if self.knots.changed {
            rate.widened(STATED.high)
        } else {
            rate
        }
    }

    /// Returns the ticks at `at` with their error bound in ticks; `None` beyond half the counter's
    /// range.
    pub(super) fn invert(&self, at: MonotonicTime) -> Option<(HardwareTicks, u64)> {
        let newest = self.knots.newest();
        let mut ticks = newest.ticks;
        // the rate is within 9 % of the scale, usually 0.1 %, so each round reduces the error to
        // that fraction
        for _ in 0..16 {
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
        // room for the rate, and one tick for the counter's step
        let slowest = 1.0 + self.rate.low.min(-FASTEST);
        let bound = rounded(off / slowest / self.scale).checked_add(2)?;
        Some((ticks, u64::try_from(bound).ok()?))
    }
}
