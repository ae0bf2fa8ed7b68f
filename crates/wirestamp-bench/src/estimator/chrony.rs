//! Chrony's way with a PHC: readings chosen by the quantiles of their delay and
//! averaged, a robust line over at most 16 points, shortened by the runs test, and its reset
//! rules. The bound is that of the last sample and does not age. Left out: the adjustment
//! when chrony itself steers the system clock.

use super::line::{Line, Point, delay, shortest};
use super::robust::{Quantile, robust_line, too_few_runs};
use super::{Converted, Estimator};
use std::collections::VecDeque;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

const POINTS: usize = 16;
/// Fewest points that the runs test may leave.
const LEAST: usize = 3;
const LOW: f64 = 0.1;
const HIGH: f64 = 0.2;
/// ns on either side of the quantiles.
const MARGIN: f64 = 0.5;
/// The default `precision` of a hardware clock, ns.
const PRECISION: f64 = 100.0;
const WORST_FREQUENCY: f64 = 2.0 / 3.0;

pub(super) struct Chrony {
    period: f64,
    quantum: f64,
    least_spacing: f64,
    low: Quantile,
    high: Quantile,
    points: VecDeque<Point>,
    line: Option<Line>,
    error: f64,
}

impl Chrony {
    pub(super) fn new(period: f64, quantum: i64, polling: f64) -> Self {
        Self {
            period,
            quantum: quantum as f64,
            least_spacing: polling / 2.0 * 1e9,
            low: Quantile::new(LOW),
            high: Quantile::new(HIGH),
            points: VecDeque::with_capacity(POINTS + 1),
            line: None,
            error: 0.0,
        }
    }

    /// One sample of a batch: the point and its error.
    fn sample(&mut self, readings: &[CrossTimestamp]) -> Option<(Point, f64)> {
        for reading in readings {
            self.low.push(delay(reading));
            self.high.push(delay(reading));
        }
        let low = self.low.value() - MARGIN;
        let high = (self.high.value() + MARGIN).max(low + self.quantum);
        let chosen = || {
            readings
                .iter()
                .filter(|reading| (low..=high).contains(&delay(reading)))
        };
        if let Some(first) = chosen().next() {
            return Some(self.mean(chosen(), first));
        }
        // none is as short as usual: the best one counts only if the line can't be right
        let best = shortest(readings)?;
        let point = Point::middle(best);
        let half = delay(best) / 2.0;
        let fits = self
            .line
            .is_some_and(|line| line.residual(&point).abs() <= half);
        (!fits).then_some((point, half.max(PRECISION)))
    }

    fn mean<'a>(
        &self,
        chosen: impl Iterator<Item = &'a CrossTimestamp>,
        first: &CrossTimestamp,
    ) -> (Point, f64) {
        let origin = Point::middle(first);
        let (mut n, mut ticks, mut system, mut delays) = (0.0, 0.0, 0.0, 0.0);
        for reading in chosen {
            let (x, y) = Point::middle(reading).since(&origin, self.period);
            (n, ticks, system, delays) = (
                n + 1.0,
                ticks + x / self.period,
                system + x + y,
                delays + delay(reading),
            );
        }
        let system_fraction = origin.system_fraction + system / n;
        let point = Point {
            tick_fraction: ticks / n,
            system_fraction,
            ..origin
        };
        (point, (delays / n / 2.0).max(PRECISION))
    }

    fn restart(&mut self) {
        self.points.clear();
        self.line = None;
    }

    /// Points relative to the newest one.
    fn relative(&self, newest: &Point) -> Vec<(f64, f64)> {
        self.points
            .iter()
            .map(|point| point.since(newest, self.period))
            .collect()
    }
}

impl Estimator for Chrony {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some((point, error)) = self.sample(readings) else {
            return;
        };
        if let Some(last) = self.points.back() {
            let (x, y) = point.since(last, self.period);
            if x <= 0.0 || x + y < self.least_spacing {
                self.restart();
            }
        }
        self.points.push_back(point);
        self.error = error;
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
        if self.points.len() < 2 {
            return;
        }
        let mut relative = self.relative(&point);
        let mut line = robust_line(&relative);
        while relative.len() > LEAST && too_few_runs(&relative, line) {
            self.points.pop_front();
            relative.remove(0);
            line = robust_line(&relative);
        }
        let (offset, slope) = line;
        if offset.abs() > error || slope.abs() > WORST_FREQUENCY {
            self.restart();
            return;
        }
        self.line = Some(Line {
            origin: point,
            offset,
            slope,
            period: self.period,
        });
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let line = self.line.as_ref()?;
        Some(Converted {
            bound: Some(self.error),
            ..line.at(timestamp.ticks)
        })
    }
}
