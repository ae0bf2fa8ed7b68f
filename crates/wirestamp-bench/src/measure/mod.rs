//! The measures: replays a trial through a method, strictly online, and compares with
//! the truth.
//!
//! An **error** is the estimate minus the middle of the timestamp's tick: a timestamp says no more
//! than its tick. A bound is **right** if it contains the event itself. Conversions between
//! a break of the relation and the next batch are counted apart, as *blind*: nothing can
//! know of the break yet.

mod cost;
mod file;
mod recovery;
mod replay;
mod statistics;
mod tally;

pub use cost::{Cost, Workload, cost};
pub use file::{convert_events, write_events};
pub use recovery::Recovery;
pub use replay::{Answer, RateAnswer, Record, Trial, replay};
pub use statistics::{rms, upper_limit};
pub use tally::{Summary, Tally};

use crate::estimator::Method;
use crate::scenario::Scenario;

/// How much is run.
#[derive(Debug, Clone)]
pub struct Extent {
    /// Length of a trial, s.
    pub duration: f64,
    /// One run for each.
    pub seeds: Vec<u64>,
    /// Timestamps to convert in a second.
    pub timestamps_per_second: f64,
}

/// Runs one method through all trials of a scenario.
pub fn measure(scenario: &Scenario, trials: &[Trial], method: Method) -> Summary {
    let mut tally = Tally::default();
    for trial in trials {
        let mut estimator = method.build(&trial.shape);
        let record = replay(trial, method.polling(&trial.shape), estimator.as_mut());
        tally.add(trial, &record);
    }
    tally.summary(scenario.name, method.name())
}

/// Makes all trials of a scenario.
pub fn trials(scenario: &Scenario, extent: &Extent) -> Vec<Trial> {
    let one = |seed: u64, number: u32| {
        let shape = scenario.shape(extent.duration, seed, number);
        // a scenario of many short trials has as many timestamps as one of few long ones
        let stretch = extent.duration / (shape.duration * f64::from(scenario.trials));
        Trial::new(shape, extent.timestamps_per_second * stretch, seed, number)
    };
    extent
        .seeds
        .iter()
        .flat_map(|&seed| (0..scenario.trials).map(move |number| one(seed, number)))
        .collect()
}
