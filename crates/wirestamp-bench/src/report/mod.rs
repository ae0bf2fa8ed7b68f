//! How results are shown. Measures nothing.

mod table;
mod target;

pub use table::{cost_table, half_table};
pub use target::{Verdict, verdicts};

use crate::measure::{Cost, Summary};
use crate::scenario::Scenario;
use serde::Serialize;

/// A scenario with what each method did in it.
#[derive(Debug, Clone)]
pub struct Row {
    /// The scenario.
    pub scenario: &'static Scenario,
    /// In the order of [`crate::estimator::Method::ALL`].
    pub summaries: Vec<Summary>,
}

/// What `--json` writes.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// Counts up when the format changes.
    pub format: u32,
    /// Seeds that were run.
    pub seeds: &'a [u64],
    /// Length of the trials, s.
    pub duration: f64,
    /// The results.
    pub summaries: Vec<&'a Summary>,
    /// The prices.
    pub costs: &'a [Cost],
    /// The targets.
    pub verdicts: &'a [Verdict],
}
