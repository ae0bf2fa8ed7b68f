//! Owns the last differences of one direction: the slope through them, which is the best guess
//! of the rate, and the fastest of them. Has no bound.

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

    /// The local clock's rate was changed at `now`: what the points would have been.
    pub(super) fn adjusted(&mut self, now: i64, rate: f64) {
        for (at, difference) in &mut self.points {
            let shift = rate * at.saturating_sub(now) as f64;
            *difference = difference.saturating_add(shift.round() as i64);
        }
    }

    /// The least of them, each moved to `at` by a rate; the newest if no rate is known.
    pub(super) fn least(&self, at: i64, rate: Option<f64>) -> Option<i64> {
        self.moved(at, rate).min()
    }

    /// The greatest of them, likewise.
    pub(super) fn greatest(&self, at: i64, rate: Option<f64>) -> Option<i64> {
        self.moved(at, rate).max()
    }

    fn moved(&self, at: i64, rate: Option<f64>) -> impl Iterator<Item = i64> {
        let count = if rate.is_some() { POINTS } else { 1 };
        self.points.iter().rev().take(count).map(move |(then, difference)| {
            let drift = rate.unwrap_or(0.0) * at.saturating_sub(*then) as f64;
            difference.saturating_add(drift.round() as i64)
        })
    }

    /// The median of the slopes from each point of the older half to its partner in the newer
    /// one (Theil and Sen, in halves): late packets do not tilt it.
    pub(super) fn slope(&self) -> Option<f64> {
        let half = self.points.len() / 2;
        if self.points.len() < FEWEST {
            return None;
        }
        let mut slopes = [0.0; POINTS / 2];
        let mut count = 0;
        for ((from_at, from), (to_at, to)) in self.points.iter().zip(self.points.iter().skip(half)).take(half) {
            let elapsed = to_at.saturating_sub(*from_at);
            if elapsed > 0 {
                slopes[count] = to.saturating_sub(*from) as f64 / elapsed as f64;
                count += 1;
            }
        }
        let slopes = &mut slopes[..count];
        slopes.sort_unstable_by(f64::total_cmp);
        let upper = *slopes.get(count / 2)?;
        let lower = *slopes.get(count.saturating_sub(1) / 2)?;
        Some(f64::midpoint(lower, upper))
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
        line.adjusted(3_000_000_000, 2e-6);
        near(line.slope(), 7e-6);
        line.push(4_000_000_000, 15_000 + 7_000);
        near(line.slope(), 7e-6);
    }
}
