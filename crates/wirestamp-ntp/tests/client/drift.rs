//! The error bound between samples: it holds at any age, and the learnt drift makes it narrow.

use crate::world::{MILLISECOND, Path, SECOND, World};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use wirestamp_core::time::Span;
use wirestamp_ntp::{ClientOptions, Measurement};

/// The limits of the default options: of the frequency, and of its change per second, as fractions.
const JUMP: f64 = 500e-9;
const WANDER: f64 = 30e-9;

/// The events from one sample to the next.
#[derive(Debug, Clone)]
struct Turn {
    path: Path,
    /// Until the next request.
    pause: i64,
    /// The adjustment of the host's clock as a fraction, and the fraction of the pause after which
    /// it begins.
    adjusted: Option<(f64, f64)>,
    /// A slew as a fraction, and the parts of the exchange after which it begins and ends. It may end later.
    slewed: Option<(f64, [f64; 2])>,
    /// It is stepped.
    stepped: Option<i64>,
    /// The jumping part of the server's frequency, between -1 and 1, and the wander of the other
    /// part.
    jumped: f64,
    ramp: f64,
    /// The fractions of the pause after which the bound is checked.
    looks: [f64; 4],
}

fn turn() -> impl Strategy<Value = Turn> {
    let one_way = || prop_oneof![4 => 0..5_000i64, 4 => 0..200_000i64, 1 => 0..100 * MILLISECOND];
    let pause = prop_oneof![4 => SECOND..20 * SECOND, 1 => 20 * SECOND..300 * SECOND];
    let limit = prop_oneof![4 => Just(500e-6), 1 => Just(83_333e-6)];
    let by = (limit, -1.0..1.0f64).prop_map(|(most, part)| most * part);
    let adjusted = prop::option::of((by, 0.0..1.0f64));
    // 1 ppm to 100,000 ppm
    let rate = (-6.0..-1.0f64, any::<bool>());
    let rate = rate.prop_map(|(power, back)| 10f64.powf(power) * if back { -1.0 } else { 1.0 });
    let slewed = prop::option::of((rate, prop::array::uniform2(0.0..1.2f64)));
    let step = (3.0..12.6f64, any::<bool>()).prop_map(|(power, back)| {
        let by = 10f64.powf(power) as i64;
        if back { -by } else { by }
    });
    let stepped = prop_oneof![6 => Just(None), 1 => step.prop_map(Some)];
    let part = || prop_oneof![Just(1.0), Just(-1.0), -1.0..1.0f64];
    let looks = prop::array::uniform4(0.0..1.0f64);
    let paths = (one_way(), one_way(), 1_000..2 * MILLISECOND);
    let adjusted = (adjusted, slewed);
    (paths, pause, adjusted, stepped, part(), part(), looks).prop_map(
        |((forward, backward, residence), pause, adjusted, stepped, jumped, ramp, looks)| Turn {
            path: Path {
                forward,
                backward,
                residence,
                early: 0,
                loses_request: false,
                loses_response: false,
                lacks_timestamp: false,
            },
            pause,
            adjusted: adjusted.0,
            slewed: adjusted.1,
            stepped,
            jumped,
            ramp,
            looks,
        },
    )
}

#[derive(Debug, Clone)]
struct Story {
    seed: u64,
    interleaved: bool,
    /// The frequency offsets of both oscillators in parts per billion.
    drifts: (i64, i64),
    /// The server's clock is stepped at most once, before this turn, by an unnoticeable amount or
    /// more.
    step: Option<(prop::sample::Index, i64)>,
    turns: Vec<Turn>,
}

fn story() -> impl Strategy<Value = Story> {
    let drift = || -200_000i64..200_000;
    let step = (3.0..9.0f64, any::<bool>(), any::<prop::sample::Index>());
    let step = step.prop_map(|(power, back, place)| {
        let by = 10f64.powf(power) as i64;
        (place, if back { -by } else { by })
    });
    let turns = prop::collection::vec(turn(), 2..40);
    let drifts = (drift(), drift());
    (
        any::<u64>(),
        any::<bool>(),
        drifts,
        prop::option::of(step),
        turns,
    )
        .prop_map(|(seed, interleaved, drifts, step, turns)| Story {
            seed,
            interleaved,
            drifts,
            step,
            turns,
        })
}

/// Counts of all worlds.
#[derive(Debug, Default)]
struct Seen {
    looks: Cell<u64>,
    /// Bounds below a fifth of the bound for 500 ppm.
    learnt: Cell<u64>,
}

/// Whether the bound for a time contains the truth.
fn look(world: &World, at: i64, seen: &Seen) -> Result<(), TestCaseError> {
    let Some(known) = world.client.measurement_at(&world.local_time(at)) else {
        return Ok(());
    };
    let truth = Span::from_nanoseconds(world.offset_at(at).into());
    let off = (known.offset.value - truth).abs();
    prop_assert!(
        off <= known.offset.bound,
        "{known:?} at {at}: really {truth}"
    );
    let newest = world.client.measurement().expect("known").at;
    let wide = (known.at - newest).nanoseconds() / 2_000;
    let is_learnt = known.offset.bound.nanoseconds() < wide / 5;
    seen.looks.set(seen.looks.get() + 1);
    seen.learnt.set(seen.learnt.get() + u64::from(is_learnt));
    Ok(())
}

fn holds(story: Story, seen: &Seen) -> Result<(), TestCaseError> {
    let mut options = ClientOptions::default();
    options.interleaved = story.interleaved;
    let mut world = World::new(options, story.seed);
    (world.local.drift, world.server.drift) = story.drifts;
    let step = story
        .step
        .map(|(place, by)| (place.index(story.turns.len()), by));
    let (mut wandered, mut usual) = (0.0, 0.0);
    for (place, turn) in story.turns.into_iter().enumerate() {
        if let Some((_, by)) = step.filter(|step| step.0 == place) {
            world.step_server(by, true);
        }
        if let Some(by) = turn.stepped {
            world.step_local(by);
        }
        if let Some((by, parts)) = turn.slewed {
            let took = turn.path.forward + turn.path.residence + turn.path.backward;
            let [begins, ends] = parts.map(|part| world.now + (part * took as f64) as i64);
            let (begins, ends) = (begins.min(ends), begins.max(ends));
            world.adjusted.turn(begins, by, 0.0);
            world.adjusted.turn(ends + 1, usual, 0.0);
        }
        let outcome = world.exchange(&turn.path);
        prop_assert!(outcome.is_some());
        // an interleaved sample belongs to the exchange before, and a small step shows only
        // relative to the monotonic clock
        let is_comparable = turn.stepped.is_none() || !story.interleaved;
        if is_comparable {
            look(&world, world.now - SECOND, seen)?;
        }
        let begun = world.now;
        let jumped = turn.jumped * JUMP / 2.0;
        let change = turn.ramp * WANDER;
        world.wanders.turn(begun, wandered + jumped, change);
        wandered += change * turn.pause as f64 / 1e9;
        let adjusted_at = |part: f64| begun + (part * turn.pause as f64) as i64;
        if let Some((by, part)) = turn.adjusted {
            world.adjusted.turn(adjusted_at(part), by, 0.0);
            usual = by;
        }
        for part in turn.looks.into_iter().filter(|_| is_comparable) {
            look(&world, begun + (part * turn.pause as f64) as i64, seen)?;
        }
        world.now += turn.pause;
        world.wanders.turn(world.now, wandered + jumped, 0.0);
    }
    Ok(())
}

/// 400 worlds; `WIRESTAMP_NTP_WORLDS` sets another number.
#[test]
fn the_bound_holds_at_any_age_whoever_adjusts_the_clock() {
    let wanted = std::env::var("WIRESTAMP_NTP_WORLDS").unwrap_or_else(|_| "400".to_owned());
    let mut config = ProptestConfig::with_cases(wanted.parse().expect("a number"));
    config.failure_persistence = None;
    let seen = Seen::default();
    let held = TestRunner::new(config).run(&story(), |story| holds(story, &seen));
    held.unwrap_or_else(|error| panic!("{error}"));
    assert!(seen.learnt.get() * 10 > seen.looks.get(), "{seen:?}");
}

/// The path to a server at a distance of 60 µs.
const NEAR: Path = Path {
    forward: 25_000,
    backward: 35_000,
    residence: 20_000,
    early: 0,
    loses_request: false,
    loses_response: false,
    lacks_timestamp: false,
};

/// A server that is queried every 16 s, and its state after a while.
fn asked(world: &mut World, rounds: usize) {
    for _ in 0..rounds {
        world.exchange(&NEAR);
        world.now += 15 * SECOND;
    }
    world.now -= 16 * SECOND;
}

fn after(world: &World, seconds: i64) -> Measurement {
    let at = world.local_time(world.now + seconds * SECOND);
    world.client.measurement_at(&at).expect("measured")
}

fn basic() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.interleaved = false;
    options
}

#[test]
fn a_server_that_is_asked_every_16_s_has_a_bound_of_microseconds() {
    let mut world = World::new(basic(), 1);
    world.local.drift = 23_000;
    asked(&mut world, 20);
    for (seconds, most) in [(0, 35), (4, 60), (16, 130), (64, 600)] {
        let bound = after(&world, seconds).offset.bound;
        assert!(
            bound < Span::from_microseconds(most),
            "{seconds} s: {bound}"
        );
    }
    assert_eq!(world.client.counts().drift_contradictions, 0);
    let newest = world.client.measurement().expect("measured");
    assert_eq!(after(&world, 0), newest, "the sample's own");
    // without learning the bound is as wide as before
    let mut options = basic();
    options.wander_ppb = 1_000_000;
    let mut world = World::new(options, 1);
    asked(&mut world, 20);
    let bound = after(&world, 16).offset.bound;
    assert!(bound > Span::from_milliseconds(8), "{bound}");
}

/// A slew of 400 ppm between two samples moves the offset, not the bound.
#[test]
fn an_adjustment_of_this_hosts_clock_is_measured() {
    let mut world = World::new(basic(), 1);
    asked(&mut world, 12);
    let before = after(&world, 10).offset;
    world.adjusted.turn(world.now + 2 * SECOND, 400e-6, 0.0);
    let slewed = after(&world, 10).offset;
    let moved = slewed.value - before.value;
    assert!(
        (moved - Span::from_microseconds(3_200)).abs() < Span::from_microseconds(1),
        "{moved}"
    );
    assert!(
        slewed.bound < before.bound + Span::from_microseconds(1),
        "{slewed}"
    );
}

/// The server's clock begins to run 30 ppm faster, which violates the contract. Its next answer
/// shows it, and from then on the bound is as wide as before learning.
#[test]
fn a_frequency_that_changes_too_much_is_counted_and_what_was_learnt_is_dropped() {
    let mut world = World::new(basic(), 1);
    asked(&mut world, 12);
    world.wanders.turn(world.now, 30e-6, 0.0);
    world.now += 16 * SECOND;
    asked(&mut world, 1);
    assert_eq!(world.client.counts().drift_contradictions, 1);
    assert_eq!(world.client.counts().contradictions, 0, "no step");
    let bound = after(&world, 15).offset.bound;
    assert!(bound > Span::from_milliseconds(7), "{bound}");
    world.now += 16 * SECOND;
    asked(&mut world, 8);
    let known = after(&world, 15).offset;
    assert!(known.bound < Span::from_microseconds(200), "{known}");
}

/// chronyd slews the clock by 83,333 ppm, as for a large offset: the server has not been stepped.
#[test]
fn a_fast_slew_is_no_step_of_the_server() {
    for by in [83_333e-6, -83_333e-6] {
        let mut world = World::new(basic(), 1);
        asked(&mut world, 12);
        world.adjusted.turn(world.now + 3 * SECOND, by, 0.0);
        let seen = Seen::default();
        for round in 0..10 {
            world.now += 16 * SECOND;
            world.exchange(&NEAR);
            for seconds in [0, 4, 15] {
                let at = world.now + seconds * SECOND;
                look(&world, at, &seen).unwrap_or_else(|error| panic!("{by}, {round}: {error}"));
            }
        }
        let known = after(&world, 15);
        assert!(
            known.offset.bound < Span::from_microseconds(200),
            "{known:?}"
        );
        let delay = Span::from_nanoseconds(NEAR.forward.into())
            + Span::from_nanoseconds(NEAR.backward.into());
        assert!(
            (known.path_delay - delay).abs() < Span::from_microseconds(1),
            "{known:?}"
        );
        let counts = world.client.counts();
        assert_eq!((counts.contradictions, counts.drift_contradictions), (0, 0));
    }
}

/// `ntpd` slews the clock by up to 500 ppm: beside the oscillators' drift that is more than the largest drift.
#[test]
fn a_slew_of_500_ppm_beside_a_drift_is_no_step_of_the_server() {
    for (slew, drift) in [(500e-6, -90e-6), (-500e-6, 90e-6)] {
        let mut world = World::new(basic(), 1);
        world.wanders.turn(world.now, drift, 0.0);
        asked(&mut world, 12);
        world.adjusted.turn(world.now + 3 * SECOND, slew, 0.0);
        let seen = Seen::default();
        for round in 0..10 {
            world.now += 16 * SECOND;
            world.exchange(&NEAR);
            for seconds in [0, 4, 15] {
                let at = world.now + seconds * SECOND;
                look(&world, at, &seen).unwrap_or_else(|error| panic!("{slew}, {round}: {error}"));
            }
        }
        let counts = world.client.counts();
        assert_eq!((counts.contradictions, counts.drift_contradictions), (0, 0));
        // what it had learnt of the oscillators holds
        let known = after(&world, 15).offset;
        assert!(known.bound < Span::from_microseconds(200), "{known}");
        // a step is one during a slew, too
        world.step_server(3_000_000_000, true);
        world.now += SECOND;
        world.exchange(&NEAR);
        assert_eq!(world.client.counts().contradictions, 1);
    }
}

/// While it is slowed, this host's clock counts less than the time in which the oscillators drift apart.
#[test]
fn the_largest_drift_is_that_of_the_unslewed_time() {
    let mut options = basic();
    options.max_drift_ppm = 5;
    let mut world = World::new(options, 1);
    world.local.drift = -4_900;
    asked(&mut world, 12);
    world.adjusted.turn(world.now, -83_333e-6, 0.0);
    let seen = Seen::default();
    for seconds in [4, 16, 64, 300] {
        let at = world.now + seconds * SECOND;
        look(&world, at, &seen).unwrap_or_else(|error| panic!("{seconds} s: {error}"));
    }
}

/// A daemon corrects an oscillator that is worse than the largest drift, so that the clock is better.
#[test]
fn the_largest_drift_includes_what_a_daemon_corrects() {
    for ppm in [-1_000, -30, 30, 1_000] {
        let mut options = basic();
        options.max_drift_ppm = 5;
        let mut world = World::new(options, 1);
        world.local.drift = -ppm * 1_000;
        world
            .adjusted
            .turn(world.now, f64::from(ppm as i32) * 1e-6, 0.0);
        let seen = Seen::default();
        for round in 0..20 {
            world.exchange(&NEAR);
            for seconds in [0, 4, 15] {
                let at = world.now + seconds * SECOND;
                look(&world, at, &seen)
                    .unwrap_or_else(|error| panic!("{ppm} ppm, {round}: {error}"));
            }
            world.now += 15 * SECOND;
        }
        let counts = world.client.counts();
        assert_eq!(
            (counts.contradictions, counts.drift_contradictions),
            (0, 0),
            "{ppm} ppm"
        );
        world.step_server(50 * MILLISECOND, true);
        world.exchange(&NEAR);
        assert_eq!(
            world.client.counts().contradictions,
            1,
            "{ppm} ppm: the server's step"
        );
    }
}

/// On average it is faster than the largest drift, and no fast one.
#[test]
fn a_fast_slew_in_a_part_of_an_exchange_is_in_the_bound() {
    const FAR: Path = Path {
        forward: 0,
        backward: 20 * MILLISECOND,
        residence: 1_000,
        ..NEAR
    };
    for by in [-83_333e-6, 83_333e-6] {
        for begins in [1_000, 9 * MILLISECOND, 19 * MILLISECOND] {
            let mut world = World::new(basic(), 1);
            world.adjusted.turn(world.now + begins, by, 0.0);
            let ends = world.now + begins + 168_000; // 14 µs
            world.adjusted.turn(ends, 0.0, 0.0);
            world.exchange(&FAR);
            let seen = Seen::default();
            look(&world, world.now - SECOND, &seen)
                .unwrap_or_else(|error| panic!("{by}, {begins}: {error}"));
        }
    }
}
