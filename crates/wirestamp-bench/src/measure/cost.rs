//! Owns the prices: time for a conversion and for a reading, and memory.

use super::replay::Trial;
use crate::estimator::{Estimator, Method};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::stamp::HardwareStamp;

/// Each time is the least of so many passes: what disturbs only adds.
const PASSES: usize = 15;
/// Conversions of one pass.
const STAMPS: usize = 2_000;

/// What a method costs.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The method's name.
    pub method: &'static str,
    /// ns for a conversion, in a row.
    pub conversion: f64,
    /// ns for a reading taken in.
    pub reading: f64,
    /// ns for a batch of readings taken in.
    pub batch: f64,
    /// Bytes, the heap included.
    pub memory: usize,
}

/// Readings and stamps made beforehand.
#[derive(Debug)]
pub struct Workload {
    batches: Vec<Vec<CrossTimestamp>>,
    stamps: Vec<HardwareStamp>,
}

impl Workload {
    /// The readings of a whole trial, and stamps from its end.
    pub fn new(trial: &Trial, method: Method) -> Self {
        let mut sampler = trial.sampler(method.polling(&trial.shape));
        let mut batches = Vec::new();
        let mut readings = Vec::new();
        while sampler.next_batch(&mut readings).is_some() {
            batches.push(readings.clone());
        }
        let last = trial.stamps.len().saturating_sub(STAMPS);
        Self { batches, stamps: trial.stamps[last..].iter().map(|stamp| stamp.stamp).collect() }
    }

    fn feed(&self, estimator: &mut dyn Estimator) {
        self.batches.iter().for_each(|batch| estimator.push_batch(batch));
    }
}

/// Measures a method. `allocated` tells how many bytes of heap are in use.
pub fn cost(trial: &Trial, method: Method, allocated: impl Fn() -> usize) -> Cost {
    let workload = Workload::new(trial, method);
    let before = allocated();
    let mut estimator = method.build(&trial.shape);
    workload.feed(estimator.as_mut());
    // the box that holds the estimator is on the heap as well: counted there, not twice
    let memory = allocated().saturating_sub(before).max(estimator.size());
    let conversion = least(|| {
        black_box(estimator.convert_all(black_box(&workload.stamps)));
    });
    let feeding = least(|| {
        let mut fresh = method.build(&trial.shape);
        workload.feed(black_box(fresh.as_mut()));
    });
    let readings: usize = workload.batches.iter().map(Vec::len).sum();
    Cost {
        method: method.name(),
        conversion: conversion / workload.stamps.len() as f64,
        reading: feeding / readings as f64,
        batch: feeding / workload.batches.len() as f64,
        memory,
    }
}

fn least(mut pass: impl FnMut()) -> f64 {
    let once = |_| {
        let begun = Instant::now();
        pass();
        begun.elapsed().as_nanos() as f64
    };
    (0..PASSES).map(once).fold(f64::INFINITY, f64::min)
}
