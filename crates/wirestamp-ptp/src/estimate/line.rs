//! Owns the slope through the last Syncs: the best guess of the rate. Has no bound.

use std::collections::VecDeque;

/// So many points are remembered,
const POINTS: usize = 32;
/// and so many are needed.
const FEWEST: usize = 4;

/// The last differences and when they were taken, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Line {
    points: VecDeque<(i64, i64)>,
}

impl Line {
    pub(super) fn push(&mut self, at: i64, difference: i64) {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back((at, difference));
    }

    /// The local clock was stepped, or its rate changed, at the newest point: what older
    /// points would have been.
    pub(super) fn adjusted(&mut self, step: i64, rate: f64) {
        let Some((newest, _)) = self.points.back().copied() else { return };
        for (at, difference) in &mut self.points {
            let earlier = (*at - newest) as f64;
            *difference = difference.saturating_add(step).saturating_add((rate * earlier).round() as i64);
            *at = at.saturating_add(step);
        }
    }

    /// Least squares over differences from the first point.
    pub(super) fn slope(&self) -> Option<f64> {
        let (first_at, first) = *self.points.front()?;
        if self.points.len() < FEWEST {
            return None;
        }
        let relative = || {
            self.points
                .iter()
                .map(|(at, difference)| (at.saturating_sub(first_at) as f64, difference.saturating_sub(first) as f64))
        };
        let count = self.points.len() as f64;
        let (sum_x, sum_y) = relative().fold((0.0, 0.0), |(x, y), (at, difference)| (x + at, y + difference));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (mut xx, mut xy) = (0.0, 0.0);
        for (x, y) in relative() {
            xx += (x - mean_x) * (x - mean_x);
            xy += (x - mean_x) * (y - mean_y);
        }
        (xx > 0.0).then(|| xy / xx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_slope_and_keeps_it_over_our_own_changes() {
        let mut line = Line::default();
        for second in 0..3i64 {
            line.push(second * 1_000_000_000, second * 5_000);
        }
        assert_eq!(line.slope(), None, "too few");
        line.push(3_000_000_000, 15_000);
        let near =
            |slope: Option<f64>, wanted: f64| assert!((slope.expect("known") - wanted).abs() < 1e-9, "{slope:?}");
        near(line.slope(), 5e-6);
        line.adjusted(-1_000, 2e-6);
        near(line.slope(), 7e-6);
        line.push(4_000_000_000 - 1_000, 14_000 + 7_000);
        near(line.slope(), 7e-6);
    }
}
