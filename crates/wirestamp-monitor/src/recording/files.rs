//! The thread that writes files: it decides when rows become a file, which files are removed, and how errors are
//! handled.

use super::host_lock::HostLock;
use crate::configuration::{Recording as Configuration, Table};
use crate::snapshot::RecordingState;
use std::io;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wirestamp::{MonotonicTime, Span, UtcTime};
use wirestamp_record::{
    ClockEstimate, Cross, Kept, Options, Probe, Recorder, Retention, Timestamp,
};

/// The most rows of a table that wait for the end of the interval.
const ROWS: usize = 1 << 16;
/// Packets are more, and are divided among as many files as there are buckets: those of ten minutes, with ten peers at 10 Hz that probe back. 24 MB.
const PACKETS: usize = 1 << 18;
/// The interval at which writing is tried again after an error.
const RETRY: Span = Span::from_seconds(5);
/// The shortest interval between two listings of the files.
const SWEEP: Span = Span::from_seconds(60);

/// A row of one of the tables.
pub(super) enum Row {
    Probe(Probe),
    Estimate(ClockEstimate),
    /// Taken at about this UTC.
    Cross(i64, Cross),
    /// Passed at about this UTC.
    Timestamp(i64, Timestamp),
}

impl Row {
    pub(super) fn table(&self) -> Table {
        match self {
            Self::Probe(_) => Table::Probes,
            Self::Estimate(_) => Table::Estimates,
            Self::Cross(..) => Table::Cross,
            Self::Timestamp(..) => Table::Timestamps,
        }
    }
}

/// The rows of about a second, on the monitor's clocks (in a simulation, the simulated ones).
pub(super) struct Batch {
    pub(super) now: MonotonicTime,
    pub(super) utc: UtcTime,
    pub(super) rows: Vec<Row>,
}

/// The recorders of all tables, and what is removed.
pub(super) struct Files {
    configuration: Configuration,
    probes: Recorder<Probe>,
    estimates: Recorder<ClockEstimate>,
    cross: Recorder<Cross>,
    timestamps: Recorder<Timestamp>,
    retention: Retention,
    /// When the rows that wait began to.
    since: Option<MonotonicTime>,
    swept: Option<MonotonicTime>,
    /// Whether files were written since, or time passed that makes some too old.
    is_unswept: bool,
    /// When writing failed last, and how.
    failed: Option<(MonotonicTime, io::Error)>,
    /// What could not be removed.
    stuck: Option<io::Error>,
    kept: Kept,
    removed: u64,
    /// What the state says already of rows that were given up.
    lost: [u64; Table::ALL.len()],
    state: Arc<Mutex<RecordingState>>,
    lock: Arc<HostLock>,
}

impl Files {
    pub(super) fn new(
        configuration: &Configuration,
        host: &str,
        state: Arc<Mutex<RecordingState>>,
        lock: Arc<HostLock>,
    ) -> Self {
        let folder = &configuration.directory;
        let options = Options {
            rows: ROWS,
            // by the monitor's clock, not by the system's
            age: Duration::MAX,
        };
        Self {
            probes: Recorder::new(folder, host, options),
            estimates: Recorder::new(folder, host, options),
            cross: Recorder::new(folder, host, options),
            timestamps: Recorder::new(
                folder,
                host,
                Options {
                    rows: PACKETS,
                    ..options
                },
            ),
            retention: Retention::new(folder, host, configuration.limit_bytes, configuration.keep),
            configuration: configuration.clone(),
            since: None,
            swept: None,
            is_unswept: true,
            failed: None,
            stuck: None,
            kept: Kept::default(),
            removed: 0,
            lost: [0; Table::ALL.len()],
            state,
            lock,
        }
    }

    /// Makes sure that nobody else writes there as this host.
    pub(super) fn lock(&self) -> io::Result<()> {
        self.lock.take()
    }

    /// That somebody else does. A folder that cannot be locked for another reason cannot be written either, or all is well once it can.
    fn is_taken(&self) -> Option<io::Error> {
        let error = self.lock().err();
        error.filter(|error| error.kind() == io::ErrorKind::ResourceBusy)
    }

    /// Until no more batches come; then it writes what it has.
    pub(super) fn run(&mut self, batches: &Receiver<Batch>) {
        let mut last = None;
        while let Ok(batch) = batches.recv() {
            last = Some((batch.now, batch.utc));
            self.take(batch);
        }
        if let Some((now, utc)) = last
            && self.is_taken().is_none()
        {
            let written = self.flush();
            self.judge(now, written);
            self.sweep(now, utc);
            self.tell();
        }
    }

    fn take(&mut self, batch: Batch) {
        let Batch { now, utc, rows } = batch;
        if let Some(error) = self.is_taken() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            for row in &rows {
                if let Some(count) = state.lost.get_mut(row.table().name()) {
                    *count += 1;
                }
            }
            drop(state);
            self.judge(now, Err(error));
            return self.tell();
        }
        let is_first = self.since.is_none();
        let since = *self.since.get_or_insert(now);
        let before = self.written();
        let mut result = self.push(rows);
        let is_due = now - since >= Span::from(self.configuration.file_interval);
        let is_retried = (self.failed.as_ref()).is_some_and(|(at, _)| now - *at >= RETRY);
        let is_tried = is_first || is_due || is_retried;
        if is_first {
            // that nothing can be written there is known at once
            result = result.and(self.probes.check());
        } else if is_tried {
            self.since = Some(now);
            result = result.and(self.flush());
        }
        // memory may have been full before the interval was over
        let has_written = self.written() != before;
        self.is_unswept |= is_tried || has_written;
        // what kept it from writing may have kept it from listing
        let recovers = self.failed.is_some() && is_tried && result.is_ok();
        let is_soon = self.swept.is_some_and(|at| now - at < SWEEP);
        let is_swept = self.is_unswept && (!is_soon || recovers);
        if is_tried || result.is_err() {
            // else it is neither better nor worse than before
            self.judge(now, result);
        } else if !has_written && !is_swept {
            return;
        }
        if is_swept {
            self.sweep(now, utc);
        }
        self.tell();
    }

    /// Rows in files.
    fn written(&self) -> u64 {
        self.counts().iter().map(|(written, _)| written).sum()
    }

    /// Rows written and given up, in the order of [`Table::ALL`].
    fn counts(&self) -> [(u64, u64); Table::ALL.len()] {
        [
            (self.probes.written(), self.probes.lost()),
            (self.estimates.written(), self.estimates.lost()),
            (self.cross.written(), self.cross.lost()),
            (self.timestamps.written(), self.timestamps.lost()),
        ]
    }

    fn push(&mut self, rows: Vec<Row>) -> io::Result<()> {
        let mut result = Ok(());
        for row in rows {
            let pushed = match row {
                Row::Probe(row) => self.probes.push(row.window_start, row),
                Row::Estimate(row) => self.estimates.push(row.from, row),
                Row::Cross(at, row) => self.cross.push(at, row),
                Row::Timestamp(at, row) => self.timestamps.push(at, row),
            };
            result = result.and(pushed);
        }
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        let probes = self.probes.flush();
        let estimates = self.estimates.flush();
        let cross = self.cross.flush();
        probes
            .and(estimates)
            .and(cross)
            .and(self.timestamps.flush())
    }

    fn sweep(&mut self, now: MonotonicTime, utc: UtcTime) {
        self.swept = Some(now);
        let kept = self.retention.sweep(utc.nanoseconds());
        self.is_unswept = kept.is_err();
        match kept {
            Ok(kept) => {
                self.kept = kept;
                self.removed += kept.removed;
                self.stuck = None;
            }
            Err(error) => {
                let why = format!("old files are not removed: {error}");
                if self.stuck.is_none() {
                    tracing::error!("{}: {why}", self.configuration.directory.display());
                }
                self.stuck = Some(io::Error::new(error.kind(), why));
            }
        }
    }

    /// Notes whether writing succeeded.
    fn judge(&mut self, now: MonotonicTime, result: io::Result<()>) {
        let folder = self.configuration.directory.display();
        match (&result, &self.failed) {
            (Err(error), None) => tracing::error!("{folder}: recordings are not written: {error}"),
            (Ok(()), Some(_)) => tracing::info!("{folder}: recordings are written again"),
            _ => {}
        }
        self.failed = result.err().map(|error| (now, error));
    }

    fn tell(&mut self) {
        let written = self.failed.as_ref().map(|(_, error)| error);
        let error = written.or(self.stuck.as_ref()).map(io::Error::to_string);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if error.is_some() {
            "failed"
        } else {
            "recording"
        };
        name.clone_into(&mut state.state);
        state.error = error;
        (state.files, state.bytes, state.removed) =
            (self.kept.files, self.kept.bytes, self.removed);
        let known = Table::ALL
            .into_iter()
            .zip(self.counts())
            .zip(&mut self.lost);
        for ((table, (written, lost)), told) in known {
            // the measuring loop counts what it could not hand over
            let more = lost - std::mem::replace(told, lost);
            if let Some(count) = state.lost.get_mut(table.name()) {
                *count += more;
            }
            if let Some(count) = state.rows.get_mut(table.name()) {
                *count = written;
            }
        }
    }
}
