//! What a simulated network came to: errors and bounds against the truth. Runs nothing.

use super::Limits;
use super::held::Held;
use crate::lost::Counts;
use serde::Serialize;
use std::collections::BTreeMap;

/// A sample and the truth about it; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// Virtual time since the start.
    pub at_ns: i64,
    /// The clock that measured it; 1 is the first after the timeTransmitters.
    pub clock: usize,
    /// The sample.
    pub offset_ns: i64,
    /// The measured offset minus the true one.
    pub error_ns: i64,
    /// What the error may be: on a chain, the sum of the bounds on the way.
    pub error_bound_ns: i64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The scenario.
    pub scenario: &'static str,
    /// Decides all that is random.
    pub seed: u64,
    /// The number of samples.
    pub samples: usize,
    /// Samples whose bound contains the truth.
    pub covered: usize,
    /// Of the absolute error.
    pub median_error_ns: i64,
    /// Of the absolute error.
    pub largest_error_ns: i64,
    /// Of the bound.
    pub median_error_bound_ns: i64,
    /// The timeReceivers' exchanges without a sample, and what they ignored.
    #[serde(flatten)]
    pub counts: Counts,
    /// Samples that were withdrawn, by reason: the clock that timestamps was changed before them, as later readings show.
    pub withdrawn: BTreeMap<&'static str, u64>,
    /// Every sample.
    #[serde(skip)]
    pub points: Vec<Point>,
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

impl Outcome {
    pub(super) fn of(scenario: &'static str, seed: u64, held: Held, counts: Counts) -> Self {
        let Held {
            mut points,
            withdrawn,
            ..
        } = held;
        points.sort_by_key(|point| point.at_ns);
        let errors: Vec<i64> = points
            .iter()
            .map(|point| point.error_ns.saturating_abs())
            .collect();
        Self {
            scenario,
            seed,
            samples: points.len(),
            covered: points
                .iter()
                .filter(|point| point.error_ns.saturating_abs() <= point.error_bound_ns)
                .count(),
            largest_error_ns: errors.iter().copied().max().unwrap_or(0),
            median_error_ns: median(errors),
            median_error_bound_ns: median(
                points.iter().map(|point| point.error_bound_ns).collect(),
            ),
            counts,
            withdrawn,
            points,
        }
    }

    /// Returns the limits that do not hold, in words.
    pub fn violations(&self, limits: &Limits) -> Vec<String> {
        let mut broken = Vec::new();
        let mut check = |holds: bool, text: String| {
            if !holds {
                broken.push(text);
            }
        };
        check(
            self.samples >= limits.samples,
            format!(
                "{} samples, at least {} are wanted",
                self.samples, limits.samples
            ),
        );
        check(
            self.covered == self.samples,
            format!(
                "the bound contains the truth in {} of {} samples",
                self.covered, self.samples
            ),
        );
        let median = format!(
            "median error {} ns, at most {}",
            self.median_error_ns, limits.median_error_ns
        );
        check(self.median_error_ns <= limits.median_error_ns, median);
        let largest = format!(
            "largest error {} ns, at most {}",
            self.largest_error_ns, limits.largest_error_ns
        );
        check(self.largest_error_ns <= limits.largest_error_ns, largest);
        broken
    }
}
