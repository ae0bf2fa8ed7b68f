//! Takes rows from the measuring loop and hands them to the thread that writes files. It waits only in a simulation,
//! where no time passes meanwhile.

use super::Said;
use super::claim::Claim;
use super::files::{Batch, Files, Row};
use super::host_lock::HostLock;
use crate::configuration::{Recording as Configuration, Table};
use crate::patience::{self, LOOK, PATIENCE, ends_by};
use crate::snapshot::{Reasons, RecordingState};
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirestamp::{CrossTimestamp, Error, ErrorKind, MonotonicTime, Result, Span, UtcTime};
use wirestamp_measure::{Known, Moment, Packet};
use wirestamp_probe::session::{Differences, Window};
use wirestamp_record::{ClockEstimate, Cross, Direction, Probe, Source, Timestamp, flow_of};

/// So many rows wait for a slow disk, beside those that the thread has: 20,000 sessions have as many in a second.
const WAITING: usize = 32_768;
/// So many batches are on their way to the thread.
const BATCHES: usize = 2;

/// Takes rows. Dropping it writes what it has, as far as the disk lets it.
pub(crate) struct Recording {
    configuration: Configuration,
    host: String,
    claim: Claim,
    /// When clocks are estimated again.
    estimates_due: Option<MonotonicTime>,
    /// The last look, or when it began.
    last: (MonotonicTime, UtcTime),
    rows: Vec<Row>,
    /// All rows that it was given.
    taken: u64,
    batches: Option<SyncSender<Batch>>,
    may_wait: bool,
    state: Arc<Mutex<RecordingState>>,
    lock: Arc<HostLock>,
    /// Whether the thread has the lock.
    locked: Option<Receiver<io::Result<()>>>,
    thread: Option<JoinHandle<()>>,
}

impl Recording {
    /// `host`: the name that is unique in the fleet. `before`: those that still write what they have, perhaps in the same folder.
    pub(crate) fn start<'a>(
        configuration: &Configuration,
        host: String,
        is_simulated: bool,
        moment: &Moment,
        before: impl IntoIterator<Item = &'a Self>,
    ) -> Result<Self> {
        let (batches, received) = sync_channel(BATCHES);
        let mut new = Self::without_thread(configuration, host, is_simulated, moment, batches);
        let mut locks = before.into_iter().map(|before| &before.lock);
        if let Some(lock) = locks.find(|lock| **lock == new.lock) {
            new.lock = Arc::clone(lock);
        }
        let (sender, locked) = channel();
        let (lock, state) = (Arc::clone(&new.lock), Arc::clone(&new.state));
        let mut files = Files::new(configuration, &new.host, state, lock);
        let run = move || {
            let _ = sender.send(files.lock());
            files.run(&received);
        };
        let thread = patience::start("wirestamp-record", run);
        new.thread = Some(thread.map_err(|error| {
            Error::new(ErrorKind::Io, "record", "its thread", error.to_string())
        })?);
        new.locked = Some(locked);
        Ok(new)
    }

    /// Waits a while until it is known who writes into the folder. One that cannot be written is tried again later.
    ///
    /// # Errors
    /// `Busy` if another monitor does, as the same host.
    pub(crate) fn claim(&self) -> Result<()> {
        let locked = self
            .locked
            .as_ref()
            .map(|locked| locked.recv_timeout(PATIENCE));
        match locked {
            Some(Ok(Err(error))) if error.kind() == io::ErrorKind::ResourceBusy => {
                let target = self.configuration.directory.display().to_string();
                let busy = Error::new(ErrorKind::Busy, "record", target, error.to_string());
                Err(busy.with_remedy(
                    "name a folder of its own in [recording] directory, or another host",
                ))
            }
            _ => Ok(()),
        }
    }

    fn without_thread(
        configuration: &Configuration,
        host: String,
        is_simulated: bool,
        moment: &Moment,
        batches: SyncSender<Batch>,
    ) -> Self {
        // a counter that begins at 1 has no increase: it is there from the start
        let none = || -> Reasons {
            let tables = configuration.tables.iter();
            tables.map(|table| (table.name().to_owned(), 0)).collect()
        };
        let state = RecordingState {
            state: "starting".to_owned(),
            rows: none(),
            lost: none(),
            ..RecordingState::default()
        };
        Self {
            lock: Arc::new(HostLock::new(&configuration.directory, &host)),
            configuration: configuration.clone(),
            host,
            claim: Claim::default(),
            estimates_due: None,
            last: (moment.now, moment.reading.utc),
            rows: Vec::new(),
            taken: 0,
            batches: Some(batches),
            may_wait: is_simulated,
            state: Arc::new(Mutex::new(state)),
            locked: None,
            thread: None,
        }
    }

    /// Whether it is what is asked for.
    pub(crate) fn is_of(&self, configuration: Option<&Configuration>, host: &str) -> bool {
        configuration == Some(&self.configuration) && host == self.host
    }

    /// The length of windows, if there are any.
    pub(crate) fn window(&self) -> Option<Duration> {
        self.has(Table::Probes).then_some(self.configuration.window)
    }

    fn has(&self, table: Table) -> bool {
        self.configuration.tables.contains(&table)
    }

    /// A window of a session.
    pub(crate) fn probe(&mut self, peer: &Arc<str>, window: &Window) {
        let least = |one: Differences| one.least.saturating_nanoseconds();
        let middle = |one: Differences| one.middle.saturating_nanoseconds();
        self.add(Row::Probe(Probe {
            peer: Arc::clone(peer),
            window_start: window.start.nanoseconds(),
            window: window.length.saturating_nanoseconds(),
            forward: window.forward.map(least),
            backward: window.backward.map(least),
            forward_middle: window.forward.map(middle),
            backward_middle: window.backward.map(middle),
            count: i64::try_from(window.sent).unwrap_or(i64::MAX),
        }));
    }

    /// Takes an estimate of a clock.
    pub(crate) fn estimate(&mut self, clock: &str, known: &Known) {
        self.add(Row::Estimate(ClockEstimate {
            clock: clock.into(),
            from: known.from.nanoseconds(),
            until: known.until.nanoseconds(),
            generation: known.generation,
            offset: known.offset.map(|offset| {
                let bound = offset.bound.saturating_nanoseconds().unsigned_abs();
                (offset.value.saturating_nanoseconds(), bound)
            }),
            frequency_ppt: known.frequency_ppt,
            right_servers: known.right_servers,
        }));
    }

    /// A cross timestamp, taken at about this time.
    pub(crate) fn cross(&mut self, interface: &str, reading: &CrossTimestamp, at: UtcTime) {
        let row = Cross {
            interface: interface.into(),
            monotonic_before: reading.monotonic_before().nanoseconds(),
            ticks: reading.hardware().raw(),
            monotonic_after: reading.monotonic_after().nanoseconds(),
            method: reading.method().name(),
        };
        self.add(Row::Cross(at.nanoseconds(), row));
    }

    /// Whether single packets are wanted.
    pub(crate) fn wants_packets(&self) -> bool {
        self.has(Table::Timestamps)
    }

    /// A packet, which passed at about this time.
    pub(crate) fn packet(&mut self, packet: &Packet<'_>, at: UtcTime) {
        let [local, remote] = packet.between.map(|end| {
            // a socket for both families has IPv4 addresses in IPv6's form
            SocketAddr::new(end.ip().to_canonical(), end.port()).to_string()
        });
        let timestamp = packet.timestamp;
        let utc = timestamp.map(|made| {
            let bound = made.monotonic.bound.max(made.utc.bound);
            let bound = bound.saturating_nanoseconds().unsigned_abs();
            (made.utc.value.nanoseconds(), bound)
        });
        let row = Timestamp {
            interface: packet.interface.into(),
            flow: flow_of(&local, &remote, 0),
            sequence: packet.sequence.into(),
            direction: if packet.is_sent {
                Direction::Transmit
            } else {
                Direction::Receive
            },
            source: Source::Software,
            generation: None,
            ticks: timestamp
                .ok()
                .map(|made| made.monotonic.value.nanoseconds().cast_unsigned()),
            utc,
        };
        let at = utc.map_or(at.nanoseconds(), |(utc, _)| utc);
        self.add(Row::Timestamp(at, row));
    }

    fn add(&mut self, row: Row) {
        if !self.has(row.table()) {
            return;
        }
        self.taken += 1;
        if self.rows.len() < WAITING {
            self.rows.push(row);
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state.lost.entry(row.table().name().to_owned()).or_default() += 1;
    }

    /// Once a second: notes what is said of the real-time clock. Returns whether the clocks are to be estimated now.
    pub(crate) fn look(&mut self, moment: &Moment, said: Option<Said>) -> bool {
        let utc = moment.reading.utc;
        let always = self.configuration.clock_bound.map(Span::from);
        let always = always.map(|bound| Said::new(0, bound.saturating_nanoseconds(), 0));
        self.claim.look(moment, always.or(said));
        self.last = (moment.now, utc);
        let interval = Span::from(self.configuration.interval);
        let due = *self.estimates_due.get_or_insert(moment.now + interval);
        let is_due = moment.now >= due;
        if is_due {
            self.estimates_due = Some(moment.now + interval);
            self.end_claim(utc);
        }
        is_due
    }

    fn end_claim(&mut self, utc: UtcTime) {
        if let Some(known) = self.claim.take(utc) {
            self.estimate("utc", &known);
        }
    }

    /// Hands what has come over to the thread.
    pub(crate) fn hand_over(&mut self) {
        let Some(batches) = &self.batches else {
            return;
        };
        let ((now, utc), rows) = (self.last, std::mem::take(&mut self.rows));
        let batch = Batch { now, utc, rows };
        let sent = if self.may_wait {
            batches
                .send(batch)
                .map_err(|error| TrySendError::Disconnected(error.0))
        } else {
            batches.try_send(batch)
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(batch)) => self.rows = batch.rows,
            Err(TrySendError::Disconnected(batch)) => {
                self.rows = batch.rows;
                self.batches = None;
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                "failed".clone_into(&mut state.state);
                state.error = Some("the thread that writes them has ended".to_owned());
            }
        }
    }

    /// Takes no more rows. What it has is written meanwhile.
    pub(crate) fn close(&mut self) {
        self.end_claim(self.last.1);
        self.configuration.tables.clear();
        self.is_over();
    }

    /// Whether all is written since it was closed.
    pub(crate) fn is_over(&mut self) -> bool {
        self.hand_over();
        if self.rows.is_empty() {
            self.batches = None;
        }
        self.batches.is_none() && self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(crate) fn show(&self) -> RecordingState {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Recording {
    /// Takes no more rows, and writes what it has. Waits for the disk until then; in a simulation for as long as it takes, so that the same seed writes the
    /// same files. Returns how many rows are lost at most, and says so.
    pub(crate) fn end(&mut self, until: Instant) -> u64 {
        if self.thread.is_none() {
            return 0; // it has ended before, and said what it lost
        }
        self.close();
        while !self.is_over() && (self.may_wait || Instant::now() < until) {
            thread::sleep(LOOK);
        }
        let Some(thread) = self.thread.take() else {
            return 0;
        };
        let has_ended = ends_by(thread, until);
        let RecordingState {
            rows, lost, error, ..
        } = self.show();
        let known: u64 = rows.values().chain(lost.values()).sum();
        let unwritten = self.taken.saturating_sub(known);
        if unwritten > 0 {
            let hangs = "the disk did not answer in time";
            let why = error.filter(|_| has_ended);
            let (folder, why) = (self.configuration.directory.display(), why.as_deref());
            let why = why.unwrap_or(hangs);
            tracing::error!(
                "{folder}: the recording ends, {unwritten} rows at most are lost: {why}"
            );
        }
        unwritten
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end(Instant::now() + PATIENCE);
    }
}

#[cfg(test)]
mod tests;
