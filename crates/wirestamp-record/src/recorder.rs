//! Takes rows, and decides which of them are written when.

use crate::draft::Draft;
use crate::group;
use crate::name;
use crate::partition::Partition;
use crate::row::Row;
use parquet::errors::ParquetError;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many names are tried for a file: another process may be recording as the same host.
const MOST_NAMES: u32 = 1_000;
/// The time is looked at once in so many rows.
const LOOK: usize = 1_024;

/// When rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// So many rows are held at most, over all files; then the fullest file is written.
    pub rows: usize,
    /// A row is held so long at most, as long as [`Recorder::poll`] is called, or [`Recorder::push`] a thousand times in that time.
    pub age: Duration,
}

/// Files of 2²⁰ rows, or of a minute.
impl Default for Options {
    fn default() -> Self {
        Self {
            rows: 1 << 20,
            age: Duration::from_secs(60),
        }
    }
}

/// A writer of the rows of one table below one folder.
///
/// Rows go to the hour of their time and, in `timestamps`, to the bucket of their flow. When [`Options`] say so, the rows of
/// a part become a file, sorted, with one row group: written under another name, synced, then renamed. A process that
/// is killed loses the rows it still held; every file it has named is complete.
///
/// Rows that could not be written are held, and tried again with those that follow; the fullest part is given up when there is
/// no room for more ([`lost`](Self::lost)).
pub struct Recorder<R> {
    root: PathBuf,
    host: String,
    /// The label of the host in names of files.
    label: String,
    options: Options,
    open: BTreeMap<Partition, Open<R>>,
    /// The memory of the rows that were written last, for the next ones if no others are held: no file's rows keep more than they need.
    spare: Vec<R>,
    held: usize,
    pushed: usize,
    files: u32,
    written: u64,
    lost: u64,
}

/// Rows that are not written yet.
struct Open<R> {
    rows: Vec<R>,
    since: Instant,
    /// UTC of the first.
    first: i64,
    is_sorted: bool,
}

impl<R: Row> Recorder<R> {
    /// Starts a recording below `root`, which is made with the first file. `host`: the name that is unique in the fleet.
    pub fn new(root: impl Into<PathBuf>, host: impl Into<String>, options: Options) -> Self {
        let host = host.into();
        Self {
            root: root.into(),
            label: name::label(&host),
            host,
            options: Options {
                rows: options.rows.max(1),
                ..options
            },
            open: BTreeMap::new(),
            spare: Vec::new(),
            held: 0,
            pushed: 0,
            files: 0,
            written: 0,
            lost: 0,
        }
    }

    /// Makes the folder, and a file in it that is removed again: whether files can be written is known before there is one to write.
    ///
    /// # Errors
    /// The system's error.
    pub fn check(&self) -> io::Result<()> {
        Draft::in_folder(&self.root, &self.label).map(drop)
    }

    /// Takes a row. `at`: UTC in nanoseconds since 1970, which says in which hour it is stored; where a timestamp could not be
    /// converted, the host's real-time clock will do.
    ///
    /// # Errors
    /// A file that could not be written; if there was no room for more rows, its rows are lost.
    pub fn push(&mut self, at: i64, row: R) -> io::Result<()> {
        let partition = Partition::of(at, &row);
        let (spare, held) = (&mut self.spare, self.held);
        let open = self.open.entry(partition).or_insert_with(|| Open {
            rows: match std::mem::take(spare) {
                rows if held == 0 => rows,
                _ => Vec::new(),
            },
            since: Instant::now(),
            first: at,
            is_sorted: true,
        });
        open.is_sorted &= open
            .rows
            .last()
            .is_none_or(|last| last.order() <= row.order());
        open.rows.push(row);
        self.held += 1;
        self.pushed += 1;
        if self.held >= self.options.rows {
            self.write_fullest()?;
        }
        if self.pushed.is_multiple_of(LOOK) {
            self.poll()?;
        }
        Ok(())
    }

    /// Writes rows that were held long enough: for times without rows.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn poll(&mut self) -> io::Result<()> {
        let due = |open: &Open<R>| open.since.elapsed() >= self.options.age;
        let due: Vec<_> = self
            .open
            .iter()
            .filter(|(_, open)| due(open))
            .map(|(key, _)| *key)
            .collect();
        due.into_iter()
            .try_for_each(|partition| self.write(partition))
    }

    /// Writes the rows that are held, and goes on.
    ///
    /// # Errors
    /// The first file that could not be written. The others are; the rows of this one are held.
    pub fn flush(&mut self) -> io::Result<()> {
        let parts: Vec<_> = self.open.keys().copied().collect();
        let written = parts.into_iter().map(|partition| self.write(partition));
        written.fold(Ok(()), io::Result::and)
    }

    /// Writes the rows that are held, and ends.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); the rows of files that could not be written are lost.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    /// Returns how many files were written so far.
    pub fn files(&self) -> u32 {
        self.files
    }

    /// Returns how many rows are in the files that were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns how many rows were given up because they could not be written and there was no room for more.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns how many rows wait.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Makes room, if need be by giving rows up.
    fn write_fullest(&mut self) -> io::Result<()> {
        let fullest = self.open.iter().max_by_key(|(_, open)| open.rows.len());
        let Some(partition) = fullest.map(|(partition, _)| *partition) else {
            return Ok(());
        };
        let written = self.write(partition);
        if written.is_err()
            && let Some(open) = self.open.remove(&partition)
        {
            self.held -= open.rows.len();
            self.lost += open.rows.len() as u64;
        }
        written
    }

    fn write(&mut self, partition: Partition) -> io::Result<()> {
        let Some(mut open) = self.open.remove(&partition) else {
            return Ok(());
        };
        if !open.is_sorted {
            open.rows.sort_by_key(Row::order); // stable: rows of one packet stay in their order
            open.is_sorted = true;
        }
        let file = self.write_file(&partition.folder(&self.root, R::TABLE.name), &open);
        if file.is_ok() {
            self.held -= open.rows.len();
            self.written += open.rows.len() as u64;
            open.rows.clear();
            self.spare = open.rows;
        } else {
            // not with the next row again, but when it is due
            open.since = Instant::now();
            self.open.insert(partition, open);
        }
        file
    }

    fn write_file(&mut self, folder: &Path, open: &Open<R>) -> io::Result<()> {
        let draft = Draft::in_folder(folder, &self.label)?;
        group::write(draft.file()?, &self.host, &open.rows).map_err(system_error)?;
        draft.finish(&self.unused_name(folder, open.first)?)?;
        self.files += 1;
        Ok(())
    }

    /// Host, time and process make it unique but for a clock that was set back.
    fn unused_name(&self, folder: &Path, first: i64) -> io::Result<PathBuf> {
        let process = std::process::id();
        (0..MOST_NAMES)
            .map(|number| folder.join(name::of(&self.label, first, process, self.files, number)))
            .find(|place| !place.exists())
            .ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }
}

/// Returns the system's error if it is the cause, or the encoder's.
fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}
