//! The picture of `convert --plot` and `cross --plot`: how far each reading lay from the estimate that the earlier ones
//! gave, and the bound of that estimate, over time. Knows no truth: a reading says no more than its bracket.

use crate::output::graph::{
    Axis, Drawn, FIRST, FONT, INK, SECOND, Scale, TEXT, THIRD, TITLE, grid,
};
use crate::output::html::{self, Kind, Style};
use crate::output::thinned::{self, Thinned};
use plotters::prelude::{
    AreaSeries, ChartBuilder, Circle, Color as _, IntoDrawingArea, IntoFont as _, LineSeries,
    PathElement, Rectangle, SVGBackend, SeriesLabelPosition, ShapeStyle, WHITE,
};
use std::error::Error as StdError;
use wirestamp::correlator::Correlation;
use wirestamp::{CrossTimestamp, MonotonicTime};

const SIZE: (u32, u32) = (1_200, 600);

/// The comparisons so far: of each slice of readings the one with the largest residual.
#[derive(Debug, Default)]
pub(super) struct Plot {
    points: Thinned<Point>,
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
        self.points.add(Point {
            at: middle.nanoseconds().saturating_sub(start) as f64 / 1e9,
            residual: residual as f64 / 1e3,
            half: reading
                .bracket()
                .map_or(0.0, |width| width.nanoseconds() as f64 / 2.0),
            bound: estimate.bound_picoseconds as f64 / 1e3,
        });
    }

    /// The picture: points above and below the middle, on a scale that shows small ones beside wild ones. `generations`: the
    /// first instant of each clock generation.
    pub(super) fn picture(
        &self,
        generations: &[MonotonicTime],
    ) -> Result<String, Box<dyn StdError>> {
        let mut text = String::new();
        self.paint(&mut text, generations)?;
        Ok(text)
    }

    fn paint(&self, text: &mut String, generations: &[MonotonicTime]) -> Drawn {
        let points = &self.points[..];
        let end = points.last().map_or(1.0, |last| last.at).max(1e-3);
        let scale = self.scale();
        let place = |nanoseconds: f64| scale.place(nanoseconds);
        let reach = points.iter().map(Point::reach).fold(10.0, f64::max);
        let height = place(reach) * 1.12;
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                "Readings against the estimate made before them",
                (FONT, TITLE).into_font().color(&INK),
            )
            .margin(12)
            .margin_right(28)
            .x_label_area_size(54)
            .y_label_area_size(100)
            .build_cartesian_2d(0.0..end, Axis::of_time(scale, -height..height * 1.4, 11))?;
        chart
            .configure_mesh()
            .x_labels(10)
            .light_line_style(WHITE.mix(0.0))
            .bold_line_style(grid())
            .axis_style(INK)
            .label_style((FONT, TEXT).into_font().color(&INK))
            .x_desc("time since the first reading (s)")
            .y_desc("reading - estimate")
            .draw()?;
        let band = |sign: f64| {
            points
                .iter()
                .map(move |point| (point.at, place(sign * point.bound)))
        };
        for sign in [1.0, -1.0] {
            chart.draw_series(AreaSeries::new(band(sign), 0.0, FIRST.mix(0.15)))?;
            let line = chart.draw_series(LineSeries::new(band(sign), FIRST))?;
            if sign > 0.0 {
                line.label("error bound of the estimate").legend(|(x, y)| {
                    Rectangle::new([(x, y - 6), (x + 20, y + 6)], FIRST.mix(0.3).filled())
                });
            }
        }
        let bar = |point: &Point| {
            let ends =
                [-point.half, point.half].map(|half| (point.at, place(point.residual + half)));
            PathElement::new(ends.to_vec(), SECOND.mix(0.35))
        };
        chart
            .draw_series(points.iter().map(bar))?
            .label("how far the clocks' readings were apart")
            .legend(|(x, y)| {
                PathElement::new(vec![(x, y), (x + 20, y)], SECOND.mix(0.5).stroke_width(2))
            });
        let dot = |point: &Point| {
            let style = ShapeStyle::from(&SECOND).filled();
            Circle::new((point.at, place(point.residual)), 2, style)
        };
        chart
            .draw_series(points.iter().map(dot))?
            .label("reading (its middle)")
            .legend(|(x, y)| Circle::new((x + 10, y), 4, SECOND.filled()));
        let start = self.start.unwrap_or(0);
        let opened = generations.iter().skip(1).map(|first| {
            let at = first.nanoseconds().saturating_sub(start) as f64 / 1e9;
            PathElement::new(vec![(at, -height), (at, height)], THIRD.stroke_width(2))
        });
        let lines = chart.draw_series(opened)?;
        if generations.len() > 1 {
            lines.label("new clock generation").legend(|(x, y)| {
                PathElement::new(
                    vec![(x + 10, y - 8), (x + 10, y + 8)],
                    THIRD.stroke_width(2),
                )
            });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .label_font((FONT, TEXT).into_font().color(&INK))
            .draw()?;
        area.present()?;
        drop(chart);
        Ok(())
    }

    /// Linear up to half the usual bound: bound and readings within it fill most of the height, wild readings stay visible.
    fn scale(&self) -> Scale {
        let mut bounds: Vec<f64> = self.points.iter().map(|point| point.bound).collect();
        bounds.sort_by(f64::total_cmp);
        let usual = bounds.get(bounds.len() / 2).copied().unwrap_or(10.0);
        Scale::Signed((usual / 2.0).max(1.0))
    }

    /// The same for a report in which it can be zoomed.
    pub(super) fn interactive(&self) -> html::Plot {
        let series = |name: &str, meaning: &str, style, value: fn(&Point) -> f64| html::Series {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            style,
            values: self.points.iter().map(|point| Some(value(point))).collect(),
        };
        html::Plot {
            title: "Readings against the estimate made before them".to_owned(),
            x: html::Axis {
                label: "time since the first reading".to_owned(),
                kind: Kind::Seconds,
            },
            y: html::Axis {
                label: "reading - estimate".to_owned(),
                kind: Kind::SignedNanoseconds,
            },
            at: self.points.iter().map(|point| point.at).collect(),
            series: vec![
                series(
                    "bound",
                    "the estimate's error bound above it",
                    Style::Band,
                    |point| point.bound,
                ),
                series("-bound", "and below it", Style::Band, |point| -point.bound),
                series(
                    "reading",
                    "the middle of the reading, minus what the earlier readings let expect",
                    Style::Points,
                    |point| point.residual,
                ),
            ],
        }
    }
}

impl Point {
    /// How far from the middle anything of it is.
    fn reach(&self) -> f64 {
        self.bound.max(self.residual.abs() + self.half)
    }
}

impl thinned::Point for Point {
    /// The one with the larger residual.
    fn and(self, next: Self) -> Self {
        if next.residual.abs() >= self.residual.abs() {
            next
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::thinned::MOST;

    #[test]
    fn any_number_of_points_is_thinned_and_the_widest_stay() {
        for count in [10, MOST, MOST + 1, 1_000_000] {
            let mut plot = Plot::default();
            for number in 0..count {
                let residual = if number == count / 3 {
                    -1e9
                } else {
                    (number % 1_000) as f64
                };
                plot.points.add(Point {
                    at: number as f64,
                    residual,
                    half: 0.0,
                    bound: 0.0,
                });
            }
            assert!(
                plot.points.len() <= MOST && plot.points.len() >= count.min(MOST / 2),
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
