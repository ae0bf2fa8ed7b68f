//! Which of a host's files stay: removes the oldest, so that a disk never fills. Reads names and lengths, never a file.

use crate::draft;
use crate::name;
use crate::schema::{Table, tables};
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many files at most are removed for their age at a time. A clock that shows a wrong year for an hour must not cost all that was recorded.
const AT_ONCE: usize = 32;
/// A draft is written within seconds: one that is older is of a process that was killed.
const FORGOTTEN: Duration = Duration::from_secs(3_600);

/// How much of a host's recordings stays in a folder, by age and by size.
///
/// Only files that a [`Recorder`](crate::Recorder) wrote for this host are counted and removed, as their names say: those of other hosts, merged
/// ones and everything else stay. So do those of a host that had another name.
#[derive(Debug, Clone)]
pub struct Retention {
    root: PathBuf,
    label: String,
    bytes: u64,
    age: Duration,
}

/// The files that [`Retention::sweep`] left and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// Files of this host that are there.
    pub files: u64,
    /// Their length together, in bytes.
    pub bytes: u64,
    /// Files that were removed by this sweep.
    pub removed: u64,
}

/// A file of this host.
struct Own {
    /// Whether it is of the past, and when it begins: files of the future are removed first.
    order: (bool, i64),
    bytes: u64,
    path: PathBuf,
}

impl Retention {
    /// `root` and `host`: those of the recorders. `bytes`: of all files together, at most. `age`: older files are removed.
    pub fn new(root: impl Into<PathBuf>, host: &str, bytes: u64, age: Duration) -> Self {
        Self {
            root: root.into(),
            label: name::label(host),
            bytes,
            age,
        }
    }

    /// Removes files that are too old or beyond the size limit, the oldest first, and the drafts of killed processes. `now`: UTC in
    /// nanoseconds since 1970.
    ///
    /// Age counts from a file's first row, and removes 32 files at most each time: the clock may be wrong. Files of the future are
    /// removed first if there is too much.
    ///
    /// # Errors
    /// The first file that could not be listed or removed; all others are.
    pub fn sweep(&self, now: i64) -> io::Result<Kept> {
        let (mut own, mut failed) = (Vec::new(), Ok(()));
        for table in tables() {
            let found = self.look(&self.root.join(table.name), (table, 0), now, &mut own);
            failed = failed.and(found);
        }
        own.sort_unstable_by_key(|file| file.order);
        let mut kept = Kept {
            files: own.len() as u64,
            bytes: own.iter().map(|file| file.bytes).sum(),
            removed: 0,
        };
        let age = i64::try_from(self.age.as_nanos()).unwrap_or(i64::MAX);
        let mut aged = 0;
        for file in own {
            let is_too_much = kept.bytes > self.bytes;
            let (is_past, first) = file.order;
            let is_old = is_past && now.saturating_sub(first) > age && aged < AT_ONCE;
            if !is_too_much && !is_old {
                continue;
            }
            match self.remove(&file.path) {
                Ok(()) => {
                    aged += usize::from(!is_too_much);
                    kept.files -= 1;
                    kept.bytes -= file.bytes;
                    kept.removed += 1;
                }
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed.map(|()| kept)
    }

    /// Finds this host's files below a folder, and removes its forgotten drafts.
    fn look(
        &self,
        folder: &Path,
        (table, level): (Table, usize),
        now: i64,
        own: &mut Vec<Own>,
    ) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut failed = Ok(());
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
                continue;
            };
            let looked = if kind.is_dir() && name::is_part(name, table, level) {
                self.look(&entry.path(), (table, level + 1), now, own)
            } else if kind.is_file() {
                self.note(&entry, name, now, own)
            } else {
                Ok(()) // a link leads to files that are not ours
            };
            failed = failed.and(looked);
        }
        failed
    }

    fn note(&self, entry: &DirEntry, name: &str, now: i64, own: &mut Vec<Own>) -> io::Result<()> {
        let is_draft = draft::is_draft(name, &self.label);
        let first = name::first(name, &self.label);
        if !is_draft && first.is_none() {
            return Ok(());
        }
        let about = match entry.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            about => about?,
        };
        let age = about.modified().ok().and_then(|at| at.elapsed().ok());
        match first {
            Some(first) => own.push(Own {
                order: (first <= now, first),
                bytes: about.len(),
                path: entry.path(),
            }),
            None if age.is_some_and(|age| age > FORGOTTEN) => remove_file(&entry.path())?,
            None => {}
        }
        Ok(())
    }

    /// Removes the folders around it as well, if they are empty then.
    fn remove(&self, path: &Path) -> io::Result<()> {
        remove_file(path)?;
        let around = path.ancestors().skip(1);
        let below_table = around.take_while(|folder| {
            folder
                .parent()
                .is_some_and(|parent| parent != self.root && parent.starts_with(&self.root))
        });
        for folder in below_table {
            if fs::remove_dir(folder).is_err() {
                break; // not empty
            }
        }
        Ok(())
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
