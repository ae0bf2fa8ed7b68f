//! How many packets took how long: steps over an axis of time.

use super::{Area, Axis, Drawn, FONT, INK, Scale, TEXT, around, legend, line, mesh};
use plotters::prelude::{ChartBuilder, IntoFont as _, RGBColor, SeriesLabelPosition};
use std::ops::Range;
use wirestamp::latency::Histogram;

/// Steps from the lowest to the highest value.
pub(crate) const STEPS: usize = 150;

/// Histograms over one axis.
pub(crate) struct Distributions {
    pub(crate) scale: Scale,
    range: Range<f64>,
    /// Of each histogram, how many percent of its values each step has.
    pub(crate) percent: Vec<Vec<f64>>,
}

impl Distributions {
    /// Over all their values. `None`: there are none.
    pub(crate) fn of(histograms: &[&Histogram]) -> Option<Self> {
        let ends = |of: fn(&Histogram) -> Option<wirestamp::Span>| {
            let found = histograms.iter().filter_map(move |histogram| of(histogram));
            found.map(|end| end.saturating_nanoseconds() as f64)
        };
        let lowest = ends(Histogram::minimum).min_by(f64::total_cmp)?;
        let highest = ends(Histogram::maximum).max_by(f64::total_cmp)?;
        let scale = Scale::of(lowest);
        let range = around(
            [lowest, highest + 1.0]
                .map(|end| scale.place(end))
                .into_iter(),
        );
        let of = |histogram: &&Histogram| percent(histogram, scale, &range);
        Some(Self {
            percent: histograms.iter().map(of).collect(),
            scale,
            range,
        })
    }

    /// Where a step begins, as a place of the scale.
    pub(crate) fn start(&self, step: usize) -> f64 {
        self.range.start + (self.range.end - self.range.start) * step as f64 / STEPS as f64
    }

    pub(crate) fn draw(&self, area: &Area<'_>, title: &str, names: &[(String, RGBColor)]) -> Drawn {
        let highest = self.percent.iter().flatten().copied().fold(0.1, f64::max) * 1.08;
        let apart = round(highest / 6.0);
        let ticks = (0..=8)
            .map(|tick| f64::from(tick) * apart)
            .take_while(|tick| *tick <= highest);
        let mut chart = ChartBuilder::on(area)
            .caption(title, (FONT, TEXT + 1).into_font().color(&INK))
            .margin(8)
            .margin_right(28)
            .x_label_area_size(52)
            .y_label_area_size(92)
            .build_cartesian_2d(
                Axis::of_time(self.scale, self.range.clone(), 11),
                Axis::new(0.0..highest, ticks.collect(), |percent| {
                    format!("{} %", (percent * 100.0).round() / 100.0)
                }),
            )?;
        mesh(&mut chart, "latency (logarithmic)", "packets in a step")?;
        for ((name, colour), percent) in names.iter().zip(&self.percent) {
            let corners = steps_with_values(percent).flat_map(|step| {
                [
                    (self.start(step), percent[step]),
                    (self.start(step + 1), percent[step]),
                ]
            });
            line(&mut chart, name, *colour, corners)?;
        }
        legend(&mut chart, SeriesLabelPosition::UpperRight)
    }
}

/// From the first step that has values to the last, and one more on either side.
pub(crate) fn steps_with_values(percent: &[f64]) -> Range<usize> {
    let has = |percent: &f64| *percent > 0.0;
    let first = percent.iter().position(has).unwrap_or(0);
    let last = percent.iter().rposition(has).unwrap_or(0);
    first.saturating_sub(1)..(last + 2).min(percent.len())
}

/// A bucket that reaches over several steps is shared out among them.
fn percent(histogram: &Histogram, scale: Scale, range: &Range<f64>) -> Vec<f64> {
    let mut steps = vec![0.0; STEPS];
    let place = |nanoseconds: i64| {
        let share = (scale.place(nanoseconds as f64) - range.start) / (range.end - range.start);
        (share * STEPS as f64).clamp(0.0, STEPS as f64 - 1e-9)
    };
    for bucket in histogram.buckets() {
        let low = place(bucket.lowest.saturating_nanoseconds());
        let high = place(bucket.highest.saturating_nanoseconds().saturating_add(1)).max(low + 1e-9);
        for (step, percent) in steps
            .iter_mut()
            .enumerate()
            .take(high as usize + 1)
            .skip(low as usize)
        {
            let inside = (high.min(step as f64 + 1.0) - low.max(step as f64)).max(0.0);
            *percent +=
                100.0 * bucket.count as f64 / histogram.count() as f64 * inside / (high - low);
        }
    }
    steps
}

/// 1, 2 or 5 times a power of ten, not less.
fn round(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|round| *round >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::Span;

    #[test]
    fn every_value_is_in_a_step() {
        for values in [
            vec![700],
            vec![-5, 0, 3, 90_000],
            vec![1, 1_000_000_000_000],
        ] {
            let mut histogram = Histogram::new();
            for value in &values {
                histogram.record(Span::from_nanoseconds(*value));
            }
            let found = Distributions::of(&[&histogram]).expect("values");
            let sum: f64 = found.percent[0].iter().sum();
            assert!((sum - 100.0).abs() < 0.01, "{values:?}: {sum}");
        }
        assert!(Distributions::of(&[&Histogram::new()]).is_none());
    }
}
