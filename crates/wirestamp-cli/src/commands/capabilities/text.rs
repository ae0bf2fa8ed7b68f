//! The text form of `capabilities`.

use super::{ALL_RECEIVE, AfXdp, Entry, Flags, Mask, Masks, Seen, Side, TAGGED_TRANSMIT};
use crate::output::cell::{doubtful, good, quiet};
use crate::output::{Column, Page, Report, Rows, Table};
use comfy_table::Cell;
use serde::Serialize;
use std::env::consts::OS;

/// A flag, for `--format ndjson` and `csv`. `None`: not known.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct FlagRow<'a> {
    /// Name of the interface.
    interface: &'a str,
    /// Kind of flag.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["clock", "hardware", "software", "ptp_events"])))]
    group: &'static str,
    /// Name of the flag, as in the object.
    name: &'static str,
    /// Supported by driver and system; null: not known.
    supported: Option<bool>,
    /// Switched on; null: not known.
    active: Option<bool>,
    /// Seen by a probe; null: not probed.
    observed: Option<bool>,
}

impl Report for Entry {
    fn rows(&self, rows: &mut Rows) {
        let mut row = |group, name, [supported, active]: [Option<bool>; 2], observed| {
            rows.row(&FlagRow {
                interface: &self.interface,
                group,
                name,
                supported,
                active,
                observed,
            });
        };
        let sides = [self.supported.as_ref(), self.active.as_ref()];
        let cross = sides.map(|side| side.map(|side| side.cross_timestamp));
        row(
            "clock",
            "cross_timestamp",
            cross,
            self.observed.cross_timestamp,
        );
        for (which, group) in ["hardware", "software", "ptp_events"]
            .into_iter()
            .enumerate()
        {
            let flags = sides.map(|side| side.map(|side| side.groups()[which]));
            let names = flags.into_iter().flatten().next();
            for (place, (name, _)) in names
                .into_iter()
                .flat_map(|flags| flags.0.iter().enumerate())
            {
                let answers = flags.map(|flags| flags.map(|flags| flags.0[place].1));
                row(group, name, answers, self.observed.of_flag(group, name));
            }
        }
    }

    fn print(&self, page: &mut Page) {
        let simulated = if self.simulated { ", simulated" } else { "" };
        let clock = match self.hardware_clock {
            Some(number) => format!(", hardware clock ptp{number}"),
            // Windows numbers no clocks; whether there is one, the table tells.
            None if OS == "windows" && !self.simulated => String::new(),
            None => ", no hardware clock".to_owned(),
        };
        page.heading(&format!(
            "{} (index {}{clock}{simulated})",
            self.interface, self.index
        ));
        if self.all {
            page.table(self.flags());
            self.masks(page);
        } else {
            page.table(self.short());
        }
        self.notes(page);
    }
}

impl Side {
    fn groups(&self) -> [&Flags; 3] {
        [&self.hardware, &self.software, &self.ptp_matrix]
    }
}

impl Seen {
    /// Returns whether a flag was observed; `None`: it is unknown.
    fn of_flag(&self, group: &str, name: &str) -> Option<bool> {
        match (group, name) {
            ("hardware", ALL_RECEIVE) => self.hardware_receive,
            ("hardware", TAGGED_TRANSMIT) => self.hardware_transmit,
            ("software", ALL_RECEIVE) => self.software_receive,
            ("software", TAGGED_TRANSMIT) => self.software_transmit,
            _ => None,
        }
    }
}

impl Entry {
    /// What the kernel calls it; twice only where they differ.
    fn masks(&self, page: &mut Page) {
        let sides = [&self.supported, &self.active];
        let [supported, active] = sides.map(|side| masks_of(side.as_ref()));
        if let Some(masks) = supported {
            page.gap();
            masks.print(page, "supported");
        }
        if let Some(masks) = active.filter(|active| supported.is_none_or(|known| !active.is(known)))
        {
            page.gap();
            masks.print(page, "active");
        }
    }

    fn flags(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("timestamps"),
            Column::Left("supported"),
            Column::Left("active"),
            Column::Left("observed"),
        ]);
        let [supported, active] = [self.supported.as_ref(), self.active.as_ref()];
        let frequency = |side: Option<&Side>| {
            side.map_or_else(unknown, |side| {
                side.nominal_frequency_hz
                    .map_or_else(|| quiet("-"), |hz| Cell::new(in_megahertz(hz)))
            })
        };
        table.row([
            Cell::new("nominal frequency"),
            frequency(supported),
            frequency(active),
            not_probed(),
        ]);
        let cross =
            |side: Option<&Side>| side.map_or_else(unknown, |side| yes_or_no(side.cross_timestamp));
        let method = match (
            self.observed.cross_timestamp,
            self.observed.cross_timestamp_method,
        ) {
            (Some(true), Some(method)) => good(method),
            (Some(_), _) => doubtful("failed"),
            (None, _) => quiet("-"),
        };
        table.row([
            Cell::new("cross timestamp"),
            cross(supported),
            cross(active),
            method,
        ]);
        let seen = &self.observed;
        self.group(
            &mut table,
            "hardware",
            |side| &side.hardware,
            |name| seen.of_flag("hardware", name),
        );
        self.group(
            &mut table,
            "software",
            |side| &side.software,
            |name| seen.of_flag("software", name),
        );
        let verdict =
            |side: Option<&Side>| side.map_or_else(unknown, |side| Cell::new(side.ptp_verdict));
        table.row([
            Cell::new("PTPv2 verdict"),
            verdict(supported),
            verdict(active),
            Cell::new(""),
        ]);
        self.group(
            &mut table,
            "PTPv2 events",
            |side| &side.ptp_matrix,
            |_| None,
        );
        table
    }

    /// One row a flag.
    fn group(
        &self,
        table: &mut Table,
        title: &str,
        flags: impl Fn(&Side) -> &Flags,
        seen: impl Fn(&str) -> Option<bool>,
    ) {
        table.row([
            Cell::new(title),
            Cell::new(""),
            Cell::new(""),
            Cell::new(""),
        ]);
        let [supported, active] = [
            self.supported.as_ref().map(&flags),
            self.active.as_ref().map(&flags),
        ];
        let Some(names) = supported.or(active) else {
            return;
        };
        for (place, (name, _)) in names.0.iter().enumerate() {
            let answer = |flags: Option<&Flags>| {
                flags.map_or_else(unknown, |flags| yes_or_no(flags.0[place].1))
            };
            let observed = match seen(name) {
                Some(true) => good("seen"),
                Some(false) => Cell::new("not seen"),
                None => not_probed(),
            };
            table.row([
                Cell::new(format!("  {name}")),
                answer(supported),
                answer(active),
                observed,
            ]);
        }
    }

    fn notes(&self, page: &mut Page) {
        let notes = [
            ("supported", &self.supported_error),
            ("active", &self.active_error),
            ("observed", &self.observed.probe_error),
        ];
        let notes: Vec<_> = notes
            .into_iter()
            .filter_map(|(what, error)| Some((what, error.as_ref()?)))
            .collect();
        let af_xdp = self.af_xdp.as_ref().filter(|af_xdp| af_xdp.driver);
        if !self.observed.probed || !notes.is_empty() || !self.all || af_xdp.is_some() {
            page.gap();
        }
        if let Some(af_xdp) = af_xdp {
            page.line(&af_xdp.text());
        }
        for (what, error) in notes {
            page.line(&format!("{what}: unknown: {error}"));
        }
        if !self.observed.probed && self.observed.probe_error.is_none() {
            page.quiet(&format!(
                "observed: not probed; see wirestamp capabilities {} --probe ADDRESS",
                self.interface
            ));
        }
        if !self.all {
            page.quiet(&format!(
                "every flag: wirestamp capabilities {} --all",
                self.interface
            ));
        }
    }
}

impl AfXdp {
    /// `AF_XDP: in the driver, with zero copy; timestamps of the NIC: receive`.
    fn text(&self) -> String {
        let copy = if self.zero_copy {
            "with zero copy"
        } else {
            "with a copy"
        };
        let timestamps = match (self.hardware_receive, self.hardware_transmit) {
            (true, true) => "receive, transmit",
            (true, false) => "receive",
            (false, true) => "transmit",
            (false, false) => "none",
        };
        format!("AF_XDP: in the driver, {copy}; timestamps of the NIC: {timestamps}")
    }
}

impl Masks {
    /// Whether the others say the same.
    fn is(&self, others: &Self) -> bool {
        let values = |masks: &Self| {
            [
                &masks.so_timestamping,
                &masks.transmit_types,
                &masks.receive_filters,
            ]
            .map(|mask| mask.value)
        };
        values(self) == values(others)
    }

    fn print(&self, page: &mut Page, what: &str) {
        page.line(&format!("kernel masks, {what}:"));
        let line = |page: &mut Page, name: &str, mask: &Mask| {
            page.field(name, &format!("{} {}", mask.hex, mask.names.join(" ")));
        };
        line(page, "so_timestamping", &self.so_timestamping);
        line(page, "transmit_types", &self.transmit_types);
        line(page, "receive_filters", &self.receive_filters);
    }
}

/// `156.25 MHz`.
pub(super) fn in_megahertz(hertz: u64) -> String {
    let digits = format!("{}.{:06}", hertz / 1_000_000, hertz % 1_000_000);
    format!("{} MHz", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn masks_of(side: Option<&Side>) -> Option<&Masks> {
    side?.kernel_masks.as_ref()
}

fn yes_or_no(answer: bool) -> Cell {
    if answer { good("yes") } else { Cell::new("no") }
}

fn unknown() -> Cell {
    doubtful("unknown")
}

fn not_probed() -> Cell {
    quiet("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_exact() {
        let shown = [1_000_000_000, 156_250_000, 10_000_001, 999].map(in_megahertz);
        assert_eq!(
            shown,
            ["1000 MHz", "156.25 MHz", "10.000001 MHz", "0.000999 MHz"]
        );
    }
}
