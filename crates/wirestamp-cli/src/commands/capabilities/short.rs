//! The short text of `capabilities`: a line for software, hardware, PTP and the clock.

use super::text::in_megahertz;
use super::{ALL_RECEIVE, ALL_TRANSMIT, Entry, Flags, Side, TAGGED_TRANSMIT};
use crate::output::cell::{good, quiet};
use crate::output::{Column, Table};
use comfy_table::Cell;

impl Entry {
    pub(super) fn short(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("timestamps"),
            Column::Left("active"),
            Column::Left("supported"),
            Column::Left("observed"),
        ]);
        let seen = &self.observed;
        let software = observed(seen.software_transmit, seen.software_receive);
        self.row(
            &mut table,
            "software",
            |side| directions(&side.software),
            software,
        );
        let hardware = observed(seen.hardware_transmit, seen.hardware_receive);
        self.row(
            &mut table,
            "hardware",
            |side| directions(&side.hardware),
            hardware,
        );
        self.row(
            &mut table,
            "PTPv2",
            |side| side.ptp_verdict.to_owned(),
            Cell::new(""),
        );
        if self.hardware_clock.is_some() || seen.cross_timestamp.is_some() {
            let method = match (seen.cross_timestamp, seen.cross_timestamp_method) {
                (Some(true), Some(method)) => good(format!("read: {method}")),
                (Some(_), _) => Cell::new("reading failed"),
                (None, _) => quiet("not read"),
            };
            self.row(&mut table, "clock", clock, method);
        }
        table
    }

    fn row(&self, table: &mut Table, name: &str, text: impl Fn(&Side) -> String, seen: Cell) {
        let cell = |side: &Option<Side>| {
            let text = side.as_ref().map_or_else(|| "unknown".to_owned(), &text);
            Cell::new(text)
        };
        table.row([
            Cell::new(name),
            cell(&self.active),
            cell(&self.supported),
            seen,
        ]);
    }
}

/// Its frequency where it can be read.
fn clock(side: &Side) -> String {
    match side.nominal_frequency_hz {
        Some(hertz) if side.cross_timestamp => in_megahertz(hertz),
        None if side.cross_timestamp => "yes".to_owned(),
        _ => "-".to_owned(),
    }
}

/// Which timestamps a probe saw.
fn observed(transmit: Option<bool>, receive: Option<bool>) -> Cell {
    if transmit.is_none() && receive.is_none() {
        return quiet("not probed");
    }
    let came = [("transmit", transmit), ("receive", receive)];
    let came = came.into_iter().filter(|(_, came)| *came == Some(true));
    let names: Vec<_> = came.map(|(name, _)| name).collect();
    if names.is_empty() {
        quiet("-")
    } else {
        good(names.join(", "))
    }
}

/// In which directions packets are timestamped, and which packets if not all.
fn directions(flags: &Flags) -> String {
    let on = |is: &dyn Fn(&str) -> bool| flags.0.iter().any(|(name, on)| *on && is(name));
    let direction = |all: bool, name: &str| {
        if all {
            Some(name.to_owned())
        } else {
            on(&|flag| flag.ends_with(name)).then(|| format!("{name} PTPv2"))
        }
    };
    let transmits = on(&|flag| flag == ALL_TRANSMIT || flag == TAGGED_TRANSMIT);
    let receives = on(&|flag| flag == ALL_RECEIVE);
    let both = [
        direction(transmits, "transmit"),
        direction(receives, "receive"),
    ];
    let both: Vec<_> = both.into_iter().flatten().collect();
    if both.is_empty() {
        "-".to_owned()
    } else {
        both.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_says_which_packets_if_not_all() {
        let flags = |names: &[&'static str]| {
            directions(&Flags(names.iter().map(|name| (*name, true)).collect()))
        };
        assert_eq!(flags(&[]), "-");
        assert_eq!(flags(&[TAGGED_TRANSMIT, ALL_RECEIVE]), "transmit, receive");
        let events = "ptp_v2_over_udp_ipv4_event_message_receive";
        assert_eq!(flags(&[TAGGED_TRANSMIT, events]), "transmit, receive PTPv2");
    }
}
