//! The schedule of cross timestamps within a budget: when to take the next batch, and how many it
//! has.
//!
//! More cross timestamps per batch help if other traffic delays them; more batches help while the
//! error bound grows fast in between. Both cost time on the bus to the NIC, which the budget
//! limits.

use crate::correlator::CorrelatorOptions;
use std::time::Duration;
use wirestamp_core::correlate::Correlation;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{MonotonicTime, Span};

/// The shortest time from one batch to the next after the burst, in nanoseconds.
const SHORTEST: f64 = 0.1e9;
/// The fraction by which the error bound may grow until the next batch.
const GROWTH: f64 = 0.1;
/// The acceptable fraction of batches without an undelayed cross timestamp.
const ALL_LATE: f64 = 0.01;
/// The smallest number of cross timestamps in a batch, and the largest as a multiple of the
/// requested number.
const FEWEST: usize = 3;
const AT_MOST: usize = 5;
/// A cross timestamp is undelayed if it is wider than the narrowest by at most this fraction.
const UNDELAYED: f64 = 0.1;
/// The smoothing factor of the fraction of undelayed ones, and the rate at which the narrowest is
/// forgotten, per cross timestamp.
const FOLLOWING: f64 = 0.02;
const FORGETTING: f64 = 1e-4;
/// The largest credit, in seconds of the budget: it pays for a burst at the start.
const SAVED: f64 = 10.0;
/// The largest debt, in seconds of the budget: a burst on a slow bus.
const OWED: f64 = 60.0;
/// The largest charge for a cross timestamp, as a multiple of the usual cost: anything beyond is a
/// delay, not a cost.
const LEAP: f64 = 32.0;
const PER_SECOND: f64 = 1e9;

/// A schedule that decides when to take the next batch of cross timestamps, and how many it has.
///
/// Batches are at most [`period`](CorrelatorOptions::period) apart, regardless of delays and
/// budget. Bursts, for which [`Burst`](crate::correlator::Burst) decides, are never postponed.
/// Beyond these and three cross timestamps per period, the cost over any time span is at most the
/// budget for that span plus ten seconds. A delayed cross timestamp counts as at most 32 usual
/// ones, because a preempted thread does not use the bus.
///
/// It is for programs that take cross timestamps themselves; a [`Correlator`](crate::Correlator)
/// has its own.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// The budget in nanoseconds per nanosecond.
    budget: f64,
    longest: f64,
    asked: usize,
    /// The remaining budget in nanoseconds; negative if overdrawn.
    credit: f64,
    as_of: Option<MonotonicTime>,
    /// The usual cost of a cross timestamp, in nanoseconds.
    cost: f64,
    narrowest: f64,
    /// The fraction of undelayed cross timestamps.
    undelayed: f64,
}

impl Sampling {
    /// Creates a schedule within the budget of the options; `None` if they have a fixed period.
    pub fn new(options: &CorrelatorOptions) -> Option<Self> {
        let budget = options.budget?.as_nanos() as f64 / PER_SECOND;
        Some(Self {
            budget,
            longest: options.period.as_nanos() as f64,
            asked: options.readings_per_batch,
            credit: budget * SAVED * PER_SECOND,
            as_of: None,
            cost: 0.0,
            narrowest: f64::INFINITY,
            undelayed: 0.5,
        })
    }

    /// Returns the number of cross timestamps for the next batch.
    pub fn readings(&self) -> usize {
        if self.as_of.is_none() {
            return self.asked;
        }
        let (mut readings, mut all_late) = (0, 1.0);
        while all_late > ALL_LATE && readings < self.asked.saturating_mul(AT_MOST) {
            all_late *= 1.0 - self.undelayed;
            readings += 1;
        }
        // the number that the budget pays for in one period
        let affordable = (self.budget * self.longest / self.cost.max(1.0)) as usize;
        readings.min(affordable).max(FEWEST)
    }

    /// Returns whether the budget allows more batches after a contradiction: no more than half a
    /// minute's budget is overdrawn.
    pub fn can_afford_a_burst(&self) -> bool {
        self.credit >= -self.budget * OWED * PER_SECOND / 2.0
    }

    /// Accounts for a batch that took `took` and that `correlation` already contains. Returns the
    /// time until the next batch, unless [`Burst`](crate::correlator::Burst) has it sooner: the time
    /// until the error bound has grown and the budget allows a batch, at most the period.
    pub fn next(
        &mut self,
        batch: &[CrossTimestamp],
        took: Span,
        correlation: &Correlation,
    ) -> Duration {
        let Some(last) = batch.last() else {
            return Duration::from_nanos(self.longest as u64);
        };
        self.pay(last.monotonic_after(), cost(batch, took), batch.len());
        batch.iter().for_each(|reading| self.see(reading));
        let price = self.cost * self.readings() as f64;
        let saved_up = ((price - self.credit) / self.budget).max(0.0);
        let due = self.pace(last, correlation).max(saved_up).min(self.longest);
        Duration::from_nanos(due as u64)
    }

    fn pay(&mut self, now: MonotonicTime, took: f64, readings: usize) {
        let elapsed = self
            .as_of
            .map_or(0.0, |before| (now - before).nanoseconds().max(0) as f64);
        self.as_of = Some(now);
        let readings = readings as f64;
        let took = if self.cost > 0.0 {
            took.min(LEAP * self.cost * readings)
        } else {
            took
        };
        let (most, least) = (
            self.budget * SAVED * PER_SECOND,
            -self.budget * OWED * PER_SECOND,
        );
        self.credit = ((self.credit + elapsed * self.budget).min(most) - took).max(least);
        let cost = took / readings;
        self.cost = if self.cost > 0.0 {
            self.cost + 0.1 * (cost - self.cost)
        } else {
            cost
        };
    }

    fn see(&mut self, reading: &CrossTimestamp) {
        let Some(width) = reading.bracket() else {
            return;
        };
        let width = width.nanoseconds() as f64;
        self.narrowest = (self.narrowest * (1.0 + FORGETTING)).min(width);
        let undelayed = if width <= self.narrowest * (1.0 + UNDELAYED) {
            1.0
        } else {
            0.0
        };
        self.undelayed += FOLLOWING * (undelayed - self.undelayed);
    }

    /// The time in nanoseconds in which the error bound grows by its fraction.
    fn pace(&self, last: &CrossTimestamp, correlation: &Correlation) -> f64 {
        let newest = correlation.timestamp_just_read(last.hardware());
        let known = correlation
            .to_monotonic(&newest)
            .ok()
            .zip(correlation.frequency())
            .zip(correlation.prior());
        let Some(((estimate, rate), prior)) = known else {
            return SHORTEST;
        };
        let room = estimate.at.bound.nanoseconds() as f64 * GROWTH;
        // nanoseconds per nanosecond, and per nanosecond squared
        let (spread, wander) = (
            rate.error_bound_parts_per_billion / 1e9,
            prior.unseen_per_second / PER_SECOND,
        );
        let pace = ((spread * spread + 2.0 * wander * room).sqrt() - spread) / wander;
        pace.max(SHORTEST)
    }
}

/// The cost in nanoseconds of a batch that took `took`. A delayed cross timestamp counts at most
/// [`LEAP`] times the median: a busy bus delays by that much, a longer delay is a preempted thread.
fn cost(batch: &[CrossTimestamp], took: Span) -> f64 {
    let took = took.nanoseconds().max(0) as f64;
    let first = batch
        .first()
        .map(|first| first.monotonic_after() - first.monotonic_before());
    let later = batch
        .windows(2)
        .map(|pair| pair[1].monotonic_after() - pair[0].monotonic_after());
    let mut lasted: Vec<f64> = first
        .into_iter()
        .chain(later)
        .map(|one| one.nanoseconds() as f64)
        .collect();
    lasted.sort_unstable_by(f64::total_cmp);
    // a clock that is too coarse to separate cross timestamps gives no median
    let Some(median) = lasted.get(lasted.len() / 2).filter(|median| **median > 0.0) else {
        return took;
    };
    let held_up: f64 = lasted
        .iter()
        .map(|one| (one - median * LEAP).max(0.0))
        .sum();
    took - held_up
}

#[cfg(test)]
mod tests;
