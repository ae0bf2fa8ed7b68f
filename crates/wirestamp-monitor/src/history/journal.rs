//! Segments of blocks of records on disk. They are bounded, and complete after a crash except for records that were not
//! synced.

use super::Record;
use super::block::{self, Block};
use super::walk::{LONGEST_BLOCK, Part, walk};
use crate::lock::FolderLock;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The longest record that is written.
const LONGEST: usize = 64 * 1_024;
/// A block is not continued beyond this; one that is longer than both is not believed when it is read.
const FULL: usize = 256 * 1_024;
/// The number of segments that share the limit.
const SEGMENTS: u64 = 16;
const SUFFIX: &str = "journal";
/// The file that the writer locks.
const LOCK: &str = "lock";

const _: () = assert!(FULL + 2 * LONGEST == LONGEST_BLOCK);

/// Writes records. Those that were [synced](Self::sync) survive a crash.
#[derive(Debug)]
pub struct Journal {
    /// Nobody else writes there meanwhile.
    _lock: FolderLock,
    folder: PathBuf,
    limit: u64,
    current: Option<File>,
    /// Numbers and lengths, oldest first; the last is the one that is written.
    segments: VecDeque<(u64, u64)>,
    next: u64,
    block: Block,
    /// Blocks that are done.
    buffer: Vec<u8>,
    removed: u64,
}

impl Journal {
    /// Opens a folder, which is created if necessary, removes an incomplete block that a crash left, and begins a
    /// segment. Other damage stays as it is, so that data can be rescued. `limit`: bytes on disk, at most.
    ///
    /// # Errors
    /// `ResourceBusy` if another writer has the folder; those of the system.
    pub fn open(folder: &Path, limit: u64) -> io::Result<Self> {
        let lock = FolderLock::take(folder, LOCK)?;
        let mut segments = VecDeque::new();
        let found = found(folder)?;
        let newest = found.len();
        for (place, (number, path)) in (1..).zip(found) {
            let mut length = fs::metadata(&path)?.len();
            // only the newest can be incomplete by a crash; what a full disk cut before is passed over when it is read
            if place == newest {
                let walked = walk(File::open(&path)?, |_| {})?;
                if walked.is_torn {
                    length = walked.end;
                    OpenOptions::new()
                        .write(true)
                        .open(&path)?
                        .set_len(length)?;
                }
            }
            if length == 0 {
                fs::remove_file(&path)?;
            } else {
                segments.push_back((number, length));
            }
        }
        let next = segments.back().map_or(1, |(number, _)| number + 1);
        let mut journal = Self {
            _lock: lock,
            folder: folder.to_owned(),
            limit,
            current: None,
            segments,
            next,
            block: Block::default(),
            buffer: Vec::new(),
            removed: 0,
        };
        journal.begin()?;
        Ok(journal)
    }

    /// Adds a record to those that the next [`sync`](Self::sync) writes.
    pub fn append(&mut self, record: &Record) {
        self.block.add(record, LONGEST);
        if self.block.len() > FULL {
            self.seal();
        }
    }

    fn seal(&mut self) {
        if let Some(block) = self.block.take() {
            let head = [block.len() as u32, crc32fast::hash(&block)];
            head.iter()
                .for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
            self.buffer.extend_from_slice(&block);
        }
    }

    /// Writes the appended records, and waits until they are on disk. After an error they are dropped, and the next
    /// call begins a segment, because the state of a file after a failed sync is unknown.
    ///
    /// # Errors
    /// Those of the system: `StorageFull` among them.
    pub fn sync(&mut self) -> io::Result<()> {
        self.seal();
        let buffer = std::mem::take(&mut self.buffer);
        let written = self.write(&buffer);
        if written.is_err() {
            self.current = None;
        }
        self.buffer = buffer;
        self.buffer.clear();
        written
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        let is_full = self
            .segments
            .back()
            .is_some_and(|(_, length)| length + octets.len() as u64 > self.limit / SEGMENTS);
        if self.current.is_none() || is_full {
            self.begin()?;
        }
        let Some(file) = &mut self.current else {
            return Err(io::ErrorKind::NotFound.into());
        };
        file.write_all(octets)?;
        file.sync_data()?;
        if is_removed(file)? {
            let cause = "the file that is written was removed";
            return Err(io::Error::new(io::ErrorKind::NotFound, cause));
        }
        if let Some((_, length)) = self.segments.back_mut() {
            *length += octets.len() as u64;
        }
        Ok(())
    }

    /// Makes room, and begins a segment.
    fn begin(&mut self) -> io::Result<()> {
        self.current = None;
        while self.bytes() + self.limit / SEGMENTS > self.limit {
            let Some((oldest, _)) = self.segments.pop_front() else {
                break;
            };
            self.removed += 1;
            match fs::remove_file(self.path(oldest)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let path = self.path(self.next);
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(&path)?;
        self.segments.push_back((self.next, 0));
        self.next += 1;
        self.current = Some(file);
        // the name is on disk as well
        #[cfg(unix)]
        File::open(&self.folder)?.sync_all()?;
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:08}.{SUFFIX}"))
    }

    /// Returns how many bytes are on disk.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, length)| length).sum()
    }

    /// Returns how many segments there are.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The segments that are not written any more, newest first.
    pub(super) fn earlier(&self) -> impl Iterator<Item = PathBuf> {
        let numbers = self.segments.iter().rev().skip(1);
        numbers.map(|(number, _)| self.path(*number))
    }

    /// Returns how many segments were removed to make room.
    pub fn removed(&self) -> u64 {
        self.removed
    }
}

/// Reads the records of a folder, oldest first, and calls `each` with every one. It skips incomplete and damaged parts.
///
/// # Errors
/// Those of the system. A segment that is removed meanwhile is no error.
pub fn read(folder: &Path, mut each: impl FnMut(Record)) -> io::Result<()> {
    for (_, path) in found(folder)? {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        walk(file, |part| {
            if let Part::Block(block) = part {
                block::records(block, |_| true, &mut each);
            }
        })?;
    }
    Ok(())
}

/// How many bytes of a segment are damaged; what a write that did not end left behind it is no damage.
///
/// # Errors
/// Those of the system.
pub(super) fn damage(path: &Path) -> io::Result<u64> {
    let walked = walk(File::open(path)?, |_| {})?;
    let rest = if walked.is_torn { 0 } else { walked.rest };
    Ok(walked.damaged + rest)
}

/// Whether nobody will find what is written: its name, or its folder, is gone.
fn is_removed(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    return Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0);
    // where a file that is open keeps its name
    #[cfg(not(unix))]
    Ok({
        let _ = file;
        false
    })
}

/// Numbers and paths of the segments in a folder, oldest first.
pub(super) fn found(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(number) =
            number.filter(|_| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        {
            found.push((number, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}
