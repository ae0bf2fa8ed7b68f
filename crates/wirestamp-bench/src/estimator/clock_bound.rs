//! Clock-bound 3 beta's way: the best reading of a batch; over 100 s, the rate between
//! the best readings of the oldest and the newest quarter and a weighted mean of the
//! offsets; a bound of the worst bracket kept and 15 ppm of age. Left out: the week of
//! history, the rule that only a better bound is published, VMClock.

use super::line::{Line, Point, delay, shortest};
use super::{Converted, Estimator};
use std::collections::VecDeque;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

/// ns.
const WINDOW: i128 = 100_000_000_000;
/// A bracket so many times wider than the best is dropped.
const WIDEST: f64 = 5.0;
/// ns of excess width at which a weight falls to 1/e.
const SCALE: f64 = 500.0;
const DRIFT: f64 = 15e-6;

pub(super) struct ClockBound {
    period: f64,
    samples: VecDeque<(Point, f64)>,
    line: Option<Line>,
    widest: f64,
    rate_error: f64,
}

impl ClockBound {
    pub(super) fn new(period: f64) -> Self {
        Self {
            period,
            samples: VecDeque::new(),
            line: None,
            widest: 0.0,
            rate_error: 0.0,
        }
    }

    fn narrowest(&self) -> f64 {
        self.samples
            .iter()
            .map(|sample| sample.1)
            .fold(f64::INFINITY, f64::min)
    }

    /// The rate between the best readings of the first and the last quarter, and its error.
    fn rate(&self) -> (f64, f64) {
        let quarter = self.samples.len().div_ceil(4);
        let best = |from: usize| {
            self.samples
                .range(from..from + quarter)
                .copied()
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .unwrap_or(self.samples[0])
        };
        let (old, new) = (best(0), best(self.samples.len() - quarter));
        let line = Line::through(&old.0, new.0, self.period);
        let apart = new.0.since(&old.0, self.period).0.abs().max(1.0);
        (line.slope, (old.1 + new.1) / 2.0 / apart)
    }
}

impl Estimator for ClockBound {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some(reading) = shortest(readings) else {
            return;
        };
        if delay(reading) > WIDEST * self.narrowest() {
            return;
        }
        let newest = Point::middle(reading);
        self.samples.push_back((newest, delay(reading)));
        while self
            .samples
            .front()
            .is_some_and(|old| (newest.system - old.0.system).nanoseconds() > WINDOW)
        {
            self.samples.pop_front();
        }
        if self.samples.len() < 2 {
            return;
        }
        let (slope, rate_error) = self.rate();
        let narrowest = self.narrowest();
        let (mut weights, mut sum) = (0.0, 0.0);
        for (point, delay) in &self.samples {
            let weight = (-((delay - narrowest) / SCALE).powi(2)).exp();
            let (x, y) = point.since(&newest, self.period);
            weights += weight;
            sum += weight * (y - slope * x);
        }
        self.line = Some(Line {
            origin: newest,
            offset: sum / weights,
            slope,
            period: self.period,
        });
        self.rate_error = rate_error;
        self.widest = self
            .samples
            .iter()
            .map(|sample| sample.1)
            .fold(0.0, f64::max);
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let line = self.line.as_ref()?;
        let bound = self.widest / 2.0 + (DRIFT + self.rate_error) * line.age(timestamp.ticks).abs();
        Some(Converted {
            bound: Some(bound),
            ..line.at(timestamp.ticks)
        })
    }
}
