//! The targets for our method: met or not, and by how much.

use super::Row;
use crate::estimator::Method;
use crate::measure::{Cost, Summary};
use crate::scenario::Class;
use serde::Serialize;
use std::fmt;

/// Conversions that a claim of full coverage needs.
const ENOUGH: usize = 1_000_000;
/// How far our rms may lie behind the best peer's.
const BEHIND: f64 = 1.10;
/// rms below this is not compared: a tenth of a nanosecond is within what rounding to whole
/// nanoseconds does.
const ROUNDING: f64 = 0.35;

/// One target and how it came out.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The target.
    pub target: String,
    /// Whether it is met.
    pub met: bool,
    /// The value, or where it is missed and by how much.
    pub value: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}  {}: {}",
            if self.met { "met    " } else { "NOT MET" },
            self.target,
            self.value
        )
    }
}

/// Scenario, name of the metric, the metric, the most it may be.
type Limit = (&'static str, &'static str, fn(&Summary) -> f64, f64);

/// Judges our method on the scenarios that were run.
pub fn verdicts(rows: &[Row], costs: &[Cost]) -> Vec<Verdict> {
    let mut all = vec![
        coverage(rows),
        enough(rows),
        warm_up(rows),
        tick(rows),
        rates(rows),
    ];
    all.push(tightness(rows, Class::Tight, "tightness ≤ 1.10", 1.10));
    all.push(tightness(
        rows,
        Class::Poor,
        "tightness with a poor oscillator ≤ 1.35",
        1.35,
    ));
    let limits: [Limit; 5] = [
        ("S1", "rms", |s| s.rms, 2.0),
        ("S1", "p99", |s| s.p99, 5.0),
        ("S1-1/s", "rms", |s| s.rms, 6.0),
        ("S3-1/s", "rms", |s| s.rms, 12.0),
        ("S5-1/s", "rms", |s| s.rms, 20.0),
    ];
    all.extend(
        limits
            .into_iter()
            .filter_map(|(name, metric, value, limit)| {
                let ours = ours(rows.iter().find(|row| row.scenario.name == name)?)?;
                let target = format!("{name} {metric} ≤ {limit} ns");
                Some(Verdict {
                    target,
                    met: ours.conversions > 0 && value(ours) <= limit,
                    value: format!("{:.2}", value(ours)),
                })
            }),
    );
    all.push(behind(
        rows,
        "rms never more than 10 % behind the best peer",
        |_| true,
    ));
    all.push(behind(rows, "… of those on the same readings", |peer| {
        peer.method != Method::Fbclock.name()
    }));
    all.extend([recovery(rows), wrong_after(rows), envelope(rows)]);
    all.extend(prices(costs));
    all
}

fn ours(row: &Row) -> Option<&Summary> {
    row.summaries
        .iter()
        .find(|summary| summary.method == Method::Ours.name())
}

/// Met where no scenario is named; `found` returns the miss in one.
fn everywhere(
    target: &str,
    rows: &[Row],
    found: impl Fn(&Row, &Summary) -> Option<String>,
) -> Verdict {
    let misses: Vec<String> = (rows.iter())
        .filter_map(|row| {
            found(row, ours(row)?).map(|miss| format!("{} {miss}", row.scenario.name))
        })
        .collect();
    let value = if misses.is_empty() {
        "in every scenario".into()
    } else {
        misses.join(", ")
    };
    Verdict {
        target: target.into(),
        met: misses.is_empty(),
        value,
    }
}

fn coverage(rows: &[Row]) -> Verdict {
    everywhere("every bound right", rows, |_, s| {
        (s.wrong > 0 || s.later_wrong > 0).then(|| {
            format!(
                "{} of {} (limit {:.1e}; later {})",
                s.wrong, s.conversions, s.wrong_limit, s.later_wrong
            )
        })
    })
}

fn enough(rows: &[Row]) -> Verdict {
    let least = rows
        .iter()
        .filter_map(|row| Some((ours(row)?.conversions, row.scenario.name)))
        .min();
    let (count, name) = least.unwrap_or_default();
    Verdict {
        target: "a million conversions in each".into(),
        met: count >= ENOUGH,
        value: format!("{count} in {name}"),
    }
}

fn warm_up(rows: &[Row]) -> Verdict {
    everywhere("every bound right from the start", rows, |_, s| {
        (s.warm_up_wrong > 0).then(|| s.warm_up_wrong.to_string())
    })
}

fn tick(rows: &[Row]) -> Verdict {
    everywhere("every bound holds all of the tick", rows, |_, s| {
        (s.tick_not_held > 0).then(|| s.tick_not_held.to_string())
    })
}

fn rates(rows: &[Row]) -> Verdict {
    everywhere("every rate within its bound", rows, |_, s| {
        (s.rates[1] > 0).then(|| format!("{} of {}", s.rates[1], s.rates[0]))
    })
}

fn tightness(rows: &[Row], class: Class, target: &str, limit: f64) -> Verdict {
    everywhere(target, rows, |row, s| {
        if row.scenario.class != class {
            return None;
        }
        match s.tightness {
            Some(tightness) => (tightness > limit).then(|| format!("{tightness:.2}")),
            None => Some("has no bound".into()),
        }
    })
}

fn behind(rows: &[Row], target: &str, against: fn(&Summary) -> bool) -> Verdict {
    everywhere(target, rows, |row, s| {
        let peers = row
            .summaries
            .iter()
            .filter(|peer| peer.method != s.method && peer.conversions > 0 && against(peer));
        let best = peers.min_by(|a, b| a.rms.total_cmp(&b.rms))?;
        (s.conversions == 0 || s.rms > best.rms.max(ROUNDING) * BEHIND)
            .then(|| format!("{:.2} ({} {:.2})", s.rms, best.method, best.rms))
    })
}

fn recovery(rows: &[Row]) -> Verdict {
    everywhere("valid again one batch after a break", rows, |_, s| {
        let valid = s.recovery.valid_batches;
        (s.recovery.breaks > 0 && valid.is_none_or(|batches| batches > 1))
            .then(|| valid.map_or_else(|| "not within 200 s".into(), |batches| batches.to_string()))
    })
}

fn wrong_after(rows: &[Row]) -> Verdict {
    everywhere("no wrong bound after a break", rows, |_, s| {
        (s.recovery.wrong > 0)
            .then(|| format!("{} of {}", s.recovery.wrong, s.recovery.conversions))
    })
}

fn envelope(rows: &[Row]) -> Verdict {
    everywhere(
        "chrony's envelope: error/jitter ≤ 4 from 4 samples, ≤ 3 from 8",
        rows,
        |_, s| {
            let [four, eight] = s.over_jitter?;
            (four > 4.0 || eight > 3.0).then(|| format!("{four:.1}, {eight:.1}"))
        },
    )
}

fn prices(costs: &[Cost]) -> Vec<Verdict> {
    let Some(ours) = costs.iter().find(|cost| cost.method == Method::Ours.name()) else {
        return Vec::new();
    };
    let one = |target: &str, value: f64, limit: f64| Verdict {
        target: target.into(),
        met: value <= limit,
        value: format!("{value:.2}"),
    };
    vec![
        one("≤ 3 ns for a conversion", ours.conversion, 3.0),
        one(
            "≤ 1 ns for each of a slice",
            ours.slice.unwrap_or(f64::INFINITY),
            1.0,
        ),
        one(
            "≤ 2000 ns for a batch of five readings",
            ours.batch,
            2_000.0,
        ),
        one("≤ 4096 bytes for a clock", ours.memory as f64, 4_096.0),
    ]
}
