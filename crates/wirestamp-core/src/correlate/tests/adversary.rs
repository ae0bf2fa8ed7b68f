//! Worlds that search for conversions outside their bound: oscillators at the limits of the
//! contract (`docs/error-bound.md`), readings whose delays conspire with them, and programs that
//! change a frequency at the worst moment.
//!
//! `ADVERSARY_CASES` sets how many worlds each property tries.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// The contract's wander, a fraction per second.
const WANDER: f64 = 3e-8;

/// A stretch of time in which the frequency changes evenly.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    seconds: f64,
    /// Of [`WANDER`].
    ramp: f64,
    /// At its start, in parts per million.
    kink: f64,
}

/// A counter whose relation to the system clock is known exactly.
#[derive(Debug, Clone)]
struct Oscillator {
    hertz: f64,
    tick: u64,
    /// Where each stretch starts: seconds, nanoseconds ahead, frequency offset.
    starts: Vec<(f64, f64, f64, f64)>,
}

impl Oscillator {
    fn new(hertz: f64, tick: u64, ppm: f64, stretches: &[Stretch]) -> Self {
        let (mut at, mut ahead, mut offset) = (0.0, 0.0, ppm * 1e-6);
        let mut starts = Vec::new();
        for stretch in stretches {
            offset += stretch.kink * 1e-6;
            let ramp = stretch.ramp * WANDER;
            starts.push((at, ahead, offset, ramp));
            let seconds = stretch.seconds;
            ahead += (offset * seconds + ramp * seconds * seconds / 2.0) * 1e9;
            offset += ramp * seconds;
            at += seconds;
        }
        Self { hertz, tick, starts }
    }

    fn ticks(&self, time: i64) -> HardwareTicks {
        let seconds = time as f64 / 1e9;
        let place = self.starts.partition_point(|start| start.0 <= seconds).saturating_sub(1);
        let (at, ahead, offset, ramp) = self.starts[place];
        let since = seconds - at;
        let ahead = ahead + (offset * since + ramp * since * since / 2.0) * 1e9;
        // whole and fraction apart: an f64 does not hold their sum to the nanosecond
        let whole = ahead.floor();
        let nanoseconds = (time + whole as i64) as f64;
        let count = if (self.hertz - 1e9).abs() < 0.5 {
            time + whole as i64
        } else {
            ((nanoseconds + ahead - whole) * self.hertz / 1e9) as i64
        };
        let count = count.cast_unsigned();
        HardwareTicks::new(1_000_000 + count - count % self.tick)
    }

    fn stamp(&self, made: i64, read_at: i64) -> HardwareStamp {
        HardwareStamp { ticks: self.ticks(made), interface: Some(interface()), read_at: at(read_at) }
    }
}

/// A batch: how long after the one before, and the delays before and after the latch of each of
/// its readings.
#[derive(Debug, Clone)]
struct Batch {
    pause: i64,
    delays: Vec<(i64, i64)>,
}

fn pause() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 10 * MILLISECOND..300 * MILLISECOND,
        4 => 900 * MILLISECOND..1_100 * MILLISECOND,
        2 => 4 * SECOND..9 * SECOND,
        1 => 5 * SECOND..88 * SECOND,
    ]
}

/// Delays of a reading beyond the least, as shares: all before, all after, none, some, far out.
fn jitter() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        3 => Just((0.0, 0.0)),
        2 => (0.0..0.2, 0.0..0.2),
        1 => Just((1.0, 0.0)),
        1 => Just((0.0, 1.0)),
        1 => (0.0..30.0, 0.0..30.0),
    ]
}

fn batches(least: (i64, i64)) -> impl Strategy<Value = Vec<Batch>> {
    let regular = prop_oneof![Just(None), pause().prop_map(Some)];
    let batch = (pause(), 0.999..1.001, prop::collection::vec(jitter(), 1..6));
    let scale = (least.0 + least.1) as f64;
    (regular, prop::collection::vec(batch, 10..90)).prop_map(move |(regular, batches)| {
        batches
            .into_iter()
            .map(|(pause, unevenly, jitters)| Batch {
                pause: (regular.unwrap_or(pause) as f64 * unevenly) as i64,
                delays: jitters
                    .iter()
                    .map(|(ask, answer)| (least.0 + (ask * scale) as i64, least.1 + (answer * scale) as i64))
                    .collect(),
            })
            .collect()
    })
}

fn least() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![Just((600, 600)), (20i64..2_000, 20i64..2_000), (1_000i64..40_000, 1_000i64..40_000), Just((1, 1_200))]
}

/// Ramps at the limit, quiet times, and what lies between.
fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
    let ramp = prop_oneof![3 => Just(0.0), 2 => Just(1.0), 2 => Just(-1.0), 1 => -1.0..1.0];
    let stretch = (prop_oneof![0.5..8.0, 8.0..120.0], ramp);
    prop::collection::vec(stretch, 1..20)
        .prop_map(|all| all.into_iter().map(|(seconds, ramp)| Stretch { seconds, ramp, kink: 0.0 }).collect())
}

/// Hertz and ticks at a time: up to 10 µs.
fn counters() -> impl Strategy<Value = (f64, u64)> {
    prop_oneof![
        4 => prop::sample::select(&[1u64, 8, 40][..]).prop_map(|tick| (1e9, tick)),
        3 => prop::sample::select(&[200u64, 1_000, 4_096, 10_000][..]).prop_map(|tick| (1e9, tick)),
        1 => Just((1e7, 1)),
        1 => Just((125e6, 1)),
        1 => Just((1e5, 1)),
    ]
}

/// What a run through a world found.
#[derive(Debug, Default)]
struct Found {
    conversions: u32,
    refused: u32,
    opened: u32,
}

/// Reads a clock as the batches say, and converts timestamps of all ages at every moment at which
/// `promised` says that the bound holds, given when a timestamp was made, when it is converted, and how many
/// batches came since.
fn run(
    oscillator: &Oscillator,
    batches: &[Batch],
    shares: &[f64],
    mut promised: impl FnMut(i64, i64) -> bool,
) -> Result<Found, TestCaseError> {
    let frequency = Frequency::from_hertz(oscillator.hertz as u64);
    let mut correlation = Correlation::new(interface(), frequency);
    let (mut found, mut time, mut first) = (Found::default(), SECOND, None);
    let mut share = shares.iter().copied().cycle();
    let mut next = move || share.next().unwrap_or(0.5);
    for batch in batches {
        let last = time;
        time += batch.pause;
        if let Some(first) = first {
            // since the newest reading: right after it, somewhere, right before the next; and old ones
            let spots = [last + 1, last + ((time - last) as f64 * next()) as i64, time - 1];
            let old = [0.3, 0.03].map(|scale| last - ((last - first) as f64 * next() * scale) as i64);
            let any = first + ((last - first) as f64 * next()) as i64;
            for made in spots.into_iter().chain(old).chain([any]) {
                let now = made.max(last + 1);
                if made < first || !promised(made, now) {
                    continue;
                }
                found.conversions += 1;
                match correlation.to_system(&oscillator.stamp(made, now.min(made + SECOND).max(made + 1))) {
                    Ok(estimate) => {
                        let error = (estimate.at - at(made)).abs();
                        prop_assert!(
                            error <= estimate.bound,
                            "made {made}, converted {now}: {error} off, bound {}, epoch {:?}",
                            estimate.bound,
                            estimate.epoch
                        );
                    }
                    Err(_) if made < last - 250 * SECOND => {} // known no better than a second
                    Err(_) => found.refused += 1,
                }
            }
        }
        for (ask, answer) in &batch.delays {
            let latched = time + ask;
            let after = latched + answer;
            let ticks = oscillator.ticks(latched);
            let reading = CrossTimestamp::new(at(time), ticks, at(after), CrossMethod::Extended).expect("valid");
            if matches!(correlation.push(&reading), Pushed::Opened(_)) {
                found.opened += 1;
            }
            time = after + 200;
        }
        first = first.or(Some(time));
    }
    Ok(found)
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("ADVERSARY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150);
    ProptestConfig { cases, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// Within the contract every bound holds, nothing is refused, and no generation begins but the first.
    #[test]
    fn within_the_contract_no_bound_is_wrong(
        (least, batches) in least().prop_flat_map(|least| (Just(least), batches(least))),
        stretches in stretches(),
        (hertz, tick) in counters(),
        ppm in -150.0..150.0,
        shares in prop::collection::vec(0.0..1.0, 31),
    ) {
        let _ = least;
        let oscillator = Oscillator::new(hertz, tick, ppm, &stretches);
        let found = run(&oscillator, &batches, &shares, |_, _| true)?;
        prop_assert_eq!(found.opened, 1);
        prop_assert_eq!(found.refused, 0);
    }

    /// A program changes the frequency once: three batches later every bound is right again, of
    /// timestamps from before and after.
    #[test]
    fn a_frequency_step_leaves_no_wrong_bounds_behind(
        every in prop::sample::select(&[250 * MILLISECOND, SECOND, 5 * SECOND][..]),
        least in prop_oneof![Just(600i64), Just(40_000)],
        jitters in prop::collection::vec(prop::collection::vec(0.0..0.1, 5), 60..90),
        (before, part) in (20usize..40, 0.0..1.0),
        (large, down) in (1.0f64..8.0, any::<bool>()),
        shares in prop::collection::vec(0.0..1.0, 31),
    ) {
        let batches: Vec<Batch> = jitters.iter().map(|jitters| Batch {
            pause: every,
            delays: jitters.iter().map(|share| {
                let ask = least + (share * least as f64) as i64;
                (ask, least + (share * 0.7 * least as f64) as i64)
            }).collect(),
        }).collect();
        // large enough for two batches to show it
        let kink = (large * 8.0 * least as f64 / every as f64 * 1e6).min(500.0) * if down { -1.0 } else { 1.0 };
        let batch = |batch: &Batch| batch.pause + batch.delays.iter().map(|(ask, answer)| ask + answer + 200).sum::<i64>();
        let begins = |number: usize| SECOND + batches[..number].iter().map(batch).sum::<i64>();
        let when = begins(before) + (part * (begins(before + 1) - begins(before)) as f64) as i64;
        let shown = begins(before + 4);
        let oscillator = Oscillator::new(1e9, 8, 17.0, &[
            Stretch { seconds: when as f64 / 1e9, ramp: 0.0, kink: 0.0 },
            Stretch { seconds: 1e6, ramp: 0.0, kink },
        ]);
        run(&oscillator, &batches, &shares, |_, now| now < when || now >= shown)?;
    }
}
