//! The specification's plain regression: the last 60 readings, one a second at most,
//! counter against the second system time. Gives no bound.

use super::line::{Line, Point};
use super::{Converted, Estimator};
use std::collections::VecDeque;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

const POINTS: usize = 60;
/// Closest spacing of the readings used, ns; a little less than a second for a late poll.
const SPACING: i128 = 950_000_000;

pub(super) struct Plain {
    period: f64,
    points: VecDeque<Point>,
    line: Option<Line>,
}

impl Plain {
    pub(super) fn new(period: f64) -> Self {
        Self {
            period,
            points: VecDeque::with_capacity(POINTS + 1),
            line: None,
        }
    }
}

impl Estimator for Plain {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some(point) = readings.first().map(Point::after) else {
            return;
        };
        if self
            .points
            .back()
            .is_some_and(|last| (point.system - last.system).nanoseconds() < SPACING)
        {
            return;
        }
        self.points.push_back(point);
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
        if self.points.len() > 1 {
            self.line = Some(Line::least_squares(self.points.iter(), point, self.period));
        }
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        self.line.map(|line| line.at(timestamp.ticks))
    }
}
