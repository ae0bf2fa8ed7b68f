//! The picture of the table: our time beside each peer's, and the target.

use super::report::Row;
use plotters::coord::Shift;
use plotters::prelude::{
    ChartBuilder, Color as _, DrawingArea, IntoDrawingArea, IntoFont as _, PathElement, RGBColor,
    Rectangle, SVGBackend, Text, WHITE,
};
use std::error::Error;

const WIDTH: u32 = 1_200;
const LINE: u32 = 24;
/// Title, legend and axis.
const HEAD: u32 = 100;
/// Ratios beyond are cut off; their figure shows the value.
const WIDEST: f64 = 1.6;
/// Where the bars begin: left of it are the names.
const NAMES: f64 = 0.95;
/// Room for a bar's figure.
const FIGURE: f64 = 0.16;
const FASTER: RGBColor = RGBColor(0, 140, 105);
const SLOWER: RGBColor = RGBColor(213, 94, 0);
const INK: RGBColor = RGBColor(40, 44, 48);
const FONT: &str = "sans-serif";
const TEXT: i32 = 15;

/// A line of the picture.
enum Line<'a> {
    Heading(&'a str),
    Bar(&'a Row, f64),
}

/// A bar for every peer that there is a target for: as long as ours takes over what the peer takes, so shorter is faster. A line at 1, and a mark at
/// each target.
pub(crate) fn chart(rows: &[Row], machine: &str) -> Result<String, Box<dyn Error>> {
    let (mut lines, mut path) = (Vec::new(), "");
    for row in rows {
        let (Some([ratio, ..]), Some(_)) = (row.ratio, row.goal) else {
            continue; // a figure to compare with, and no target
        };
        if row.path != path {
            path = row.path;
            lines.push(Line::Heading(path));
        }
        lines.push(Line::Bar(row, ratio));
    }
    let mut text = String::new();
    paint(&mut text, &lines, machine).map_err(|error| error.to_string())?;
    Ok(text)
}

fn paint(text: &mut String, lines: &[Line<'_>], machine: &str) -> Result<(), Box<dyn Error>> {
    let height = HEAD + LINE * (lines.len() as u32 + 1);
    let area = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let words = |size: i32| (FONT, size).into_font().color(&INK);
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    let title =
        "Time per packet relative to each peer: shorter is faster, below 1 is faster than the peer";
    let head = [
        Text::new(title.to_owned(), (14, 12), words(18)),
        Text::new(machine.to_owned(), (14, 38), words(TEXT)),
    ];
    for line in &head {
        area.draw(line).map_err(|error| failed(&error))?;
    }
    legend(&area)?;
    let (_, below) = area.split_vertically(HEAD - 8);
    let count = lines.len() as f64;
    let mut chart = ChartBuilder::on(&below)
        .margin(4)
        .margin_left(14)
        .build_cartesian_2d(-NAMES..WIDEST + FIGURE, count + 1.0..0.0)
        .map_err(|error| failed(&error))?;
    for ratio in [0.0, 0.5, 1.0, 1.5] {
        let (style, name) = if (ratio - 1.0_f64).abs() < 1e-9 {
            (INK.stroke_width(2), "1: as fast as the peer".to_owned())
        } else {
            (INK.mix(0.2).stroke_width(1), format!("{ratio}"))
        };
        let line = PathElement::new([(ratio, 0.0), (ratio, count)], style);
        chart.draw_series([line]).map_err(|error| failed(&error))?;
        let name = Text::new(name, (ratio, count + 0.2), words(TEXT));
        chart.draw_series([name]).map_err(|error| failed(&error))?;
    }
    for (place, line) in lines.iter().enumerate() {
        let top = place as f64;
        let (row, ratio) = match line {
            Line::Heading(path) => {
                let heading = Text::new((*path).to_owned(), (-NAMES, top + 0.25), words(TEXT + 1));
                chart
                    .draw_series([heading])
                    .map_err(|error| failed(&error))?;
                continue;
            }
            Line::Bar(row, ratio) => (row, *ratio),
        };
        let colour = if ratio < 1.0 { FASTER } else { SLOWER };
        let end = ratio.min(WIDEST);
        let bar = Rectangle::new([(0.0, top + 0.15), (end, top + 0.85)], colour.filled());
        chart.draw_series([bar]).map_err(|error| failed(&error))?;
        // beyond the marks that would cross the figure
        let crossed = [row.goal, Some(1.0)].into_iter().flatten();
        let figure = crossed
            .filter(|mark| (end - 0.01..end + FIGURE).contains(mark))
            .fold(end, f64::max);
        let name = format!("    over {}", row.case).replace("    ", "\u{a0}\u{a0}\u{a0}\u{a0}");
        let named = [
            Text::new(name, (-NAMES, top + 0.22), words(TEXT)),
            Text::new(
                format!("{ratio:.2}"),
                (figure + 0.02, top + 0.22),
                words(TEXT),
            ),
        ];
        chart.draw_series(named).map_err(|error| failed(&error))?;
        let mark = row.goal.map(|goal| {
            PathElement::new(
                [(goal, top + 0.02), (goal, top + 0.98)],
                INK.stroke_width(3),
            )
        });
        chart.draw_series(mark).map_err(|error| failed(&error))?;
    }
    below.present().map_err(|error| failed(&error))?;
    Ok(())
}

fn legend(area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let words = |size: i32| (FONT, size).into_font().color(&INK);
    let legend = [(FASTER, "faster than the peer"), (SLOWER, "slower")];
    for (place, (colour, name)) in legend.into_iter().enumerate() {
        let left = 14 + 220 * place as i32;
        let sample = Rectangle::new([(left, 64), (left + 26, 78)], colour.filled());
        area.draw(&sample).map_err(|error| failed(&error))?;
        area.draw(&Text::new(name, (left + 34, 63), words(TEXT)))
            .map_err(|error| failed(&error))?;
    }
    let mark = PathElement::new([(360, 60), (360, 82)], INK.stroke_width(3));
    area.draw(&mark).map_err(|error| failed(&error))?;
    area.draw(&Text::new(
        "our target: the bar should end at the mark or left of it",
        (372, 63),
        words(TEXT),
    ))
    .map_err(|error| failed(&error))?;
    Ok(())
}
