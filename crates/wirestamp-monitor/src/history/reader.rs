//! Answers queries of the history from the segments on disk.

use super::bins::{Answer, Bins};
use super::block;
use super::journal::found;
use super::question::{Question, Show};
use super::walk::{Part, walk};
use crate::rfc3339::nanoseconds;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The most bytes that are read for one answer, the newest segments first: twice the default size of the history.
const MOST_BYTES: u64 = 512 * 1_024 * 1_024;

/// Reads the history that a monitor writes.
#[derive(Debug)]
pub(crate) struct Reader {
    folder: PathBuf,
    most_bytes: u64,
    /// The contents of segments that were read. Segments without records of the range are not read again.
    known: Mutex<BTreeMap<u64, Extent>>,
}

/// So many damaged places of a segment are known by themselves, the others as one.
const MOST_GAPS: usize = 64;

/// What a segment has: its length, its least and its greatest time in nanoseconds of UTC (the clock may have been stepped between), and what is
/// damaged.
#[derive(Debug, Clone, Default)]
struct Extent {
    bytes: u64,
    times: Option<(i64, i64)>,
    gaps: Vec<Gap>,
    /// Bytes behind the last block.
    rest: u64,
}

/// A damaged place: what it had is later and earlier than these times, as far as they are known.
#[derive(Debug, Clone, Copy)]
struct Gap {
    after: Option<i64>,
    before: Option<i64>,
    bytes: u64,
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
                Some(extent) => extent.clone(),
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
            unreadable += extent.hidden(question, newer, Some(number) == newest);
            newer = extent.times.map(|(first, _)| first).or(newer);
            known.insert(number, extent);
        }
        is_complete &= unreadable == 0;
        Ok(bins.into_answer(question, is_complete, unreadable))
    }
}

impl Extent {
    fn meets(&self, question: &Question) -> bool {
        self.times
            .is_some_and(|(first, last)| first < question.to && last >= question.from)
    }

    /// How many bytes cannot be read that may have records of the range. What lies behind the last block is later than that, and earlier than the
    /// next newer segment.
    fn hidden(&self, question: &Question, newer: Option<i64>, is_newest: bool) -> u64 {
        let rest = Gap {
            after: self.times.map(|(_, last)| last),
            before: newer,
            bytes: if is_newest { 0 } else { self.rest },
        };
        let gaps = self.gaps.iter().chain([&rest]);
        let hide = gaps.filter(|gap| {
            gap.after.is_none_or(|after| after < question.to)
                && gap.before.is_none_or(|before| before >= question.from)
        });
        hide.map(|gap| gap.bytes).sum()
    }

    /// Takes a block with these times.
    fn take(&mut self, (first, most): (i64, i64)) {
        let (least, greatest) = self.times.unwrap_or((first, most));
        self.times = Some((least.min(first), greatest.max(most)));
        let is_merged = self.gaps.len() == MOST_GAPS;
        if let Some(gap) = self.gaps.last_mut().filter(|_| !is_merged) {
            gap.before.get_or_insert(first);
        }
    }

    /// Takes damage behind a block whose last time this is.
    fn lose(&mut self, bytes: u64, after: Option<i64>) {
        if self.gaps.len() < MOST_GAPS {
            let before = None;
            self.gaps.push(Gap {
                after,
                before,
                bytes,
            });
        } else if let Some(gap) = self.gaps.last_mut() {
            (gap.before, gap.bytes) = (None, gap.bytes + bytes);
        }
    }
}

/// The kinds of records that are shown.
pub(super) const fn kinds(show: Show) -> &'static [&'static str] {
    match show {
        Show::Offsets => &["clock", "ntp", "ptp"],
        Show::Delays => &["stamp", "path"],
        Show::Events => &["event"],
    }
}

/// Counts what is wanted of a segment of `bytes` bytes.
fn read_segment(
    path: &Path,
    bytes: u64,
    question: &Question,
    bins: &mut Bins,
) -> io::Result<Extent> {
    let kinds = kinds(question.show);
    let mut extent = Extent {
        bytes,
        ..Extent::default()
    };
    let mut last = None;
    let walked = walk(File::open(path)?, |part| {
        let block = match part {
            Part::Block(block) => block,
            Part::Damaged(bytes) => return extent.lose(bytes, last),
        };
        let Some((first, most)) = block::times(block) else {
            // of another version of this program
            return extent.lose(block.len() as u64, last);
        };
        extent.take((first, most));
        last = Some(most);
        if first < question.to && most >= question.from {
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
    extent.rest = walked.rest;
    Ok(extent)
}

#[cfg(test)]
mod tests;
