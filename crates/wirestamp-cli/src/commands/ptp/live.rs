//! The table that `ptp` writes every second: over itself on a terminal, row after row
//! elsewhere. Sums nothing up.

use crate::output::quantity::{bounded, shown};
use crate::output::{Column, Output, Page, Table};
use std::io;
use wirestamp::{Span, TimestampSource};
use wirestamp_ptp::{PortStatus, Sample, Status};

/// So many rows stand on a terminal.
const ROWS: usize = 12;

/// The reports of this second, and the rows above.
#[derive(Debug, Default)]
pub(super) struct Live {
    newest: Vec<Sample>,
    rows: Vec<[String; 8]>,
    written: usize,
    headed: bool,
}

/// The last one only where a NIC's clock timestamps.
const COLUMNS: [Column; 8] = [
    Column::Right("after"),
    Column::Left("port"),
    Column::Left("state"),
    Column::Right("offset"),
    Column::Right("bound"),
    Column::Right("path delay"),
    Column::Right("frequency"),
    Column::Right("system clock"),
];

impl Live {
    pub(super) fn note(&mut self, sample: Sample) {
        self.newest
            .retain(|known| known.interface != sample.interface);
        self.newest.push(sample);
    }

    pub(super) fn write(
        &mut self,
        status: &Status,
        after: Span,
        output: &mut Output,
    ) -> io::Result<()> {
        let fresh: Vec<_> = status
            .ports
            .iter()
            .map(|port| self.row(port, after))
            .collect();
        self.newest.clear();
        if output.is_live() {
            self.rows.extend(fresh);
            let surplus = self.rows.len().saturating_sub(ROWS);
            self.rows.drain(..surplus);
            output.back(self.written)?;
            self.written = self.rows.len() + 2;
            let rows = self.rows.clone();
            return output.now(|page| {
                page.line(&followed(status));
                table(page, rows, has_two_clocks(status));
            });
        }
        let headed = std::mem::replace(&mut self.headed, true);
        output.now(|page| {
            if !headed {
                let header = [
                    "after",
                    "port",
                    "state",
                    "offset",
                    "bound",
                    "path delay",
                    "frequency",
                    "system clock",
                ];
                page.line(&spaced(&header.map(str::to_owned), has_two_clocks(status)));
            }
            for row in fresh {
                page.line(&spaced(&row, has_two_clocks(status)));
            }
        })
    }

    fn row(&self, port: &PortStatus, after: Span) -> [String; 8] {
        let sample = self
            .newest
            .iter()
            .find(|sample| sample.interface == port.interface);
        let nothing = || "-".to_owned();
        let [offset, bound, delay, rate, system] = sample.map_or_else(
            || [nothing(), nothing(), nothing(), nothing(), nothing()],
            |sample| {
                let [offset, bound] = bounded(&sample.offset);
                [
                    offset,
                    bound,
                    shown(sample.mean_path_delay_ns),
                    sample.frequency_ppb.map_or_else(nothing, rate),
                    sample
                        .system_offset
                        .map_or_else(nothing, |offset| bounded(&offset).join(" ")),
                ]
            },
        );
        let seconds = after.nanoseconds() / 1_000_000_000;
        let state = port.state.name().to_owned();
        [
            format!("{seconds} s"),
            port.interface.clone(),
            state,
            offset,
            bound,
            delay,
            rate,
            system,
        ]
    }
}

/// Whether the system's clock is another one than the one that timestamps.
fn has_two_clocks(status: &Status) -> bool {
    status
        .ports
        .iter()
        .any(|port| port.source == TimestampSource::Hardware)
}

fn spaced(row: &[String; 8], with_system: bool) -> String {
    let [after, port, state, offset, bound, delay, rate, system] = row;
    // with the longest state and offset, what a terminal of 80 columns has
    let line =
        format!("{after:>7}  {port:<8} {state:<15}{offset:>14}{bound:>10}{delay:>11}{rate:>10}");
    if with_system {
        format!("{line}{system:>24}")
    } else {
        line
    }
}

/// A rate in a fitting unit.
pub(super) fn rate(ppb: f64) -> String {
    if ppb.abs() < 1_000.0 {
        format!("{ppb:.0} ppb")
    } else {
        format!("{:.2} ppm", ppb / 1_000.0)
    }
}

fn table(page: &mut Page, rows: Vec<[String; 8]>, with_system: bool) {
    let columns = if with_system {
        COLUMNS.len()
    } else {
        COLUMNS.len() - 1
    };
    let mut table = Table::new(&COLUMNS[..columns]);
    for row in rows {
        table.row(row.into_iter().take(columns));
    }
    page.table(table);
}

/// Whom the clock follows.
pub(super) fn followed(status: &Status) -> String {
    match status.time_transmitter {
        Some(transmitter) => format!(
            "following {transmitter}, grandmaster {}",
            status.grandmaster
        ),
        None => "no timeTransmitter".to_owned(),
    }
}
