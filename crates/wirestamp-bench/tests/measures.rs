//! The measures on methods whose answers are known: they know the truth and lie as commanded.

use std::collections::HashMap;
use wirestamp_bench::estimator::{Converted, Estimator};
use wirestamp_bench::measure::{Answer, Summary, Tally, Trial, replay};
use wirestamp_bench::scenario;
use wirestamp_bench::world::{Moment, Shape};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::HardwareTimestamp;

fn trial(name: &str, duration: f64) -> Trial {
    let scenario = scenario::all()
        .find(|scenario| scenario.name == name)
        .expect("a scenario");
    let shape = scenario.shape(duration, 3, 0);
    Trial::new(
        Shape {
            warm_up: 10.0,
            ..shape
        },
        40.0,
        3,
        0,
    )
}

/// Answers as a function of the true event says: error from the middle of the tick, bound.
struct Liar<F> {
    truth: HashMap<MonotonicTime, (usize, Moment, f64)>,
    lie: F,
}

impl<F: Fn(usize, Moment) -> Option<(f64, f64)>> Liar<F> {
    fn new(trial: &Trial, lie: F) -> Self {
        let entry = |(n, timestamp): (usize, &wirestamp_bench::world::Timestamp)| {
            (
                timestamp.timestamp.read_at,
                (n, timestamp.at, timestamp.to_middle),
            )
        };
        Self {
            truth: trial.timestamps.iter().enumerate().map(entry).collect(),
            lie,
        }
    }
}

impl<F: Fn(usize, Moment) -> Option<(f64, f64)>> Estimator for Liar<F> {
    fn push_batch(&mut self, _: &[CrossTimestamp]) {}

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let (number, at, to_middle) = self.truth[&timestamp.read_at];
        let (error, bound) = (self.lie)(number, at)?;
        let whole = at.read(1);
        let fraction = to_middle + error - at.error_of(whole, 0.0);
        Some(Converted {
            whole,
            fraction,
            bound: Some(bound),
        })
    }
}

fn summary(trial: &Trial, lie: impl Fn(usize, Moment) -> Option<(f64, f64)>) -> Summary {
    let record = replay(trial, trial.shape.polling, &mut Liar::new(trial, lie));
    let mut tally = Tally::default();
    tally.add(trial, &record);
    tally.summary("test", "liar")
}

#[test]
fn a_liar_is_found_out() {
    let trial = trial("S1", 100.0);
    // a tick of 8 ns: the event lies within 4 ns of its middle, so within 14 ns of the estimate
    let summary = summary(&trial, |number, _| match number % 10 {
        0 => Some((10.0, 5.0)), // wrong whatever the event
        9 => None,
        _ => Some((-10.0, 14.001)),
    });
    let counted = trial
        .timestamps
        .iter()
        .enumerate()
        .filter(|(_, timestamp)| timestamp.at.seconds() >= 10.0);
    let numbers: Vec<usize> = counted.map(|(number, _)| number).collect();
    let of = |digit: usize| {
        numbers
            .iter()
            .filter(|number| *number % 10 == digit)
            .count()
    };
    assert_eq!(summary.conversions, numbers.len() - of(9));
    assert_eq!(summary.refused, of(9));
    assert_eq!(summary.wrong, of(0));
    let share = 1.0 - of(0) as f64 / summary.conversions as f64;
    assert!((summary.coverage.expect("bounds") - share).abs() < 1e-12);
    assert!(
        (summary.rms - 10.0).abs() < 1e-3 && (summary.p99 - 10.0).abs() < 1e-3,
        "{summary:?}"
    );
    assert!(summary.warm_up_wrong > 0);
    // no batch follows the last timestamps
    assert!((of(0) - 3..=of(0)).contains(&summary.later_wrong));
    assert_eq!(summary.tick_not_held, 0);
}

#[test]
fn a_bound_that_holds_the_event_by_luck_does_not_hold_its_tick() {
    let trial = trial("S1", 100.0);
    let summary = summary(&trial, |_, _| Some((0.0, 2.0))); // half of the tick of 8 ns
    let share = summary.wrong as f64 / summary.conversions as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
    assert_eq!(summary.tick_not_held + summary.wrong, summary.conversions);
    assert!(
        summary.rms < 1e-3 && (summary.edge_rms - 4.0).abs() < 1e-3,
        "{summary:?}"
    );
}

#[test]
fn a_constant_error_is_a_bias_and_tightness_is_against_the_path() {
    let summary = summary(&trial("S2", 60.0), |_, _| Some((200.0, 1_208.0)));
    assert!(
        (summary.rms - 200.0).abs() < 1e-3 && summary.unbiased_rms < 0.1,
        "{summary:?}"
    );
    assert!((summary.tightness.expect("brackets") - 2.0).abs() < 1e-9); // 0.8 + 0.4 µs, 8 ns
    assert_eq!(summary.wrong, 0);
}

#[test]
fn recovery_is_counted_from_the_break_and_blind_conversions_apart() {
    let trial = trial("S6", 200.0);
    let starts: Vec<Moment> = trial.truth.breaks().iter().map(|event| event.at).collect();
    assert_eq!(starts.len(), 2);
    let since = |at: Moment| {
        starts
            .iter()
            .map(|from| (at - *from).seconds())
            .find(|since| (0.0..50.0).contains(since))
    };
    // for 3 s after each break the estimate is off and the bound too small
    let summary = summary(&trial, |_, at| match since(at) {
        Some(since) if since < 3.0 => Some((1e6, 100.0)),
        _ => Some((1.0, 100.0)),
    });
    let recovery = &summary.recovery;
    assert_eq!(recovery.breaks, 2);
    assert!(
        (2.9..3.0).contains(&recovery.estimate_seconds.expect("recovers")),
        "{recovery:?}"
    );
    assert!(
        (6..=7).contains(&recovery.valid_batches.expect("recovers")),
        "{recovery:?}"
    );
    assert_eq!(summary.wrong, recovery.wrong);
    assert!(
        summary.blind[0] > 0 && summary.blind[0] == summary.blind[1],
        "{summary:?}"
    );
    // 40 timestamps a second
    assert!(
        (200..=250).contains(&(summary.wrong + summary.blind[1])),
        "{summary:?}"
    );
}

#[test]
fn one_who_is_right_at_once_needs_one_batch_at_most() {
    let summary = summary(&trial("S6", 200.0), |_, _| Some((1.0, 100.0)));
    assert_eq!(summary.recovery.valid_batches, Some(0));
    assert_eq!((summary.wrong, summary.recovery.wrong), (0, 0));
}

/// Takes every timestamp for as old as the newest reading.
#[derive(Default)]
struct Newest(Option<MonotonicTime>);

impl Estimator for Newest {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        self.0 = readings.last().map(CrossTimestamp::monotonic_after);
    }

    fn convert(&self, _: &HardwareTimestamp) -> Option<Converted> {
        self.0.map(|whole| Converted {
            whole,
            fraction: 0.0,
            bound: None,
        })
    }
}

#[test]
fn nobody_sees_a_reading_from_after_the_timestamp_before_one_batch_later() {
    let trial = trial("S1", 60.0);
    let record = replay(&trial, trial.shape.polling, &mut Newest::default());
    let errors = |answers: &[Answer]| -> Vec<f64> {
        let error = |answer: &Answer| match answer {
            Answer::Given { error, .. } => Some(*error),
            Answer::Refused => None,
        };
        answers.iter().filter_map(error).collect()
    };
    let (online, later) = (errors(&record.online), errors(&record.later));
    assert!(online.len() > 2_000 && later.len() > 2_000);
    assert!(online.iter().all(|error| (-0.6e9..=0.0).contains(error)));
    assert!(
        later.iter().all(|error| (-1.0..=0.6e9).contains(error)),
        "to the nanosecond of a reading"
    );
}
