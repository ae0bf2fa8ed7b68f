//! The picture of a simulated run: errors, and the bounds around them, over time.

use crate::output::Target;
use plotters::prelude::{
    BLACK, BLUE, ChartBuilder, Circle, Color, IntoDrawingArea, RGBColor, SVGBackend, WHITE,
};
use std::error::Error as StdError;
use std::path::Path;
use wirestamp::{Error, ErrorKind};
use wirestamp_ptp::simulate::{Outcome, Scenario};

const SIZE: (u32, u32) = (960, 480);
const BOUND: RGBColor = RGBColor(210, 140, 40);
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
    written.map_err(|error| error.with_remedy("choose a file that can be written"))
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
        * 1.1;
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            format!("{}: error and bound", scenario.name),
            ("sans-serif", 20),
        )
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..f64::from(scenario.seconds), -height..height)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("nanoseconds")
        .axis_style(BLACK)
        .draw()?;
    let seconds = |at_ns: i64| at_ns as f64 / 1e9;
    for sign in [-1.0, 1.0] {
        let points = outcome
            .points
            .iter()
            .map(|point| (seconds(point.at_ns), sign * point.error_bound_ns as f64));
        let visible = points.filter(|(_, bound)| bound.abs() <= height);
        chart.draw_series(visible.map(|point| Circle::new(point, 1, BOUND.filled())))?;
    }
    let errors = outcome
        .points
        .iter()
        .map(|point| (seconds(point.at_ns), point.error_ns as f64));
    let visible = errors.filter(|(_, error)| error.abs() <= height);
    chart.draw_series(visible.map(|point| Circle::new(point, 2, BLUE.filled())))?;
    root.present()?;
    Ok(())
}
