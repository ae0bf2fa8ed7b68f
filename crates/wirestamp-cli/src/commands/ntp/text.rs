//! The text form of `ntp`.

use super::{Measured, Row};
use crate::output::colour::{BAD, DOUBTFUL, GOOD, paint};
use crate::output::{Column, Page, Report, Rows, Table, plural};
use wirestamp::Span;

impl Report for Measured {
    fn print(&self, page: &mut Page) {
        page.heading("offset of this machine's clock (positive: it is ahead)");
        page.gap();
        page.table(self.table());
        page.gap();
        for row in &self.servers {
            page.quiet(&row.circumstances());
            for (reason, count) in &row.lost {
                page.field(reason, &plural(*count, "packet"));
            }
            if row.server_steps > 0 {
                let steps = plural(row.server_steps, "time");
                page.field(
                    "contradiction",
                    &format!(
                        "{steps}: the server's clock was stepped, or drifts more than assumed"
                    ),
                );
            }
            if row.local_steps > 0 {
                let steps = plural(row.local_steps, "time");
                page.field(
                    "clock step",
                    &format!("{steps}: this machine's clock was stepped"),
                );
            }
        }
        page.gap();
        page.line(&self.verdict());
        for row in self.servers.iter().filter(|row| row.falseticker) {
            let named = format!(
                "falseticker: {}, which cannot be right if the others are",
                row.host
            );
            page.line(&paint(BAD, &named));
        }
        if self.interrupted {
            page.line("(interrupted)");
        }
    }

    fn rows(&self, rows: &mut Rows) {
        self.servers.iter().for_each(|server| rows.row(server));
    }
}

impl Measured {
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("server"),
            Column::Right("offset"),
            Column::Right("error bound"),
            Column::Right("bound to UTC"),
            Column::Right("path delay"),
            Column::Right("answers"),
        ]);
        for row in &self.servers {
            let bound = |bound: Option<i64>| {
                bound.map_or_else(|| "-".into(), |ns| format!("± {}", rounded_up(ns)))
            };
            table.row([
                row.host.clone(),
                row.offset_ns
                    .zip(row.error_bound_ns)
                    .map_or_else(|| "-".into(), |(offset, bound)| signed(offset, bound)),
                bound(row.error_bound_ns),
                bound(row.utc_bound_ns),
                row.path_delay_ns.map_or_else(|| "-".into(), shown),
                format!("{}/{}", row.responses, row.requests),
            ]);
        }
        table
    }

    fn verdict(&self) -> String {
        let measured = self
            .servers
            .iter()
            .filter(|row| row.offset_ns.is_some())
            .count();
        let right = measured - self.servers.iter().filter(|row| row.falseticker).count();
        let Some((offset, bound)) = self.offset_ns.zip(self.error_bound_ns) else {
            let why = if measured == 0 {
                "no server could be measured"
            } else {
                "the servers contradict each other, and no more than half of them agree: none can be believed"
            };
            return paint(BAD, why);
        };
        let is_within = offset.saturating_abs() <= bound;
        let who = match (measured, right) {
            (1, _) => "if the server is right".to_owned(),
            (2, 2) => "if both servers are right".to_owned(),
            (all, right) if all == right => format!("if all {all} servers are right"),
            (all, right) => format!("if {right} of {all} servers are right"),
        };
        let text = if is_within {
            format!(
                "this clock may be right: {} ± {} from UTC, {who}",
                signed(offset, bound),
                rounded_up(bound)
            )
        } else {
            let side = if offset > 0 { "ahead of" } else { "behind" };
            let by = magnitude(offset, bound);
            format!(
                "this clock is {by} ± {} {side} UTC, {who}",
                rounded_up(bound)
            )
        };
        paint(if is_within { GOOD } else { DOUBTFUL }, &text)
    }
}

impl Row {
    /// Where, of which server, and by whose timestamps.
    fn circumstances(&self) -> String {
        let mut parts = Vec::new();
        if let Some(address) = self
            .address
            .as_ref()
            .filter(|address| !address.starts_with(&self.host))
        {
            parts.push(address.clone());
        }
        if let Some(reason) = &self.reason {
            parts.push(paint(BAD, reason));
        }
        if let Some((stratum, reference)) = self.stratum.zip(self.reference.as_ref()) {
            parts.push(format!("stratum {stratum}, reference {reference}"));
        }
        if let (Some(source), true) = (self.source, self.offset_ns.is_some()) {
            let at = self
                .interface
                .as_ref()
                .map_or_else(String::new, |name| format!(" on {name}"));
            parts.push(format!("{source} timestamps{at}"));
        }
        if self.authenticated {
            parts.push("authenticated by NTS".to_owned());
        }
        if self.interleaved > 0 {
            parts.push(format!(
                "{} of {} interleaved",
                self.interleaved,
                plural(self.responses, "response")
            ));
        }
        if self.unanswered > 0 {
            parts.push(format!("{} unanswered", plural(self.unanswered, "request")));
        }
        if let Some(leap) = self.leap {
            parts.push(format!("announces a leap second ({leap})"));
        }
        format!("{}: {}", self.host, parts.join(", "))
    }
}

fn span(nanoseconds: i64) -> Span {
    Span::from_nanoseconds(nanoseconds.into())
}

fn shown(nanoseconds: i64) -> String {
    span(nanoseconds).to_string()
}

fn signed(offset: i64, bound: i64) -> String {
    let sign = ["-", "", "+"][usize::from(offset >= 0) + usize::from(offset > 0)];
    format!("{sign}{}", magnitude(offset, bound))
}

/// An offset without its sign, in as many digits as its bound gives a meaning to: rounded by a twentieth of the bound at
/// most, and three digits at least.
fn magnitude(offset: i64, bound: i64) -> String {
    let (offset, bound) = (u128::from(offset.unsigned_abs()), i128::from(bound));
    let (unit, places, name) = match offset {
        0..1_000 => return format!("{offset} ns"),
        1_000..1_000_000 => (1_000u128, 3, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
        _ => (1_000_000_000, 9, "s"),
    };
    let least = match offset / unit {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let step = |decimals: usize| unit / 10u128.pow(decimals as u32);
    let is_fine = |decimals: &usize| step(*decimals) as i128 * 10 <= bound;
    let decimals = (least..places).find(is_fine).unwrap_or(places);
    let rounded = (offset + step(decimals) / 2) / step(decimals) * step(decimals);
    let (whole, rest) = (rounded / unit, rounded % unit / step(decimals));
    match decimals {
        0 => format!("{whole} {name}"),
        _ => format!("{whole}.{rest:0decimals$} {name}"),
    }
}

/// A bound with three digits must not be less than it is.
fn rounded_up(nanoseconds: i64) -> String {
    let (mut digits, mut unit) = (nanoseconds, 1);
    while digits >= 1_000 {
        digits = (digits + 9) / 10;
        unit *= 10;
    }
    shown(digits * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up() {
        let rounded = [0, 999, 1_000, 1_001, 9_991, 99_950, 5_002_500].map(rounded_up);
        assert_eq!(
            rounded,
            [
                "0 ns", "999 ns", "1.00 µs", "1.01 µs", "10.0 µs", "100 µs", "5.01 ms"
            ]
        );
    }

    #[test]
    fn offsets_have_the_digits_that_their_bounds_give_a_meaning_to() {
        let shown = |offset, bound| signed(offset, bound);
        assert_eq!(
            [shown(5, 1), shown(0, 1), shown(-1_500, 9_000)],
            ["+5 ns", "0 ns", "-1.50 µs"]
        );
        // three digits would be wrong by a thousand times the bound
        assert_eq!(shown(-249_999_835, 557), "-249.99984 ms");
        assert_eq!(shown(-249_999_835, 3_000_000), "-250.0 ms");
        assert_eq!(shown(-249_999_835, 90_000_000), "-250 ms");
        assert_eq!(shown(5_000_000_123, 0), "+5.000000123 s");
        assert_eq!(shown(1_999_999, 2_000_000), "+2.00 ms");
        assert_eq!(shown(999_999, 5_000), "+1000.0 µs");
        assert_eq!(shown(i64::MIN, i64::MAX), "-9223372037 s");
    }
}
