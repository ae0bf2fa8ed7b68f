//! The picture: offsets and path delays over time. One clock has the height for itself; several stand below each other.

use super::course::{Course, Point};
use super::{Clock, Shown};
use crate::output::graph::{
    self, Area, Axis, Drawn, FIRST, FONT, INK, SECOND, Scale, THIRD, TITLE,
};
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, IntoDrawingArea as _, IntoFont as _, LineSeries, Polygon,
    Rectangle, SVGBackend, SeriesLabelPosition, WHITE,
};
use std::error::Error as StdError;
use std::f64::consts::LN_2;
use std::ops::Range;

const WIDTH: u32 = 1_200;
const HEIGHT: u32 = 760;
/// Of the title, and of each of several clocks.
const ABOVE: u32 = 40;
const EACH: u32 = 300;
/// The first ones of more are drawn.
const MOST_CLOCKS: usize = 8;
/// Room for the legend above the band, as a share of its height.
const LEGEND: f64 = 0.18;
/// The share of the height (of several clocks: the width) that the offsets have.
const OFFSETS_PERCENT: u32 = 68;
const TIME: &str = "time since the first sample (s)";

impl<'a> Shown<'a> {
    /// The clocks for which there is room.
    pub(super) fn drawn(&self) -> &[Clock<'a>] {
        &self.clocks[..self.clocks.len().min(MOST_CLOCKS)]
    }

    /// Says so if there is no room for all.
    pub(super) fn left_out(&self) -> String {
        match self.clocks.len() > MOST_CLOCKS {
            true => format!(" (The first {MOST_CLOCKS} with samples are drawn.)"),
            false => String::new(),
        }
    }

    pub(super) fn picture(&self) -> Result<String, Box<dyn StdError>> {
        let mut text = String::new();
        self.paint(&mut text)?;
        Ok(text)
    }

    fn paint(&self, text: &mut String) -> Drawn {
        let clocks = self.drawn();
        let height = match clocks.len() {
            0 | 1 => HEIGHT,
            several => ABOVE + EACH * several as u32,
        };
        let area = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let title = format!("{}{}", self.title, self.left_out());
        let below = area.titled(&title, (FONT, TITLE).into_font().color(&INK))?;
        match clocks {
            [one] => {
                let (above, below) = below.split_vertically(HEIGHT * OFFSETS_PERCENT / 100);
                one.offsets(&above, "")?;
                one.delays(&below)?;
            }
            several => {
                for (clock, row) in several.iter().zip(below.split_evenly((several.len(), 1))) {
                    let (left, right) = row.split_horizontally(WIDTH * OFFSETS_PERCENT / 100);
                    clock.offsets(&left, TIME)?;
                    clock.delays(&right)?;
                }
            }
        }
        area.present()?;
        Ok(())
    }
}

impl Clock<'_> {
    fn offsets(&self, area: &Area<'_>, x: &str) -> Drawn {
        let points = self.course.points();
        let scale = scale(points);
        let place = |nanoseconds: f64| scale.place(nanoseconds);
        let ends = points.iter().flat_map(|point| point.within).map(place);
        let range = graph::around(ends.chain([place(-10.0), place(10.0)]));
        let legend = (range.end - range.start) * LEGEND;
        let range = range.start..range.end + legend;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(28)
            .x_label_area_size(if x.is_empty() { 30 } else { 54 })
            .y_label_area_size(100)
            .build_cartesian_2d(seconds(self.course.end()), Axis::of_time(scale, range, 11))?;
        graph::mesh(&mut chart, x, &self.offset())?;
        let edge = |which: usize| {
            let line = points.iter();
            line.map(move |point| (point.at, place(point.within[which])))
        };
        let band: Vec<_> = edge(1).chain(edge(0).rev()).collect();
        chart
            .draw_series([Polygon::new(band, FIRST.mix(0.15))])?
            .label("within its error bound")
            .legend(|(x, y)| {
                Rectangle::new([(x, y - 6), (x + 20, y + 6)], FIRST.mix(0.3).filled())
            });
        for which in [0, 1] {
            chart.draw_series(LineSeries::new(edge(which), FIRST))?;
        }
        let dot = |point: &Point| Circle::new((point.at, place(point.offset)), 2, SECOND.filled());
        chart
            .draw_series(points.iter().map(dot))?
            .label("offset")
            .legend(|(x, y)| Circle::new((x + 10, y), 4, SECOND.filled()));
        graph::legend(&mut chart, SeriesLabelPosition::UpperRight)
    }

    fn delays(&self, area: &Area<'_>) -> Drawn {
        let points = self.course.points();
        let lowest = points.iter().map(|point| point.delay).fold(1.0, f64::min);
        let scale = Scale::of(lowest);
        let places = points.iter().map(|point| scale.place(point.delay));
        let range = match points.is_empty() {
            true => scale.place(1.0)..scale.place(1_000.0),
            false => wide(graph::around(places)),
        };
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(28)
            .x_label_area_size(54)
            .y_label_area_size(100)
            .build_cartesian_2d(seconds(self.course.end()), Axis::of_time(scale, range, 4))?;
        graph::mesh(&mut chart, TIME, self.delay)?;
        let line = points.iter();
        let line = line.map(|point| (point.at, scale.place(point.delay)));
        graph::line(&mut chart, self.delay, THIRD, line)
    }
}

impl Course {
    /// Where the axis of time ends.
    fn end(&self) -> f64 {
        self.points().last().map_or(1.0, |last| last.at).max(1.0)
    }
}

/// Linear up to half the usual distance of the band's edges from zero; wild ones stay visible.
fn scale(points: &[Point]) -> Scale {
    let mut reaches: Vec<_> = points
        .iter()
        .map(|point| point.within[0].abs().max(point.within[1].abs()))
        .collect();
    reaches.sort_by(f64::total_cmp);
    let usual = reaches.get(reaches.len() / 2).copied().unwrap_or(20.0);
    Scale::Signed((usual / 2.0).max(1.0))
}

/// A range of places that has round values: from a half to twice as much at least.
fn wide(range: Range<f64>) -> Range<f64> {
    let middle = range.start.midpoint(range.end);
    range.start.min(middle - LN_2)..range.end.max(middle + LN_2)
}

/// An axis of seconds.
fn seconds(end: f64) -> Axis {
    Axis::new(0.0..end, ticks_of(end), |tick| {
        format!("{}", (tick * 1e6).round() / 1e6)
    })
}

/// Round values up to the end.
fn ticks_of(end: f64) -> Vec<f64> {
    const MOST: f64 = 12.0;
    let rough = end / MOST;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let ticks = (0..).map(|number| f64::from(number) * step);
    ticks.take_while(|tick| *tick <= end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_hardly_varies_has_ticks_beside_it() {
        for delay in (1..4_000).map(f64::from) {
            let scale = Scale::of(delay);
            let range = wide(graph::around([scale.place(delay)].into_iter()));
            let ticks = scale.ticks(range.start, range.end, 4);
            assert!((2..=4).contains(&ticks.len()), "{delay}: {ticks:?}");
        }
    }

    #[test]
    fn seconds_have_some_ticks_and_not_many() {
        for end in [1.0, 1.5, 59.0, 60.0, 3_601.0, 3e9] {
            let ticks = ticks_of(end);
            assert!((5..=13).contains(&ticks.len()), "{end}: {ticks:?}");
            assert!(ticks.is_sorted() && ticks.iter().all(|tick| *tick <= end));
        }
    }
}
