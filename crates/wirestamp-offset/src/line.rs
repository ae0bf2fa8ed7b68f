//! The last differences of one direction: the slope through them, an estimate of the rate, and the fastest packet. The
//! bound is in `feasible`.

use std::collections::VecDeque;

/// The number of points to remember,
const POINTS: usize = 32;
/// and the number needed for a slope.
const FEWEST: usize = 4;

/// The last differences with their times, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    points: VecDeque<(i64, i64)>,
}

impl Line {
    pub(crate) fn push(&mut self, at: i64, difference: i64) {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back((at, difference));
    }

    /// The time of the oldest difference, once the memory is full.
    pub(crate) fn full_since(&self) -> Option<i64> {
        let (oldest, _) = self.points.front()?;
        (self.points.len() == POINTS).then_some(*oldest)
    }

    /// Keeps the points for which `keep` returns true, by their time and difference.
    pub(crate) fn retain(&mut self, keep: impl Fn(i64, i64) -> bool) {
        self.points
            .retain(|(at, difference)| keep(*at, *difference));
    }

    /// The smallest difference, each extrapolated to `at` by a rate; the newest if no rate is
    /// known.
    pub(crate) fn least(&self, at: i64, rate: Option<f64>) -> Option<i64> {
        self.moved(at, rate).min()
    }

    /// The largest difference, likewise.
    pub(crate) fn greatest(&self, at: i64, rate: Option<f64>) -> Option<i64> {
        self.moved(at, rate).max()
    }

    fn moved(&self, at: i64, rate: Option<f64>) -> impl Iterator<Item = i64> {
        let count = if rate.is_some() { POINTS } else { 1 };
        self.points
            .iter()
            .rev()
            .take(count)
            .map(move |(then, difference)| {
                let drift = rate.unwrap_or(0.0) * at.saturating_sub(*then) as f64;
                difference.saturating_add(drift.round() as i64)
            })
    }

    /// The slope below all points: that of the lower convex hull at the middle of their times. No
    /// packet is early, so any number of late ones does not tilt it (Moon, Skelly and Towsley,
    /// "Estimation and removal of clock skew", 1999).
    pub(crate) fn slope_below(&self) -> Option<f64> {
        self.hull_slope(1.0)
    }

    /// The same for the older and for the newer half: over a step both differ from the slope of all.
    pub(crate) fn slopes_below_halves(&self) -> Option<[f64; 2]> {
        let half = self.points.len() / 2;
        let [mut older, mut newer] = [Self::default(), Self::default()];
        older.points.extend(self.points.range(..half));
        newer.points.extend(self.points.range(half..));
        Some([older.slope_below()?, newer.slope_below()?])
    }

    /// The slope above all points, likewise.
    pub(crate) fn slope_above(&self) -> Option<f64> {
        self.hull_slope(-1.0).map(|slope| -slope)
    }

    /// The slope through the middle of the points, for errors on both sides: the median of the
    /// slopes from each point of the older half to its partner in the newer half (Theil and Sen, in
    /// halves).
    pub(crate) fn slope_amid(&self) -> Option<f64> {
        let half = self.points.len() / 2;
        if self.points.len() < FEWEST {
            return None;
        }
        let mut slopes = [0.0; POINTS / 2];
        let mut count = 0;
        for ((from_at, from), (to_at, to)) in self
            .points
            .iter()
            .zip(self.points.iter().skip(half))
            .take(half)
        {
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

    fn hull_slope(&self, side: f64) -> Option<f64> {
        let (first_at, first) = *self.points.front()?;
        if self.points.len() < FEWEST {
            return None;
        }
        let place = |(at, difference): &(i64, i64)| {
            (
                at.saturating_sub(first_at) as f64,
                side * difference.saturating_sub(first) as f64,
            )
        };
        let mut hull = [(0.0, 0.0); POINTS];
        let mut corners = 0;
        for point in self.points.iter().map(place) {
            while corners >= 2 && !turns_left(hull[corners - 2], hull[corners - 1], point) {
                corners -= 1;
            }
            hull[corners] = point;
            corners += 1;
        }
        let middle =
            self.points.iter().map(|point| place(point).0).sum::<f64>() / self.points.len() as f64;
        let mut edges = hull[..corners].windows(2);
        let ((from_at, from), (to_at, to)) =
            edges.find_map(|edge| (edge[1].0 > middle).then_some((edge[0], edge[1])))?;
        (to_at > from_at).then(|| (to - from) / (to_at - from_at))
    }
}

/// Whether the path from `a` through `b` to `c` turns left at `b`.
fn turns_left(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> bool {
    (b.0 - a.0) * (c.1 - a.1) > (b.1 - a.1) * (c.0 - a.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_packets_do_not_tilt_it() {
        let mut line = Line::default();
        let mut chance = 1u64;
        for eighth in 0..POINTS as i64 {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // seven of eight are late, by up to 100 µs, the more the older
            let late = if eighth % 8 == 3 {
                0
            } else {
                (chance >> 33) as i64 % 100_000 + 1_000 * (32 - eighth)
            };
            let at = eighth * 125_000_000;
            line.push(at, 7_000 * at / 1_000_000_000 + late);
        }
        let slope = line.slope_below().expect("known");
        assert!((slope - 7e-6).abs() < 1e-9, "{slope}");
        for (_, difference) in &mut line.points {
            *difference = -*difference;
        }
        let slope = line.slope_above().expect("known");
        assert!((slope + 7e-6).abs() < 1e-9, "{slope}");
    }

    #[test]
    fn finds_a_slope_from_four_points() {
        let mut line = Line::default();
        for second in 0..3i64 {
            line.push(second * 1_000_000_000, second * 5_000);
        }
        assert_eq!(line.slope_below(), None, "too few");
        line.push(3_000_000_000, 15_000);
        let near = |slope: Option<f64>, wanted: f64| {
            assert!((slope.expect("known") - wanted).abs() < 1e-9, "{slope:?}");
        };
        near(line.slope_below(), 5e-6);
        near(line.slope_above(), 5e-6);
        near(line.slope_amid(), 5e-6);
    }
}
