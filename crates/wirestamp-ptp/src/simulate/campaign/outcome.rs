//! What a run, and a whole campaign, came to.

use super::plan::Plan;
use serde::Serialize;
use std::collections::BTreeMap;

/// The start of a run, or a disturbance and the time after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Phase {
    /// Which disturbance.
    pub name: &'static str,
    /// When it began, in seconds of virtual time since the start.
    pub begin: f64,
    /// How long the disturbance lasted, in seconds.
    pub lasted: f64,
    /// The clock was last outside of its steady-state error so many seconds after the disturbance.
    pub recovered: f64,
    /// That must be so within this time, as stated before the run.
    pub stated: f64,
    /// The steady-state error that was stated before the run, in nanoseconds.
    pub steady_ns: i64,
    /// The largest offset afterwards, in nanoseconds.
    pub worst_ns: i64,
    /// The furthest that the clock was from the right time, in nanoseconds.
    pub furthest_ns: i64,
    /// Estimates whose error bound was held against the truth.
    pub checked: u64,
    /// The largest error of an estimate relative to its error bound.
    pub worst_of_bound: f64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// Its parameters.
    pub plan: Plan,
    /// Seconds of virtual time.
    pub seconds: f64,
    /// Its phases, the start first.
    pub phases: Vec<Phase>,
    /// What did not hold, in words.
    pub failures: Vec<String>,
    /// The trace, if it was asked for.
    #[serde(skip)]
    pub trace: Vec<Trace>,
}

/// The state at an instant.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// Seconds of virtual time since the start.
    pub at: f64,
    /// The true offset of the steered clock, in nanoseconds.
    pub offset_ns: i64,
    /// The adjustment in force, in ppm.
    pub adjustment_ppm: f64,
    /// The newest estimate's offset and error bound, in nanoseconds.
    pub estimate: Option<(i64, i64)>,
    /// What happened.
    pub note: String,
}

/// The results of the phases of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// How often it was.
    pub phases: u64,
    /// In runs with the default configuration.
    pub defaults: u64,
    /// The largest offset afterwards relative to the stated steady-state error.
    pub worst_of_steady: f64,
    /// The largest offset afterwards, in nanoseconds.
    pub worst_ns: i64,
    /// The longest recovery relative to the stated time.
    pub worst_of_stated: f64,
    /// The longest recovery, in seconds.
    pub slowest: f64,
    /// The largest error of an estimate relative to its error bound.
    pub worst_of_bound: f64,
    /// Estimates whose error bound was held against the truth.
    pub checked: u64,
    /// Runs that failed and had such a phase.
    pub failed: u64,
}

/// The results of the runs of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Runs.
    pub runs: u64,
    /// Of those, with the default configuration.
    pub defaults: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Hours of virtual time.
    pub hours: f64,
    /// By kind of disturbance.
    pub groups: BTreeMap<&'static str, Group>,
}

impl Totals {
    /// Adds a run.
    pub fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.defaults += u64::from(run.plan.defaults);
        self.failed += u64::from(!run.failures.is_empty());
        self.hours += run.seconds / 3_600.0;
        for phase in &run.phases {
            let group = self.groups.entry(phase.name).or_default();
            group.phases += 1;
            group.defaults += u64::from(run.plan.defaults);
            group.failed += u64::from(!run.failures.is_empty());
            group.worst_ns = group.worst_ns.max(phase.worst_ns);
            group.worst_of_steady = group
                .worst_of_steady
                .max(phase.worst_ns as f64 / phase.steady_ns as f64);
            group.slowest = group.slowest.max(phase.recovered);
            group.worst_of_stated = group.worst_of_stated.max(phase.recovered / phase.stated);
            group.worst_of_bound = group.worst_of_bound.max(phase.worst_of_bound);
            group.checked += phase.checked;
        }
    }
}
