//! The text form of `ntp`.

use super::Measured;
use super::row::Row;
use crate::commands::limits;
use crate::output::colour::{BAD, DOUBTFUL, GOOD, paint};
use crate::output::html::Grid;
use crate::output::quantity::{beside, magnitude, shown, signed};
use crate::output::{Column, Page, Report, Rows, Table, interrupted, plural};

const COLUMNS: [Column; 6] = [
    Column::Left("server"),
    Column::Right("offset"),
    Column::Right("error bound"),
    Column::Right("bound to UTC"),
    Column::Right("path delay"),
    Column::Right("answers"),
];

impl Report for Measured {
    fn print(&self, page: &mut Page) {
        page.heading("offset of this machine's clock (positive: it is ahead)");
        page.gap();
        page.table(self.table());
        page.gap();
        for row in &self.servers {
            page.quiet(&row.circumstances());
            if let Some(hint) = &row.hint {
                page.field("hint", hint);
            }
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
            if row.drift_changes > 0 {
                let times = plural(row.drift_changes, "time");
                page.field(
                    "contradiction",
                    &format!("{times}: the drift of the clocks changed by more than assumed"),
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
        limits::print(&self.limits, page);
        for row in self.servers.iter().filter(|row| row.falseticker) {
            let named = format!(
                "falseticker: {}, which cannot be right if the others are",
                row.host
            );
            page.line(&paint(BAD, &named));
        }
        if let Some(said) = interrupted(self.interrupted, self.unconfirmed) {
            page.line(said);
        }
    }

    fn rows(&self, rows: &mut Rows) {
        self.servers.iter().for_each(|server| rows.row(server));
    }
}

impl Measured {
    fn table(&self) -> Table {
        let mut table = Table::new(&COLUMNS);
        for row in &self.servers {
            table.row(row.cells());
        }
        table
    }

    /// The same for a report.
    pub(super) fn grid(&self) -> Grid {
        Grid {
            caption: "Servers".to_owned(),
            columns: COLUMNS.map(|column| column.name().to_owned()).into(),
            rows: self.servers.iter().map(|row| row.cells().into()).collect(),
        }
    }

    fn verdict(&self) -> String {
        let measured = self
            .servers
            .iter()
            .filter(|row| row.offset_ns.is_some())
            .count() as u64;
        let right = self.right_servers.unwrap_or(0);
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
                beside(bound, offset, bound)
            )
        } else {
            let side = if offset > 0 { "ahead of" } else { "behind" };
            let by = magnitude(offset, bound);
            format!(
                "this clock is {by} ± {} {side} UTC, {who}",
                beside(bound, offset, bound)
            )
        };
        paint(if is_within { GOOD } else { DOUBTFUL }, &text)
    }
}

impl Row {
    fn cells(&self) -> [String; COLUMNS.len()] {
        let known = self.offset_ns.zip(self.error_bound_ns);
        let bound = |bound: Option<i64>| {
            let bound = known.zip(bound);
            bound.map_or_else(
                || "-".into(),
                |((offset, by), bound)| format!("± {}", beside(bound, offset, by)),
            )
        };
        [
            self.host.clone(),
            known.map_or_else(|| "-".into(), |(offset, bound)| signed(offset, bound)),
            bound(self.error_bound_ns),
            bound(self.utc_bound_ns),
            self.path_delay_ns.map_or_else(|| "-".into(), shown),
            format!("{}/{}", self.responses, self.requests),
        ]
    }

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
        if let (Some(source), true) = (self.source.as_ref(), self.offset_ns.is_some()) {
            let at = self
                .interface
                .as_ref()
                .map_or_else(String::new, |name| format!(" on {name}"));
            parts.push(format!("{} {source} timestamps{at}", self.stamps));
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
        if let Some(leap) = &self.leap {
            parts.push(format!("announces a leap second ({leap})"));
        }
        format!("{}: {}", self.host, parts.join(", "))
    }
}
