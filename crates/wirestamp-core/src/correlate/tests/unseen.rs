//! A change of the frequency that is too small for cross timestamps to show it soon: what it does to
//! error bounds, and that allowing for it makes them right.

use super::world::{Batch, Oscillator, Stretch};
use super::*;
use std::vec;
use std::vec::Vec;

/// The time in one direction, and in the other: the latch is close to the end of the bracket.
const LEGS: (i64, i64) = (1_000, 20);
/// How much longer either may take: what brackets have beyond the narrowest hides more.
const JITTER: (i64, i64) = (400, 40);
/// The largest width of a bracket with the tick of the counter and that of the system clock.
const WIDTH: i64 = 1_020 + 440 + 8 + 2;
const BATCHES: usize = 160;
const READINGS: usize = 1;
/// The number of the batch before the change.
const BEFORE: usize = 80;

/// A conversion outside its bound.
#[derive(Debug, Clone, Copy)]
struct Wrong {
    /// How many batches stood after the change.
    batches: usize,
    /// How far it was outside.
    by: i64,
    /// How many nanoseconds after the newest batch.
    after: i64,
}

/// A batch `every` nanoseconds, with a step of the frequency by `ppm` halfway after batch
/// [`BEFORE`]; conversions in between.
fn step(ppm: f64, every: i64, assumptions: &Assumptions) -> (Vec<Wrong>, Correlation) {
    let stretch = |seconds, kink| Stretch {
        seconds,
        ramp: 0.0,
        kink,
    };
    let when = SECOND + every * BEFORE as i64 + every / 2;
    let oscillator = Oscillator::new(
        1e9,
        8,
        17.0,
        &[stretch(when as f64 / 1e9, 0.0), stretch(1e6, ppm)],
    );
    let mut correlation =
        Correlation::new(interface(), Some(Frequency::GIGAHERTZ)).with_assumptions(assumptions);
    let (mut time, mut wrong) = (SECOND, Vec::new());
    let mut random = 1u64;
    let mut below = |limit: i64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as i64 % limit
    };
    for number in 0..BATCHES {
        let batch = Batch {
            pause: every + below(1_000),
            delays: (0..READINGS)
                .map(|_| (LEGS.0 + below(JITTER.0), LEGS.1 + below(JITTER.1)))
                .collect(),
        };
        time += batch.pause;
        for reading in batch.readings(&oscillator, time) {
            let _ = correlation.push(&reading);
        }
        time = batch.end(time);
        for tenth in 0..10 {
            let made = time + every * tenth / 10;
            let converted = correlation.to_monotonic(&oscillator.timestamp(made, made));
            let estimate = converted.expect("converted");
            let by = (estimate.at.value - at(made)).abs() - estimate.at.bound;
            if by > Span::ZERO && number >= BEFORE {
                wrong.push(Wrong {
                    batches: number + 1 - BEFORE,
                    by: by.nanoseconds() as i64,
                    after: made - time,
                });
            }
        }
    }
    (wrong, correlation)
}

const STEPS: [f64; 6] = [-0.7, -0.5, -0.3, 0.3, 0.5, 0.7];

/// As docs/error-bound.md says: longer than for three batches, and by no more than a bracket is wide
/// and what the change makes since the newest batch.
#[test]
fn a_change_that_brackets_hide_may_leave_wrong_bounds_for_as_long_as_they_hide_it() {
    let (mut latest, mut largest) = (0, 0);
    for every in [SECOND / 4, SECOND, 2 * SECOND] {
        for ppm in STEPS {
            let (wrong, _) = step(ppm, every, &Assumptions::USUAL);
            latest = latest.max(wrong.iter().map(|wrong| wrong.batches).max().unwrap_or(0));
            for wrong in wrong {
                let gained = (wrong.after as f64 * ppm.abs() * 1e-6) as i64;
                largest = largest.max(wrong.by);
                assert!(wrong.by <= WIDTH + gained, "{ppm} {every}: {wrong:?}");
            }
        }
    }
    assert!(latest > 3, "{latest} {largest}");
}

#[test]
fn a_change_that_is_allowed_for_leaves_none() {
    for within in [SECOND / 10, SECOND, 10 * SECOND] {
        let assumptions = Assumptions {
            unseen_change: 0.7e-6,
            unseen_within: Span::from_nanoseconds(within.into()),
            ..Assumptions::USUAL
        };
        for every in [SECOND / 4, SECOND, 2 * SECOND] {
            for ppm in STEPS {
                let (wrong, correlation) = step(ppm, every, &assumptions);
                assert!(wrong.is_empty(), "{ppm} {every} {within}: {wrong:?}");
                assert_eq!(correlation.generation(), Some(ClockGeneration(0)));
            }
        }
    }
}

/// The frequency goes up and down by as much as is allowed for, beside narrow brackets: no reading
/// contradicts another one.
#[test]
fn changes_that_are_allowed_for_contradict_nothing() {
    let assumptions = Assumptions {
        unseen_change: 4e-6,
        ..Assumptions::USUAL
    };
    for milliseconds in [50, 125, 250, 500, 1_000, 2_000, 5_000] {
        let up_and_down: Vec<Stretch> = (0..120_000 / milliseconds)
            .map(|number| Stretch {
                seconds: milliseconds as f64 / 1e3,
                ramp: 0.0,
                kink: if number % 2 == 0 { 4.0 } else { -4.0 },
            })
            .collect();
        let oscillator = Oscillator::new(1e9, 1, 17.0, &up_and_down);
        for every in [1, 5, 10, 31, 97, 250, 1_000] {
            let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ))
                .with_assumptions(&assumptions);
            let (mut time, mut agreed) = (SECOND, None);
            for _ in 0..1_000.min(100_000 / every) {
                let batch = Batch {
                    pause: every * MILLISECOND,
                    delays: vec![(10, 10)],
                };
                time += batch.pause;
                for reading in batch.readings(&oscillator, time) {
                    let _ = correlation.push(&reading);
                }
                time = batch.end(time);
                let since = correlation
                    .agreement()
                    .and_then(|agreement| agreement.since);
                assert_eq!(
                    since,
                    *agreed.get_or_insert(since),
                    "{milliseconds} {every}"
                );
                let converted = correlation.to_monotonic(&oscillator.timestamp(time, time));
                let estimate = converted.expect("converted");
                assert!(estimate.at.contains(at(time)), "{milliseconds} {every}");
            }
        }
    }
}

/// The first bracket is widened as all others are, and so is the time of a timestamp: by 505 ns each.
#[test]
fn the_first_cross_timestamp_is_widened_too() {
    let bound = |unseen_change| {
        let assumptions = Assumptions {
            unseen_change,
            ..Assumptions::USUAL
        };
        let quiet = Stretch {
            seconds: 1e6,
            ramp: 0.0,
            kink: 0.0,
        };
        let oscillator = Oscillator::new(1e9, 8, 17.0, &[quiet]);
        let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ))
            .with_assumptions(&assumptions);
        let batch = Batch {
            pause: SECOND,
            delays: vec![LEGS],
        };
        for reading in batch.readings(&oscillator, SECOND) {
            let _ = correlation.push(&reading);
        }
        let made = batch.end(SECOND);
        let converted = correlation.to_monotonic(&oscillator.timestamp(made, made));
        converted.expect("converted").at.bound.nanoseconds()
    };
    let wider = bound(4e-6) - bound(0.0);
    assert!((1_010..1_020).contains(&wider), "{wider}");
}

/// Twice an eighth of the product, and the wander grows by the quotient.
#[test]
fn what_it_costs() {
    let limits = |unseen_change, within| {
        super::super::limits::Limits::of(&Assumptions {
            unseen_change,
            unseen_within: Span::from_nanoseconds(within),
            ..Assumptions::USUAL
        })
    };
    let some = limits(4e-6, 2_000_000_000);
    assert!(
        (f64::from(some.hidden) / 1_000.0 - 1.01).abs() < 0.001,
        "{some:?}"
    );
    assert!((some.wander / (3e-17 + 2e-15 * 1.005) - 1.0).abs() < 1e-9);
    let none = limits(0.0, 2_000_000_000);
    assert!(none.hidden.abs() < 1e-12 && (none.wander / 3e-17 - 1.0).abs() < 1e-9);
    for nothing in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(limits(nothing, 1).hidden.abs() < 1e-12);
    }
    assert!(limits(1e-9, 0).wander.is_finite());
}
