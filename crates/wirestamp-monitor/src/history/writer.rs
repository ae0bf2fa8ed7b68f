//! The thread that writes history: a disk that is slow or full does not hold up measuring.

use super::{Journal, Record};
use crate::configuration::History;
use crate::patience::{PATIENCE, ends_by};
use crate::snapshot::HistoryState;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, Result};

/// So many records wait for a slow disk.
const WAITING: usize = 16_384;
const SYNC: Duration = Duration::from_secs(1);
/// How often it is looked for records: so often [`WAITING`] of them can come.
const LOOK: Duration = Duration::from_millis(250);
/// After an error, writing is tried again so often.
const RETRY: Duration = Duration::from_secs(5);

/// Takes records. Dropping it writes what it has.
#[derive(Debug)]
pub(crate) struct Writer {
    configuration: History,
    records: Option<SyncSender<Record>>,
    state: Arc<Mutex<HistoryState>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(configuration: &History) -> Result<Self> {
        let (records, received) = sync_channel(WAITING);
        let state = Arc::new(Mutex::new(HistoryState {
            state: "live_only".to_owned(),
            ..HistoryState::default()
        }));
        let (shared, wanted) = (Arc::clone(&state), configuration.clone());
        let thread = thread::Builder::new()
            .name("wirestamp-history".into())
            .spawn(move || run(&wanted, &received, &shared));
        let thread = thread.map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "write history",
                "its thread",
                error.to_string(),
            )
        })?;
        Ok(Self {
            configuration: configuration.clone(),
            records: Some(records),
            state,
            thread: Some(thread),
        })
    }

    pub(crate) fn configuration(&self) -> &History {
        &self.configuration
    }

    pub(crate) fn add(&self, record: Record) {
        let Some(records) = &self.records else {
            return;
        };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = records.try_send(record)
        {
            self.state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .lost += 1;
        }
    }

    pub(crate) fn show(&self) -> HistoryState {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Writer {
    /// Writes what it has, and waits for the disk until then.
    pub(crate) fn end(&mut self, until: Instant) {
        drop(self.records.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        thread.thread().unpark();
        if !ends_by(thread, until) {
            let folder = self.configuration.directory.display();
            tracing::error!(
                "{folder}: history ends, its last records are lost: the disk did not answer in time"
            );
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end(Instant::now() + PATIENCE);
    }
}

fn run(configuration: &History, records: &Receiver<Record>, state: &Mutex<HistoryState>) {
    let mut journal = None;
    let mut failed: Option<Instant> = None;
    loop {
        let (batch, is_over) = gather(records);
        if failed.is_none_or(|at| at.elapsed() >= RETRY) && journal.is_none() {
            match Journal::open(&configuration.directory, configuration.limit_bytes) {
                Ok(opened) => journal = Some(opened),
                Err(error) => tell(state, &error, 0, &mut failed),
            }
        }
        let count = batch.len() as u64;
        let Some(open) = &mut journal else {
            state.lock().unwrap_or_else(PoisonError::into_inner).lost += count;
            if is_over {
                return;
            }
            continue;
        };
        batch.iter().for_each(|record| open.append(record));
        match open.sync() {
            Ok(()) => {
                if failed.take().is_some() {
                    tracing::info!("history is written again");
                }
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                "recording".clone_into(&mut state.state);
                state.error = None;
                state.records += count;
                state.bytes = open.bytes();
                state.segments = open.segments() as u64;
                state.removed = open.removed();
            }
            Err(error) => {
                journal = None;
                tell(state, &error, count, &mut failed);
            }
        }
        if is_over {
            return;
        }
    }
}

/// What comes in a second; whether nothing follows. It sleeps and looks: who waits for a record is woken by each, which costs as much as measuring.
fn gather(records: &Receiver<Record>) -> (Vec<Record>, bool) {
    let (begun, mut batch) = (Instant::now(), Vec::new());
    loop {
        match records.try_recv() {
            Ok(record) => batch.push(record),
            Err(TryRecvError::Disconnected) => return (batch, true),
            Err(TryRecvError::Empty) if begun.elapsed() >= SYNC => return (batch, false),
            Err(TryRecvError::Empty) => thread::park_timeout(LOOK),
        }
        if batch.len() >= WAITING {
            return (batch, false);
        }
    }
}

fn tell(
    state: &Mutex<HistoryState>,
    error: &std::io::Error,
    lost: u64,
    failed: &mut Option<Instant>,
) {
    if failed.replace(Instant::now()).is_none() {
        tracing::error!("history is not written, the monitor is live only: {error}");
    }
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    "live_only".clone_into(&mut state.state);
    state.error = Some(error.to_string());
    state.lost += lost;
}
