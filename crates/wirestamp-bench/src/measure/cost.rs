//! The prices: time for a conversion and for a reading, and memory.

use super::replay::Trial;
use crate::estimator::{Estimator, Method};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::HardwareTimestamp;

/// Each time is the least of so many passes: what disturbs only adds.
const PASSES: usize = 15;
/// Conversions of one pass.
const TIMESTAMPS: usize = 2_000;

/// What a method costs.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The method's name.
    pub method: &'static str,
    /// ns for a conversion of a timestamp made since the newest reading, in a row.
    pub conversion: f64,
    /// ns for one of a timestamp from the last 40 s.
    pub older: f64,
    /// ns for each of a slice of timestamps made since the newest reading; `None` where the method
    /// has no such way.
    pub slice: Option<f64>,
    /// ns for a reading taken in.
    pub reading: f64,
    /// ns for a batch of readings taken in.
    pub batch: f64,
    /// Bytes, the heap included.
    pub memory: usize,
}

/// Readings and timestamps made beforehand.
#[derive(Debug)]
pub struct Workload {
    batches: Vec<Vec<CrossTimestamp>>,
    /// Made since the newest reading.
    fresh: Vec<HardwareTimestamp>,
    /// From the end of the trial, most of them older than the newest reading.
    older: Vec<HardwareTimestamp>,
}

impl Workload {
    /// The readings of a whole trial, and timestamps from its end and from after it.
    pub fn new(trial: &Trial, method: Method) -> Self {
        let mut sampler = trial.sampler(method.polling(&trial.shape));
        let mut batches = Vec::new();
        let mut readings = Vec::new();
        let mut end = trial.truth.end();
        while let Some(batch) = sampler.next_batch(&mut readings) {
            batches.push(readings.clone());
            end = batch.end;
        }
        let last = trial.timestamps.len().saturating_sub(TIMESTAMPS);
        let older: Vec<HardwareTimestamp> = trial.timestamps[last..]
            .iter()
            .map(|timestamp| timestamp.timestamp)
            .collect();
        let span = trial.shape.polling.period * 1e9;
        let fresh = |n: usize| {
            let at = end.plus_nanoseconds(span * (n as f64 + 0.5) / TIMESTAMPS as f64);
            let ticks = HardwareTicks::new(trial.truth.at(at).shown(trial.shape.counter.granule));
            let read_at = end.plus_nanoseconds(span).read(trial.shape.quantum);
            HardwareTimestamp {
                ticks,
                interface: InterfaceIndex::new(1),
                read_at,
            }
        };
        Self {
            batches,
            fresh: (0..TIMESTAMPS).map(fresh).collect(),
            older,
        }
    }

    fn feed(&self, estimator: &mut dyn Estimator) {
        self.batches
            .iter()
            .for_each(|batch| estimator.push_batch(batch));
    }
}

/// Measures a method. `allocated` returns how many bytes of heap are in use.
pub fn cost(trial: &Trial, method: Method, allocated: impl Fn() -> usize) -> Cost {
    let workload = Workload::new(trial, method);
    let before = allocated();
    let mut estimator = method.build(&trial.shape);
    workload.feed(estimator.as_mut());
    // the box that holds the estimator is on the heap as well: counted there, not twice
    let memory = allocated().saturating_sub(before).max(estimator.size());
    let each = |timestamps: &[HardwareTimestamp]| {
        let all = least(|| {
            black_box(estimator.convert_all(black_box(timestamps)));
        });
        all / timestamps.len() as f64
    };
    let feeding = least(|| {
        let mut fresh = method.build(&trial.shape);
        workload.feed(black_box(fresh.as_mut()));
    });
    let readings: usize = workload.batches.iter().map(Vec::len).sum();
    Cost {
        method: method.name(),
        conversion: each(&workload.fresh),
        older: each(&workload.older),
        slice: slices(estimator.as_ref(), &workload.fresh),
        reading: feeding / readings as f64,
        batch: feeding / workload.batches.len() as f64,
        memory,
    }
}

/// Each of a slice; the timestamps were read together.
fn slices(estimator: &dyn Estimator, timestamps: &[HardwareTimestamp]) -> Option<f64> {
    let ticks: Vec<HardwareTicks> = timestamps.iter().map(|timestamp| timestamp.ticks).collect();
    let read_at = timestamps.last()?.read_at;
    let mut into = vec![MonotonicTime::MIN; ticks.len()];
    let mut done = true;
    let all = least(|| {
        done &= estimator.convert_slice(black_box(&ticks), read_at, &mut into);
        black_box(&into);
    });
    done.then(|| all / ticks.len() as f64)
}

fn least(mut pass: impl FnMut()) -> f64 {
    let once = |_| {
        let begun = Instant::now();
        pass();
        begun.elapsed().as_nanos() as f64
    };
    (0..PASSES).map(once).fold(f64::INFINITY, f64::min)
}
