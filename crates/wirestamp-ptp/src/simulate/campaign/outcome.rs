//! The results of a run and of a campaign.

use super::plan::Plan;
use serde::Serialize;
use std::collections::BTreeMap;

/// The start of a run, or a disturbance and the time after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Phase {
    /// The name of the disturbance.
    pub name: &'static str,
    /// The beginning, in seconds of virtual time since the start.
    pub begin: f64,
    /// The duration of the disturbance in seconds.
    pub lasted: f64,
    /// The time in seconds after the disturbance at which the clock was last outside its
    /// steady-state error.
    pub recovered: f64,
    /// The limit of `recovered`, computed before the run.
    pub stated: f64,
    /// The steady-state error in nanoseconds, computed before the run.
    pub steady_ns: i64,
    /// The largest offset afterwards, in nanoseconds.
    pub worst_ns: i64,
    /// The largest distance of the clock from the right time, in nanoseconds.
    pub furthest_ns: i64,
    /// The number of estimates whose error bound was compared with the truth.
    pub checked: u64,
    /// The largest error of an estimate relative to its error bound.
    pub worst_of_bound: f64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Run {
    /// The parameters of the run.
    pub plan: Plan,
    /// The duration in seconds of virtual time.
    pub seconds: f64,
    /// The phases, beginning with the start.
    pub phases: Vec<Phase>,
    /// A description of each failed check.
    pub failures: Vec<String>,
    /// The trace, if requested.
    #[serde(skip)]
    pub trace: Vec<Trace>,
}

/// The state at an instant.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// The time in seconds of virtual time since the start.
    pub at: f64,
    /// The true offset of the steered clock, in nanoseconds.
    pub offset_ns: i64,
    /// The frequency adjustment in ppm.
    pub adjustment_ppm: f64,
    /// The newest estimate's offset and error bound, in nanoseconds.
    pub estimate: Option<(i64, i64)>,
    /// A remark on what happened.
    pub note: String,
}

/// The results of the phases of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Group {
    /// The number of phases of this kind.
    pub phases: u64,
    /// The number of these in runs with the default configuration.
    pub defaults: u64,
    /// The largest offset afterwards, relative to the computed steady-state error.
    pub worst_of_steady: f64,
    /// The largest offset afterwards, in nanoseconds.
    pub worst_ns: i64,
    /// The longest recovery, relative to its computed limit.
    pub worst_of_stated: f64,
    /// The longest recovery, in seconds.
    pub slowest: f64,
    /// The largest error of an estimate relative to its error bound.
    pub worst_of_bound: f64,
    /// The number of estimates whose error bound was compared with the truth.
    pub checked: u64,
    /// The number of failed runs with such a phase.
    pub failed: u64,
}

/// The results of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Totals {
    /// Runs.
    pub runs: u64,
    /// The number of runs with the default configuration.
    pub defaults: u64,
    /// Runs that failed.
    pub failed: u64,
    /// The duration in hours of virtual time.
    pub hours: f64,
    /// The results by kind of disturbance.
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
