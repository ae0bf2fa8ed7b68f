//! The text form of `latency compare`.

use super::read::PATHS;
use super::{Change, Comparison, Difference, Verdict};
use crate::output::colour::{DOUBTFUL, GOOD, paint};
use crate::output::{Column, Page, Report, Rows, Table, cell, grouped};
use comfy_table::Cell;
use wirestamp::Span;

impl Report for Comparison {
    fn print(&self, page: &mut Page) {
        let percent = self.confidence * 100.0;
        page.heading("latency of two runs");
        for (name, run) in [("A", &self.a), ("B", &self.b)] {
            let packets = format!("{}: {} packets", run.file, grouped(run.packets));
            page.field(name, &packets);
        }
        page.gap();
        let style = if self.verdict == Verdict::NoDifference {
            GOOD
        } else {
            DOUBTFUL
        };
        page.line(&paint(style, &self.summary));
        page.gap();
        page.table(self.table());
        page.gap();
        let rest = ((100.0 - percent) * 1e4).round() / 1e4;
        page.quiet(&format!("interval: of B - A, with {percent} % confidence"));
        page.quiet(&format!(
            "slower, faster: with {percent} % confidence for all {} quantiles together, so two",
            self.differences.len()
        ));
        page.quiet(&format!(
            "runs of the same kind differ in at most {rest} of 100 cases"
        ));
        if self.tolerance_percent > 0.0 {
            let tolerance = self.tolerance_percent;
            page.quiet(&format!(
                "differences within {tolerance} % of A do not count"
            ));
        }
        if self.a.rounded || self.b.rounded {
            page.quiet(
                "histograms round values by up to 1/128, which widens the intervals, and do not",
            );
            page.quiet("show slow seconds, which can look like a difference");
        }
    }

    fn rows(&self, rows: &mut Rows) {
        for difference in &self.differences {
            rows.row(difference);
        }
    }
}

impl Comparison {
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("path"),
            Column::Left("quantile"),
            Column::Right("A"),
            Column::Right("B"),
            Column::Right("B - A"),
            Column::Right("interval"),
            Column::Left("B is"),
        ]);
        let mut before = "";
        for difference in &self.differences {
            let path = if difference.path == before {
                ""
            } else {
                named(difference.path)
            };
            before = difference.path;
            let words = [
                difference.quantile.to_owned(),
                shown(difference.a_ns),
                shown(difference.b_ns),
                signed(difference.difference_ns),
                interval(difference),
            ];
            let change = match difference.change {
                Some(Change::Slower) => cell::doubtful("slower"),
                Some(Change::Faster) => cell::good("faster"),
                Some(Change::None) => cell::quiet("the same"),
                None => cell::quiet("too few"),
            };
            let cells = words.into_iter().map(Cell::new).chain([change]);
            table.row(std::iter::once(Cell::new(path)).chain(cells));
        }
        table
    }
}

/// The verdict in a sentence: with the largest difference by share of A's value.
pub(super) fn summary(verdict: Verdict, differences: &[Difference]) -> String {
    let count = differences.len();
    let of = |change| {
        let changed = differences
            .iter()
            .filter(move |difference| difference.change == Some(change));
        let share = |difference: &Difference| {
            difference.difference_ns as f64 / (difference.a_ns.unsigned_abs().max(1)) as f64
        };
        let largest = changed
            .clone()
            .max_by(|one, other| share(one).abs().total_cmp(&share(other).abs()))?;
        Some(format!(
            "{} in {} of {count} quantiles, most in {} {}, by {}",
            if change == Change::Slower {
                "slower"
            } else {
                "faster"
            },
            changed.count(),
            named(largest.path),
            largest.quantile,
            shown(largest.difference_ns.saturating_abs()),
        ))
    };
    match (verdict, of(Change::Slower), of(Change::Faster)) {
        (Verdict::NoDifference, ..) => {
            let known = differences
                .iter()
                .filter(|difference| difference.change.is_some());
            match known.count() {
                known if known == count => {
                    format!("No difference: none of {count} quantiles differs.")
                }
                known => format!(
                    "No difference: none of {known} quantiles differs; for {} more there are too few packets.",
                    count - known
                ),
            }
        }
        (Verdict::TooFewPackets, ..) => {
            format!("Not known: too few packets for any of {count} quantiles.")
        }
        (_, Some(slower), Some(faster)) => format!("B is {slower}; and {faster}."),
        (_, Some(one), None) | (_, None, Some(one)) => format!("B is {one}."),
        (_, None, None) => String::new(),
    }
}

pub(super) fn named(path: &str) -> &'static str {
    PATHS
        .iter()
        .find(|(name, _)| *name == path)
        .map_or("", |(_, words)| words)
}

fn interval(difference: &Difference) -> String {
    let end = |end: Option<i64>| end.map_or_else(|| "?".to_owned(), signed);
    match (difference.low_ns, difference.high_ns) {
        (None, None) => "too few packets".to_owned(),
        (low, high) => {
            let (low, high) = (end(low), end(high));
            // the unit once, where both have the same
            let unit = high.find(' ').map_or("", |space| &high[space..]);
            let low = low.strip_suffix(unit).unwrap_or(&low);
            format!("{low} to {high}")
        }
    }
}

fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(nanoseconds.into()).to_string()
}

/// With its sign; zero has none.
pub(super) fn signed(nanoseconds: i64) -> String {
    let sign = if nanoseconds > 0 { "+" } else { "" };
    format!("{sign}{}", shown(nanoseconds))
}
