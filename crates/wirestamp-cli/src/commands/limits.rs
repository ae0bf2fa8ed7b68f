//! Holds what was measured against the limits of the command line. Measures nothing.

use crate::arguments::{Limit, LimitedPath, Limits};
use crate::exit::Exit;
use crate::output::Page;
use crate::output::colour::{BAD, GOOD, paint};
use crate::output::quantity::printed;
use serde::Serialize;
use std::time::Duration;
use wirestamp::Span;

/// A figure and its limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Judged {
    /// The limited figure: wire_ns.p99, as this object names it; lost_percent; lost_or_undecided_percent; or
    /// worst_case_offset_ns, the greatest distance from UTC that the clock may have.
    figure: String,
    /// The limit, in nanoseconds or percent.
    limit: Number,
    /// The measured value in the same unit; null: there is none, and no limit is kept.
    measured: Option<Number>,
    /// Whether the limit is kept.
    kept: bool,
    /// No time is printed with finer digits than this, unless it would contradict the verdict.
    #[serde(skip)]
    unit_ns: u64,
}

/// Nanoseconds or percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Number {
    Nanoseconds(i64),
    Percent(f64),
}

/// Which quantile, as JSON names it.
pub(super) type Figure = &'static str;

/// Judges every limit: `measured` gives the nanoseconds of a path's figure, `usual` is the path that limits without one mean.
pub(super) fn judge(
    limits: &Limits,
    usual: LimitedPath,
    measured: impl Fn(LimitedPath, Figure) -> Option<i64>,
    (lost, packets): (u64, u64),
) -> Vec<Judged> {
    let figures: [(Figure, &[Limit]); 4] = [
        ("p50", &limits.max_p50),
        ("p90", &limits.max_p90),
        ("p99", &limits.max_p99),
        ("p99_9", &limits.max_p999),
    ];
    let times = figures
        .into_iter()
        .flat_map(|(figure, limits)| limits.iter().map(move |limit| (figure, limit)));
    let times = times.map(|(figure, limit)| {
        let path = limit.path.unwrap_or(usual);
        let named = format!("{}_ns.{figure}", path.name());
        judge_one(&named, limit.time, measured(path, figure))
    });
    let loss = |most| judge_loss("lost_percent", most, (lost, packets));
    let loss = limits.max_loss.map(loss);
    times.chain(loss).collect()
}

/// Judges a share of lost packets: `figure` as JSON names it.
pub(super) fn judge_loss(figure: &str, most: f64, (lost, packets): (u64, u64)) -> Judged {
    let percent = (packets > 0).then(|| lost as f64 * 100.0 / packets as f64);
    Judged {
        figure: figure.to_owned(),
        limit: Number::Percent(most),
        measured: percent.map(Number::Percent),
        kept: percent.is_some_and(|percent| percent <= most),
        unit_ns: 1,
    }
}

/// Judges a limit of something else: `figure` as JSON names it.
pub(super) fn judge_one(figure: &str, limit: Duration, measured: Option<i64>) -> Judged {
    let most = Span::from(limit).saturating_nanoseconds();
    Judged {
        figure: figure.to_owned(),
        limit: Number::Nanoseconds(most),
        measured: measured.map(Number::Nanoseconds),
        kept: measured.is_some_and(|measured| measured <= most),
        unit_ns: 1,
    }
}

/// How to end: `is_lossy` says whether packets or timestamps were lost.
pub(super) fn exit(judged: &[Judged], is_lossy: bool) -> Exit {
    if judged.iter().any(|one| !one.kept) {
        Exit::OverLimit
    } else if is_lossy {
        Exit::Lossy
    } else {
        Exit::Success
    }
}

/// Says of each limit whether it was kept.
pub(super) fn print(judged: &[Judged], page: &mut Page) {
    for one in judged {
        page.line(&one.said());
    }
}

/// Notes on exceeded limits where only rows are printed.
pub(super) fn exceeded(judged: &[Judged]) -> impl Iterator<Item = String> {
    judged.iter().filter(|one| !one.kept).map(Judged::said)
}

impl Judged {
    /// Measured in this unit, in nanoseconds.
    pub(super) fn with_unit(self, unit_ns: u64) -> Self {
        Self { unit_ns, ..self }
    }

    fn said(&self) -> String {
        let figure = self.figure.strip_suffix("_ns").unwrap_or(&self.figure);
        let figure = figure.replace("_ns.", " ").replace('_', " ");
        let figure = figure
            .replace("p99 9", "p99.9")
            .replace(" percent", " packets");
        let [measured, limit] = match self.measured {
            Some(measured) => self.texts(measured),
            None => ["not measured".to_owned(), self.limit.printed(1).1],
        };
        let verdict = if self.kept {
            paint(GOOD, "kept")
        } else {
            paint(BAD, "exceeded")
        };
        format!("limit {verdict}: {figure} {measured}, at most {limit}")
    }

    /// The measured number and its limit, as text. Where the texts would contradict the verdict, both are exact.
    fn texts(&self, measured: Number) -> [String; 2] {
        let texts = [measured.printed(self.unit_ns), self.limit.printed(1)];
        let looks_kept = texts[0].0 <= texts[1].0;
        match looks_kept == self.kept {
            true => texts.map(|(_, text)| text),
            false => [measured, self.limit].map(Number::exact),
        }
    }
}

impl Number {
    /// The number that the text states, and the text.
    fn printed(self, unit_ns: u64) -> (Self, String) {
        match self {
            Self::Nanoseconds(time) => {
                let (stated, text) = printed(time, unit_ns);
                let far = if time < 0 { i64::MIN } else { i64::MAX };
                (Self::Nanoseconds(stated.try_into().unwrap_or(far)), text)
            }
            Self::Percent(_) => (self, self.exact()),
        }
    }

    fn exact(self) -> String {
        match self {
            Self::Nanoseconds(time) => format!("{time} ns"),
            Self::Percent(percent) => format!("{percent} %"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let limit = |path, nanoseconds| Limit {
            path,
            time: Duration::from_nanos(nanoseconds),
        };
        Limits {
            max_p50: vec![limit(None, 100)],
            max_p90: Vec::new(),
            max_p99: vec![limit(Some(LimitedPath::SendPath), 200)],
            max_p999: Vec::new(),
            max_loss: Some(1.0),
        }
    }

    fn kept(measured: impl Fn(LimitedPath, Figure) -> Option<i64>, lost: u64) -> Vec<bool> {
        let judged = judge(&limits(), LimitedPath::Wire, measured, (lost, 100));
        judged.iter().map(|one| one.kept).collect()
    }

    #[test]
    fn a_limit_is_kept_up_to_itself_and_by_nothing_that_was_not_measured() {
        let at = |path: LimitedPath, figure: Figure| match (path, figure) {
            (LimitedPath::Wire, "p50") => Some(100),
            (LimitedPath::SendPath, "p99") => Some(201),
            other => panic!("nobody asked for {other:?}"),
        };
        assert_eq!(kept(at, 1), [true, false, true]);
        assert_eq!(kept(|_, _| None, 2), [false, false, false]);
        assert_eq!(kept(|_, _| Some(0), 0), [true, true, true]);
    }

    /// Where rounded times would contradict the verdict, both are exact.
    #[test]
    fn a_verdict_follows_from_the_printed_times() {
        let said = |limit, measured, unit| {
            let limit = Duration::from_nanos(limit);
            let judged = judge_one("delay_ns.p99", limit, Some(measured)).with_unit(unit);
            anstream::adapter::strip_str(&judged.said()).to_string()
        };
        for (limit, measured, unit, expected) in [
            (3_000, 3_004, 1, "3004 ns, at most 3000 ns"),
            (3_000, 3_010, 1, "3.01 µs, at most 3.00 µs"),
            (3_000, 3_004, 1_000, "3004 ns, at most 3000 ns"),
            (3_000, 3_400, 1_000, "3400 ns, at most 3000 ns"),
            (3_000, 4_400, 1_000, "4 µs, at most 3.00 µs"),
            (12_300, 12_345, 100, "12345 ns, at most 12300 ns"),
            (11_700, 11_745, 977, "11745 ns, at most 11700 ns"),
        ] {
            let expected = format!("limit exceeded: delay p99 {expected}");
            assert_eq!(said(limit, measured, unit), expected);
        }
        for (limit, measured, unit, expected) in [
            (3_000, 2_600, 1_000, "3 µs, at most 3.00 µs"),
            (3_700, 3_600, 1_000, "3600 ns, at most 3700 ns"),
            (3_004, 3_001, 1, "3.00 µs, at most 3.00 µs"),
        ] {
            let expected = format!("limit kept: delay p99 {expected}");
            assert_eq!(said(limit, measured, unit), expected);
        }
    }

    #[test]
    fn an_exceeded_limit_comes_before_losses() {
        let judged = |value| {
            judge(
                &limits(),
                LimitedPath::Wire,
                move |_, _| Some(value),
                (0, 100),
            )
        };
        assert_eq!(exit(&judged(0), false), Exit::Success);
        assert_eq!(exit(&judged(0), true), Exit::Lossy);
        assert_eq!(exit(&judged(300), true), Exit::OverLimit);
        let said: Vec<_> = exceeded(&judged(300)).collect();
        assert_eq!(said.len(), 2);
        assert!(
            said[0].contains("wire p50 300 ns, at most 100 ns"),
            "{said:?}"
        );
    }
}
