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
        "1 if a configured task runs; 0 while it starts, or waits for a retry after a failure. Meanwhile its counters stand still",
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
        "Failures of the task; it starts again and keeps its counters",
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
        "1 if the interface can send and receive",
        each(|one| truth(one.state == "up")),
    )?;
    into.gauge(
        "wirestamp_interface_hardware_transmit",
        None,
        "1 if the NIC's transmit timestamps are on",
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
        "Changes of the interface that the system reported, by kind",
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
        "1 if the history is written to disk; 0 if not, because the disk is full or fails",
        [(vec![], truth(history.state == "recording"))],
    )?;
    into.gauge(
        "wirestamp_history_size",
        Some(&Unit::Bytes),
        "Size of the history on disk",
        [(vec![], Some(history.bytes as f64))],
    )?;
    into.counter(
        "wirestamp_history_records",
        None,
        "Records of the history written to disk",
        [(vec![], history.records as f64)],
    )?;
    into.counter(
        "wirestamp_history_records_lost",
        None,
        "Records of the history that could not be written",
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
        "1 if recordings are written; 0 if something cannot be written or removed, or before the first attempt",
        [(vec![], truth(recording.state == "recording"))],
    )?;
    into.gauge(
        "wirestamp_recording_size",
        Some(&Unit::Bytes),
        "Size of this host's recordings on disk, updated at most once a minute",
        [(vec![], Some(recording.bytes as f64))],
    )?;
    into.gauge(
        "wirestamp_recording_files",
        None,
        "Number of this host's recordings on disk",
        [(vec![], Some(recording.files as f64))],
    )?;
    into.counter(
        "wirestamp_recording_rows",
        None,
        "Rows of recordings written to files; rows of the last `file_interval` are still in memory",
        by(vec![], "table", &recording.rows),
    )?;
    into.counter(
        "wirestamp_recording_rows_lost",
        None,
        "Rows of recordings that could not be written and did not fit into memory",
        by(vec![], "table", &recording.lost),
    )?;
    into.counter(
        "wirestamp_recording_files_removed",
        None,
        "Recordings removed because of their age (`keep`) or to make room (`limit_bytes`)",
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
        "Iterations of the measuring loop",
        [(vec![], own.turns as f64)],
    )?;
    into.counter(
        "wirestamp_monitor_missed_deadlines",
        None,
        "Iterations of the measuring loop that began more than 5 ms late",
        [(vec![], own.missed_deadlines as f64)],
    )?;
    into.gauge(
        "wirestamp_monitor_latest_turn",
        seconds(),
        "Largest delay of an iteration of the measuring loop",
        [(vec![], of_ns(Some(own.latest_ns)))],
    )?;
    into.counter(
        "wirestamp_monitor_reloads",
        None,
        "Reloads of the configuration, by result: `done`, `refused`",
        by(vec![], "result", &own.reloads),
    )?;
    into.counter(
        "wirestamp_monitor_pushes",
        None,
        "Pushes to the OTLP receiver, by result: `accepted`, `refused` (the receiver rejects the data), `failed` (the receiver is down, busy or silent)",
        by(vec![], "result", &own.pushes),
    )?;
    // those of this exposition are counted afterwards
    let left_out = own.series_left_out + into.left_out();
    into.counter(
        "wirestamp_monitor_series_left_out",
        None,
        "Series left out because of `series_limit`, counted at each scrape and each push",
        [(vec![], left_out as f64)],
    )
}
