//! Takes rows, and decides which of them are written when.

use crate::draft::Draft;
use crate::group;
use crate::partition::Partition;
use crate::row::Row;
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
pub struct Recorder<R> {
    root: PathBuf,
    host: String,
    options: Options,
    open: BTreeMap<Partition, Open<R>>,
    held: usize,
    pushed: usize,
    files: u32,
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
        Self {
            root: root.into(),
            host: host.into(),
            options: Options {
                rows: options.rows.max(1),
                ..options
            },
            open: BTreeMap::new(),
            held: 0,
            pushed: 0,
            files: 0,
        }
    }

    /// Takes a row. `at`: UTC in nanoseconds since 1970, which says in which hour it is stored; where a timestamp could not be
    /// converted, the host's real-time clock will do.
    ///
    /// # Errors
    /// A file that could not be written; its rows are lost.
    pub fn push(&mut self, at: i64, row: R) -> io::Result<()> {
        let partition = Partition::of(at, &row);
        let open = self.open.entry(partition).or_insert_with(|| Open {
            rows: Vec::new(),
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

    /// Writes what is held.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(mut self) -> io::Result<()> {
        while let Some((partition, _)) = self.open.first_key_value() {
            self.write(*partition)?;
        }
        Ok(())
    }

    /// Returns how many files were written so far.
    pub fn files(&self) -> u32 {
        self.files
    }

    fn write_fullest(&mut self) -> io::Result<()> {
        let fullest = self.open.iter().max_by_key(|(_, open)| open.rows.len());
        fullest
            .map(|(partition, _)| *partition)
            .map_or(Ok(()), |partition| self.write(partition))
    }

    fn write(&mut self, partition: Partition) -> io::Result<()> {
        let Some(mut open) = self.open.remove(&partition) else {
            return Ok(());
        };
        self.held -= open.rows.len();
        if !open.is_sorted {
            open.rows.sort_by_key(Row::order); // stable: rows of one packet stay in their order
        }
        let folder = partition.folder(&self.root, R::TABLE.name);
        let draft = Draft::in_folder(&folder)?;
        group::write(draft.file()?, &self.host, &open.rows).map_err(io::Error::other)?;
        self.files += 1;
        draft.finish(&self.unused_name(&folder, open.first)?)
    }

    /// Host, time and process make it unique but for a clock that was set back.
    fn unused_name(&self, folder: &Path, first: i64) -> io::Result<PathBuf> {
        let host: String = self
            .host
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        let process = std::process::id();
        (0..MOST_NAMES)
            .map(|number| {
                folder.join(format!(
                    "{host}-{first}-{process}-{}-{number}.parquet",
                    self.files
                ))
            })
            .find(|place| !place.exists())
            .ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }
}
