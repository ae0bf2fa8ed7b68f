//! The picture of `convert --plot`: how far each reading lay from the estimate made just
//! before it was taken in, and the bound of that estimate, over time. Knows no truth: a reading
//! says no more than its bracket.

use crate::output::Target;
use plotters::prelude::{
    AreaSeries, BLACK, ChartBuilder, Circle, Color as _, IntoDrawingArea, LineSeries, PathElement,
    RGBColor, SVGBackend, ShapeStyle, Text, WHITE,
};
use std::error::Error as StdError;
use wirestamp::events::Summary;
use wirestamp::{Correlation, CrossTimestamp, Error, ErrorKind};

const SIZE: (u32, u32) = (1_200, 600);
/// At most so many points are drawn, and at least half as many where there are so many readings: of
/// each slice of readings the one with the largest residual.
const SLICES: usize = 3_000;
const BOUND: RGBColor = RGBColor(70, 130, 180);
const READING: RGBColor = RGBColor(200, 80, 30);
const GENERATION: RGBColor = RGBColor(120, 0, 120);

/// The comparisons so far.
#[derive(Debug)]
pub(super) struct Plot {
    points: Vec<Point>,
    /// Each point stands for so many readings, but for the last one, which may still grow.
    size: usize,
    /// How many readings the last point stands for.
    filled: usize,
    /// The system time of the first reading.
    start: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    /// Seconds since the first reading.
    at: f64,
    /// Middle of the bracket minus the estimate, ns.
    residual: f64,
    /// Half the bracket, ns.
    half: f64,
    /// Of the estimate, ns.
    bound: f64,
}

impl Default for Plot {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            size: 1,
            filled: 0,
            start: None,
        }
    }
}

impl Plot {
    /// Compares a reading with what the earlier ones say of it.
    pub(super) fn compare(&mut self, correlation: &Correlation, reading: &CrossTimestamp) {
        let middle = reading.middle();
        let start = *self.start.get_or_insert(middle.nanoseconds());
        let Ok(estimate) =
            correlation.to_monotonic_fine(&correlation.timestamp_just_read(reading.hardware()))
        else {
            return;
        };
        let residual = i128::from(middle.nanoseconds()) * 1_000 - estimate.total_picoseconds();
        self.add(Point {
            at: middle.nanoseconds().saturating_sub(start) as f64 / 1e9,
            residual: residual as f64 / 1e3,
            half: reading
                .bracket()
                .map_or(0.0, |width| width.nanoseconds() as f64 / 2.0),
            bound: estimate.bound_picoseconds as f64 / 1e3,
        });
    }

    /// Takes a point in; once there are too many, each two become one.
    fn add(&mut self, point: Point) {
        match self.points.last_mut() {
            Some(last) if self.filled < self.size => *last = last.wider(point),
            _ => {
                if self.points.len() == SLICES {
                    self.points = self
                        .points
                        .chunks(2)
                        .map(|two| two[0].wider(two[1]))
                        .collect();
                    self.size *= 2;
                }
                self.points.push(point);
                self.filled = 0;
            }
        }
        self.filled += 1;
    }

    /// Writes the picture.
    pub(super) fn draw(&self, target: Target, summary: &Summary) -> Result<(), Error> {
        let mut text = String::new();
        self.paint(&mut text, summary).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "draw the plot",
                target.name(),
                error.to_string(),
            )
        })?;
        target.write(text.as_bytes())
    }

    fn paint(&self, text: &mut String, summary: &Summary) -> Result<(), Box<dyn StdError + '_>> {
        let points = &self.points;
        let end = points.last().map_or(1.0, |last| last.at).max(1e-3);
        let height = height(points);
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                "readings (with half their bracket each way) against the estimate made before them, and its bound",
                ("sans-serif", 18),
            )
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(80)
            .build_cartesian_2d(0.0..end, -height..height)?;
        chart
            .configure_mesh()
            .x_desc("seconds")
            .y_desc("nanoseconds")
            .light_line_style(WHITE)
            .draw()?;
        let band = |sign: f64| {
            points
                .iter()
                .map(move |point| (point.at, (sign * point.bound).clamp(-height, height)))
        };
        for sign in [1.0, -1.0] {
            chart.draw_series(AreaSeries::new(band(sign), 0.0, BOUND.mix(0.15)))?;
            chart.draw_series(LineSeries::new(band(sign), BOUND))?;
        }
        let bar = |point: &Point| {
            let ends = [-point.half, point.half]
                .map(|half| (point.at, (point.residual + half).clamp(-height, height)));
            PathElement::new(ends.to_vec(), READING.mix(0.4))
        };
        chart.draw_series(points.iter().map(bar))?;
        let dot = |point: &Point| {
            Circle::new(
                (point.at, point.residual.clamp(-height, height)),
                1,
                ShapeStyle::from(&READING).filled(),
            )
        };
        chart.draw_series(points.iter().map(dot))?;
        let start = self.start.unwrap_or(0);
        for generation in summary.generations.iter().skip(1) {
            let at = generation.first.nanoseconds().saturating_sub(start) as f64 / 1e9;
            let line = PathElement::new(
                vec![(at, -height), (at, height)],
                GENERATION.stroke_width(1),
            );
            chart.draw_series([line])?;
            chart.draw_series([Text::new(
                generation.cause.name(),
                (at, height * 0.97),
                ("sans-serif", 12),
            )])?;
        }
        chart.draw_series([PathElement::new(
            vec![(0.0, 0.0), (end, 0.0)],
            BLACK.mix(0.5),
        )])?;
        area.present()?;
        drop(chart);
        Ok(())
    }
}

impl Point {
    /// Of two points the one with the larger residual.
    fn wider(self, other: Self) -> Self {
        if other.residual.abs() >= self.residual.abs() {
            other
        } else {
            self
        }
    }
}

/// Such that most bounds and residuals can be told apart: a single wild one is cut.
fn height(points: &[Point]) -> f64 {
    let mut reaches: Vec<f64> = points
        .iter()
        .map(|point| point.bound.max(point.residual.abs()))
        .collect();
    reaches.sort_by(f64::total_cmp);
    let most = reaches
        .get(reaches.len() * 90 / 100)
        .copied()
        .unwrap_or(1_000.0);
    (most * 1.5).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_points_is_thinned_and_the_widest_stay() {
        for count in [10, SLICES, SLICES + 1, 1_000_000] {
            let mut plot = Plot::default();
            for number in 0..count {
                let residual = if number == count / 3 {
                    -1e9
                } else {
                    (number % 1_000) as f64
                };
                plot.add(Point {
                    at: number as f64,
                    residual,
                    half: 0.0,
                    bound: 0.0,
                });
            }
            assert!(
                plot.points.len() <= SLICES && plot.points.len() >= count.min(SLICES / 2),
                "{count}"
            );
            assert!(
                plot.points.is_sorted_by(|one, next| one.at < next.at),
                "{count}"
            );
            assert_eq!(
                plot.points
                    .iter()
                    .filter(|point| point.residual < 0.0)
                    .count(),
                1,
                "{count}"
            );
        }
    }
}
