//! The ranges of a scenario's numbers, and which fields contradict each other.

use super::action::Event;
use super::document::{Document, Platform};
use super::filter::Filter;
use super::merge::line;
use super::nic::{Clock, Nic, TransmitTimestamps};
use super::program::Program;
use super::traffic::Traffic;
use std::fmt::{Debug, Display};
use toml::de::{DeTable, DeValue};
use wirestamp_core::{Error, ErrorKind};

/// As many as Linux makes: `PTP_DEFAULT_MAX_VCLOCKS`.
const MOST_VIRTUAL_CLOCKS: u32 = 20;

/// Below the numbers of virtual clocks.
const MOST_CLOCKS: u32 = 99;

/// A field out of its range.
#[derive(Debug)]
pub(super) struct Violation {
    /// `nic.clock.hertz`, `event[1].count`.
    field: String,
    value: String,
    allowed: String,
}

type Checked = Result<(), Violation>;

impl Violation {
    pub(super) fn into_error(self, name: &str, text: Option<&str>) -> Error {
        let line = text.and_then(|text| Some(line(text, find(text, &self.field)?)));
        let place = line.map_or_else(|| name.to_owned(), |line| format!("line {line}"));
        let cause = format!(
            "{} is {}; allowed: {}",
            self.field, self.value, self.allowed
        );
        Error::new(ErrorKind::InvalidInput, "read the scenario", place, cause)
    }
}

/// Where a field stands in the text; a field of one NIC may stand under `nic`.
fn find(text: &str, field: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let shared = field
        .replacen("sim0.", "nic.", 1)
        .replacen("sim1.", "nic.", 1);
    [field, &shared]
        .into_iter()
        .find_map(|field| find_in(table.get_ref(), field))
}

fn find_in(table: &DeTable<'_>, field: &str) -> Option<usize> {
    let (part, rest) = field.split_once('.').unwrap_or((field, ""));
    let (name, number) = part.split_once('[').unwrap_or((part, "0]"));
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    let inner = match value.get_ref() {
        DeValue::Table(inner) => Some(inner),
        DeValue::Array(entries) => {
            let number: usize = number.trim_end_matches(']').parse().ok()?;
            entries
                .get(number)
                .and_then(|entry| entry.get_ref().as_table())
        }
        _ => None,
    };
    match inner {
        Some(inner) if !rest.is_empty() => find_in(inner, rest),
        _ => Some(key.span().start),
    }
}

fn within<T: Copy + PartialOrd + Display>(
    field: impl Into<String>,
    value: T,
    least: T,
    most: T,
) -> Checked {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Violation {
        field: field.into(),
        value: value.to_string(),
        allowed: format!("{least} to {most}"),
    })
}

fn holds(
    holds: bool,
    field: impl Into<String>,
    value: impl Debug,
    allowed: impl Into<String>,
) -> Checked {
    if holds {
        return Ok(());
    }
    Err(Violation {
        field: field.into(),
        value: format!("{value:?}"),
        allowed: allowed.into(),
    })
}

/// Checks everything that the types of the fields don't.
pub(super) fn document(document: &Document) -> Checked {
    let host = &document.host;
    within("host.tick", host.tick.nanoseconds(), 1, 1_000_000_000)?;
    holds(
        host.start >= host.tick,
        "host.start",
        host.start.nanoseconds(),
        "at least one tick",
    )?;
    within("host.receive_buffer", host.receive_buffer, 1_000, 1 << 30)?;
    within(
        "host.receive_buffer_limit",
        host.receive_buffer_limit,
        host.receive_buffer,
        1 << 30,
    )?;
    holds(
        !document.bridge || document.platform == Platform::Linux,
        "bridge",
        document.bridge,
        "false, for the platform is not linux",
    )?;
    nic("nic", &document.nic)?;
    for (name, own) in [("sim0", &document.sim0), ("sim1", &document.sim1)] {
        own.as_ref().map_or(Ok(()), |own| nic(name, own))?;
    }
    let events = document.event.iter().enumerate();
    for (number, happening) in events {
        event(&format!("event[{number}]"), happening)?;
    }
    let traffic = document.traffic.iter().enumerate();
    for (number, sender) in traffic {
        sends(&format!("traffic[{number}]"), sender)?;
    }
    Ok(())
}

fn sends(name: &str, traffic: &Traffic) -> Checked {
    let field = |rest: &str| format!("{name}.{rest}");
    let interval = traffic.interval.nanoseconds();
    within(field("interval"), interval, 100, 3_600_000_000_000)?;
    within(field("size"), traffic.size, 16, 65_507)?;
    within(field("flows"), traffic.flows, 1, 1_000)?;
    within(field("port"), traffic.port, 1, u16::MAX)?;
    within(field("vlan"), traffic.vlan, 0, 4_094)
}

fn nic(name: &str, nic: &Nic) -> Checked {
    let field = |rest: &str| format!("{name}.{rest}");
    within(field("mtu"), nic.mtu, 1_280, 65_535)?;
    holds(
        nic.receive_filters.contains(&nic.receive_at_start) || nic.receive_at_start == Filter::NONE,
        field("receive_at_start"),
        nic.receive_at_start.filter().name(),
        "one of receive_filters",
    )?;
    holds(
        !nic.transmit_at_start || nic.hardware_transmit != TransmitTimestamps::None,
        field("transmit_at_start"),
        nic.transmit_at_start,
        "false, for hardware_transmit is none",
    )?;
    let faults = &nic.faults;
    holds(
        faults.late_from <= faults.late_to,
        field("faults.late_from"),
        faults.late_from.nanoseconds(),
        format!("at most late_to, {} ns", faults.late_to.nanoseconds()),
    )?;
    program(&field("program"), &nic.program)?;
    clock(&field("clock"), &nic.clock)
}

fn program(name: &str, program: &Program) -> Checked {
    let field = |rest: &str| format!("{name}.{rest}");
    within(
        field("interval"),
        program.interval.nanoseconds(),
        1_000_000,
        3_600_000_000_000,
    )?;
    within(
        field("noise"),
        program.noise.nanoseconds(),
        0,
        1_000_000_000,
    )?;
    within(field("limit_ppb"), program.limit_ppb, 1, 100_000_000)?;
    within(field("proportional"), program.proportional, 0.0, 2.0)?;
    within(field("integral"), program.integral, 0.0, 2.0)
}

fn clock(name: &str, clock: &Clock) -> Checked {
    let field = |rest: &str| format!("{name}.{rest}");
    within(field("hertz"), clock.hertz, 1_000, 10_000_000_000)?;
    within(field("step"), clock.step, 1, 1_000_000)?;
    within(field("renewal_hertz"), clock.renewal_hertz, 0, clock.hertz)?;
    within(
        field("frequency_error_ppb"),
        clock.frequency_error_ppb,
        -100_000_000,
        100_000_000,
    )?;
    within(field("wander_ppb"), clock.wander_ppb, 0.0, 1_000_000.0)?;
    within(
        field("adjustment.limit_ppb"),
        clock.adjustment.limit_ppb,
        1,
        100_000_000,
    )?;
    within(
        field("adjustment.step_ppb"),
        clock.adjustment.step_ppb,
        0.0,
        1_000_000.0,
    )?;
    within(field("swing_ppb"), clock.swing_ppb, 0.0, 1_000_000.0)?;
    holds(
        clock.swing_ppb == 0.0 || clock.swing_period.nanoseconds() >= 1_000_000_000,
        field("swing_period"),
        clock.swing_period.nanoseconds(),
        "at least 1s where swing_ppb is not 0",
    )
}

fn event(name: &str, event: &Event) -> Checked {
    match event {
        Event::Storm { count, .. } | Event::LoseNotifications { count, .. } => {
            within(format!("{name}.count"), *count, 1, 1_000_000)
        }
        Event::ChangeClock { clock, ppb, .. } => {
            within(format!("{name}.clock"), *clock, 0, MOST_CLOCKS)?;
            within(format!("{name}.ppb"), *ppb, -100_000_000, 100_000_000)
        }
        Event::VirtualClocks { count, .. } => {
            within(format!("{name}.count"), *count, 0, MOST_VIRTUAL_CLOCKS)
        }
        Event::ChangeRate { ppb, .. }
        | Event::SlewSystem { ppb, .. }
        | Event::AdjustHardware { ppb, .. } => {
            within(format!("{name}.ppb"), *ppb, -100_000_000, 100_000_000)
        }
        _ => Ok(()),
    }
}
