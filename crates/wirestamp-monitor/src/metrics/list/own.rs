//! Metrics of the monitor itself: tasks, interfaces, history, cost.

use super::{by, of_ns, seconds, truth};
use crate::metrics::families::Families;
use crate::snapshot::Snapshot;
use prometheus_client::registry::Unit;
use std::fmt::Error;

pub(super) fn tasks(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let labels = |kind, name| vec![("kind", kind), ("name", name)];
    let up = snapshot.tasks.iter().map(|task| {
        (
            labels(task.kind.as_str(), task.name.as_str()),
            truth(task.state == "running"),
        )
    });
    into.gauge(
        "wirestamp_task_up",
        None,
        "1 if the task runs, 0 if it starts or failed and is tried again",
        up,
    )?;
    let failures = snapshot.tasks.iter().map(|task| {
        (
            labels(task.kind.as_str(), task.name.as_str()),
            task.failures as f64,
        )
    });
    into.counter(
        "wirestamp_task_failures",
        None,
        "Failures of the task; it is started again and keeps its counters",
        failures,
    )
}

pub(super) fn interfaces(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let all = &snapshot.interfaces;
    let each = |pick: fn(&crate::snapshot::InterfaceState) -> Option<f64>| {
        all.iter()
            .map(move |one| (vec![("interface", one.name.as_str())], pick(one)))
    };
    into.gauge(
        "wirestamp_interface_up",
        None,
        "1 if packets can pass",
        each(|one| truth(one.state == "up")),
    )?;
    into.gauge(
        "wirestamp_interface_hardware_transmit",
        None,
        "1 if the hardware timestamps transmitted packets now",
        each(|one| one.transmit.and_then(truth)),
    )?;
    let changes = all.iter().flat_map(|one| {
        by(
            vec![("interface", one.name.as_str())],
            "change",
            &one.changes,
        )
    });
    into.counter(
        "wirestamp_interface_changes",
        None,
        "Changes that the system reported, by what changed",
        changes,
    )
}

pub(super) fn history(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let Some(history) = &snapshot.history else {
        return Ok(());
    };
    into.gauge(
        "wirestamp_history_recording",
        None,
        "1 if history is written to disk, 0 if the monitor is live only",
        [(vec![], truth(history.state == "recording"))],
    )?;
    into.gauge(
        "wirestamp_history_size",
        Some(&Unit::Bytes),
        "History on disk",
        [(vec![], Some(history.bytes as f64))],
    )?;
    into.counter(
        "wirestamp_history_records",
        None,
        "Records written",
        [(vec![], history.records as f64)],
    )?;
    into.counter(
        "wirestamp_history_records_lost",
        None,
        "Records that could not be written",
        [(vec![], history.lost as f64)],
    )
}

pub(super) fn recording(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let Some(recording) = &snapshot.recording else {
        return Ok(());
    };
    into.gauge(
        "wirestamp_recording_up",
        None,
        "1 if recordings are written, 0 if they fail or start",
        [(vec![], truth(recording.state == "recording"))],
    )?;
    into.gauge(
        "wirestamp_recording_size",
        Some(&Unit::Bytes),
        "Recordings of this host on disk",
        [(vec![], Some(recording.bytes as f64))],
    )?;
    into.gauge(
        "wirestamp_recording_files",
        None,
        "Files of this host's recordings on disk",
        [(vec![], Some(recording.files as f64))],
    )?;
    into.counter(
        "wirestamp_recording_rows",
        None,
        "Rows written",
        by(vec![], "table", &recording.rows),
    )?;
    into.counter(
        "wirestamp_recording_rows_lost",
        None,
        "Rows that could not be written",
        by(vec![], "table", &recording.lost),
    )?;
    into.counter(
        "wirestamp_recording_files_removed",
        None,
        "Files removed for their age, or to make room",
        [(vec![], recording.removed as f64)],
    )
}

pub(super) fn own(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let own = &snapshot.own;
    if let Some(cpu) = own.cpu_ns {
        into.counter(
            "wirestamp_monitor_cpu",
            seconds(),
            "Processor time of the monitor",
            [(vec![], cpu as f64 / 1e9)],
        )?;
    }
    into.gauge(
        "wirestamp_monitor_resident_memory",
        Some(&Unit::Bytes),
        "Resident memory of the monitor",
        [(vec![], own.resident_bytes.map(|bytes| bytes as f64))],
    )?;
    into.counter(
        "wirestamp_monitor_turns",
        None,
        "Turns of the measuring loop",
        [(vec![], own.turns as f64)],
    )?;
    into.counter(
        "wirestamp_monitor_missed_deadlines",
        None,
        "Turns of the measuring loop that began more than 5 ms late",
        [(vec![], own.missed_deadlines as f64)],
    )?;
    into.gauge(
        "wirestamp_monitor_latest_turn",
        seconds(),
        "Largest delay of a turn of the measuring loop",
        [(vec![], of_ns(Some(own.latest_ns)))],
    )?;
    into.counter(
        "wirestamp_monitor_reloads",
        None,
        "Reloads of the configuration, by result",
        by(vec![], "result", &own.reloads),
    )?;
    into.counter(
        "wirestamp_monitor_pushes",
        None,
        "Pushes of metrics to the OTLP receiver, by result: accepted, refused (invalid), failed (unreachable, no answer, or busy)",
        by(vec![], "result", &own.pushes),
    )?;
    // those of this exposition are counted afterwards
    let left_out = own.series_left_out + into.left_out();
    into.counter(
        "wirestamp_monitor_series_left_out",
        None,
        "Series that the limit on label sets kept out, at each scrape and each push",
        [(vec![], left_out as f64)],
    )
}
