//! Answers what is asked of the history, from the segments on disk.

use super::bins::{Answer, Bins};
use super::block;
use super::journal::{found, walk};
use super::question::{Question, Show};
use crate::rfc3339::nanoseconds;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// So many bytes are read for one answer, the newest segments first: twice what is kept by default.
const MOST_BYTES: u64 = 512 * 1_024 * 1_024;

/// Reads the history that a monitor writes.
#[derive(Debug)]
pub(crate) struct Reader {
    folder: PathBuf,
    most_bytes: u64,
    /// What is known of segments that were read: those with nothing of the range are not read again.
    known: Mutex<BTreeMap<u64, Extent>>,
}

/// The length of a segment, how many bytes of it can be read, and its least and its greatest time in nanoseconds of UTC (the clock may
/// have been stepped between).
#[derive(Debug, Clone, Copy)]
struct Extent {
    bytes: u64,
    readable: u64,
    times: Option<(i64, i64)>,
}

impl Reader {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            most_bytes: MOST_BYTES,
            known: Mutex::default(),
        }
    }

    /// Reads and answers. May take seconds.
    pub(crate) fn answer(&self, question: &Question) -> io::Result<Answer> {
        let (mut bins, mut left, mut is_complete) = (Bins::default(), self.most_bytes, true);
        let mut unreadable = 0;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let segments = match found(&self.folder) {
            // nothing was written yet
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            segments => segments?,
        };
        known.retain(|number, _| segments.iter().any(|(found, _)| found == number));
        // the next newer segment's first time; of the newest, what is at its end is being written
        let mut newer: Option<i64> = None;
        let newest = segments.last().map(|(number, _)| *number);
        for (number, path) in segments.into_iter().rev() {
            let bytes = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?.len(),
            };
            let unchanged = known.get(&number).filter(|extent| extent.bytes == bytes);
            let extent = match unchanged.filter(|extent| !extent.meets(question)) {
                Some(extent) => *extent,
                None if bytes > left => {
                    is_complete = false;
                    break;
                }
                None => {
                    left -= bytes;
                    match read_segment(&path, bytes, question, &mut bins) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        read => read?,
                    }
                }
            };
            known.insert(number, extent);
            if Some(number) != newest && extent.hides(question, newer) {
                unreadable += extent.bytes.saturating_sub(extent.readable);
            }
            newer = extent.times.map(|(first, _)| first).or(newer);
        }
        Ok(bins.into_answer(question, is_complete, unreadable))
    }
}

impl Extent {
    fn meets(&self, question: &Question) -> bool {
        self.times
            .is_some_and(|(first, last)| first < question.to && last >= question.from)
    }

    /// Whether records of the range may be in what cannot be read: those are later than what can, and earlier than the next newer segment.
    fn hides(&self, question: &Question, newer: Option<i64>) -> bool {
        self.readable < self.bytes
            && self.times.is_none_or(|(_, last)| last < question.to)
            && newer.is_none_or(|newer| newer >= question.from)
    }
}

/// Counts what is wanted of a segment of `bytes` bytes.
fn read_segment(
    path: &Path,
    bytes: u64,
    question: &Question,
    bins: &mut Bins,
) -> io::Result<Extent> {
    let kinds: &[&str] = match question.show {
        Show::Offsets => &["clock", "ntp", "ptp"],
        Show::Delays => &["stamp", "path"],
        Show::Events => &["event"],
    };
    let mut times: Option<(i64, i64)> = None;
    let readable = walk(File::open(path)?, |block| {
        let Some((first, last)) = block::times(block) else {
            return;
        };
        let (least, most) = times.unwrap_or((first, last));
        times = Some((least.min(first), most.max(last)));
        if first < question.to && last >= question.from {
            block::records(
                block,
                |kind| kinds.contains(&kind),
                |record| {
                    if let Some(at) = nanoseconds(record.time()) {
                        bins.add(question, at, record);
                    }
                },
            );
        }
    })?;
    Ok(Extent {
        bytes,
        readable,
        times,
    })
}

#[cfg(test)]
mod tests;
