//! The picture of the table: our cost beside each peer's, and what we want it to be.

use super::report::Row;
use plotters::prelude::{
    BLACK, ChartBuilder, Color as _, IntoDrawingArea, PathElement, RGBColor, Rectangle, SVGBackend,
    Text, WHITE,
};
use std::error::Error;

const WIDTH: u32 = 1_200;
const ROW: u32 = 22;
/// Ratios beyond are cut off, and their figure tells.
const WIDEST: f64 = 1.6;
/// Where the bars begin: left of it are the names.
const NAMES: f64 = 2.0;
const MET: RGBColor = RGBColor(60, 140, 90);
const MISSED: RGBColor = RGBColor(200, 110, 40);
const OTHER: RGBColor = RGBColor(130, 150, 170);

/// A bar for every peer: as long as ours takes over what the peer takes. A line at 1, and a mark at
/// each goal.
pub(crate) fn chart(rows: &[Row], machine: &str) -> Result<String, Box<dyn Error>> {
    let bars: Vec<(&Row, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, row.ratio?[0])))
        .collect();
    let mut text = String::new();
    let height = ROW * (bars.len() as u32 + 4);
    paint(&mut text, height, &bars, machine).map_err(|error| error.to_string())?;
    Ok(text)
}

fn paint(
    text: &mut String,
    height: u32,
    bars: &[(&Row, f64)],
    machine: &str,
) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    let count = bars.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption(
            format!("wirestamp's time over each peer's; {machine}"),
            ("sans-serif", 15),
        )
        .margin(8)
        .build_cartesian_2d(-NAMES..WIDEST, count..0.0)
        .map_err(|error| failed(&error))?;
    for (place, (row, ratio)) in bars.iter().enumerate() {
        let (top, end) = (place as f64, ratio.min(WIDEST));
        let colour = match row.goal {
            Some(goal) if *ratio <= goal => MET,
            Some(_) => MISSED,
            None => OTHER,
        };
        let bar = Rectangle::new([(0.0, top + 0.15), (end, top + 0.85)], colour.filled());
        chart.draw_series([bar]).map_err(|error| failed(&error))?;
        let name = format!("{} / {}", row.path, row.case);
        let words = [
            Text::new(name, (-NAMES, top + 0.25), ("sans-serif", 12)),
            Text::new(
                format!("{ratio:.2}"),
                (end.min(WIDEST - 0.12) + 0.01, top + 0.25),
                ("sans-serif", 12),
            ),
        ];
        chart.draw_series(words).map_err(|error| failed(&error))?;
        let mark = row
            .goal
            .map(|goal| PathElement::new([(goal, top), (goal, top + 1.0)], BLACK.stroke_width(2)));
        chart.draw_series(mark).map_err(|error| failed(&error))?;
    }
    let even = PathElement::new([(1.0, 0.0), (1.0, count)], BLACK.mix(0.4));
    chart.draw_series([even]).map_err(|error| failed(&error))?;
    area.present().map_err(|error| failed(&error))?;
    Ok(())
}
