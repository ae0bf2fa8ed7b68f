//! The thread that writes history, so that a slow or full disk does not delay measurements.

use super::{Journal, Record};
use crate::configuration::History;
use crate::patience::{self, PATIENCE, ends_by};
use crate::snapshot::HistoryState;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, Result};

/// The most records that wait for a slow disk.
const WAITING: usize = 16_384;
const SYNC: Duration = Duration::from_secs(1);
/// How often it is looked for records: so often [`WAITING`] of them can come.
const LOOK: Duration = Duration::from_millis(250);
/// After an error, writing is tried again so often.
const RETRY: Duration = Duration::from_secs(5);

/// Takes records. Dropping it writes what it has.
#[derive(Debug)]
pub(crate) struct Writer {
    records: Option<SyncSender<Record>>,
    shared: Arc<Shared>,
    opened: mpsc::Receiver<io::Result<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and those who look at it share.
#[derive(Debug)]
struct Shared {
    /// The wanted configuration. The thread applies it.
    wanted: Mutex<History>,
    state: Mutex<HistoryState>,
    /// New entries for the list of events.
    notes: Mutex<Vec<String>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, HistoryState> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    /// Starts it. `before`: the thread that wrote into the same folder and has not ended yet; it is waited for, while records gather.
    pub(crate) fn start(configuration: &History, before: Option<JoinHandle<()>>) -> Result<Self> {
        let (records, received) = sync_channel(WAITING);
        let (first, opened) = mpsc::channel();
        let shared = Arc::new(Shared {
            wanted: Mutex::new(configuration.clone()),
            state: Mutex::new(HistoryState {
                state: "live_only".to_owned(),
                ..HistoryState::default()
            }),
            notes: Mutex::default(),
        });
        let thread_shared = Arc::clone(&shared);
        let run = move || {
            before.map(JoinHandle::join);
            run(&received, &thread_shared, &first);
        };
        let thread = patience::start("wirestamp-history", run).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "write history",
                "its thread",
                error.to_string(),
            )
        })?;
        Ok(Self {
            records: Some(records),
            shared,
            opened,
            thread: Some(thread),
        })
    }

    /// Waits a while until the folder is open. One that cannot be written is tried again later.
    ///
    /// # Errors
    /// `Busy` if another monitor writes there.
    pub(crate) fn claim(&self) -> Result<()> {
        match self.opened.recv_timeout(PATIENCE) {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ResourceBusy => {
                let target = self.configuration().directory.display().to_string();
                let busy = Error::new(ErrorKind::Busy, "write history", target, error.to_string());
                Err(busy.with_remedy("name a folder of its own in [history] directory"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn configuration(&self) -> History {
        lock(&self.shared.wanted).clone()
    }

    /// Goes over to another folder or limit, within about a second.
    pub(crate) fn change(&self, configuration: &History) {
        lock(&self.shared.wanted).clone_from(configuration);
    }

    pub(crate) fn add(&self, record: Record) {
        let Some(records) = &self.records else {
            return;
        };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = records.try_send(record)
        {
            self.shared.state().lost += 1;
        }
    }

    pub(crate) fn show(&self) -> HistoryState {
        self.shared.state().clone()
    }

    /// Returns the events since the last call.
    pub(crate) fn notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.notes))
    }

    /// Takes no more records. What it has is written meanwhile.
    pub(crate) fn close(&mut self) {
        drop(self.records.take());
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Gives its thread away, if it was closed and is not over.
    pub(crate) fn take_closing(&mut self) -> Option<JoinHandle<()>> {
        let is_closing = self.records.is_none() && !self.is_over();
        is_closing.then(|| self.thread.take()).flatten()
    }

    /// Whether all is written since it was closed.
    pub(crate) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Writes what it has, and waits for the disk until then.
    pub(crate) fn end(&mut self, until: Instant) {
        self.close();
        let Some(thread) = self.thread.take() else {
            return;
        };
        if !ends_by(thread, until) {
            let configuration = self.configuration();
            let folder = configuration.directory.display();
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

fn run(records: &Receiver<Record>, shared: &Shared, first: &mpsc::Sender<io::Result<()>>) {
    let mut disk = Disk {
        shared,
        configuration: lock(&shared.wanted).clone(),
        journal: None,
        failed: None,
        unread: VecDeque::new(),
        read: HashSet::new(),
    };
    let opened = disk.open();
    let _ = first.send(opened.map_err(|error| {
        let told = io::Error::new(error.kind(), error.to_string());
        disk.fail(&error, 0);
        told
    }));
    loop {
        // one at a time, as records wait meanwhile
        disk.look_for_damage();
        let (batch, is_over) = gather(records);
        disk.write(&batch);
        if is_over {
            return;
        }
    }
}

/// The thread's end.
struct Disk<'a> {
    shared: &'a Shared,
    configuration: History,
    journal: Option<Journal>,
    failed: Option<Instant>,
    /// Earlier segments that were not looked at yet, and those that were.
    unread: VecDeque<PathBuf>,
    read: HashSet<PathBuf>,
}

impl Disk<'_> {
    fn open(&mut self) -> io::Result<()> {
        let History {
            directory,
            limit_bytes,
            ..
        } = &self.configuration;
        let journal = Journal::open(directory, *limit_bytes)?;
        self.unread.clear();
        let earlier = journal.earlier();
        self.unread
            .extend(earlier.filter(|path| !self.read.contains(path)));
        self.journal = Some(journal);
        Ok(())
    }

    /// Reads one more of the segments that were there, the newest first, and notes what of it is damaged.
    fn look_for_damage(&mut self) {
        let Some(path) = self.unread.pop_front() else {
            return;
        };
        let found = super::journal::damage(&path);
        let shown = path.display();
        let note = match found {
            Ok(0) => None,
            Ok(bytes) => Some(format!(
                "{shown} is damaged: {bytes} bytes of it cannot be read. It stays as it is, and writing goes on in a new file"
            )),
            // to make room
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(format!("{shown} cannot be read: {error}")),
        };
        self.read.insert(path);
        let Some(note) = note else {
            return;
        };
        tracing::warn!("{note}");
        lock(&self.shared.notes).push(note);
    }

    fn write(&mut self, batch: &[Record]) {
        let wanted = lock(&self.shared.wanted).clone();
        if wanted != self.configuration {
            // the folder may be the same: the old one is closed first
            (self.journal, self.failed, self.configuration) = (None, None, wanted);
        }
        if self.journal.is_none()
            && self.failed.is_none_or(|at| at.elapsed() >= RETRY)
            && let Err(error) = self.open()
        {
            self.fail(&error, 0);
        }
        let count = batch.len() as u64;
        let Some(journal) = &mut self.journal else {
            self.shared.state().lost += count;
            return;
        };
        batch.iter().for_each(|record| journal.append(record));
        match journal.sync() {
            Ok(()) => {
                if self.failed.take().is_some() {
                    tracing::info!("history is written again");
                }
                let mut state = self.shared.state();
                "recording".clone_into(&mut state.state);
                state.error = None;
                state.records += count;
                state.bytes = journal.bytes();
                state.segments = journal.segments() as u64;
                state.removed = journal.removed();
            }
            Err(error) => {
                self.journal = None;
                self.fail(&error, count);
            }
        }
    }

    fn fail(&mut self, error: &io::Error, lost: u64) {
        if self.failed.replace(Instant::now()).is_none() {
            tracing::error!("history is not written, the monitor is live only: {error}");
        }
        let mut state = self.shared.state();
        "live_only".clone_into(&mut state.state);
        state.error = Some(error.to_string());
        state.lost += lost;
    }
}

/// Returns the records of a second, and whether none follows. It sleeps and polls: a thread that waits is woken by each
/// record, which costs as much as measuring.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::read;

    fn history(directory: &std::path::Path) -> History {
        toml::from_str(&format!("directory = '{}'", directory.display())).expect("it is right")
    }

    fn record(number: i64) -> Record {
        Record::Clock {
            time: "2026-11-23T03:12:00.000000000Z".to_owned(),
            clock: "eth0".to_owned(),
            offset_ns: Some(number),
            bound_ns: 1,
            right_servers: None,
        }
    }

    fn kept(directory: &std::path::Path) -> usize {
        let mut count = 0;
        read(directory, |_| count += 1).expect("it reads");
        count
    }

    #[test]
    fn a_change_loses_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        let mut writer = Writer::start(&history(&one), None).expect("it starts");
        writer.claim().expect("it is free");
        (0..100).for_each(|number| writer.add(record(number)));
        writer.change(&history(&other));
        (0..100).for_each(|number| writer.add(record(number)));
        writer.end(Instant::now() + PATIENCE);
        assert_eq!((writer.show().lost, writer.show().records), (0, 200));
        // where a record goes that came just before is open
        assert_eq!(kept(&one) + kept(&other), 200);
        Journal::open(&one, 1 << 20).expect("it was given up");
    }

    #[test]
    fn damage_that_no_crash_leaves_is_told_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = Journal::open(folder.path(), 1 << 20).expect("it opens");
        for number in 0..3 {
            journal.append(&record(number));
            journal.sync().expect("written");
        }
        drop(journal);
        let path = folder.path().join("00000001.journal");
        let mut octets = std::fs::read(&path).expect("it is there");
        octets[20] ^= 1;
        std::fs::write(&path, &octets).expect("written");
        let mut writer = Writer::start(&history(folder.path()), None).expect("it starts");
        writer.claim().expect("it is free");
        writer.add(record(3));
        writer.end(Instant::now() + PATIENCE);
        let notes = writer.notes();
        assert!(
            notes.len() == 1 && notes[0].contains("00000001.journal is damaged"),
            "{notes:?}"
        );
        assert_eq!(std::fs::read(&path).expect("it is there"), octets);
        assert_eq!(kept(folder.path()), 3);
    }

    #[test]
    fn damage_in_each_segment_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        // each opening begins a segment
        for number in 0..4 {
            let mut journal = Journal::open(folder.path(), 1 << 20).expect("it opens");
            journal.append(&record(number));
            journal.sync().expect("written");
        }
        let damaged = ["00000001.journal", "00000003.journal"];
        for name in damaged {
            let path = folder.path().join(name);
            let mut octets = std::fs::read(&path).expect("it is there");
            octets[20] ^= 1;
            std::fs::write(&path, octets).expect("written");
        }
        let writer = Writer::start(&history(folder.path()), None).expect("it starts");
        writer.claim().expect("it is free");
        let (begun, mut notes) = (Instant::now(), Vec::new());
        while notes.len() < damaged.len() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{notes:?}");
            thread::sleep(LOOK);
            notes.extend(writer.notes());
        }
        for (note, name) in notes.iter().zip(damaged.iter().rev()) {
            assert!(note.contains(&format!("{name} is damaged")), "{notes:?}");
        }
    }
}
