//! The outcome of a simulation: errors and error bounds compared with the truth.

use super::Limits;
use super::held::Held;
use crate::lost::Counts;
use serde::Serialize;
use std::collections::BTreeMap;

/// A sample compared with the truth; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// The virtual time since the start.
    pub at_ns: i64,
    /// The clock that measured it; 1 is the first after the timeTransmitters.
    pub clock: usize,
    /// The measured offset.
    pub offset_ns: i64,
    /// The measured offset minus the true one when the Sync arrived or, if a clock was stepped while it was under way, when
    /// it left: the nearer one.
    pub error_ns: i64,
    /// The error bound; on a chain, the sum of the bounds of all clocks so far.
    pub error_bound_ns: i64,
    /// How long its Sync was under way by NIC timestamps.
    #[serde(skip)]
    pub(super) flight_ns: i64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of samples.
    pub samples: usize,
    /// The number of samples whose error bound contains the truth.
    pub covered: usize,
    /// The median of the absolute error.
    pub median_error_ns: i64,
    /// The largest absolute error.
    pub largest_error_ns: i64,
    /// The median of the error bounds.
    pub median_error_bound_ns: i64,
    /// The timeReceivers' counts of exchanges without a sample and of ignored messages.
    #[serde(flatten)]
    pub counts: Counts,
    /// The numbers of withdrawn samples by reason: later cross timestamps showed that the
    /// timestamping clock was changed before them.
    pub withdrawn: BTreeMap<&'static str, u64>,
    /// All samples.
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

    /// Returns a description of each limit that is exceeded.
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
