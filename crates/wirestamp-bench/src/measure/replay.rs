//! A trial and its replay: what a method answers for each timestamp, at once and one batch
//! later.

use crate::estimator::{Converted, Estimator};
use crate::world::{Moment, Polling, Sampler, Shape, Timestamp, Truth, timestamps};

/// In a second.
const PICOSECONDS: f64 = 1e12;

/// A world with the timestamps to convert.
#[derive(Debug)]
pub struct Trial {
    /// What it was made from.
    pub shape: Shape,
    /// What really happens.
    pub truth: Truth,
    /// In order.
    pub timestamps: Vec<Timestamp>,
    seed: u64,
    number: u32,
}

impl Trial {
    /// Lets chance fill in the shape.
    pub fn new(shape: Shape, timestamps_per_second: f64, seed: u64, number: u32) -> Self {
        let truth = Truth::new(&shape, seed, number);
        let timestamps = timestamps(&shape, &truth, timestamps_per_second, seed, number);
        Self {
            shape,
            truth,
            timestamps,
            seed,
            number,
        }
    }

    /// The trial's readings on a schedule.
    pub fn sampler(&self, polling: Polling) -> Sampler<'_> {
        Sampler::new(&self.shape, &self.truth, polling, self.seed, self.number)
    }
}

/// A method's answer, compared with the event itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// No conversion.
    Refused,
    /// A conversion.
    Given {
        /// Estimate minus event, ns.
        error: f64,
        /// The claimed bound, ns.
        bound: Option<f64>,
    },
}

impl Answer {
    pub(super) fn new(timestamp: &Timestamp, converted: Option<Converted>) -> Self {
        converted.map_or(
            Self::Refused,
            |Converted {
                 whole,
                 fraction,
                 bound,
             }| {
                let error = timestamp.at.error_of(whole, fraction);
                // a number that is none is no answer
                if error.is_finite() {
                    Self::Given { error, bound }
                } else {
                    Self::Refused
                }
            },
        )
    }
}

/// Everything a method answered in one trial.
#[derive(Debug)]
pub struct Record {
    /// For each timestamp, knowing only the batches complete before the event.
    pub online: Vec<Answer>,
    /// For each timestamp that was followed by another batch, knowing that one, too.
    pub later: Vec<Answer>,
    /// When each batch was complete.
    pub batches: Vec<Moment>,
    /// What the method said of the frequency after each batch, if it did.
    pub rates: Vec<RateAnswer>,
}

/// A frequency, compared with that of the instant at which its last reading was made.
#[derive(Debug, Clone, Copy)]
pub struct RateAnswer {
    /// When that was.
    pub at: Moment,
    /// Estimate minus truth, ppb.
    pub error: f64,
    /// The claimed bound, ppb.
    pub bound: f64,
}

/// Replays a trial.
pub fn replay(trial: &Trial, polling: Polling, estimator: &mut dyn Estimator) -> Record {
    let timestamps = &trial.timestamps;
    let answer = |estimator: &dyn Estimator, timestamp: &Timestamp| {
        Answer::new(timestamp, estimator.convert(&timestamp.timestamp))
    };
    let mut sampler = trial.sampler(polling);
    let (mut readings, mut batches, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    let mut online = Vec::with_capacity(timestamps.len());
    let mut later = Vec::with_capacity(timestamps.len());
    while let Some(batch) = sampler.next_batch(&mut readings) {
        let due = timestamps[online.len()..]
            .iter()
            .take_while(|timestamp| timestamp.at < batch.end);
        online.extend(due.map(|timestamp| answer(estimator, timestamp)));
        estimator.push_batch(&readings);
        batches.push(batch.end);
        rates.extend(estimator.rate().map(|rate| {
            let truth = trial.truth.at(batch.end).rate * PICOSECONDS;
            RateAnswer {
                at: batch.end,
                error: (rate.hertz / truth - 1.0) * 1e9,
                bound: rate.error_bound_parts_per_billion,
            }
        }));
        later.extend(
            timestamps[later.len()..online.len()]
                .iter()
                .map(|timestamp| answer(estimator, timestamp)),
        );
    }
    online.extend(
        timestamps[online.len()..]
            .iter()
            .map(|timestamp| answer(estimator, timestamp)),
    );
    Record {
        online,
        later,
        batches,
        rates,
    }
}
