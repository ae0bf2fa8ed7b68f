//! The files of one capture, one after the other, as programs write them that begin a new file from time to time.

use crate::run::ClockRun;
use std::io::Read;
use wirestamp_core::Result;

/// The largest time, in nanoseconds, by which a file may begin before the last packet of the file before it: several interfaces or
/// queues write both.
const MOST_OVERLAP: u64 = 1_000_000_000;
/// It is also at most this part of the time of the longest file before.
const PART: u64 = 10;

/// A file of a capture: its name in error messages, and its bytes.
pub struct File<'r> {
    /// The name.
    pub name: String,
    /// The bytes.
    pub input: Box<dyn Read + Send + 'r>,
}

impl std::fmt::Debug for File<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("File");
        text.field("name", &self.name).finish_non_exhaustive()
    }
}

type Files<'r> = Box<dyn Iterator<Item = Result<File<'r>>> + Send + 'r>;

/// The files that follow, and the times of those before.
#[derive(Default)]
pub(super) struct Sequence<'r> {
    rest: Option<Files<'r>>,
    /// The times of the file that is read.
    current: Times,
    /// The latest time of those before.
    before: Option<i64>,
    /// The time of the longest one before.
    longest: u64,
    /// The name of the one that ends last.
    pub(super) latest_name: String,
    generations: Generations,
}

/// The latest generations of both counters.
#[derive(Debug, Default, Clone, Copy)]
struct Generations {
    /// In the files before.
    before: [Option<u32>; 2],
    /// In the file that is read.
    current: [Option<u32>; 2],
}

/// The times of the packets of a file.
#[derive(Debug, Default, Clone, Copy)]
struct Times {
    first_ns: Option<i64>,
    latest_ns: i64,
}

impl<'r> Sequence<'r> {
    pub(super) fn of(files: impl Iterator<Item = Result<File<'r>>> + Send + 'r) -> Self {
        Self {
            rest: Some(Box::new(files)),
            ..Self::default()
        }
    }

    /// Returns the file after this one.
    pub(super) fn after(&mut self, name: &str) -> Option<Result<File<'r>>> {
        let next = self.rest.as_mut()?.next();
        let Times {
            first_ns,
            latest_ns,
        } = std::mem::take(&mut self.current);
        let Generations { before, current } = &mut self.generations;
        for (before, current) in before.iter_mut().zip(current) {
            *before = current.take().or(*before);
        }
        if let Some(first) = first_ns {
            self.longest = self.longest.max(latest_ns.abs_diff(first));
            let latest = self.before.unwrap_or(i64::MIN);
            if latest_ns >= latest {
                name.clone_into(&mut self.latest_name);
            }
            self.before = Some(latest.max(latest_ns));
        }
        next
    }

    /// Notes a packet's generation; returns it, and that at the end of the files before, if its file begins with an earlier one.
    pub(super) fn restart(&mut self, run: Option<ClockRun>) -> Option<[u32; 2]> {
        let run = run?;
        let own = run.place();
        let is_first = self.generations.current[own].is_none();
        self.generations.current[own] = Some(run.generation);
        let before = self.generations.before[own].filter(|_| is_first)?;
        (run.generation < before).then_some([run.generation, before])
    }

    /// Whether files were read before this one, or may follow.
    pub(super) fn has_several(&self) -> bool {
        self.rest.is_some()
    }

    /// Notes a packet's time; returns by how much its file overlaps with those before, in nanoseconds, if it cannot be of the same
    /// capture.
    pub(super) fn overlap(&mut self, utc_ns: i64) -> Option<u64> {
        let is_first = self.current.first_ns.is_none();
        self.current.first_ns.get_or_insert(utc_ns);
        let latest = &mut self.current.latest_ns;
        *latest = if is_first {
            utc_ns
        } else {
            utc_ns.max(*latest)
        };
        let before = self.before.filter(|before| is_first && utc_ns < *before)?;
        let overlap = before.abs_diff(utc_ns);
        (overlap > MOST_OVERLAP.min(self.longest / PART)).then_some(overlap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The overlaps of files with these times.
    fn overlaps(files: &[&[i64]]) -> Vec<Option<u64>> {
        let mut sequence = Sequence::of(std::iter::empty());
        let mut found = Vec::new();
        for times in files {
            let all: Vec<_> = times.iter().map(|time| sequence.overlap(*time)).collect();
            assert!(all.iter().skip(1).all(Option::is_none));
            found.extend(all.first());
            assert!(sequence.after("it").is_none());
        }
        found
    }

    #[test]
    fn files_of_a_capture_overlap_by_a_part_of_their_time_at_most() {
        let second = 1_000_000_000;
        for (files, expected) in [
            (&[&[0, 100][..], &[90, 200]][..], vec![None, None]),
            (&[&[0, 100], &[89, 200]], vec![None, Some(11)]),
            (&[&[0, 100], &[], &[89]], vec![None, Some(11)]),
            (
                &[&[0, 100, 50], &[90, 95], &[89]],
                vec![None, None, Some(11)],
            ),
            // a short file between others
            (
                &[&[0, 100], &[150], &[141], &[139]],
                vec![None, None, None, Some(11)],
            ),
            (&[&[5], &[4]], vec![None, Some(1)]),
            (&[&[0, 100 * second], &[99 * second]], vec![None, None]),
            (
                &[&[0, 100 * second], &[99 * second - 1]],
                vec![None, Some(1_000_000_001)],
            ),
            (&[&[5], &[i64::MIN]], vec![None, Some((1 << 63) + 5)]),
        ] {
            assert_eq!(overlaps(files), expected, "{files:?}");
        }
    }
}
