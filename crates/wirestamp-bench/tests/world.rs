//! The worlds are what they claim: the truth is exact, readings hold it.

use wirestamp_bench::scenario;
use wirestamp_bench::world::{
    Change, Disturbance, Moment, Oscillator, Reach, Sampler, Shape, Truth, timestamps,
};

const SEED: u64 = 11;
/// The truth is asked for to this, ns.
const EXACT: f64 = 0.01;

fn shape(name: &str, duration: f64) -> Shape {
    let scenario = scenario::all()
        .find(|scenario| scenario.name == name)
        .expect("a scenario");
    scenario.shape(duration, SEED, 0)
}

/// A counter without any disturbance.
fn even(name: &str, duration: f64) -> Shape {
    let oscillator = Oscillator {
        offset: 0.0,
        wander: 0.0,
        thermal: Vec::new(),
        servo: None,
    };
    Shape {
        oscillator,
        disturbances: Vec::new(),
        gaps: Vec::new(),
        ..shape(name, duration)
    }
}

/// From one instant to another by the counter, ns: whole ticks as integers, then the rest.
fn counted(truth: &Truth, hertz: u64, from: Moment, to: Moment) -> f64 {
    let (first, last) = (truth.at(from), truth.at(to));
    let ticks = last.whole.wrapping_sub(first.whole).cast_signed();
    let way = i128::from(to.picoseconds() - from.picoseconds());
    // in units of 1/(hertz × 10¹²) s, where both are whole
    let difference = i128::from(ticks) * 1_000_000_000_000 - way * i128::from(hertz);
    difference as f64 / hertz as f64 / 1e3 + (last.fraction - first.fraction) * 1e9 / hertz as f64
}

#[test]
fn an_even_counter_counts_exactly_for_the_whole_run() {
    for name in ["S1", "1kHz", "10GHz", "wrap"] {
        let shape = even(name, 2_000.0);
        let truth = Truth::new(&shape, SEED, 0);
        for seconds in [0.05, 0.123_456_789, 77.7, 1_000.3, 1_999.99] {
            let to = Moment::from_seconds(seconds);
            let error = counted(&truth, shape.counter.hertz, Moment::default(), to);
            assert!(error.abs() < EXACT, "{name} after {seconds} s: {error} ns");
        }
    }
}

#[test]
fn a_counter_runs_on_without_a_jump_unless_it_is_told_to() {
    for name in ["S7", "air", "load", "steered", "decay", "slew"] {
        let shape = Shape {
            disturbances: Vec::new(),
            ..shape(name, 200.0)
        };
        let truth = Truth::new(&shape, SEED, 0);
        // 10 ps to either side of each instant at which one piece ends and the next begins
        for tenth in 1..2_000 {
            let node = i64::from(tenth) * 100_000_000_000;
            let [before, after] = [-10, 10].map(|way| Moment::from_picoseconds(node + way));
            let error = counted(&truth, shape.counter.hertz, before, after);
            assert!(error.abs() < EXACT, "{name} at {tenth}/10 s: {error} ns");
        }
    }
}

#[test]
fn disturbances_do_what_they_say() {
    let disturbances = vec![
        Disturbance {
            at: 10.05,
            change: Change::Step(1e6),
        },
        Disturbance {
            at: 20.05,
            change: Change::SystemJump(3.0),
        },
        Disturbance {
            at: 30.05,
            change: Change::Rate(1e-4),
        },
        Disturbance {
            at: 40.05,
            change: Change::Reset(77),
        },
    ];
    let shape = Shape {
        disturbances,
        ..even("S1", 60.0)
    };
    let truth = Truth::new(&shape, SEED, 0);
    let gained = |from: f64, to: f64| {
        counted(
            &truth,
            shape.counter.hertz,
            Moment::from_seconds(from),
            Moment::from_seconds(to),
        )
    };
    assert!((gained(10.0, 11.0) - 1e6).abs() < EXACT, "a step forward");
    assert!(
        (gained(20.0, 24.0) + 3e9).abs() < EXACT,
        "the counter stands while the system clock jumps"
    );
    assert!(
        (gained(31.0, 32.0) - 1e5).abs() < EXACT,
        "100 ppm for a second"
    );
    assert_eq!(truth.at(Moment::from_seconds(40.05)).whole, 77);
    assert!(!truth.exists(Moment::from_seconds(21.0)));
    let breaks: Vec<f64> = truth
        .breaks()
        .iter()
        .map(|event| event.visible.seconds())
        .collect();
    assert_eq!(breaks.len(), 4);
    assert!(
        (breaks[1] - 23.05).abs() < 1e-9 && (breaks[2] - 30.062).abs() < 1e-9,
        "{breaks:?}"
    );
}

#[test]
fn a_disturbance_that_changes_nothing_changes_nothing() {
    let mut plain = shape("S7", 60.0);
    plain.oscillator.thermal[0].period = 7.0; // steep, so that a wrong place on the ramp shows
    let at = |seconds| Disturbance {
        at: seconds,
        change: Change::Wander(1.0),
    };
    let cut = Shape {
        disturbances: vec![at(3.33), at(3.37), at(20.012)],
        ..plain.clone()
    };
    let [plain, cut] = [plain, cut].map(|shape| Truth::new(&shape, SEED, 0));
    for tenth in 0..599 {
        let moment = Moment::from_seconds(f64::from(tenth) / 10.0 + 0.05);
        let (one, other) = (plain.at(moment), cut.at(moment));
        let ticks = other.whole.wrapping_sub(one.whole).cast_signed() as f64 + other.fraction
            - one.fraction;
        assert!(
            (ticks * 8.0).abs() < EXACT,
            "at {tenth}/10 s: {ticks} ticks"
        );
    }
}

#[test]
fn every_reading_holds_the_truth() {
    for scenario in scenario::all() {
        let shape = scenario.shape(120.0, SEED, 0);
        let truth = Truth::new(&shape, SEED, 0);
        let mut sampler = Sampler::new(&shape, &truth, shape.polling, SEED, 0);
        let (mut readings, mut seen) = (Vec::new(), 0);
        while sampler.next_batch(&mut readings).is_some() {
            for reading in &readings {
                seen += 1;
                let ticks = reading.hardware().raw();
                let quantum = shape.quantum as f64;
                let begun = Moment::of(reading.monotonic_before());
                let ended = Moment::of(reading.monotonic_after()).plus_nanoseconds(quantum);
                let disturbed = truth
                    .breaks()
                    .iter()
                    .any(|event| begun <= event.visible && ended >= event.at);
                if disturbed || shape.path.reach == Reach::EqualBracket {
                    continue;
                }
                let [first, last] =
                    [begun, ended].map(|at| truth.at(at).shown(shape.counter.granule));
                assert!(
                    ticks.wrapping_sub(first) <= last.wrapping_sub(first),
                    "{}: {reading:?}",
                    scenario.name
                );
            }
        }
        // one in 30 s in the most thinly polled
        assert!(seen >= 4, "{}: {seen} readings", scenario.name);
    }
}

#[test]
fn a_timestamp_lies_in_its_tick_and_knows_the_middle_of_it() {
    for name in ["S1", "1kHz", "10GHz", "PHC-8ns", "S7"] {
        let shape = shape(name, 30.0);
        let truth = Truth::new(&shape, SEED, 0);
        let half = shape.granule_nanoseconds() / 2.0;
        let timestamps = timestamps(&shape, &truth, 50.0, SEED, 0);
        assert!(timestamps.len() > 1_400, "{name}: {}", timestamps.len());
        for timestamp in timestamps {
            assert!(
                timestamp.to_middle.abs() <= half * 1.001,
                "{name}: {timestamp:?}"
            );
            // to either end of the tick and an eighth less or more
            for (way, inside) in [(0.875, true), (1.125, false)] {
                for sign in [-1.0, 1.0] {
                    let at = timestamp
                        .at
                        .plus_nanoseconds(timestamp.to_middle + sign * way * half);
                    let same = truth.at(at).shown(shape.counter.granule)
                        == timestamp.timestamp.ticks.raw();
                    assert_eq!(same, inside, "{name}: {timestamp:?} at {way}");
                }
            }
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_world_and_another_seed_another() {
    let shape = shape("S7", 20.0);
    let at = Moment::from_seconds(15.0);
    let count = |seed| Truth::new(&shape, seed, 0).at(at).whole;
    assert_eq!(count(1), count(1));
    assert_ne!(count(1), count(2));
}
