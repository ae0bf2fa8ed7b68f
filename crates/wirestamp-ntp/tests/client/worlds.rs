//! The error bound of every offset contains the truth in all worlds that obey the bound's
//! assumptions.

use crate::world::{MILLISECOND, PLAIN, Path, SECOND, World, server};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use wirestamp_core::time::Span;
use wirestamp_ntp::{ClientOptions, LocalTime, Outcome};

/// An event before an exchange.
#[derive(Debug, Clone, Copy)]
enum Event {
    Nothing,
    StepLocal(i64),
    StepServer { by: i64, forgets: bool },
    RestartServer,
}

/// 1 µs to an hour, in either direction.
fn step() -> impl Strategy<Value = i64> {
    (3.0..12.6f64, any::<bool>()).prop_map(|(power, back)| {
        let by = 10f64.powf(power) as i64;
        if back { -by } else { by }
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => Just(Event::Nothing),
        1 => step().prop_map(Event::StepLocal),
        1 => (step(), any::<bool>()).prop_map(|(by, forgets)| Event::StepServer { by, forgets }),
        1 => Just(Event::RestartServer),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    // some are so short that an error shows down to the server's precision
    let one_way = || prop_oneof![0..50i64, 0..100 * MILLISECOND];
    let times = (one_way(), one_way(), 1_000..10 * MILLISECOND, any::<bool>());
    let chances = (0..10u8, 0..10u8, 0..10u8);
    (times, chances).prop_map(
        |((forward, backward, residence, is_early), (request, response, timestamp))| Path {
            forward,
            backward,
            residence,
            early: if is_early { residence / 2 } else { 0 },
            loses_request: request == 0,
            loses_response: response == 0,
            lacks_timestamp: timestamp == 0,
        },
    )
}

/// One world: the initial errors of its clocks, their drift (parts per billion), and the events.
#[derive(Debug, Clone)]
struct Story {
    seed: u64,
    interleaved: bool,
    offset: i64,
    drifts: (i64, i64),
    run: Vec<(Event, Path)>,
}

fn story() -> impl Strategy<Value = Story> {
    let drift = || -240_000i64..240_000;
    let run = prop::collection::vec((event(), path()), 1..40);
    let offset = -86_400 * SECOND..86_400 * SECOND;
    (any::<u64>(), any::<bool>(), offset, (drift(), drift()), run).prop_map(
        |(seed, interleaved, offset, drifts, run)| Story {
            seed,
            interleaved,
            offset,
            drifts,
            run,
        },
    )
}

/// Eight thousand exchanges; `WIRESTAMP_NTP_EXCHANGES` sets another number.
#[test]
fn every_offset_lies_within_its_bound() {
    let wanted = std::env::var("WIRESTAMP_NTP_EXCHANGES").unwrap_or_else(|_| "8000".to_owned());
    let wanted: u32 = wanted.parse().expect("a number");
    let mut config = ProptestConfig::with_cases(wanted / 18); // 20 exchanges each, on average
    config.failure_persistence = None;
    let exchanges = Cell::new(0);
    let held = TestRunner::new(config).run(&story(), |story| {
        exchanges.set(exchanges.get() + story.run.len());
        holds(story)
    });
    held.unwrap_or_else(|error| panic!("{error}"));
    assert!(exchanges.get() >= wanted as usize, "{exchanges:?}");
}

fn holds(story: Story) -> Result<(), TestCaseError> {
    let mut options = ClientOptions::default();
    options.interleaved = story.interleaved;
    let mut world = World::new(options, story.seed);
    world.local.offset = story.offset;
    (world.local.drift, world.server.drift) = story.drifts;
    let mut samples = 0;
    // the truth at each arrival, by the local clock's time
    let mut truths = Vec::new();
    // the number of samples before the last step of a server that may then report the transmit
    // times of earlier responses on its new clock
    let mut over_step = 0;
    for (event, path) in story.run {
        if matches!(event, Event::StepServer { forgets: false, .. }) {
            over_step = truths.len();
        }
        match event {
            Event::Nothing => {}
            Event::StepLocal(by) => world.step_local(by),
            Event::StepServer { by, forgets } => world.step_server(by, forgets),
            Event::RestartServer => world.saved.clear(),
        }
        let answered = world.ask(&path);
        truths.push((world.local_at(world.now), world.offset_at(world.now)));
        if let Some(answered) = answered {
            let (response, arrived) = (&answered.response, answered.arrived);
            let outcome = world.client.received(server(), response, Some(arrived));
            if let Outcome::Sample(sample) = outcome {
                samples += 1;
                // half of the paths, the time by which the server reads its clock too early, its precision, rounding
                let most = Span::from_nanoseconds((200 * MILLISECOND + 10 * MILLISECOND).into());
                let both = sample.offset.bound + sample.offset.bound;
                prop_assert!(both <= most + Span::from_microseconds(2), "{:?}", sample);
            }
        }
        if let Some(measured) = world.client.measurement() {
            let at = measured.at.nanoseconds();
            let newest = truths.iter().rposition(|(shown, _)| *shown == at);
            let newest = newest.expect("an arrival");
            if newest < over_step {
                world.now += SECOND;
                continue;
            }
            let (_, truth) = truths[newest];
            let apart = (measured.offset.value - Span::from_nanoseconds(truth.into())).abs();
            prop_assert!(
                apart <= measured.offset.bound,
                "{:?}: truth {}",
                measured,
                truth
            );
        }
        world.now += SECOND;
    }
    prop_assert_eq!(world.client.counts().samples, samples);
    Ok(())
}

#[test]
fn an_asymmetric_path_gives_2_ms_and_a_bound_that_contains_0() {
    let mut world = World::new(ClientOptions::default(), 1);
    for _ in 0..8 {
        world.exchange(&PLAIN);
    }
    let measured = world.client.measurement().expect("samples");
    let offset = measured.offset.value.nanoseconds();
    // 7 ms back, 3 ms forth: half of the difference, minus the drift in 10 ms
    assert!((1_990_000..=2_000_000).contains(&offset), "{measured:?}");
    assert!(measured.offset.bound >= measured.offset.value);
    assert!(
        measured.offset.bound < Span::from_microseconds(5_010),
        "{measured:?}"
    );
    // 4 ms / 2 + 1 ms, rounded to units of 15.3 µs
    let root = measured.root_bound;
    assert!(
        root >= Span::from_milliseconds(3) - Span::from_microseconds(16),
        "{root}"
    );
    assert!(root <= Span::from_microseconds(3_025), "{root}");
    assert_eq!(measured.utc_bound(), measured.offset.bound + root);
    // a second later the clocks may have drifted apart by 500 µs if the local clock's adjustments
    // are unknown
    let later = LocalTime {
        adjusted: None,
        ..world.local_time(measured.at.nanoseconds() + SECOND)
    };
    let held = world.client.measurement_at(&later).expect("held");
    let grown = held.offset.bound - measured.offset.bound;
    assert!(
        grown >= Span::from_microseconds(499) && grown <= Span::from_microseconds(501),
        "{grown}"
    );
}

#[test]
fn steps_of_either_clock_are_counted_and_begin_anew() {
    let mut world = World::new(ClientOptions::default(), 1);
    for _ in 0..5 {
        world.exchange(&PLAIN);
    }
    world.step_local(-30 * SECOND);
    for _ in 0..3 {
        world.exchange(&PLAIN);
    }
    let counts = world.client.counts();
    assert_eq!((counts.local_steps, counts.contradictions), (1, 0));
    let near = |world: &World, seconds: i64| {
        let offset = world.client.measurement().expect("samples").offset.value;
        assert!(
            (offset - Span::from_seconds(seconds)).abs() < Span::from_milliseconds(6),
            "{offset}"
        );
    };
    near(&world, -30);
    world.step_server(10 * SECOND, true);
    for _ in 0..3 {
        world.exchange(&PLAIN);
    }
    let counts = world.client.counts();
    assert_eq!((counts.local_steps, counts.contradictions), (1, 1));
    near(&world, -40);
}

/// 0.3 to 1.3 ms with a round trip of 1.2 ms: old and new intervals overlap in a small interval
/// that does not contain the truth.
#[test]
fn a_step_of_less_than_a_round_trip_just_before_the_end_stays_within_the_bound() {
    let path = |queued: i64| Path {
        forward: 600_000 + queued,
        backward: 600_000 + queued / 3,
        ..PLAIN
    };
    for interleaved in [false, true] {
        for by in (300..1_400).step_by(50).flat_map(|by| [by, -by]) {
            let mut options = ClientOptions::default();
            options.interleaved = interleaved;
            let mut world = World::new(options, 1);
            for round in 0..8 {
                world.exchange(&path(round * 7_919 % 50_000));
            }
            world.step_server(by * 1_000, true);
            for round in 8..11 {
                world.exchange(&path(round * 7_919 % 50_000));
                let measured = world.client.measurement().expect("samples");
                let error =
                    measured.offset.value.nanoseconds() - i128::from(world.offset_at(world.now));
                assert!(
                    error.abs() <= measured.offset.bound.nanoseconds(),
                    "{by} µs: off by {error}: {measured:?}"
                );
                assert!(
                    measured.offset.bound < Span::from_microseconds(700),
                    "{measured:?}"
                );
            }
        }
    }
}
