//! Fbclock v2's way: every 10 ms the shortest of nine readings, the mean of the last 100
//! slopes in whole ppb, a bound of the full delay and an allowance that grows with age.
//! Left out: the window of uncertainty of the PTP side, which is 0 here.

use super::line::{Line, Point, delay, shortest};
use super::{Converted, Estimator};
use crate::world::Polling;
use std::collections::VecDeque;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

/// Its own schedule.
pub(super) const POLLING: Polling = Polling {
    period: 0.01,
    readings: 9,
};
const SLOPES: usize = 100;
const ALLOWANCE: f64 = 1.5;
/// Oldest reading that is still used, ns.
const OLDEST: f64 = 10e9;
const BILLION: f64 = 1e9;

pub(super) struct Fbclock {
    period: f64,
    last: Option<Point>,
    /// ppb, and their sum.
    slopes: VecDeque<f64>,
    sum: f64,
    /// Changes from one slope to the next, ppb, and their sum.
    changes: VecDeque<f64>,
    sum_of_changes: f64,
    line: Option<Line>,
    delay: f64,
}

impl Fbclock {
    pub(super) fn new(period: f64) -> Self {
        let ring = || VecDeque::with_capacity(SLOPES + 1);
        let (slopes, changes) = (ring(), ring());
        Self {
            period,
            last: None,
            slopes,
            sum: 0.0,
            changes,
            sum_of_changes: 0.0,
            line: None,
            delay: 0.0,
        }
    }

    fn mean_change(&self) -> f64 {
        self.sum_of_changes / self.changes.len().max(1) as f64
    }
}

/// Pushes into a ring of bounded length and keeps its sum. All are whole numbers: exact.
fn push(ring: &mut VecDeque<f64>, sum: &mut f64, value: f64) {
    ring.push_back(value);
    *sum += value;
    if ring.len() > SLOPES {
        *sum -= ring.pop_front().unwrap_or_default();
    }
}

impl Estimator for Fbclock {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some(reading) = shortest(readings) else {
            return;
        };
        let point = Point::middle(reading);
        if let Some(last) = self.last.replace(point) {
            let slope = (Line::through(&last, point, self.period).slope * BILLION).trunc();
            if let Some(before) = self.slopes.back() {
                push(
                    &mut self.changes,
                    &mut self.sum_of_changes,
                    (slope - before).abs(),
                );
            }
            push(&mut self.slopes, &mut self.sum, slope);
        }
        if self.slopes.is_empty() {
            return;
        }
        let mean = (self.sum / self.slopes.len() as f64).trunc() / BILLION;
        self.line = Some(Line {
            origin: point,
            offset: 0.0,
            slope: mean,
            period: self.period,
        });
        self.delay = delay(reading);
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let line = self.line.as_ref()?;
        let age = line.age(timestamp.ticks).abs();
        if age > OLDEST {
            return None;
        }
        let bound = self.delay + ALLOWANCE * self.mean_change() / BILLION * age;
        Some(Converted {
            bound: Some(bound),
            ..line.at(timestamp.ticks)
        })
    }
}
