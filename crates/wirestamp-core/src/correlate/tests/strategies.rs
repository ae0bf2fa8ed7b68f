//! Worlds within the error bound's contract, for property tests: oscillators at its limits, and
//! cross timestamps with the worst delays.

use super::world::{Batch, Stretch};
use super::{MILLISECOND, SECOND};
use proptest::prelude::*;
use std::vec::Vec;

fn pause() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 10 * MILLISECOND..300 * MILLISECOND,
        4 => 900 * MILLISECOND..1_100 * MILLISECOND,
        2 => 4 * SECOND..9 * SECOND,
        1 => 5 * SECOND..88 * SECOND,
    ]
}

/// Delays of a cross timestamp beyond the minimum, as fractions: all before, all after, none, some,
/// very large.
fn jitter() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        3 => Just((0.0, 0.0)),
        2 => (0.0..0.2, 0.0..0.2),
        1 => Just((1.0, 0.0)),
        1 => Just((0.0, 1.0)),
        1 => (0.0..30.0, 0.0..30.0),
    ]
}

pub(super) fn batches(least: (i64, i64)) -> impl Strategy<Value = Vec<Batch>> {
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
                    .map(|(ask, answer)| {
                        (
                            least.0 + (ask * scale) as i64,
                            least.1 + (answer * scale) as i64,
                        )
                    })
                    .collect(),
            })
            .collect()
    })
}

pub(super) fn least() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![
        Just((600, 600)),
        (20i64..2_000, 20i64..2_000),
        (1_000i64..40_000, 1_000i64..40_000),
        Just((1, 1_200))
    ]
}

/// The same, more often with one of the two delays much longer: a change hides in that bracket.
pub(super) fn least_or_lopsided() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![
        least(),
        prop::sample::select(&[(1_000, 20), (20, 1_000), (1_000, 100)][..])
    ]
}

/// Ramps at the limit, constant frequencies, and cases in between.
pub(super) fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
    let ramp = prop_oneof![3 => Just(0.0), 2 => Just(1.0), 2 => Just(-1.0), 1 => -1.0..1.0];
    let stretch = (prop_oneof![0.5..8.0, 8.0..120.0], ramp);
    prop::collection::vec(stretch, 1..20).prop_map(|all| {
        all.into_iter()
            .map(|(seconds, ramp)| Stretch {
                seconds,
                ramp,
                kink: 0.0,
            })
            .collect()
    })
}

/// Hertz, and ticks per step: steps of up to 10 µs.
pub(super) fn counters() -> impl Strategy<Value = (f64, u64)> {
    prop_oneof![
        4 => prop::sample::select(&[1u64, 8, 40][..]).prop_map(|tick| (1e9, tick)),
        3 => prop::sample::select(&[200u64, 1_000, 4_096, 10_000][..]).prop_map(|tick| (1e9, tick)),
        1 => Just((1e7, 1)),
        1 => Just((125e6, 1)),
        1 => Just((1e5, 1)),
    ]
}
