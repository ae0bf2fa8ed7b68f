//! The tables: one row a metric, one column a method.

use super::Row;
use crate::estimator::Method;
use crate::measure::{Cost, Summary};
use crate::scenario::Half;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};

/// A row of the table: its name and how a summary fills it.
type Metric = (&'static str, fn(&Summary) -> Option<String>);

const METRICS: [Metric; 8] = [
    ("rms", |s| given(s).then(|| nanoseconds(s.rms))),
    ("p99", |s| given(s).then(|| nanoseconds(s.p99))),
    ("max", |s| given(s).then(|| nanoseconds(s.max))),
    ("rms later", |s| given(s).then(|| nanoseconds(s.later_rms))),
    ("mean bound", |s| s.bound.map(nanoseconds)),
    ("tightness", |s| {
        s.tightness.map(|tightness| format!("{tightness:.2}"))
    }),
    ("coverage", |s| {
        s.coverage.map(|coverage| share(coverage, s.wrong == 0))
    }),
    ("converges s", |s| {
        Some(
            s.convergence_seconds
                .map_or_else(|| "no".into(), |t| format!("{t:.1}")),
        )
    }),
];

const AFTER_BREAKS: [Metric; 3] = [
    ("recovers s", |s| {
        Some(
            s.recovery
                .estimate_seconds
                .map_or_else(|| ">200".into(), |t| format!("{t:.1}")),
        )
    }),
    ("valid after batches", |s| {
        s.bound?;
        Some(
            s.recovery
                .valid_batches
                .map_or_else(|| "no".into(), |batches| batches.to_string()),
        )
    }),
    ("wrong bounds after", |s| {
        s.bound?;
        Some(percent(s.recovery.wrong, s.recovery.conversions))
    }),
];

const REFUSED: Metric = ("refused", |s| {
    Some(percent(s.refused, s.refused + s.conversions))
});
const OVER_JITTER: Metric = ("error/jitter from 4, 8", |s| {
    s.over_jitter
        .map(|[a, b]| format!("{}, {}", ratio(a), ratio(b)))
});

/// The table of one half of the shapes.
pub fn half_table(half: Half, rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let names = Method::ALL.map(Method::name);
    table.set_header(["scenario", "metric (ns)"].into_iter().chain(names));
    for row in rows.iter().filter(|row| row.scenario.half == half) {
        let some = |wanted: fn(&Summary) -> bool| row.summaries.iter().any(wanted);
        let mut metrics = METRICS.to_vec();
        metrics.extend(some(|s| s.refused > 0).then_some(REFUSED));
        metrics.extend(some(|s| s.over_jitter.is_some()).then_some(OVER_JITTER));
        if some(|s| s.recovery.breaks > 0) {
            metrics.extend(AFTER_BREAKS);
        }
        let mut first = row.scenario.name;
        for (name, fill) in metrics {
            let cells = row
                .summaries
                .iter()
                .map(|summary| number(&fill(summary).unwrap_or_else(|| "-".into())));
            table.add_row([Cell::new(first), Cell::new(name)].into_iter().chain(cells));
            first = "";
        }
    }
    table
}

/// The table of the prices.
pub fn cost_table(costs: &[Cost]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header([
        "method",
        "ns per conversion",
        "older",
        "in a slice",
        "ns per reading",
        "ns per batch",
        "bytes",
    ]);
    for cost in costs {
        table.add_row([
            Cell::new(cost.method),
            number(&format!("{:.1}", cost.conversion)),
            number(&format!("{:.1}", cost.older)),
            number(
                &cost
                    .slice
                    .map_or_else(|| "-".into(), |slice| format!("{slice:.2}")),
            ),
            number(&format!("{:.0}", cost.reading)),
            number(&format!("{:.0}", cost.batch)),
            number(&cost.memory.to_string()),
        ]);
    }
    table
}

fn number(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn given(summary: &Summary) -> bool {
    summary.conversions > 0
}

/// With about three digits.
fn nanoseconds(value: f64) -> String {
    match value {
        0.0..9.95 => format!("{value:.2}"),
        9.95..99.5 => format!("{value:.1}"),
        99.5..1e6 => format!("{value:.0}"),
        _ => format!("{value:.1e}"),
    }
}

/// Never rounded up to 1: only no failure at all prints as that.
fn share(value: f64, all: bool) -> String {
    match value {
        _ if all => "1".into(),
        0.9995.. => format!("1-{:.0e}", 1.0 - value),
        _ => format!("{value:.3}"),
    }
}

/// Of an error that there is none of if a timestamp was refused.
fn ratio(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.1}")
    } else {
        "refused".into()
    }
}

fn percent(part: usize, whole: usize) -> String {
    match part as f64 / whole.max(1) as f64 * 100.0 {
        _ if part == 0 => "0".into(),
        value if value < 0.01 => format!("{value:.0e} %"),
        value => format!("{value:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_failure_shows() {
        assert_eq!(share(1.0, true), "1");
        assert_eq!(share(1.0 - 1e-6, false), "1-1e-6");
        assert_eq!(percent(1, 1_000_000), "1e-4 %");
        assert_eq!(percent(0, 5), "0");
    }
}
