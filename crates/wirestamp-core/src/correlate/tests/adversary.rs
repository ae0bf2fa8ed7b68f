//! Simulated worlds that search for conversions outside their error bound: oscillators at the
//! limits of the contract (`docs/error-bound.md`), cross timestamps with the worst delays, and
//! programs that change a frequency at the worst moment.
//!
//! `ADVERSARY_CASES` sets the number of worlds per property, `PROPTEST_RNG_SEED` selects them. A
//! campaign of thousands prints the number of its conversions.

use super::strategies::{batches, counters, least, least_or_lopsided, stretches};
use super::world::{Batch, Oscillator, Stretch};
use super::*;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use proptest::prelude::*;
use std::io::Write;
use std::vec::Vec;

/// The results of a run through a world.
#[derive(Debug, Default)]
struct Found {
    conversions: u32,
    refused: u32,
    opened: u32,
    /// How often cross timestamps contradicted earlier ones about the frequency.
    contradicted: u32,
}

/// Takes the batches of cross timestamps, and converts timestamps of all ages whenever the error
/// bound must hold. `promised` decides that from the time of the timestamp, the time of the
/// conversion, and the number of batches since.
fn run(
    oscillator: &Oscillator,
    batches: &[Batch],
    shares: &[f64],
    promised: impl FnMut(i64, i64) -> bool,
) -> Result<Found, TestCaseError> {
    run_under(&Assumptions::USUAL, oscillator, batches, shares, promised)
}

fn run_under(
    assumptions: &Assumptions,
    oscillator: &Oscillator,
    batches: &[Batch],
    shares: &[f64],
    mut promised: impl FnMut(i64, i64) -> bool,
) -> Result<Found, TestCaseError> {
    let frequency = Frequency::from_hertz(oscillator.hertz as u64);
    let mut correlation = Correlation::new(interface(), frequency).with_assumptions(assumptions);
    let (mut found, mut time, mut first) = (Found::default(), SECOND, None);
    let mut share = shares.iter().copied().cycle();
    let mut next = move || share.next().unwrap_or(0.5);
    for batch in batches {
        let last = time;
        time += batch.pause;
        if let Some(first) = first {
            // since the newest cross timestamp: right after it, somewhere, right before the next
            // one; and old ones
            let spots = [
                last + 1,
                last + ((time - last) as f64 * next()) as i64,
                time - 1,
            ];
            let old =
                [0.3, 0.03].map(|scale| last - ((last - first) as f64 * next() * scale) as i64);
            let any = first + ((last - first) as f64 * next()) as i64;
            for made in spots.into_iter().chain(old).chain([any]) {
                let now = made.max(last + 1);
                if made < first || !promised(made, now) {
                    continue;
                }
                found.conversions += 1;
                match correlation
                    .to_monotonic(&oscillator.timestamp(made, now.min(made + SECOND).max(made + 1)))
                {
                    Ok(estimate) => {
                        let error = (estimate.at.value - at(made)).abs();
                        prop_assert!(
                            error <= estimate.at.bound,
                            "made {made}, converted {now}: {error} off, bound {}, generation {:?}",
                            estimate.at.bound,
                            estimate.generation
                        );
                    }
                    Err(_) if made < last - 250 * SECOND => {} // known no better than a second
                    Err(_) => found.refused += 1,
                }
            }
        }
        for reading in batch.readings(oscillator, time) {
            let before = correlation.agreement();
            if matches!(correlation.push(&reading), Pushed::Opened(_)) {
                found.opened += 1;
            }
            let contradicts = before.is_some_and(|before| Some(before) != correlation.agreement());
            found.contradicted += u32::from(contradicts);
        }
        time = batch.end(time);
        first = first.or(Some(time));
    }
    Ok(found)
}

/// The results of all worlds of a property.
struct Tally {
    name: &'static str,
    worlds: AtomicU32,
    conversions: AtomicU64,
}

static WITHIN: Tally = Tally::new("within the contract");
static UNSEEN: Tally = Tally::new("unseen changes");
static STEPPED: Tally = Tally::new("a frequency step");

impl Tally {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            worlds: AtomicU32::new(0),
            conversions: AtomicU64::new(0),
        }
    }

    /// Adds a world without a wrong bound.
    fn add(&self, found: &Found) {
        let conversions = self
            .conversions
            .fetch_add(found.conversions.into(), Relaxed)
            + u64::from(found.conversions);
        let worlds = self.worlds.fetch_add(1, Relaxed) + 1;
        if worlds == wanted() && worlds >= CAMPAIGN {
            let seed = std::env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "by chance".into());
            let name = self.name;
            writeln!(
                std::io::stdout(),
                "{name}: seed {seed}, {worlds} worlds, {conversions} conversions, 0 outside"
            )
            .expect("standard output");
        }
    }
}

/// From this number of worlds on, a run is a campaign and prints its results.
const CAMPAIGN: u32 = 10_000;

fn wanted() -> u32 {
    std::env::var("ADVERSARY_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(150)
}

fn cases() -> ProptestConfig {
    let (cases, usual) = (wanted(), ProptestConfig::default());
    ProptestConfig {
        cases,
        max_shrink_iters: usual.max_shrink_iters.min(20_000), // PROPTEST_MAX_SHRINK_ITERS
        failure_persistence: None,
        ..usual
    }
}

/// A frequency that changes at the limit per second of the system clock changes faster per second
/// of a slow counter.
#[test]
fn wander_counts_by_either_clock() -> Result<(), TestCaseError> {
    let batches = std::vec![Batch { pause: 88 * SECOND, delays: std::vec![(1, 1)] }; 12];
    let shares: Vec<f64> = (0..31).map(|number| f64::from(number) / 31.0).collect();
    for (ppm, ramp) in [(-950.0, 1.0), (-950.0, -1.0), (950.0, 1.0), (950.0, -1.0)] {
        let oscillator = Oscillator::new(
            1e9,
            1,
            ppm,
            &[Stretch {
                seconds: 1e4,
                ramp,
                kink: 0.0,
            }],
        );
        let found = run(&oscillator, &batches, &shares, |_, _| true)?;
        prop_assert!(found.conversions > 50 && found.opened == 1, "{:?}", found);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    /// Within the contract every bound holds, every cross timestamp is accepted, and only the first
    /// generation begins.
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
        WITHIN.add(&found);
    }

    /// A program changes the frequency at any time, as often as it likes, within what is allowed
    /// for, beside an oscillator at the limit of the contract: every bound holds at once.
    #[test]
    fn unseen_changes_that_are_allowed_for_break_no_bound(
        (least, batches) in least_or_lopsided().prop_flat_map(|least| (Just(least), batches(least))),
        changes in prop::collection::vec((0.02..4.0, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]), 1..200),
        ramp in prop::sample::select(&[-1.0, 0.0, 1.0][..]),
        (change, within) in (-8.0f64..-6.0, -1.5f64..1.0),
        drift in prop::sample::select(&[-1.0, 0.0, 0.0, 1.0][..]),
        (hertz, tick) in counters(),
        shares in prop::collection::vec(0.0..1.0, 31),
    ) {
        let _ = least;
        let (change, within) = (10f64.powf(change), 10f64.powf(within));
        // levels in a band as wide as the change; or half as wide, and it moves by a quarter of the
        // change with each step, or less if steps are close: by half within the time
        let band = if drift == 0.0 { change } else { change / 2.0 };
        let (mut level, mut floor, mut since) = (0.0, 0.0, 0.0f64);
        let stretches: Vec<Stretch> = changes.iter().map(|(seconds, share)| {
            floor += drift * change / 4.0 * (since / within).min(1.0);
            let next = floor + share * band;
            let kink = (next - level) * 1e6;
            (level, since) = (next, *seconds);
            Stretch { seconds: *seconds, ramp, kink }
        }).collect();
        let assumptions = Assumptions {
            unseen_change: change,
            unseen_within: Span::from_nanoseconds((within * 1e9) as i128),
            ..Assumptions::USUAL
        };
        let oscillator = Oscillator::new(hertz, tick, 17.0, &stretches);
        let found = run_under(&assumptions, &oscillator, &batches, &shares, |_, _| true)?;
        prop_assert_eq!((found.opened, found.refused, found.contradicted), (1, 0, 0));
        UNSEEN.add(&found);
    }

    /// A program changes the frequency once: three batches later every bound is right again, for
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
        let begins = |number: usize| batches[..number].iter().fold(SECOND, |time, batch| batch.end(time + batch.pause));
        let when = begins(before) + (part * (begins(before + 1) - begins(before)) as f64) as i64;
        let shown = begins(before + 4);
        let oscillator = Oscillator::new(1e9, 8, 17.0, &[
            Stretch { seconds: when as f64 / 1e9, ramp: 0.0, kink: 0.0 },
            Stretch { seconds: 1e6, ramp: 0.0, kink },
        ]);
        let found = run(&oscillator, &batches, &shares, |_, now| now < when || now >= shown)?;
        STEPPED.add(&found);
    }
}
