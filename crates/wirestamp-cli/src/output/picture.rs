//! The picture of a histogram: columns over a logarithmic axis of time, their heights on
//! a logarithmic scale too, so that a single outlier among a million can be seen. As wide as the
//! terminal, up to a limit. Measures nothing.

use std::fmt::Write as _;
use wirestamp::Span;
use wirestamp::latency::Histogram;

/// The widest picture proper.
const WIDEST: usize = 120;
/// Rows of the picture proper.
const HEIGHT: usize = 5;
/// Room for the count on the left.
const MARGIN: usize = 11;
/// Where the axis turns from linear to logarithmic if not all values are positive.
const LINEAR_NS: f64 = 10.0;

/// Columns of the picture proper: beside the count and the border.
fn wide() -> usize {
    (super::width::columns() - MARGIN - 3).min(WIDEST)
}

/// What to draw with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ink {
    #[default]
    Blocks,
    Ascii,
}

impl Ink {
    /// A cell's fillings, from empty to full.
    fn fillings(self) -> &'static [char] {
        match self {
            Self::Blocks => &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Ascii => &[' ', '.', ':', '#'],
        }
    }

    /// The left border, the corner, the axis, a tick.
    fn lines(self) -> [char; 4] {
        match self {
            Self::Blocks => ['│', '└', '─', '┬'],
            Self::Ascii => ['|', '+', '-', '+'],
        }
    }
}

/// Draws it; empty if nothing was recorded.
pub(crate) fn draw(histogram: &Histogram, ink: Ink) -> String {
    let Some(axis) = Axis::around(histogram) else {
        return String::new();
    };
    let columns = axis.columns(histogram);
    let highest = columns.iter().copied().fold(0.0, f64::max);
    let levels: Vec<usize> = columns
        .iter()
        .map(|count| level(*count, highest, ink))
        .collect();
    let mut picture = String::new();
    for row in (0..HEIGHT).rev() {
        let label = match row {
            _ if row == HEIGHT - 1 => super::grouped(highest.round() as u64),
            0 if highest > 1.0 => String::from("1"),
            _ => String::new(),
        };
        let cells: String = levels.iter().map(|level| cell(*level, row, ink)).collect();
        let _ = writeln!(
            picture,
            "{label:>MARGIN$} {}{}",
            ink.lines()[0],
            cells.trim_end()
        );
    }
    picture + &axis.legend(ink)
}

/// How many steps high a column is; one with any values is at least one.
fn level(count: f64, highest: f64, ink: Ink) -> usize {
    if count <= 0.0 {
        return 0;
    }
    let steps = (ink.fillings().len() - 1) * HEIGHT;
    let share = count.ln_1p() / highest.max(1.0).ln_1p();
    ((share * steps as f64).round() as usize).clamp(1, steps)
}

fn cell(level: usize, row: usize, ink: Ink) -> char {
    let fillings = ink.fillings();
    let steps = fillings.len() - 1;
    fillings[level.saturating_sub(row * steps).min(steps)]
}

/// The axis of time.
struct Axis {
    from: f64,
    to: f64,
    signed: bool,
}

impl Axis {
    /// From the smallest to the largest value, and a little more.
    fn around(histogram: &Histogram) -> Option<Self> {
        let (low, high) = (
            nanoseconds(histogram.minimum()?),
            nanoseconds(histogram.maximum()?),
        );
        let signed = low < 1.0;
        let (from, to) = if signed {
            (low - 1.0, high + 2.0)
        } else {
            (low * 0.97, (high + 1.0) * 1.03)
        };
        let mut axis = Self {
            from: 0.0,
            to: 1.0,
            signed,
        };
        let (from, to) = (axis.scale(from), axis.scale(to));
        // at least a tenth wide: one single value is no wide column
        let missing = (0.2 - (to - from)).max(0.0) / 2.0;
        (axis.from, axis.to) = (from - missing, to + missing);
        Some(axis)
    }

    fn scale(&self, nanoseconds: f64) -> f64 {
        if self.signed {
            (nanoseconds / LINEAR_NS).asinh()
        } else {
            nanoseconds.ln()
        }
    }

    /// In columns from the left.
    fn place(&self, nanoseconds: f64) -> f64 {
        (self.scale(nanoseconds) - self.from) / (self.to - self.from) * wide() as f64
    }

    /// How many values fall into each column: a bucket wider than a column is spread.
    fn columns(&self, histogram: &Histogram) -> Vec<f64> {
        let mut columns = vec![0.0; wide()];
        for bucket in histogram.buckets() {
            let (from, to) = (
                self.place(nanoseconds(bucket.lowest)),
                self.place(nanoseconds(bucket.highest) + 1.0),
            );
            let last = wide() as f64 - 1.0;
            let (first_column, last_column) = (
                from.clamp(0.0, last) as usize,
                (to.ceil() - 1.0).clamp(0.0, last) as usize,
            );
            let last_column = last_column.max(first_column);
            let touched = &mut columns[first_column..=last_column];
            let share = bucket.count as f64 / touched.len() as f64;
            touched.iter_mut().for_each(|column| *column += share);
        }
        columns
    }

    /// The axis with its ticks, and what they are.
    fn legend(&self, ink: Ink) -> String {
        let [_, corner, line, tick] = ink.lines();
        let mut axis = vec![line; wide()];
        let mut labels = String::new();
        for (place, span) in self.ticks() {
            let text = span.to_string();
            let start = place.saturating_sub(text.chars().count() / 2);
            let free = labels.chars().count();
            if free > 0 && start < free + 2 || start + text.chars().count() > wide() {
                continue;
            }
            axis[place] = tick;
            labels.extend(std::iter::repeat_n(' ', start - free));
            labels.push_str(&text);
        }
        let axis: String = axis.into_iter().collect();
        let margin = " ".repeat(MARGIN + 1);
        format!("{margin}{corner}{axis}\n{margin} {labels}\n")
    }

    /// Round times on the axis, from the left, at least three where there are three.
    fn ticks(&self) -> Vec<(usize, Span)> {
        let fine: Vec<i64> = (10..20)
            .chain((20..50).step_by(2))
            .chain((50..100).step_by(5))
            .collect();
        let coarse: [&[i64]; 2] = [&[1], &[1, 2, 5]];
        let found = coarse
            .into_iter()
            .map(|digits| self.round_times(digits))
            .find(|ticks| ticks.len() >= 3);
        found.unwrap_or_else(|| self.round_times(&fine))
    }

    /// The times on the axis that are one of `digits` by a power of ten.
    fn round_times(&self, digits: &[i64]) -> Vec<(usize, Span)> {
        let powers = (0..=18).map(|power| 10_i64.pow(power));
        let mut times: Vec<i64> = powers
            .flat_map(|power| digits.iter().map(move |digit| digit.saturating_mul(power)))
            .collect();
        if self.signed {
            times.extend(times.clone().iter().map(|time| -time));
            times.push(0);
        }
        times.sort_unstable();
        times.dedup();
        let placed = times
            .into_iter()
            .map(|time| (self.place(time as f64), time));
        let inside = placed.filter(|(place, _)| (0.0..wide() as f64 - 2.0).contains(place));
        inside
            .map(|(place, time)| (place as usize, Span::from_nanoseconds(i128::from(time))))
            .collect()
    }
}

fn nanoseconds(span: Span) -> f64 {
    span.saturating_nanoseconds() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = i64>) -> Histogram {
        let mut histogram = Histogram::new();
        values
            .into_iter()
            .for_each(|value| histogram.record(Span::from_nanoseconds(i128::from(value))));
        histogram
    }

    #[test]
    fn nothing_recorded_is_nothing_drawn() {
        assert_eq!(draw(&Histogram::new(), Ink::Blocks), "");
    }

    #[test]
    fn a_single_outlier_is_seen_far_from_the_crowd() {
        let values = std::iter::repeat_n(1_000, 10_000).chain([1_000_000]);
        let picture = draw(&of(values), Ink::Ascii);
        let bottom = picture.lines().nth(HEIGHT - 1).expect("a bottom row");
        let filled: Vec<usize> = bottom
            .match_indices(['.', ':', '#'])
            .map(|(place, _)| place)
            .collect();
        let (first, last) = (filled[0], filled[filled.len() - 1]);
        assert!(last - first > wide() * 9 / 10, "{picture}");
        assert!(
            picture.contains("1.00 µs")
                && picture.contains("10.0 µs")
                && picture.contains("100 µs"),
            "{picture}"
        );
        assert!(picture.trim_start().starts_with("10,000"), "{picture}");
    }

    #[test]
    fn negative_values_stand_on_the_left_of_zero() {
        let picture = draw(&of([-500, -100, 20, 100, 900]), Ink::Ascii);
        let legend = picture.lines().last().expect("a legend");
        let (minus, plus) = (legend.find("-100 ns"), legend.find(" 100 ns"));
        assert!(minus.is_some() && minus < plus, "{picture}");
    }

    proptest! {
        #[test]
        fn everything_fits_into_80_columns_and_nothing_vanishes(values in prop::collection::vec(any::<i64>().prop_flat_map(|v| (Just(v), 0u32..63)).prop_map(|(v, s)| v >> s), 1..50)) {
            for ink in [Ink::Blocks, Ink::Ascii] {
                let picture = draw(&of(values.iter().copied()), ink);
                prop_assert!(picture.lines().all(|line| line.chars().count() <= 80), "{}", picture);
                prop_assert_eq!(picture.lines().count(), HEIGHT + 2);
            }
        }

        #[test]
        fn every_value_is_counted_in_a_column(values in prop::collection::vec(1i64..5_000_000, 1..50)) {
            let histogram = of(values.iter().copied());
            let columns = Axis::around(&histogram).expect("not empty").columns(&histogram);
            prop_assert!((columns.iter().sum::<f64>() - values.len() as f64).abs() < 1e-6);
        }
    }
}
