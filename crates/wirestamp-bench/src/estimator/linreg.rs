//! Linuxptp's way: the shortest reading of a batch, then regressions over the newest 4,
//! 8, 16, 32 and 64 points; the longest whose past prediction error is within 5 % of the best
//! is used. Gives no bound. Left out: the servo, which steers a clock; the weights, which
//! are 1 for this use.

use super::line::{Line, Point, shortest};
use super::{Converted, Estimator};
use std::collections::VecDeque;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

const SIZES: [usize; 5] = [4, 8, 16, 32, 64];
const POINTS: usize = 64;
/// Errors that are averaged evenly before the average forgets.
const EVEN: f64 = 10.0;
const FORGETTING: f64 = 0.02;
const TOLERANCE: f64 = 1.05;

pub(super) struct Linreg {
    period: f64,
    points: VecDeque<Point>,
    candidates: [Candidate; SIZES.len()],
    chosen: Option<Line>,
}

/// The regression over one number of points.
#[derive(Clone, Copy, Default)]
struct Candidate {
    line: Option<Line>,
    error: f64,
    errors: f64,
}

impl Candidate {
    fn judge(&mut self, point: &Point) {
        let Some(line) = &self.line else { return };
        let error = line.residual(point).abs();
        self.errors = (self.errors + 1.0).min(EVEN);
        let weight = if self.errors < EVEN {
            1.0 / self.errors
        } else {
            FORGETTING
        };
        self.error += weight * (error - self.error);
    }
}

impl Linreg {
    pub(super) fn new(period: f64) -> Self {
        let points = VecDeque::with_capacity(POINTS + 1);
        Self {
            period,
            points,
            candidates: Default::default(),
            chosen: None,
        }
    }

    fn choose(&self) -> Option<Line> {
        let ready = || {
            self.candidates
                .iter()
                .filter(|candidate| candidate.line.is_some())
        };
        let judged = || ready().filter(|candidate| candidate.errors > 0.0);
        let best = judged()
            .map(|candidate| candidate.error)
            .fold(f64::INFINITY, f64::min);
        let good = judged().rfind(|candidate| candidate.error <= best * TOLERANCE);
        good.or_else(|| ready().next())
            .and_then(|candidate| candidate.line)
    }
}

impl Estimator for Linreg {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some(point) = shortest(readings).map(Point::middle) else {
            return;
        };
        self.candidates
            .iter_mut()
            .for_each(|candidate| candidate.judge(&point));
        self.points.push_back(point);
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
        for (candidate, size) in self.candidates.iter_mut().zip(SIZES) {
            if let Some(first) = self.points.len().checked_sub(size) {
                candidate.line = Some(Line::least_squares(
                    self.points.range(first..),
                    point,
                    self.period,
                ));
            }
        }
        self.chosen = self.choose();
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        self.chosen.as_ref().map(|line| line.at(timestamp.ticks))
    }
}
