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

/// The length of a segment, and its least and its greatest time in nanoseconds of UTC (the clock may have been stepped between).
#[derive(Debug, Clone, Copy)]
struct Extent {
    bytes: u64,
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
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let segments = match found(&self.folder) {
            // nothing was written yet
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            segments => segments?,
        };
        known.retain(|number, _| segments.iter().any(|(found, _)| found == number));
        for (number, path) in segments.into_iter().rev() {
            let bytes = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?.len(),
            };
            if known
                .get(&number)
                .is_some_and(|extent| extent.bytes == bytes && !extent.meets(question))
            {
                continue;
            }
            if bytes > left {
                is_complete = false;
                break;
            }
            left -= bytes;
            match read_segment(&path, question, &mut bins) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                read => drop(known.insert(
                    number,
                    Extent {
                        bytes,
                        times: read?,
                    },
                )),
            }
        }
        Ok(bins.into_answer(question, is_complete))
    }
}

impl Extent {
    fn meets(&self, question: &Question) -> bool {
        self.times
            .is_some_and(|(first, last)| first < question.to && last >= question.from)
    }
}

/// Counts what is wanted of a segment; returns its least and its greatest time.
fn read_segment(
    path: &Path,
    question: &Question,
    bins: &mut Bins,
) -> io::Result<Option<(i64, i64)>> {
    let kinds: &[&str] = match question.show {
        Show::Offsets => &["clock", "ntp", "ptp"],
        Show::Delays => &["stamp", "path"],
        Show::Events => &["event"],
    };
    let mut times: Option<(i64, i64)> = None;
    walk(File::open(path)?, |block| {
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
    Ok(times)
}

#[cfg(test)]
mod tests;
