//! How long a method takes to be right again after a break, and at the start.

use super::replay::{Answer, Record, Trial};
use crate::world::{Break, Moment};
use serde::Serialize;

/// Slack for a comparison of floats that stand for whole picoseconds, ns.
pub(super) const ROUNDING: f64 = 1e-3;
/// How long after a break its effects are looked for, s.
pub(super) const AFTER: f64 = 200.0;
/// An estimate has settled when its error stays below so many times the steady p99…
const SETTLED: f64 = 3.0;
/// … for so many s.
const STRETCH: f64 = 20.0;

/// What happened after the breaks of one trial or more; the worst of them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Recovery {
    /// Breaks that were measured.
    pub breaks: usize,
    /// Until the estimate has settled for 20 s, s; `None` if one did not within 200 s.
    pub estimate_seconds: Option<f64>,
    /// Batches until every conversion is given and every bound right; `None` as above.
    pub valid_batches: Option<usize>,
    /// Conversions with a bound within 200 s, after the first batch that could show the break.
    pub conversions: usize,
    /// Those with a wrong bound.
    pub wrong: usize,
}

impl Recovery {
    /// Takes another in: the worst counts.
    pub(super) fn merge(&mut self, other: Self) {
        if other.breaks == 0 {
            return;
        }
        if self.breaks == 0 {
            *self = other;
            return;
        }
        self.breaks += other.breaks;
        self.estimate_seconds = self
            .estimate_seconds
            .zip(other.estimate_seconds)
            .map(|(a, b)| a.max(b));
        self.valid_batches = self
            .valid_batches
            .zip(other.valid_batches)
            .map(|(a, b)| a.max(b));
        self.conversions += other.conversions;
        self.wrong += other.wrong;
    }

    /// After one break.
    pub(super) fn after(trial: &Trial, record: &Record, event: Break, steady_p99: f64) -> Self {
        let from = event.visible;
        let until = window_end(trial, from);
        let first = trial
            .timestamps
            .partition_point(|timestamp| timestamp.at < from);
        let end = trial
            .timestamps
            .partition_point(|timestamp| timestamp.at < until);
        let seen = first_batch(record, from);
        let mut recovery = Self {
            breaks: 1,
            ..Self::default()
        };
        let mut invalid = from;
        for (timestamp, answer) in trial.timestamps[first..end]
            .iter()
            .zip(&record.online[first..end])
        {
            let wrong = matches!(answer, Answer::Given { error, bound: Some(bound) } if error.abs() > *bound + ROUNDING);
            let bounded = matches!(answer, Answer::Given { bound: Some(_), .. });
            if wrong || !bounded {
                invalid = timestamp.at;
            }
            if timestamp.at >= seen && bounded {
                recovery.conversions += 1;
                recovery.wrong += usize::from(wrong);
            }
        }
        let last = trial.timestamps[..end]
            .last()
            .map_or(until, |timestamp| timestamp.at);
        recovery.estimate_seconds = settles(trial, record, (first, end), from, steady_p99);
        let batches = |at: Moment| record.batches.partition_point(|batch| *batch <= at);
        recovery.valid_batches = (invalid < last).then(|| match batches(invalid) - batches(from) {
            0 if invalid == from => 0,
            passed => passed + 1,
        });
        recovery
    }
}

/// Until the estimate has settled at the start, s. `None` if it does not in the warm-up.
pub(super) fn convergence(trial: &Trial, record: &Record, steady_p99: f64) -> Option<f64> {
    let warm = Moment::from_seconds(trial.shape.warm_up);
    let end = trial
        .timestamps
        .partition_point(|timestamp| timestamp.at < warm);
    settles(trial, record, (0, end), Moment::default(), steady_p99)
}

/// From `from` until the first stretch of 20 s (or what is left, if at least half of it) in
/// which every timestamp of the range is converted with a small error.
fn settles(
    trial: &Trial,
    record: &Record,
    range: (usize, usize),
    from: Moment,
    steady_p99: f64,
) -> Option<f64> {
    let stretch = Moment::from_seconds(STRETCH);
    let (timestamps, answers) = (
        &trial.timestamps[range.0..range.1],
        &record.online[range.0..range.1],
    );
    let last = timestamps.last()?.at;
    let mut unsettled = from;
    for (timestamp, answer) in timestamps.iter().zip(answers) {
        if timestamp.at > unsettled + stretch {
            break;
        }
        let small = |error: f64| (error - timestamp.to_middle).abs() <= SETTLED * steady_p99;
        if !matches!(answer, Answer::Given { error, .. } if small(*error)) {
            unsettled = timestamp.at;
        }
    }
    let settled = last > unsettled
        && (last - unsettled).seconds() >= STRETCH.min((last - from).seconds()) / 2.0;
    settled.then(|| (unsettled - from).seconds())
}

/// When the first batch after `from` is complete: the earliest that a break can be known.
pub(super) fn first_batch(record: &Record, from: Moment) -> Moment {
    let place = record.batches.partition_point(|batch| *batch <= from);
    record
        .batches
        .get(place)
        .copied()
        .unwrap_or(Moment::from_picoseconds(i64::MAX))
}

/// The effects of a break are looked for until this instant: of the next break at the latest.
fn window_end(trial: &Trial, from: Moment) -> Moment {
    let next = trial
        .truth
        .breaks()
        .iter()
        .map(|next| next.at)
        .find(|next| *next > from);
    let end = from + Moment::from_seconds(AFTER);
    next.map_or(end, |next| next.min(end))
}
