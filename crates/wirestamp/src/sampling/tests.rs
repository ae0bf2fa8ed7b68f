//! The schedule on an exact clock: costs, intervals, and delayed cross timestamps.

use super::*;
use wirestamp_core::cross::CrossMethod;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{Frequency, HardwareTicks};
use wirestamp_core::timestamp::HardwareTimestamp;

/// Cross timestamps of an exact clock, at most `period` apart. Each takes as long as its bracket is
/// wide; every third one takes `late` longer.
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
        Self {
            sampling,
            correlation,
            now: 1_000_000_000,
            spent: 0,
            batches: 0,
            readings: 0,
        }
    }

    fn pass(&mut self, seconds: i64, width: i64, late: i64) {
        let end = self.now + seconds * 1_000_000_000;
        while self.now < end {
            let (begun, mut batch) = (self.now, Vec::new());
            for n in 0..self.sampling.readings() {
                let (at, width) = (
                    MonotonicTime::from_nanoseconds,
                    width + if n % 3 == 0 { late } else { 0 },
                );
                let middle = HardwareTicks::new((self.now + width / 2) as u64);
                let reading = CrossTimestamp::new(
                    at(self.now),
                    middle,
                    at(self.now + width),
                    CrossMethod::Extended,
                );
                batch.push(reading.expect("valid"));
                self.now += width;
            }
            batch
                .iter()
                .for_each(|reading| _ = self.correlation.push(reading));
            let took = self.now - begun;
            let pause = self.sampling.next(
                &batch,
                Span::from_nanoseconds(took.into()),
                &self.correlation,
            );
            (self.spent, self.batches, self.readings) = (
                self.spent + took,
                self.batches + 1,
                self.readings + batch.len(),
            );
            self.now += i64::try_from(pause.as_nanos()).expect("not for ever");
        }
    }
}

fn options(budget_us: u64) -> CorrelatorOptions {
    CorrelatorOptions {
        budget: Some(Duration::from_micros(budget_us)),
        ..CorrelatorOptions::default()
    }
}

#[test]
fn reading_takes_no_more_than_the_budget() {
    for (budget_us, width, late) in [
        (100, 1_200, 0),
        (5, 1_200, 0),
        (100, 36_000, 0),
        (30, 36_000, 0),
    ] {
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

/// Delays are not charged, and a budget that is too small for three cross timestamps per period is
/// exceeded only by these.
#[test]
fn what_readings_were_delayed_for_is_not_charged_and_the_period_is_kept() {
    for (budget_us, width, late, a_second) in
        [(100, 1_200, 400_000, 82.0), (1, 36_000, 400_000, 0.7)]
    {
        let mut run = Run::new(&options(budget_us));
        run.pass(100, width, late);
        let (batches, readings) = (run.batches, run.readings);
        run.pass(500, width, late);
        let (batches, readings) = (
            run.batches - batches,
            (run.readings - readings) as f64 / 500.0,
        );
        assert!(batches >= 99, "{batches} in 500 s, 5 s apart at most");
        assert!(
            readings <= a_second,
            "{budget_us}: {readings} readings a second"
        );
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
    assert!(
        (0.2..1.5).contains(&slow) && slow < fast,
        "{slow} batches a second"
    );
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
    assert!(
        (4.0..8.0).contains(&per_batch(5_000)),
        "a third of them late: {}",
        per_batch(5_000)
    );
}

/// Converts once a second for `hours`, with a fraction `share` of the cross timestamps delayed by
/// up to `most` nanoseconds. Returns the number of conversions, the number of failures, and the
/// longest pause.
fn held_up(options: &CorrelatorOptions, hours: i64, share: f64, most: i64) -> (u32, u32, Duration) {
    let mut run = Run::new(options);
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut chance = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let end = run.now + hours * 3_600_000_000_000;
    let (mut due, mut burst) = (run.now + 1_000_000_000, options.burst);
    let (mut asked, mut failed, mut longest) = (0, 0, Duration::ZERO);
    let at = MonotonicTime::from_nanoseconds;
    while run.now < end {
        let (begun, mut batch) = (run.now, Vec::new());
        for _ in 0..run.sampling.readings() {
            let hold = if chance() < share {
                (chance() * most as f64) as i64
            } else {
                0
            };
            let latched = run.now + 600 + if chance() < 0.5 { hold } else { 0 };
            let after = run.now + 1_200 + hold;
            let ticks = HardwareTicks::new(latched as u64);
            batch.push(
                CrossTimestamp::new(at(run.now), ticks, at(after), CrossMethod::Extended)
                    .expect("valid"),
            );
            run.now = after;
        }
        while due < run.now {
            // while a batch is taken, conversions use the previous one
            let timestamp = HardwareTimestamp {
                ticks: HardwareTicks::new(due as u64),
                interface: InterfaceIndex::new(1),
                read_at: at(due + 1_000),
            };
            asked += 1;
            match run.correlation.to_monotonic(&timestamp) {
                Ok(estimate) => assert!(estimate.at.contains(at(due))),
                Err(_) => failed += 1,
            }
            due += 1_000_000_000;
        }
        for reading in &batch {
            _ = run.correlation.push(reading);
        }
        burst = burst.saturating_sub(1);
        let took = Span::from_nanoseconds((run.now - begun).into());
        let planned = run.sampling.next(&batch, took, &run.correlation);
        let pause = if burst > 0 {
            options.burst_gap
        } else {
            planned
        };
        longest = longest.max(pause);
        run.now += i64::try_from(pause.as_nanos()).expect("not for ever");
    }
    (asked, failed, longest)
}

#[test]
fn readings_that_are_held_up_starve_nobody() {
    let options = CorrelatorOptions::default();
    for (share, most) in [
        (0.001, 20_000_000),
        (0.001, 100_000_000),
        (0.05, 1_000_000_000),
        (0.05, 10_000_000_000),
    ] {
        let (asked, failed, longest) = held_up(&options, 2, share, most);
        assert!(
            asked > 7_000 && failed <= asked / 1_000,
            "{share} {most}: {failed} of {asked} fail"
        );
        assert!(longest <= options.period, "{share} {most}: {longest:?}");
    }
}

#[test]
fn a_fixed_period_is_no_plan() {
    assert!(Sampling::new(&CorrelatorOptions::FIXED).is_none());
}
