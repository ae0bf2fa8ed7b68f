//! The simplest method that has a bound: the shortest reading of each batch, the slope
//! between the last two, half the last bracket as bound.

use super::line::{Line, Point, delay, shortest};
use super::{Converted, Estimator};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

pub(super) struct Shortest {
    period: f64,
    last: Option<Point>,
    line: Option<Line>,
    bound: f64,
}

impl Shortest {
    pub(super) fn new(period: f64) -> Self {
        Self {
            period,
            last: None,
            line: None,
            bound: 0.0,
        }
    }
}

impl Estimator for Shortest {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some(reading) = shortest(readings) else {
            return;
        };
        let point = Point::middle(reading);
        self.bound = delay(reading) / 2.0;
        self.line = self
            .last
            .map(|last| Line::through(&last, point, self.period));
        self.last = Some(point);
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let line = self.line.as_ref()?;
        Some(Converted {
            bound: Some(self.bound),
            ..line.at(timestamp.ticks)
        })
    }
}
