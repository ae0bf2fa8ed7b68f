//! The picture of `latency compare --plot`: for each path the quantiles of both runs, and beside them the differences
//! with their confidence intervals.

use super::read::{PATHS, Run};
use super::{Change, Comparison, Difference, QUANTILES};
use crate::output::Target;
use crate::output::graph::quantiles::{self, Line};
use crate::output::graph::{
    Area, Axis, Drawn, FIRST, FONT, INK, SECOND, Scale, TEXT, TITLE, around, mesh,
};
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, IntoDrawingArea as _, IntoFont as _, PathElement, Rectangle,
    SVGBackend, Text, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use wirestamp::{Error, ErrorKind};

const WIDTH: u32 = 1_200;
const HEAD: u32 = 90;
const PANEL: u32 = 300;
/// How much of the width the quantiles have.
const QUANTILES_WIDTH: u32 = 720;

pub(super) fn draw(target: Target, comparison: &Comparison, a: &Run, b: &Run) -> Result<(), Error> {
    let mut text = String::new();
    paint(&mut text, comparison, a, b).map_err(|error| {
        let cause = error.to_string();
        Error::new(ErrorKind::Io, "draw the plot", target.name(), cause)
    })?;
    target.write(text.as_bytes())
}

fn paint(text: &mut String, comparison: &Comparison, a: &Run, b: &Run) -> Drawn {
    let both: Vec<_> = PATHS
        .iter()
        .enumerate()
        .filter_map(|(path, (key, name))| Some((*key, *name, a.sample(path)?, b.sample(path)?)))
        .collect();
    let height = HEAD + PANEL * both.len() as u32;
    let area = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = (FONT, TITLE).into_font().color(&INK);
    let small = (FONT, TEXT).into_font().color(&INK);
    area.draw(&Text::new(comparison.summary.clone(), (16, 14), title))?;
    for (place, (mark, run, colour)) in [("A", a, FIRST), ("B", b, SECOND)].into_iter().enumerate()
    {
        let top = 42 + 22 * place as i32;
        area.draw(&Rectangle::new(
            [(16, top + 2), (40, top + 12)],
            colour.filled(),
        ))?;
        area.draw(&Text::new(
            format!("{mark}: {}", run.name),
            (48, top),
            small.clone(),
        ))?;
    }
    let (_, panels) = area.split_vertically(HEAD);
    for (panel, (key, name, a, b)) in panels.split_evenly((both.len(), 1)).iter().zip(&both) {
        let (left, right) = panel.split_horizontally(QUANTILES_WIDTH);
        let lines = [("A", FIRST, a), ("B", SECOND, b)].map(|(mark, colour, sample)| Line {
            name: mark.to_owned(),
            colour,
            points: quantiles::points(sample.count(), |share| sample.quantile(share)),
        });
        quantiles::draw(&left, &format!("{name}: quantiles"), &lines)?;
        let of_path: Vec<_> = comparison
            .differences
            .iter()
            .filter(|difference| difference.path == *key)
            .collect();
        differences(&right, &of_path)?;
    }
    area.present()?;
    Ok(())
}

/// B minus A, with intervals.
fn differences(area: &Area<'_>, differences: &[&Difference]) -> Drawn {
    let ends = |difference: &Difference| {
        let middle = difference.difference_ns;
        [
            difference.low_ns.unwrap_or(middle),
            middle,
            difference.high_ns.unwrap_or(middle),
        ]
        .map(|end| end as f64)
    };
    // where most intervals end: small differences stay beside large ones
    let mut widths: Vec<f64> = differences
        .iter()
        .map(|difference| ends(difference)[2] - ends(difference)[0])
        .collect();
    widths.sort_by(f64::total_cmp);
    let scale = Scale::Signed(widths.first().copied().unwrap_or(1.0).max(2.0));
    let places = differences.iter().flat_map(|difference| ends(difference));
    let y = around(places.chain([0.0]).map(|value| scale.place(value)));
    let columns = QUANTILES.len() as f64;
    let x_ticks = (0..QUANTILES.len()).map(|column| column as f64 + 0.5);
    let mut chart = ChartBuilder::on(area)
        .caption(
            "B - A, with its confidence interval",
            (FONT, TEXT + 1).into_font().color(&INK),
        )
        .margin(8)
        .margin_right(16)
        .x_label_area_size(48)
        .y_label_area_size(92)
        .build_cartesian_2d(
            Axis::new(0.0..columns, x_ticks.collect(), |column| {
                QUANTILES[(column as usize).min(QUANTILES.len() - 1)]
                    .0
                    .to_owned()
            }),
            Axis::of_time(scale, y, 7),
        )?;
    mesh(&mut chart, "quantile", "above 0: B is slower")?;
    chart.draw_series([PathElement::new(
        vec![(0.0, 0.0), (columns, 0.0)],
        INK.stroke_width(1),
    )])?;
    for difference in differences {
        let column = QUANTILES
            .iter()
            .position(|(name, _)| *name == difference.quantile)
            .unwrap_or(0) as f64
            + 0.5;
        let colour = match difference.change {
            Some(Change::Slower) => SECOND,
            Some(Change::Faster) => FIRST,
            _ => INK,
        };
        if difference.low_ns.is_none() || difference.high_ns.is_none() {
            let style = (FONT, TEXT)
                .into_font()
                .color(&INK)
                .pos(Pos::new(HPos::Center, VPos::Bottom));
            let words = Text::new(
                "too few",
                (column, scale.place(difference.difference_ns as f64)),
                style,
            );
            chart.draw_series([words])?;
            continue;
        }
        let [low, middle, high] = ends(difference).map(|end| scale.place(end));
        let bar = |from: (f64, f64), to| PathElement::new(vec![from, to], colour.stroke_width(2));
        chart.draw_series([
            bar((column, low), (column, high)),
            bar((column - 0.12, low), (column + 0.12, low)),
            bar((column - 0.12, high), (column + 0.12, high)),
        ])?;
        chart.draw_series([Circle::new((column, middle), 5, colour.filled())])?;
    }
    Ok(())
}
