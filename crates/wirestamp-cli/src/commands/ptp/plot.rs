//! The picture of a simulated run: errors, and the bounds around them, over time.

use crate::failure::remedied;
use crate::output::Target;
use crate::output::graph::{FIRST, FONT, INK, SECOND, TEXT, TITLE, grid};
use plotters::prelude::{
    ChartBuilder, Circle, Color, IntoDrawingArea, IntoFont, LineSeries, PathElement, SVGBackend,
    SeriesLabelPosition, WHITE,
};
use std::error::Error as StdError;
use std::path::Path;
use wirestamp::{Error, ErrorKind, Span};
use wirestamp_ptp::simulate::{Outcome, Scenario};

const SIZE: (u32, u32) = (1200, 600);
/// The largest bounds, of the first moments, would hide everything else: so many in a hundred
/// are left out of the picture.
const SHOWN_PERCENT: usize = 98;

/// Writes an SVG file.
pub(super) fn draw(path: &Path, scenario: &Scenario, outcome: &Outcome) -> Result<(), Error> {
    let mut text = String::new();
    drawn(&mut text, scenario, outcome).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            "draw the simulation",
            path.display(),
            error.to_string(),
        )
    })?;
    let written =
        Target::check(path, "draw the simulation").and_then(|target| target.write(text.as_bytes()));
    written.map_err(|error| remedied(error, "choose a file that can be written"))
}

fn drawn<'a>(
    text: &'a mut String,
    scenario: &Scenario,
    outcome: &Outcome,
) -> Result<(), Box<dyn StdError + 'a>> {
    let mut bounds: Vec<i64> = outcome
        .points
        .iter()
        .map(|point| point.error_bound_ns)
        .collect();
    bounds.sort_unstable();
    let height = bounds
        .get(bounds.len() * SHOWN_PERCENT / 100)
        .copied()
        .unwrap_or(1)
        .max(1) as f64
        * 1.35; // room for the legend
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            format!(
                "{}: error of the offset, and its error bound",
                scenario.name
            ),
            (FONT, TITLE).into_font().color(&INK),
        )
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(96)
        .build_cartesian_2d(0.0..f64::from(scenario.seconds), -height..height)?;
    chart
        .configure_mesh()
        .x_desc("time since the start (s)")
        .y_desc("estimate - truth")
        .y_label_formatter(&|nanoseconds| {
            Span::from_nanoseconds(nanoseconds.round() as i128).to_string()
        })
        .label_style((FONT, TEXT).into_font().color(&INK))
        .bold_line_style(grid())
        .light_line_style(WHITE)
        .axis_style(INK)
        .draw()?;
    let seconds = |at_ns: i64| at_ns as f64 / 1e9;
    for sign in [-1.0, 1.0] {
        let points = outcome
            .points
            .iter()
            .map(|point| (seconds(point.at_ns), sign * point.error_bound_ns as f64));
        let visible = points.filter(|(_, bound)| bound.abs() <= height);
        let drawn = chart.draw_series(LineSeries::new(visible, FIRST))?;
        if sign > 0.0 {
            drawn
                .label("error bound, above and below")
                .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], FIRST));
        }
    }
    let errors = outcome
        .points
        .iter()
        .map(|point| (seconds(point.at_ns), point.error_ns as f64));
    let visible = errors.filter(|(_, error)| error.abs() <= height);
    chart
        .draw_series(visible.map(|point| Circle::new(point, 2, SECOND.filled())))?
        .label("error: the estimated offset minus the true one")
        .legend(|(x, y)| Circle::new((x + 8, y), 3, SECOND.filled()));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.9))
        .label_font((FONT, TEXT).into_font().color(&INK))
        .draw()?;
    root.present()?;
    Ok(())
}
