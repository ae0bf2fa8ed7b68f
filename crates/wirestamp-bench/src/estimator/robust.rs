//! Chrony's statistics: a running quantile, a line of least absolute deviations, and
//! the runs test. Knows no clocks.

use crate::world::{Draw, Stream};

/// Estimators whose median is the quantile.
const REPEATS: usize = 7;
/// Smallest step of a quantile, ns.
const STEP: f64 = 1.0;
/// Exactness of a slope.
const TOLERANCE: f64 = 1e-10;
/// A sequence of signs with so few runs comes by chance less often than this.
const SIGNIFICANCE: f64 = 0.05;

/// A quantile of a stream of numbers, tracked by random steps.
#[derive(Debug, Clone)]
pub(super) struct Quantile {
    share: f64,
    estimates: [f64; REPEATS],
    steps: [f64; REPEATS],
    started: bool,
    draw: Draw,
}

impl Quantile {
    pub(super) fn new(share: f64) -> Self {
        let draw = Draw::new(share.to_bits(), 0, Stream::Shape);
        Self {
            share,
            estimates: [0.0; REPEATS],
            steps: [STEP; REPEATS],
            started: false,
            draw,
        }
    }

    pub(super) fn push(&mut self, value: f64) {
        if !self.started {
            self.started = true;
            self.estimates = [value; REPEATS];
        }
        for (estimate, step) in self.estimates.iter_mut().zip(&mut self.steps) {
            let up = value > *estimate;
            let moves = self.draw.share() < if up { self.share } else { 1.0 - self.share };
            if !moves || (value - *estimate).abs() < STEP / 2.0 {
                continue;
            }
            let signed = if up { 1.0 } else { -1.0 };
            // the step grows while the quantile is chased in one direction, and never overshoots
            let grown = if step.signum() * signed > 0.0 {
                step.abs() * 1.5
            } else {
                STEP
            };
            let length = grown.clamp(STEP, (value - *estimate).abs().max(STEP));
            *step = signed * length;
            *estimate += *step;
        }
    }

    pub(super) fn value(&self) -> f64 {
        median(&mut self.estimates.clone())
    }
}

/// The line of least absolute deviations: value at x = 0, slope.
pub(super) fn robust_line(points: &[(f64, f64)]) -> (f64, f64) {
    let start = least_squares_slope(points);
    let tilt = |slope: f64| {
        let middle = intercept(points, slope);
        points
            .iter()
            .map(|(x, y)| x * sign(y - middle - slope * x))
            .sum::<f64>()
    };
    // the tilt falls as the slope grows; widen until it changes sign, then bisect
    let mut width = TOLERANCE.max(deviation(points, start));
    let (mut low, mut high) = (start - width, start + width);
    for _ in 0..60 {
        if tilt(low) >= 0.0 && tilt(high) <= 0.0 {
            break;
        }
        width *= 2.0;
        (low, high) = (start - width, start + width);
    }
    while high - low > TOLERANCE {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if tilt(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let slope = (low + high) / 2.0;
    (intercept(points, slope), slope)
}

/// Whether the residuals change sign so seldom that the line does not describe the points.
pub(super) fn too_few_runs(points: &[(f64, f64)], (offset, slope): (f64, f64)) -> bool {
    let signs: Vec<f64> = points
        .iter()
        .map(|(x, y)| sign(y - offset - slope * x))
        .filter(|s| *s != 0.0)
        .collect();
    let changes = signs
        .windows(2)
        .filter(|pair| pair[0] * pair[1] < 0.0)
        .count();
    let places = signs.len().saturating_sub(1) as i32;
    let mut likely = 0.0;
    let mut ways = 1.0;
    for k in 0..=changes as i32 {
        likely += ways;
        ways *= f64::from(places - k) / f64::from(k + 1);
    }
    likely * 0.5f64.powi(places) < SIGNIFICANCE
}

fn intercept(points: &[(f64, f64)], slope: f64) -> f64 {
    let mut rests: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    median(&mut rests)
}

fn least_squares_slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let sxy: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let sxx: f64 = points
        .iter()
        .map(|(x, _)| (x - mean_x) * (x - mean_x))
        .sum();
    if sxx > 0.0 { sxy / sxx } else { 0.0 }
}

/// A scale for how far the slope can be from that of least squares.
fn deviation(points: &[(f64, f64)], slope: f64) -> f64 {
    let offset = intercept(points, slope);
    let error = points
        .iter()
        .map(|(x, y)| (y - offset - slope * x).abs())
        .sum::<f64>()
        / points.len() as f64;
    let length = points.iter().map(|(x, _)| x.abs()).fold(0.0, f64::max);
    if length > 0.0 {
        3.0 * error / length
    } else {
        0.0
    }
}

fn sign(value: f64) -> f64 {
    if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        0.0
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_found() {
        let mut draw = Draw::new(7, 0, Stream::Readings);
        let mut quantile = Quantile::new(0.2);
        for _ in 0..20_000 {
            quantile.push(1_000.0 + 100.0 * draw.share());
        }
        assert!(
            (quantile.value() - 1_020.0).abs() < 8.0,
            "{}",
            quantile.value()
        );
    }

    #[test]
    fn an_outlier_does_not_move_the_robust_line() {
        let mut points: Vec<(f64, f64)> = (0..16)
            .map(|n| (f64::from(n), 3.0 + 0.5 * f64::from(n)))
            .collect();
        points[5].1 += 1e6;
        let (offset, slope) = robust_line(&points);
        assert!(
            (offset - 3.0).abs() < 1e-6 && (slope - 0.5).abs() < 1e-8,
            "{offset} {slope}"
        );
    }

    #[test]
    fn a_bend_has_too_few_runs_and_noise_has_enough() {
        let bend: Vec<(f64, f64)> = (-8..8).map(|n| (f64::from(n), f64::from(n * n))).collect();
        assert!(too_few_runs(&bend, robust_line(&bend)));
        let noise: Vec<(f64, f64)> = (0..16)
            .map(|n| (f64::from(n), f64::from(n * 7 % 5 - 2)))
            .collect();
        assert!(!too_few_runs(&noise, robust_line(&noise)));
    }
}
