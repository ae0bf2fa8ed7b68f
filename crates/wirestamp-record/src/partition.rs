//! Which folder a row belongs to.

use crate::flow::bucket_of;
use crate::row::Row;
use std::path::{Path, PathBuf};

const HOUR: i64 = 3_600_000_000_000;
const HOURS: i64 = 24;

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
        let (year, month, day) = date(self.hour.div_euclid(HOURS));
        let hour = self.hour.rem_euclid(HOURS);
        let mut folder = root.join(table);
        folder.push(format!("day={year:04}-{month:02}-{day:02}"));
        folder.push(format!("hour={hour:02}"));
        if let Some(bucket) = self.bucket {
            folder.push(format!("bucket={bucket:02}"));
        }
        folder
    }
}

/// Year, month and day of the Gregorian calendar, from days since 1970. Years begin in March here, so that the leap day is
/// the last of its year, and 400 of them are always 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // since 1 March of the year 0
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // 0 is March
    let day = day - (153 * month + 2) / 5 + 1;
    let of_next_year = i64::from(month >= 10);
    (era * 400 + year + of_next_year, (month + 2) % 12 + 1, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(-1), (1969, 12, 31));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_780), (2026, 11, 23));
        // every day follows the one before
        let mut last = date(-200_000);
        for days in -199_999..200_000 {
            let (year, month, day) = date(days);
            let next = match last {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == length(year, month) => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
            assert_eq!((year, month, day), next);
            last = next;
        }
    }

    fn length(year: i64, month: i64) -> i64 {
        match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}
