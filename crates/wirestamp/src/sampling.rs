//! Owns the plan of when an adapter's clock is read and how often in one batch, within a stated
//! cost. Reads nothing and waits for nothing.
//!
//! More readings a batch help where other traffic delays them; more batches help while the
//! bound grows fast from one to the next. Both cost time on the bus to the adapter, which is
//! what the budget is for.

use crate::correlator::CorrelatorOptions;
use std::time::Duration;
use wirestamp_core::correlate::Correlation;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{Span, SystemTime};

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
const PER_SECOND: f64 = 1e9;

/// When to read next, and how many times.
///
/// Over any stretch of time, reading takes no more than the budget for that time and ten
/// seconds more of it, and what the last batch took longer than was to be expected.
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
    as_of: Option<SystemTime>,
    /// Of a reading, in nanoseconds.
    cost: f64,
    narrowest: f64,
    /// The share of undelayed readings.
    undelayed: f64,
}

impl Sampling {
    /// `None` if the options ask for a fixed period.
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

    /// How many readings the next batch should have.
    pub fn readings(&self) -> usize {
        if self.as_of.is_none() {
            return self.asked;
        }
        let (mut readings, mut all_late) = (0, 1.0);
        while all_late > ALL_LATE && readings < self.asked.saturating_mul(AT_MOST) {
            all_late *= 1.0 - self.undelayed;
            readings += 1;
        }
        readings.max(FEWEST)
    }

    /// Takes note of a batch and what it took; `correlation` knows it already. Returns after
    /// how long the next one is due, `wanted` or later.
    pub fn next(
        &mut self,
        batch: &[CrossTimestamp],
        took: Span,
        correlation: &Correlation,
        wanted: Option<Duration>,
    ) -> Duration {
        let Some(last) = batch.last() else { return Duration::from_nanos(self.longest as u64) };
        self.pay(last.system_after(), took.nanoseconds() as f64, batch.len());
        batch.iter().for_each(|reading| self.see(reading));
        let wanted = wanted.map_or_else(|| self.pace(last, correlation), |wanted| wanted.as_nanos() as f64);
        let price = self.cost * self.readings() as f64;
        let saved_up = ((price - self.credit) / self.budget).max(0.0);
        // a budget of nothing pays for nothing: as seldom as is thinkable
        Duration::from_nanos(wanted.max(saved_up).min(u64::MAX as f64) as u64)
    }

    fn pay(&mut self, now: SystemTime, took: f64, readings: usize) {
        let elapsed = self.as_of.map_or(0.0, |before| (now - before).nanoseconds().max(0) as f64);
        self.as_of = Some(now);
        self.credit = (self.credit + elapsed * self.budget).min(self.budget * SAVED * PER_SECOND) - took;
        let cost = took / readings as f64;
        self.cost = if self.cost > 0.0 { self.cost + 0.1 * (cost - self.cost) } else { cost };
    }

    fn see(&mut self, reading: &CrossTimestamp) {
        let Some(width) = reading.bracket() else { return };
        let width = width.nanoseconds() as f64;
        self.narrowest = (self.narrowest * (1.0 + FORGETTING)).min(width);
        let undelayed = if width <= self.narrowest * (1.0 + UNDELAYED) { 1.0 } else { 0.0 };
        self.undelayed += FOLLOWING * (undelayed - self.undelayed);
    }

    /// How long the bound takes to grow by its share.
    fn pace(&self, last: &CrossTimestamp, correlation: &Correlation) -> f64 {
        let newest = correlation.stamp_just_read(last.hardware());
        let known = correlation.to_system(&newest).ok().zip(correlation.rate()).zip(correlation.prior());
        let Some(((estimate, rate), prior)) = known else { return SHORTEST };
        let room = estimate.bound.nanoseconds() as f64 * GROWTH;
        // nanoseconds per nanosecond, and per nanosecond squared
        let (spread, wander) = (rate.bound_parts_per_billion / 1e9, prior.unseen_per_second / PER_SECOND);
        let pace = ((spread * spread + 2.0 * wander * room).sqrt() - spread) / wander;
        pace.clamp(SHORTEST, self.longest.max(SHORTEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::cross::CrossMethod;
    use wirestamp_core::interface::InterfaceIndex;
    use wirestamp_core::time::{Frequency, HardwareTicks};

    /// Readings of a clock that is exact, `period` apart at most; each takes what its bracket
    /// is wide, every third of them `late` longer.
    struct Run {
        sampling: Sampling,
        correlation: Correlation,
        now: i64,
        spent: i64,
        batches: u32,
        readings: usize,
    }

    impl Run {
        fn new(options: &CorrelatorOptions) -> Self {
            let interface = InterfaceIndex::new(1).expect("not zero");
            let correlation = Correlation::new(interface, Some(Frequency::GIGAHERTZ));
            let sampling = Sampling::new(options).expect("adaptive");
            Self { sampling, correlation, now: 1_000_000_000, spent: 0, batches: 0, readings: 0 }
        }

        fn pass(&mut self, seconds: i64, width: i64, late: i64) {
            let end = self.now + seconds * 1_000_000_000;
            while self.now < end {
                let (begun, mut batch) = (self.now, Vec::new());
                for n in 0..self.sampling.readings() {
                    let (at, width) = (SystemTime::from_nanoseconds, width + if n % 3 == 0 { late } else { 0 });
                    let middle = HardwareTicks::new((self.now + width / 2) as u64);
                    let reading =
                        CrossTimestamp::new(at(self.now), middle, at(self.now + width), CrossMethod::Extended);
                    batch.push(reading.expect("valid"));
                    self.now += width;
                }
                batch.iter().for_each(|reading| _ = self.correlation.push(reading));
                let took = self.now - begun;
                let pause = self.sampling.next(&batch, Span::from_nanoseconds(took.into()), &self.correlation, None);
                (self.spent, self.batches, self.readings) =
                    (self.spent + took, self.batches + 1, self.readings + batch.len());
                self.now += i64::try_from(pause.as_nanos()).expect("not for ever");
            }
        }
    }

    fn options(budget_us: u64) -> CorrelatorOptions {
        CorrelatorOptions { budget: Some(Duration::from_micros(budget_us)), ..CorrelatorOptions::default() }
    }

    #[test]
    fn reading_takes_no_more_than_the_budget() {
        for (budget_us, width, late) in [(100, 1_200, 0), (5, 1_200, 0), (100, 36_000, 0), (1, 36_000, 400_000)] {
            let mut run = Run::new(&options(budget_us));
            let mut begun = run.now;
            for _ in 0..20 {
                let before = run.spent;
                run.pass(50, width, late);
                let allowed = (run.now - begun + 10_000_000_000) / 1_000_000 * budget_us as i64;
                let a_batch = (width + late) * 25;
                assert!(
                    run.spent - before <= allowed + a_batch,
                    "{budget_us} {width}: {} of {allowed}",
                    run.spent - before
                );
                begun = run.now;
            }
            assert!(run.spent > 0 && run.batches >= 20);
        }
    }

    #[test]
    fn a_fast_bus_is_read_often_and_a_slow_one_seldom() {
        let paced = |width| {
            let mut run = Run::new(&options(100));
            run.pass(300, width, 0);
            let before = run.batches;
            run.pass(100, width, 0);
            f64::from(run.batches - before) / 100.0
        };
        let (fast, slow) = (paced(1_200), paced(36_000));
        assert!((0.5..10.5).contains(&fast), "{fast} batches a second");
        assert!((0.2..1.5).contains(&slow) && slow < fast, "{slow} batches a second");
    }

    #[test]
    fn delayed_readings_make_batches_longer() {
        let per_batch = |late: i64| {
            let mut run = Run::new(&options(1_000));
            run.pass(100, 1_200, late);
            let (batches, readings) = (run.batches, run.readings);
            run.pass(50, 1_200, late);
            (run.readings - readings) as f64 / f64::from(run.batches - batches)
        };
        assert!((per_batch(0) - 3.0).abs() < 1e-9, "{}", per_batch(0));
        assert!((4.0..8.0).contains(&per_batch(5_000)), "a third of them late: {}", per_batch(5_000));
    }

    #[test]
    fn a_fixed_period_is_no_plan() {
        assert!(Sampling::new(&CorrelatorOptions::FIXED).is_none());
    }
}
