//! The error bound compared with the exact oracle: it is never narrower than the oracle's, and the
//! tests report how much wider it is.
//!
//! `ORACLE_CASES` sets the number of worlds.

use super::oracle::{Knowable, Oracle};
use super::strategies::{batches, counters, least, stretches};
use super::world::{Batch, Oscillator, Stretch, WANDER};
use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// The largest error of the solver, in nanoseconds.
const SOLVED: f64 = 0.02;
/// The largest number of batches for an oracle: small enough to solve thousands of times.
const FEW: usize = 40;

/// The worlds ramp by the system clock, the contract counts by the counter: 150 ppm off at the start and, 90 pauses of
/// 88 s later, 238 ppm more. A change of frequency per second differs by the third power of that.
const CONTRACT: Assumptions = Assumptions {
    wander_per_second: WANDER * 1.0012,
    ..Assumptions::USUAL
};

/// A correlation and all its cross timestamps.
pub(super) struct Pair {
    pub(super) correlation: Correlation,
    hertz: f64,
    readings: Vec<CrossTimestamp>,
}

/// One conversion: the claimed and the knowable interval, in nanoseconds after the truth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    pub(super) claimed: Knowable,
    pub(super) knowable: Knowable,
}

impl Pair {
    pub(super) fn new(hertz: f64) -> Self {
        let correlation = Correlation::new(interface(), Frequency::from_hertz(hertz as u64));
        Self {
            correlation,
            hertz,
            readings: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, readings: impl Iterator<Item = CrossTimestamp>) {
        for reading in readings {
            _ = self.correlation.push(&reading);
            self.readings.push(reading);
        }
    }

    /// Compares the two for a timestamp made at `made` and converted at `now`; `None` if the solver
    /// finds no solution.
    pub(super) fn compare(&self, oscillator: &Oscillator, made: i64, now: i64) -> Option<Compared> {
        let timestamp = oscillator.timestamp(made, now.min(made + SECOND).max(made + 1));
        let estimate = self.correlation.to_monotonic(&timestamp).ok()?;
        let (centre, bound) = (
            (estimate.at.value - at(made)).nanoseconds() as f64,
            estimate.at.bound.nanoseconds() as f64,
        );
        let claimed = Knowable {
            low: centre - bound,
            high: centre + bound,
        };
        let knowable = Oracle::new(self.hertz, &self.readings, &CONTRACT)
            .knowable(timestamp.ticks, at(made))?;
        Some(Compared { claimed, knowable })
    }
}

/// Checks a conversion. `knowable` contains the truth, unless the oracle is wrong.
fn check(compared: Compared, made: i64) -> Result<(), TestCaseError> {
    let Compared { claimed, knowable } = compared;
    prop_assert!(
        knowable.low <= SOLVED && knowable.high >= -SOLVED,
        "the oracle lost the truth: {knowable:?}, {made}"
    );
    let holds = claimed.low <= knowable.low + SOLVED && claimed.high >= knowable.high - SOLVED;
    prop_assert!(
        holds,
        "made {made}: claimed {claimed:?}, but all of {knowable:?} is possible"
    );
    Ok(())
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("ORACLE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(16);
    ProptestConfig {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    /// All values that the cross timestamps and the contract allow are within the bound: now, right
    /// before the next cross timestamp, and for earlier timestamps.
    #[test]
    fn the_bound_promises_no_more_than_can_be_known(
        batches in least().prop_flat_map(batches),
        stretches in stretches(),
        (hertz, tick) in counters(),
        ppm in -150.0..150.0,
        shares in prop::collection::vec(0.0..1.0, 31),
        looks in prop::collection::vec(0..FEW, 3),
    ) {
        let oscillator = Oscillator::new(hertz, tick, ppm, &stretches);
        let mut pair = Pair::new(hertz);
        let mut share = shares.iter().copied().cycle();
        let mut next = move || share.next().unwrap_or(0.5);
        let (mut time, mut first) = (SECOND, None);
        for (number, batch) in batches.iter().take(FEW).enumerate() {
            let last = time;
            time += batch.pause;
            if let (Some(first), true) = (first, looks.contains(&number)) {
                let ago = |share: f64| last - ((last - first) as f64 * share) as i64;
                for made in [last + 1, last + (batch.pause as f64 * next()) as i64, time - 1, ago(next() * 0.1), ago(next())] {
                    if let Some(compared) = pair.compare(&oscillator, made, made.max(last + 1)) {
                        check(compared, made)?;
                    }
                }
            }
            pair.push(batch.readings(&oscillator, time));
            time = batch.end(time);
            first = first.or(Some(time));
        }
    }
}

/// The worlds obey the oracle's contract even at the end of a long ramp.
#[test]
fn the_oracle_keeps_the_truth_of_a_ramp_without_an_end() {
    for (ppm, ramp) in [(-150.0, -1.0), (150.0, 1.0)] {
        let (seconds, kink) = (60.0, 0.0);
        let stretch = Stretch {
            seconds,
            ramp,
            kink,
        };
        let oscillator = Oscillator::new(1e9, 1, ppm, &[stretch]);
        let mut pair = Pair::new(1e9);
        let batch = Batch {
            pause: 34 * SECOND,
            delays: std::vec![(1, 1_200), (1_202, 1)],
        };
        let (mut time, mut solved) = (SECOND, 0);
        for _ in 0..FEW {
            pair.push(batch.readings(&oscillator, time));
            time = batch.end(time) + batch.pause;
            if time < 1_000 * SECOND {
                continue;
            }
            let made = time - batch.pause / 2;
            if let Some(compared) = pair.compare(&oscillator, made, made) {
                check(compared, made).expect("the truth");
                solved += 1;
            }
        }
        assert!(solved > 2, "{ppm}: {solved}");
    }
}

/// The check above can fail: it notices bounds of half the width, and bounds without wander.
#[test]
fn bounds_that_promise_more_than_can_be_known_are_found() {
    let found = |assumptions: &Assumptions, share: f64| {
        let oscillator = Oscillator::new(
            1e9,
            1,
            20.0,
            &[Stretch {
                seconds: 1e4,
                ramp: 0.0,
                kink: 0.0,
            }],
        );
        let mut pair = Pair::new(1e9);
        pair.correlation = pair.correlation.with_assumptions(assumptions);
        let batch = Batch {
            pause: 5 * SECOND,
            delays: std::vec![(610, 600), (600, 613)],
        };
        let mut time = SECOND;
        for _ in 0..12 {
            pair.push(batch.readings(&oscillator, time));
            time = batch.end(time) + batch.pause;
        }
        let made = time - SECOND;
        let mut compared = pair.compare(&oscillator, made, made).expect("solved");
        compared.claimed = Knowable {
            low: compared.claimed.low * share,
            high: compared.claimed.high * share,
        };
        check(compared, made).is_err()
    };
    assert!(!found(&Assumptions::USUAL, 1.0));
    assert!(found(&Assumptions::USUAL, 0.5));
    assert!(found(
        &Assumptions {
            wander_per_second: 0.0,
            ..Assumptions::USUAL
        },
        1.0
    ));
}
