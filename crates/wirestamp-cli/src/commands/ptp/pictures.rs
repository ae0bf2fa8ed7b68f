//! The files of a run: `--plot` as SVG, `--html` as a report with plots that can be zoomed, `--histogram` as an interval log. They are opened before anything is measured, for the
//! sandbox opens none.

use super::course::{Course, Point};
use super::summary::{Summary, Tally};
use crate::arguments::Ptp;
use crate::output::graph::{self, Axis, Drawn, FIRST, FONT, INK, SECOND, Scale, THIRD, TITLE};
use crate::output::html::{self, Grid, Html, Kind, Plot, Style};
use crate::output::{Draft, Target, plural};
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, IntoDrawingArea as _, IntoFont as _, LineSeries, Polygon,
    Rectangle, SVGBackend, SeriesLabelPosition, WHITE,
};
use std::error::Error as StdError;
use std::f64::consts::LN_2;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use wirestamp::{Error, ErrorKind};

const SIZE: (u32, u32) = (1_200, 760);
/// Room for the legend above the band, as a share of its height.
const LEGEND: f64 = 0.18;
/// The share of the height that the offsets have.
const OFFSETS_PERCENT: u32 = 68;

type Draw = fn(&Shown<'_>) -> Result<String, Box<dyn StdError>>;

/// Files that can be written.
pub(super) struct Pictures(Vec<(Draft, String, Draw)>);

/// A run that is over.
struct Shown<'a> {
    interface: &'a str,
    course: &'a Course,
    tally: &'a Tally,
    summary: &'a Summary,
}

impl Pictures {
    pub(super) fn create(arguments: &Ptp) -> Result<Self, Error> {
        let wanted: [(&Option<PathBuf>, _, Draw); 3] = [
            (&arguments.plot, "write the plot", |shown| shown.picture()),
            (&arguments.html, "write the report", |shown| shown.html()),
            (&arguments.histogram, "write the histograms", |shown| {
                shown.tally.interval_log()
            }),
        ];
        let wanted = wanted.into_iter();
        let wanted =
            wanted.filter_map(|(path, operation, draw)| Some((path.as_deref()?, operation, draw)));
        let opened = wanted.map(|(path, operation, draw)| {
            let draft = Target::check(path, operation)?.start()?;
            Ok((draft, path.display().to_string(), draw))
        });
        opened.collect::<Result<_, Error>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where they take their places.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.0.iter().filter_map(|(draft, ..)| draft.folder());
        folders.map(Path::to_owned)
    }

    /// Writes each of them, whatever becomes of the others; returns the first error.
    pub(super) fn draw(
        self,
        interface: &str,
        course: &Course,
        tally: &Tally,
        summary: &Summary,
    ) -> Result<(), Error> {
        let shown = Shown {
            interface,
            course,
            tally,
            summary,
        };
        let write = |(mut draft, name, draw): (Draft, String, Draw)| {
            let text = draw(&shown)
                .map_err(|error| Error::new(ErrorKind::Io, "draw", name, error.to_string()))?;
            draft
                .write_all(text.as_bytes())
                .map_err(|error| draft.failed(&error))?;
            draft.finish()
        };
        let written: Vec<_> = self.0.into_iter().map(write).collect();
        written.into_iter().collect()
    }
}

impl Shown<'_> {
    fn title(&self) -> String {
        let samples = plural(self.summary.samples, "sample");
        format!("PTP at {}: {samples}", self.interface)
    }

    fn offset(&self) -> String {
        match self.course.from() {
            None => "this clock - the timeTransmitter's".to_owned(),
            Some(from) => format!("this clock - the timeTransmitter's - ({from})"),
        }
    }

    fn picture(&self) -> Result<String, Box<dyn StdError>> {
        let mut text = String::new();
        self.paint(&mut text)?;
        Ok(text)
    }

    fn paint(&self, text: &mut String) -> Drawn {
        let points = self.course.points();
        let end = points.last().map_or(1.0, |last| last.at).max(1.0);
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let area = area.titled(&self.title(), (FONT, TITLE).into_font().color(&INK))?;
        let (above, below) = area.split_vertically(SIZE.1 * OFFSETS_PERCENT / 100);
        self.offsets(&above, end)?;
        self.delays(&below, end)?;
        area.present()?;
        Ok(())
    }

    fn offsets(&self, area: &graph::Area<'_>, end: f64) -> Drawn {
        let points = self.course.points();
        let scale = self.scale();
        let place = |nanoseconds: f64| scale.place(nanoseconds);
        let ends = points.iter().flat_map(|point| point.within).map(place);
        let range = graph::around(ends.chain([place(-10.0), place(10.0)]));
        let legend = (range.end - range.start) * LEGEND;
        let range = range.start..range.end + legend;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(28)
            .x_label_area_size(30)
            .y_label_area_size(100)
            .build_cartesian_2d(seconds(end), Axis::of_time(scale, range, 11))?;
        graph::mesh(&mut chart, "", &self.offset())?;
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

    fn delays(&self, area: &graph::Area<'_>, end: f64) -> Drawn {
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
            .build_cartesian_2d(seconds(end), Axis::of_time(scale, range, 4))?;
        let x = "time since the first sample (s)";
        graph::mesh(&mut chart, x, "mean path delay")?;
        let line = points.iter();
        let line = line.map(|point| (point.at, scale.place(point.delay)));
        graph::line(&mut chart, "mean path delay", THIRD, line)
    }

    /// Linear up to half the usual distance of the band's edges from zero; wild ones stay visible.
    fn scale(&self) -> Scale {
        let points = self.course.points().iter();
        let mut reaches: Vec<_> = points
            .map(|point| point.within[0].abs().max(point.within[1].abs()))
            .collect();
        reaches.sort_by(f64::total_cmp);
        let usual = reaches.get(reaches.len() / 2).copied().unwrap_or(20.0);
        Scale::Signed((usual / 2.0).max(1.0))
    }

    fn html(&self) -> Result<String, Box<dyn StdError>> {
        let html = Html {
            title: self.title(),
            summary: "Offsets are those of this clock from the timeTransmitter's: positive if this one is ahead. The truth lies within the band."
                .to_owned(),
            tables: vec![Grid::of_values("The run", self.summary.values())],
            plots: vec![self.offsets_plot(), self.delays_plot()],
            picture: self.picture()?,
        };
        Ok(html.into_text()?)
    }

    fn offsets_plot(&self) -> Plot {
        self.plot(
            "Offset to the timeTransmitter, and its error bound",
            &self.offset(),
            vec![
                self.series(
                    "upper",
                    "the offset and its error bound",
                    Style::Band,
                    |point| point.within[1],
                ),
                self.series(
                    "lower",
                    "the offset less its error bound",
                    Style::Band,
                    |point| point.within[0],
                ),
                self.series(
                    "offset",
                    "this clock minus the timeTransmitter's",
                    Style::Points,
                    |point| point.offset,
                ),
            ],
        )
    }

    fn delays_plot(&self) -> Plot {
        let delays = self.series("path delay", "mean of both ways", Style::Line, |point| {
            point.delay
        });
        self.plot("Path delay", "path delay", vec![delays])
    }

    fn plot(&self, title: &str, y: &str, series: Vec<html::Series>) -> Plot {
        Plot {
            title: title.to_owned(),
            x: html::Axis {
                label: "time since the first sample".to_owned(),
                kind: Kind::Seconds,
            },
            y: html::Axis {
                label: y.to_owned(),
                kind: Kind::SignedNanoseconds,
            },
            at: self.course.points().iter().map(|point| point.at).collect(),
            series,
        }
    }

    fn series(
        &self,
        name: &str,
        meaning: &str,
        style: Style,
        value: fn(&Point) -> f64,
    ) -> html::Series {
        let values = self.course.points().iter();
        html::Series {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            style,
            values: values.map(|point| Some(value(point))).collect(),
        }
    }
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
