//! The width of the error bound relative to the narrowest possible one: the figures of
//! `docs/error-bound.md`.
//!
//! `cargo test --release -p wirestamp-core --lib tightness -- --ignored` prints them; `SEEDS` sets
//! the number of runs.

use super::clean::Chance;
use super::knowable::{Compared, Pair};
use super::world::{Batch, Oscillator, Stretch};
use super::*;
use std::io::Write;
use std::vec::Vec;

/// The largest allowed median, as a multiple of the oracle's width.
const TARGET: f64 = 1.10;

/// A smooth clock with cross timestamps over PCIe in batches of five.
struct Pace {
    name: &'static str,
    every: i64,
    batches: usize,
    tick: u64,
}

const PACES: [Pace; 4] = [
    Pace {
        name: "10 a second",
        every: SECOND / 10,
        batches: 120,
        tick: 1,
    },
    Pace {
        name: "one a second",
        every: SECOND,
        batches: 60,
        tick: 1,
    },
    Pace {
        name: "every 5 s, ticks of 100 ns",
        every: 5 * SECOND,
        batches: 40,
        tick: 100,
    },
    Pace {
        name: "every 8 s",
        every: 8 * SECOND,
        batches: 40,
        tick: 1,
    },
];

/// The figures of one conversion, in nanoseconds or as multiples of the oracle's width.
#[derive(Debug, Clone, Copy)]
struct Width {
    claimed: f64,
    knowable: f64,
    /// Of the narrowest interval around the same estimate: the rest of the claim is the estimate's, which is not
    /// in the middle of what is possible.
    around: f64,
}

impl Width {
    fn of(compared: Compared) -> Self {
        let Compared { claimed, knowable } = compared;
        let estimate = claimed.low.midpoint(claimed.high);
        Self {
            claimed: claimed.high - claimed.low,
            knowable: knowable.high - knowable.low,
            around: 2.0 * (knowable.high - estimate).max(estimate - knowable.low),
        }
    }
}

/// Widths for timestamps since the newest cross timestamp, and for older ones.
fn widths(pace: &Pace, seed: u64, into: &mut [Vec<Width>; 2]) {
    let mut chance = Chance::new(seed);
    // swings by about 10⁻⁹ per second
    let stretches: Vec<Stretch> = core::iter::repeat_with(|| chance.next())
        .map(|share| Stretch {
            seconds: 20.0,
            ramp: (share - 0.5) / 15.0,
            kink: 0.0,
        })
        .take(20)
        .collect();
    let oscillator = Oscillator::new(1e9, pace.tick, 100.0 * (chance.next() - 0.5), &stretches);
    let (mut pair, mut time) = (Pair::new(1e9), SECOND);
    for number in 0..pace.batches {
        let delays = (0..5)
            .map(|_| (chance.delay(600.0), chance.delay(600.0)))
            .collect();
        let batch = Batch {
            pause: pace.every - (chance.next() * 1e6) as i64,
            delays,
        };
        let last = time;
        time += batch.pause;
        if number > pace.batches / 2 && number % 4 == 0 {
            let before = pace.every as f64 * 8.0;
            let made = [
                last + (batch.pause as f64 * chance.next()) as i64,
                last - (before * chance.next()) as i64,
            ];
            for (made, into) in made.into_iter().zip(into.iter_mut()) {
                into.extend(
                    pair.compare(&oscillator, made, made.max(last + 1))
                        .map(Width::of),
                );
            }
        }
        pair.push(batch.readings(&oscillator, time));
        time = batch.end(time);
    }
}

fn quantile(widths: &[Width], share: f64, what: impl Fn(&Width) -> f64) -> f64 {
    let mut values: Vec<f64> = widths.iter().map(what).collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

#[test]
#[ignore = "takes minutes"]
fn the_bound_is_hardly_wider_than_what_can_be_known() {
    let seeds = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(20);
    let mut out = std::io::stdout().lock();
    let mut medians = Vec::new();
    for pace in &PACES {
        let mut all = [Vec::new(), Vec::new()];
        for seed in 1..=seeds {
            widths(pace, seed, &mut all);
        }
        for (which, all) in ["since the newest", "older"].iter().zip(&all) {
            let ratio = |share| quantile(all, share, |width| width.claimed / width.knowable);
            let around = quantile(all, 0.5, |width| width.claimed / width.around);
            let [claimed, knowable] = [
                quantile(all, 0.5, |width| width.claimed),
                quantile(all, 0.5, |width| width.knowable),
            ];
            medians.push(ratio(0.5));
            writeln!(
                out,
                "{:27} {which:17} {:4} conversions: {:.3} of the oracle (90 %: {:.3}, largest {:.3}), {around:.3} around \
                 the same estimate; {claimed:.0} ns, oracle {knowable:.0} ns",
                pace.name,
                all.len(),
                ratio(0.5),
                ratio(0.9),
                ratio(1.0),
            )
            .expect("standard output");
        }
    }
    assert!(
        medians.iter().all(|median| *median <= TARGET),
        "{medians:?}"
    );
}
