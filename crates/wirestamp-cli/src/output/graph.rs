//! What the pictures share: scales of time that show nanoseconds beside milliseconds, their ticks, colours and sizes.
//! Measures nothing.

pub(crate) mod distribution;
pub(crate) mod quantiles;

use plotters::chart::{ChartContext, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{DrawingArea, IntoFont as _, LineSeries, PathElement, SVGBackend, WHITE};
use plotters::style::{Color as _, RGBAColor, RGBColor};
use std::error::Error as StdError;
use std::ops::Range;
use wirestamp::Span;

/// Distinguishable for people who see few colours, and in grey.
pub(crate) const FIRST: RGBColor = RGBColor(0, 114, 178);
pub(crate) const SECOND: RGBColor = RGBColor(213, 94, 0);
pub(crate) const THIRD: RGBColor = RGBColor(0, 140, 105);
pub(crate) const INK: RGBColor = RGBColor(60, 64, 67);
pub(crate) const FONT: &str = "sans-serif";
/// Still legible where a picture is shown at 800 pixels.
pub(crate) const TEXT: i32 = 16;
pub(crate) const TITLE: i32 = 19;

/// Room above and below what is drawn, as a share.
const ROOM: f64 = 0.06;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Drawn = Result<(), Box<dyn StdError>>;

pub(crate) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// Draws the grid and the axes, and what they are called.
pub(crate) fn mesh(chart: &mut Chart<'_, '_>, x: &str, y: &str) -> Drawn {
    chart
        .configure_mesh()
        .light_line_style(WHITE.mix(0.0))
        .bold_line_style(grid())
        .axis_style(INK)
        .label_style((FONT, TEXT).into_font().color(&INK))
        .x_desc(x)
        .y_desc(y)
        .draw()?;
    Ok(())
}

/// Draws a line that the legend will name.
pub(crate) fn line(
    chart: &mut Chart<'_, '_>,
    name: &str,
    colour: RGBColor,
    points: impl Iterator<Item = (f64, f64)>,
) -> Drawn {
    chart
        .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
        .label(name)
        .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 20, y)], colour.stroke_width(3)));
    Ok(())
}

/// Draws the names of what was drawn.
pub(crate) fn legend<'a, 'b: 'a>(
    chart: &mut Chart<'a, 'b>,
    position: SeriesLabelPosition,
) -> Drawn {
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.85))
        .label_font((FONT, TEXT).into_font().color(&INK))
        .draw()?;
    Ok(())
}

/// From the lowest to the highest place, and some room.
pub(crate) fn around(places: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
        (low.min(place), high.max(place))
    });
    let room = ((high - low) * ROOM).max(0.1);
    low - room..high + room
}

/// Of round values, where there is room for all.
const DIGITS: [f64; 13] = [
    1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
];

pub(crate) fn grid() -> RGBAColor {
    INK.mix(0.15)
}

/// An axis whose ticks and labels are given.
pub(crate) struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
    label: Box<dyn Fn(f64) -> String>,
}

impl Axis {
    pub(crate) fn new(
        range: Range<f64>,
        ticks: Vec<f64>,
        label: impl Fn(f64) -> String + 'static,
    ) -> Self {
        Self {
            range,
            ticks,
            label: Box::new(label),
        }
    }

    /// Of time, with `most` ticks at most; `range` in places of the scale.
    pub(crate) fn of_time(scale: Scale, range: Range<f64>, most: usize) -> Self {
        let ticks = scale.ticks(range.start, range.end, most);
        Self::new(range, ticks, move |place| tick(scale.value(place)))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        (self.label)(*value)
    }
}

/// Where values stand on an axis of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// For positive values.
    Logarithmic,
    /// For values of either sign: linear up to about this many nanoseconds, logarithmic beyond.
    Signed(f64),
}

impl Scale {
    /// One that has room for these values.
    pub(crate) fn of(lowest: f64) -> Self {
        if lowest >= 1.0 {
            Self::Logarithmic
        } else {
            Self::Signed(10.0)
        }
    }

    pub(crate) fn place(self, nanoseconds: f64) -> f64 {
        match self {
            Self::Logarithmic => nanoseconds.max(1.0).ln(),
            Self::Signed(linear) => (nanoseconds / linear).asinh(),
        }
    }

    pub(crate) fn value(self, place: f64) -> f64 {
        match self {
            Self::Logarithmic => place.exp(),
            Self::Signed(linear) => place.sinh() * linear,
        }
    }

    /// Round values between two places, as places: `most` of them at most.
    pub(crate) fn ticks(self, from: f64, to: f64, most: usize) -> Vec<f64> {
        let apart = (to - from) / (most as f64 * 1.6);
        for digits in [
            &DIGITS[..],
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 5.0],
            &[1.0],
        ] {
            let ticks = self.round_values(digits, from, to, apart);
            if ticks.len() <= most && !(digits.len() > 3 && matches!(self, Self::Signed(_))) {
                return ticks;
            }
        }
        let decades = self.round_values(&[1.0], from, to, apart);
        let every = decades.len().div_ceil(most);
        decades.into_iter().step_by(every).collect()
    }

    fn round_values(self, digits: &[f64], from: f64, to: f64, apart: f64) -> Vec<f64> {
        let positive =
            (0..19).flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        let mut values: Vec<f64> = positive.clone().collect();
        if let Self::Signed(_) = self {
            values.extend(positive.map(|value| -value));
            values.push(0.0);
        }
        let mut places: Vec<f64> = values
            .into_iter()
            .map(|value| self.place(value))
            .filter(|place| (from..=to).contains(place))
            .collect();
        places.sort_by(f64::total_cmp);
        // the linear part has no room for all of them: zero stays, and who is far enough from the one kept before
        let mut kept: Vec<f64> = Vec::new();
        for place in places.iter().copied().filter(|place| *place >= 0.0) {
            if kept.last().is_none_or(|last| place - last >= apart) {
                kept.push(place);
            }
        }
        let mut below: Vec<f64> = Vec::new();
        for place in places.iter().rev().copied().filter(|place| *place < 0.0) {
            let last = below.last().or(kept.first()).copied();
            if last.is_none_or(|last| last - place >= apart) {
                below.push(place);
            }
        }
        below.into_iter().rev().chain(kept).collect()
    }
}

/// A round time, without digits that say nothing: `20 µs`.
pub(crate) fn tick(nanoseconds: f64) -> String {
    let text = Span::from_nanoseconds(nanoseconds.round() as i128).to_string();
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// Where a share of all values stands: each step to the right is a tenth of what was left.
pub(crate) fn percentile_place(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// The share at a place, as people write it: `99.9 %`.
pub(crate) fn percentile(place: f64) -> String {
    let percent = 100.0 - 100.0 * 10_f64.powf(-place);
    let digits = (place.round() as usize).saturating_sub(2);
    format!("{percent:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (scale, from, to) in [
            (Scale::Logarithmic, 300.0, 2_500.0),
            (Scale::Logarithmic, 1.0, 1e12),
            (Scale::Signed(10.0), -5_000.0, 1e9),
            (Scale::Signed(1e4), -5_000.0, 900.0),
        ] {
            let ticks = scale.ticks(scale.place(from), scale.place(to), 8);
            assert!(
                (2..=8).contains(&ticks.len()),
                "{scale:?} {from}: {ticks:?}"
            );
            assert!(ticks.is_sorted(), "{ticks:?}");
            for place in ticks {
                let value = scale.value(place).abs().round();
                let digit = value / 10_f64.powf(value.max(1.0).log10().floor());
                assert!(
                    (digit * 10.0 - (digit * 10.0).round()).abs() < 1e-6, // two digits at most
                    "{value}"
                );
            }
        }
    }

    #[test]
    fn labels_have_no_idle_digits() {
        assert_eq!(
            [1.0, 2_000.0, 5e7, -2e4].map(tick),
            ["1 ns", "2 µs", "50 ms", "-20 µs"]
        );
        let places = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999].map(percentile_place);
        let expected = ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"];
        assert_eq!(places.map(percentile), expected);
    }
}
