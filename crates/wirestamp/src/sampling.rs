//! The plan of when a hardware clock is read and how many readings a batch has, within a stated
//! cost. It reads nothing and waits for nothing.
//!
//! More readings a batch help where other traffic delays them; more batches help while the
//! bound grows fast from one to the next. Both cost time on the bus to the NIC, which is
//! what the budget is for.

use crate::correlator::CorrelatorOptions;
use std::time::Duration;
use wirestamp_core::correlate::Correlation;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{MonotonicTime, Span};

/// From one batch to the next at least, after the burst.
const SHORTEST: f64 = 0.1e9;
/// By such a share of itself the bound may grow until the next batch.
const GROWTH: f64 = 0.1;
/// A batch may have no undelayed reading this often.
const ALL_LATE: f64 = 0.01;
/// Readings in a batch at least, and how many times as many as asked for at most.
const FEWEST: usize = 3;
const AT_MOST: usize = 5;
/// A reading is undelayed if it is wider than the narrowest by no more than this share.
const UNDELAYED: f64 = 0.1;
/// How fast what is usual follows, per reading; and how fast the narrowest is forgotten.
const FOLLOWING: f64 = 0.02;
const FORGETTING: f64 = 1e-4;
/// What may be saved up, in seconds' worth of the budget: a burst at the start.
const SAVED: f64 = 10.0;
/// What may be owed: a burst on a slow bus.
const OWED: f64 = 60.0;
/// A reading is charged at most so many times the usual price: more is no cost but a delay.
const LEAP: f64 = 32.0;
const PER_SECOND: f64 = 1e9;

/// A plan of when a hardware clock is read next, and how many times.
///
/// Batches are at most [`period`](CorrelatorOptions::period) apart, however long readings are held
/// up and whatever the budget is; bursts are never put off. Within that, over any stretch of time,
/// reading costs no more than the budget for that time and ten seconds more of it, beside bursts and
/// three readings a period. A reading that was held up counts as 32 usual ones: a thread that is
/// preempted uses no bus.
///
/// For those who take readings themselves; a [`Correlator`](crate::Correlator) has its own.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// Nanoseconds of reading that a nanosecond pays for.
    budget: f64,
    longest: f64,
    asked: usize,
    /// What is left of the budget, in nanoseconds.
    credit: f64,
    as_of: Option<MonotonicTime>,
    /// Of a reading, in nanoseconds.
    cost: f64,
    narrowest: f64,
    /// The share of undelayed readings.
    undelayed: f64,
}

impl Sampling {
    /// Makes a plan within the budget of the options; `None` if they ask for a fixed period.
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

    /// Returns how many readings the next batch should have.
    pub fn readings(&self) -> usize {
        if self.as_of.is_none() {
            return self.asked;
        }
        let (mut readings, mut all_late) = (0, 1.0);
        while all_late > ALL_LATE && readings < self.asked.saturating_mul(AT_MOST) {
            all_late *= 1.0 - self.undelayed;
            readings += 1;
        }
        // what the budget pays for in a period: a smaller one than that is not kept
        let affordable = (self.budget * self.longest / self.cost.max(1.0)) as usize;
        readings.min(affordable).max(FEWEST)
    }

    /// Takes note of a batch and what it took; `correlation` knows it already. Returns after
    /// how long the next one is due: after `wanted`, if that is given (a burst), else when the bound
    /// has grown and the budget allows it, but after the period at the latest.
    pub fn next(
        &mut self,
        batch: &[CrossTimestamp],
        took: Span,
        correlation: &Correlation,
        wanted: Option<Duration>,
    ) -> Duration {
        let Some(last) = batch.last() else {
            return Duration::from_nanos(self.longest as u64);
        };
        self.pay(last.monotonic_after(), cost(batch, took), batch.len());
        batch.iter().for_each(|reading| self.see(reading));
        if let Some(wanted) = wanted {
            return wanted;
        }
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

    /// How long the bound takes to grow by its share.
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

/// What a batch that took `took` cost, in nanoseconds. Of a reading that was held up, so many times
/// the median counts: a busy bus delays by that much, a thread that was preempted uses none.
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
    // readings that a coarse clock can't tell apart tell nothing
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
