//! Slices, settled estimates, the prior; and the feasible set against brute force.

use super::super::fit::Fit;
use super::super::generation::Run;
use super::super::interval::Interval;
use super::super::knots::{Knot, Knots};
use super::super::learning::Learning;
use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn ready(hertz: f64, seconds: i64) -> (Correlation, Counter, i64) {
    let counter = Counter {
        hertz,
        fast: 12.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
    for second in 1..=seconds {
        _ = correlation.push(&counter.read(second * SECOND, 600, 600));
    }
    (correlation, counter, seconds * SECOND)
}

#[test]
fn a_slice_converts_as_its_timestamps_do() {
    for (hertz, from) in [(1e9, 20_000), (1e10, 20_000), (1e7, -3 * SECOND)] {
        let (correlation, counter, last) = ready(hertz, 20);
        let times: Vec<i64> = (0..100).map(|n| last + from + n * 1_003).collect();
        let read_at = times[99] + 5_000;
        let ticks: Vec<HardwareTicks> = times.iter().map(|time| counter.ticks(*time)).collect();
        let mut into = [MonotonicTime::MIN; 100];
        let all = correlation
            .to_monotonic_slice(&ticks, at(read_at), &mut into)
            .expect("converts");
        for (time, converted) in times.iter().zip(into) {
            let one = correlation
                .to_monotonic(&counter.timestamp(*time, read_at))
                .expect("converts");
            assert_eq!((one.at.value, one.generation), (converted, all.generation));
            assert!(one.at.bound <= all.bound);
        }
    }
}

#[test]
fn a_slice_with_a_timestamp_of_another_time_is_refused() {
    let (correlation, counter, last) = ready(1e9, 20);
    let ticks = [last + 5_000, last + 2 * SECOND].map(|time| counter.ticks(time));
    let mut into = [MonotonicTime::MIN; 2];
    let refused = correlation.to_monotonic_slice(&ticks, at(last + 9_000), &mut into);
    assert_eq!(
        refused,
        Err(ConversionError::OutsideGenerations),
        "made after it was read"
    );
    assert_eq!(
        correlation.to_monotonic_slice(&[], at(last), &mut []),
        Err(ConversionError::NotReady)
    );
}

#[test]
fn a_settled_estimate_waits_for_the_next_reading() {
    let (mut correlation, counter, last) = ready(1e9, 20);
    let made = last + SECOND / 2;
    let timestamp = counter.timestamp(made, made + 1_000);
    assert!(correlation.to_monotonic(&timestamp).is_ok());
    assert_eq!(
        correlation.to_monotonic_settled(&timestamp),
        Err(ConversionError::NotReady)
    );
    _ = correlation.push(&counter.read(last + SECOND, 600, 600));
    contains(
        correlation
            .to_monotonic_settled(&timestamp)
            .expect("a reading came after it"),
        made,
    );
}

#[test]
fn the_prior_shrinks_with_evidence_but_not_for_what_nobody_saw() {
    let (mut correlation, counter, last) = ready(1e9, 2);
    let first = correlation.prior().expect("known");
    assert!(first.seen_per_second >= 3e-8);
    for second in 1..300 {
        _ = correlation.push(&counter.read(last + second * SECOND, 600, 600));
    }
    let later = correlation.prior().expect("known");
    assert!(later.seen_per_second < 5e-9, "{later:?}");
    assert!(later.unseen_per_second >= 3e-8);
}

#[test]
fn a_step_within_the_bracket_is_noticed() {
    let (mut correlation, counter, last) = ready(1e9, 60);
    // 1 µs, less than the bracket's 1.2: the cross timestamps just do not contradict each other
    let moved = Counter {
        start: counter.start + 1_000,
        ..counter
    };
    let pushed = correlation.push(&moved.read(last + SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Accepted);
    let made = last + SECOND + MILLISECOND;
    contains(
        correlation
            .to_monotonic(&moved.timestamp(made, made))
            .expect("converts"),
        made,
    );
}

#[test]
fn a_known_rate_outlives_a_step() {
    let (mut correlation, counter, last) = ready(1e9, 60);
    let moved = Counter {
        start: counter.start + 50_000_000,
        ..counter
    };
    let pushed = correlation.push(&moved.read(last + SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::HardwareStep));
    let made = last + SECOND + 100 * MILLISECOND;
    let bound = contains(
        correlation
            .to_monotonic(&moved.timestamp(made, made))
            .expect("converts"),
        made,
    );
    assert!(
        bound < Span::from_microseconds(55),
        "500 ppm of 100 ms: {bound}"
    );
}

/// A program that steps a clock may also set its frequency.
#[test]
fn a_new_rate_that_came_with_a_step_is_within_the_bound() {
    for (fast, step) in [
        (400.0, 50_000_000),
        (-400.0, 50_000_000),
        (400.0, -1_000_000_000),
    ] {
        let (mut correlation, counter, last) = ready(1e9, 60);
        let stepped = last + SECOND;
        let start = counter.ticks(stepped).plus(step).raw();
        let faster = Counter {
            since: stepped,
            start,
            fast: counter.fast + fast,
            ..counter
        };
        let pushed = correlation.push(&faster.read(stepped, 600, 600));
        assert!(matches!(pushed, Pushed::Opened(_)), "{pushed:?}");
        for after in [1, 10, 100] {
            let made = stepped + after * MILLISECOND;
            match correlation.to_monotonic(&faster.timestamp(made, made)) {
                Ok(estimate) => contains(estimate, made),
                Err(refusal) if step < 0 => {
                    assert_eq!(
                        refusal,
                        ConversionError::Ambiguous,
                        "it showed these values before"
                    );
                    continue;
                }
                Err(refusal) => panic!("{refusal} after {after} ms"),
            };
        }
    }
}

#[test]
fn a_clock_takes_four_kibibytes_at_most() {
    let generations = 5 * (size_of::<Run>() + size_of::<Fit>());
    let all = size_of::<Correlation>() + generations + size_of::<Learning>();
    assert!(all <= 4_096, "{all} bytes");
}

proptest! {
    /// The newest line does not convert a timestamp that was read outside its generation, whenever
    /// that was. Its results equal those of the whole correlation.
    #[test]
    fn the_newest_line_reaches_no_further_than_its_generation(
        readings in 2i64..40, pause in prop_oneof![Just(SECOND), Just(SECOND / 2), Just(7 * SECOND)],
        restarts in prop::collection::vec(0i64..40, 0..3), ended: bool,
        timestamps in prop::collection::vec((-20.0..110.0, -3.0..14.0), 40),
    ) {
        let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
        let mut counter = Counter::STEADY;
        for reading in 1..=readings {
            if restarts.contains(&reading) {
                counter.start = counter.start.wrapping_add(1 << 60);
            }
            _ = correlation.push(&counter.read(reading * pause, 600, 600));
        }
        if ended {
            correlation.restart(GenerationCause::HardwareStep);
        }
        for (made, waited) in timestamps {
            let made = readings * pause + (made * SECOND as f64) as i64;
            let timestamp = counter.timestamp(made, made + (waited * SECOND as f64) as i64);
            if let Some(estimate) = correlation.express.front.convert(&timestamp) {
                prop_assert!(correlation.express.spans(timestamp.read_at), "{timestamp:?}");
                prop_assert!(estimate.at.contains(at(made)));
            }
        }
    }

    /// Any line through all brackets is within the bound everywhere between and after them.
    #[test]
    fn no_feasible_line_is_ruled_out(
        readings in prop::collection::vec((10_000_000i64..3_000_000_000, 1i64..2_000, 1i64..2_000), 2..60),
        parts in 3i64..60,
    ) {
        let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
        let (mut brackets, mut time) = (Vec::new(), SECOND);
        for (pause, before, after) in &readings {
            time += pause;
            let reading = Counter::STEADY.read(time, *before, *after);
            prop_assert!(!matches!(correlation.push(&reading), Pushed::Outdated));
            brackets.push((time as f64, -*before as f64, *after as f64));
        }
        let last = time as f64;
        for place in 0..parts {
            let asked = last + (place - parts / 2) as f64 * 1e8;
            if asked < brackets[0].0 { continue }
            let timestamp = Counter::STEADY.timestamp(asked as i64, time + 8 * SECOND);
            let estimate = correlation.to_monotonic(&timestamp).expect("converts");
            let guess = (estimate.at.value - at(asked as i64)).nanoseconds() as f64;
            let bound = estimate.at.bound.nanoseconds() as f64;
            // brute force: the extreme lines go through an upper end and a lower end
            for (x1, _, high) in &brackets {
                for (x2, low, _) in &brackets {
                    if (x1 - x2).abs() < 1.0 { continue }
                    let rate = (high - low) / (x1 - x2);
                    let value = |x: f64| high + rate * (x - x1);
                    let feasible = brackets.iter().all(|(x, low, high)| (low - 1e-6..=high + 1e-6).contains(&value(*x)));
                    if feasible && rate.abs() < 900e-6 {
                        prop_assert!((value(asked) - guess).abs() <= bound + 0.5, "{} {guess} {bound}", value(asked));
                    }
                }
            }
        }
    }

    /// In any order of arrival, the knots stay sorted and few, and include the first and the
    /// newest.
    #[test]
    fn knots_are_thinned_evenly(pauses in prop::collection::vec(1_000_000i64..9_000_000_000, 1..200)) {
        let knot = |time: i64| Knot {
            ticks: HardwareTicks::new(time as u64),
            at: at(time),
            allowed: Interval::around_zero(1.0),
            centre: 0.0,
            bend: 0.0,
        };
        let (mut knots, mut time) = (Knots::new(knot(0), 0.0), 0);
        for pause in pauses {
            let before = time;
            time += pause;
            if let Some(place) = knots.crowded(at(before)) {
                knots.remove(place);
            }
            knots.push(knot(time));
            prop_assert_eq!(knots.newest().at, at(time));
            prop_assert!(knots.all().is_sorted_by(|a, b| a.at < b.at));
            prop_assert!(knots.all().iter().any(|knot| knot.at == at(before)), "the newest two stay");
            prop_assert!(knots.all().len() <= 10);
            prop_assert!(time > 300 * SECOND || knots.all()[0].at == at(0));
        }
    }
}
