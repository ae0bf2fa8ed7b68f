//! Which folder a row belongs to.

use crate::flow::bucket_of;
use crate::row::Row;
use std::path::{Path, PathBuf};
use wirestamp_core::time::UtcTime;

const HOUR: i64 = 3_600_000_000_000;

/// An hour of UTC, and a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    hour: i64,
    bucket: Option<u8>,
}

impl Partition {
    pub(crate) fn of<R: Row>(at: i64, row: &R) -> Self {
        Self {
            hour: at.div_euclid(HOUR),
            bucket: R::TABLE.by_flow.then(|| bucket_of(row.flow())),
        }
    }

    /// For example `timestamps/day=2026-11-23/hour=06/bucket=07`.
    pub(crate) fn folder(self, root: &Path, table: &str) -> PathBuf {
        // the first hour that 64 bits can count began before they can: it has the same day and hour at its first nanosecond
        let begun = UtcTime::from_nanoseconds(self.hour.saturating_mul(HOUR));
        let text = begun.rfc3339().to_string();
        let mut folder = root.join(table);
        folder.push(format!("day={}", &text[..10]));
        folder.push(format!("hour={}", &text[11..13]));
        if let Some(bucket) = self.bucket {
            folder.push(format!("bucket={bucket:02}"));
        }
        folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_day_and_hour_of_utc() {
        let of = |at: i64| {
            let partition = Partition {
                hour: at.div_euclid(HOUR),
                bucket: Some(7),
            };
            partition.folder(Path::new("to"), "timestamps")
        };
        for (at, expected) in [
            (1_795_415_400_123_456_789, "day=2026-11-23/hour=06"),
            (0, "day=1970-01-01/hour=00"),
            (-1, "day=1969-12-31/hour=23"),
            (951_782_400_000_000_000, "day=2000-02-29/hour=00"),
            (i64::MAX, "day=2262-04-11/hour=23"),
            (i64::MIN, "day=1677-09-21/hour=00"),
        ] {
            let folder = format!("to/timestamps/{expected}/bucket=07");
            assert_eq!(of(at), PathBuf::from(folder), "{at}");
        }
    }
}
