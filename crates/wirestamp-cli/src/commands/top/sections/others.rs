//! Interfaces, events, what does not run, and the monitor itself.

use super::super::columns::Column;
use super::super::style::Tone;
use super::super::text;
use super::{Kind, Row, Section, fault, listed, name, quiet, sum};
use wirestamp_monitor::snapshot::{Event, InterfaceState, Snapshot, TaskState};

const TASKS: [Column; 4] = [
    Column::left("what", 255),
    Column::left("state", 255),
    Column::left("kind", 8),
    Column::rest("why", 255),
];

/// What the configuration asks for and what does not run.
pub(super) fn not_running(snapshot: &Snapshot) -> Section {
    let row = |task: &TaskState| {
        let tone = if task.state == "starting" {
            Tone::Doubtful
        } else {
            Tone::Bad
        };
        let cells = [
            name(&task.name),
            (text::word(Some(&task.state)), tone).into(),
            quiet(text::word(Some(&task.kind))),
            text::word(task.error.as_deref()).into(),
        ];
        Row::new(Kind::Task, &format!("{} {}", task.kind, task.name), cells).with_lost(1)
    };
    let failed = snapshot.tasks.iter().filter(|task| task.state != "running");
    Section {
        title: "not running",
        note: None,
        columns: &TASKS,
        rows: failed.map(row).collect(),
    }
}

const INTERFACES: [Column; 7] = [
    Column::left("interface", 255),
    Column::left("state", 255),
    Column::left("clock", 255),
    Column::left("hardware transmit", 6),
    Column::left("hardware receive", 6),
    Column::left("cross timestamp", 5),
    Column::left("changes", 4),
];

pub(super) fn interfaces(snapshot: &Snapshot) -> Section {
    Section {
        title: "interfaces",
        note: None,
        columns: &INTERFACES,
        rows: snapshot.interfaces.iter().map(interface).collect(),
    }
}

fn interface(interface: &InterfaceState) -> Row {
    let yes = |value: Option<bool>| match value {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => text::UNKNOWN.to_owned(),
    };
    let tone = match interface.state.as_str() {
        "up" => Tone::Good,
        "down" => Tone::Doubtful,
        _ => Tone::Plain,
    };
    let clock = interface
        .hardware_clock
        .map_or_else(|| "none".to_owned(), |number| format!("PHC {number}"));
    Row::new(
        Kind::Interface,
        &interface.name,
        [
            name(&interface.name),
            (text::word(Some(&interface.state)), tone).into(),
            clock.into(),
            yes(interface.transmit).into(),
            text::word(interface.receive.as_deref()).into(),
            yes(interface.cross_timestamp).into(),
            listed(&interface.changes, "none").into(),
        ],
    )
    .with_lost(sum(&interface.changes))
}

const EVENTS: [Column; 4] = [
    Column::left("time", 255),
    Column::left("kind", 5),
    Column::left("of", 8),
    Column::rest("what happened", 255),
];

/// The newest first.
pub(super) fn events(events: &[Event]) -> Section {
    let row = |event: &Event| {
        let cells = [
            quiet(text::time_of_day(&event.time)),
            quiet(text::word(Some(&event.kind)).replace('_', " ")),
            name(&event.subject),
            text::word(Some(&event.message)).into(),
        ];
        Row::new(Kind::Event, &event.id.to_string(), cells)
    };
    let note = events
        .is_empty()
        .then(|| ("none so far".to_owned(), Tone::Quiet));
    Section {
        title: "events",
        note,
        columns: &EVENTS,
        rows: events.iter().rev().map(row).collect(),
    }
}

const MONITOR: [Column; 5] = [
    Column::right("processor", 255),
    Column::right("memory", 255),
    Column::right("late turns", 7),
    Column::right("series left out", 4),
    Column::rest("history", 8),
];

pub(super) fn monitor(snapshot: &Snapshot) -> Section {
    let own = &snapshot.own;
    let share = own
        .cpu_ns
        .filter(|_| snapshot.uptime_ns > 0)
        .map(|cpu| cpu as f64 * 100.0 / snapshot.uptime_ns as f64);
    let history = match &snapshot.history {
        None => ("none".to_owned(), Tone::Quiet),
        Some(history) if history.state == "recording" => (
            format!(
                "{} in {} segments, {} records lost",
                text::bytes(history.bytes),
                history.segments,
                history.lost
            ),
            Tone::Plain,
        ),
        Some(history) => (
            format!(
                "{}: {}",
                text::word(Some(&history.state)).replace('_', " "),
                text::word(history.error.as_deref())
            ),
            Tone::Bad,
        ),
    };
    let missed = own.missed_deadlines;
    let row = Row::new(
        Kind::Monitor,
        "monitor",
        [
            share
                .map_or_else(|| text::UNKNOWN.to_owned(), |share| format!("{share:.2} %"))
                .into(),
            own.resident_bytes
                .map_or_else(|| text::UNKNOWN.to_owned(), text::bytes)
                .into(),
            format!("{missed} of {}", own.turns).into(),
            fault(own.series_left_out.to_string(), own.series_left_out),
            history.into(),
        ],
    );
    Section {
        title: "monitor",
        note: None,
        columns: &MONITOR,
        rows: vec![row],
    }
}
