//! Quantiles against the share of packets: how long the slowest packet in a hundred or in ten thousand took.

use super::{
    Area, Axis, Drawn, FONT, INK, Scale, TEXT, around, legend, line, mesh, percentile,
    percentile_place,
};
use plotters::prelude::{ChartBuilder, IntoFont as _, RGBColor, SeriesLabelPosition};

/// Points of a line.
const POINTS: u32 = 240;

/// One line, and what the legend calls it.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) colour: RGBColor,
    /// Places of shares ([`percentile_place`]), and nanoseconds there.
    pub(crate) points: Vec<(f64, f64)>,
}

/// The points of `count` values: as far to the right as there are values.
pub(crate) fn points(count: u64, quantile: impl Fn(f64) -> Option<i64>) -> Vec<(f64, f64)> {
    let end = (count.max(1) as f64).log10();
    (0..=POINTS)
        .filter_map(|point| {
            let place = end * f64::from(point) / f64::from(POINTS);
            let value = quantile(1.0 - 10_f64.powf(-place))?;
            Some((place, value as f64))
        })
        .collect()
}

pub(crate) fn draw(area: &Area<'_>, title: &str, lines: &[Line]) -> Drawn {
    let all = || lines.iter().flat_map(|line| &line.points);
    let scale = Scale::of(all().map(|(_, value)| *value).fold(f64::INFINITY, f64::min));
    let y = around(all().map(|(_, value)| scale.place(*value)));
    let end = all().map(|(place, _)| *place).fold(1.0, f64::max);
    let shares = [0.0, 0.5]
        .into_iter()
        .chain((1..9).map(|nines| 1.0 - 0.1_f64.powi(nines)));
    let ticks = shares.map(percentile_place).filter(|place| *place <= end);
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, TEXT + 1).into_font().color(&INK))
        .margin(8)
        .margin_right(28)
        .x_label_area_size(52)
        .y_label_area_size(92)
        .build_cartesian_2d(
            Axis::new(0.0..end, ticks.collect(), percentile),
            Axis::of_time(scale, y, 8),
        )?;
    let share = "share of packets that took at most as long";
    mesh(&mut chart, share, "latency")?;
    for one in lines {
        let points = one.points.iter();
        let points = points.map(|(place, value)| (*place, scale.place(*value)));
        line(&mut chart, &one.name, one.colour, points)?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
