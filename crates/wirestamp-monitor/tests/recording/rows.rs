//! The rows in the files.

use parquet_files::file::reader::SerializedFileReader;
use parquet_files::record::{Row, RowAccessor};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// All files below a folder but locks, those that are not complete as well.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_none_or(|suffix| suffix != "lock") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let mut files = files(&folder.join(table));
    files.retain(|file| file.extension().is_some_and(|suffix| suffix == "parquet"));
    let read = |path: PathBuf| {
        let file = File::open(&path).expect("it opens");
        let reader = SerializedFileReader::new(file);
        let reader = reader.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        reader.into_iter().map(|row| row.expect("a row"))
    };
    files.into_iter().flat_map(read).collect()
}

fn text(row: &Row, column: usize) -> Option<String> {
    row.get_string(column).ok().cloned()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) host: String,
    pub(crate) peer: String,
    pub(crate) start: i64,
    pub(crate) length: i64,
    /// Least and middle.
    pub(crate) forward: Option<(i64, i64)>,
    pub(crate) backward: Option<(i64, i64)>,
    pub(crate) count: i64,
}

/// By peer and time.
pub(crate) fn probes(folder: &Path) -> Vec<Probe> {
    let of = |row: &Row| {
        let long = |column| row.get_long(column).ok();
        Probe {
            host: text(row, 0).expect("a host"),
            peer: text(row, 1).expect("a peer"),
            start: long(2).expect("a start"),
            length: long(3).expect("a length"),
            forward: long(4).zip(long(6)),
            backward: long(5).zip(long(7)),
            count: long(8).expect("a count"),
        }
    };
    let mut found: Vec<_> = rows(folder, "probes").iter().map(of).collect();
    found.sort_by(|one, other| (&one.peer, one.start).cmp(&(&other.peer, other.start)));
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) clock: String,
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) generation: Option<i64>,
    /// Offset and error bound, or the reason.
    pub(crate) offset: Result<(i64, i64), String>,
    pub(crate) frequency_ppt: Option<i64>,
    pub(crate) right_servers: Option<i64>,
}

/// By clock and time.
pub(crate) fn estimates(folder: &Path) -> Vec<Estimate> {
    let of = |row: &Row| {
        let long = |column| row.get_long(column).ok();
        let offset = long(5).zip(long(7));
        assert_eq!(offset.is_some(), text(row, 8).is_none(), "{row}");
        Estimate {
            clock: text(row, 1).expect("a clock"),
            from: long(2).expect("a time"),
            until: long(3).expect("a time"),
            generation: long(4),
            offset: offset.ok_or_else(|| text(row, 8).expect("a reason")),
            frequency_ppt: long(6),
            right_servers: long(9),
        }
    };
    let mut found: Vec<_> = rows(folder, "estimates").iter().map(of).collect();
    found.sort_by(|one, other| (&one.clock, one.from).cmp(&(&other.clock, other.from)));
    found
}

/// Interface, the monotonic clock before and after, and the NIC's ticks.
pub(crate) fn cross(folder: &Path) -> Vec<(String, i64, i64, u64)> {
    let of = |row: &Row| {
        let long = |column| row.get_long(column).expect("a number");
        let (before, ticks) = (long(2), long(4).wrapping_add(long(2)));
        let interface = text(row, 1).expect("an interface");
        (interface, before, before + long(3), ticks.cast_unsigned())
    };
    rows(folder, "cross").iter().map(of).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timestamp {
    pub(crate) host: String,
    pub(crate) interface: String,
    pub(crate) flow: i64,
    pub(crate) sequence: i64,
    pub(crate) is_sent: bool,
    /// Of the monotonic clock, where there is a timestamp.
    pub(crate) ticks: Option<i64>,
    /// UTC and error bound, or the reason.
    pub(crate) utc: Result<(i64, i64), String>,
}

pub(crate) fn timestamps(folder: &Path) -> Vec<Timestamp> {
    let of = |row: &Row| {
        let long = |column| row.get_long(column).ok();
        let utc = long(7).zip(long(8)).map(|(ticks, more)| ticks + more);
        let utc = utc.zip(long(9));
        assert_eq!(utc.is_some(), text(row, 10).is_none(), "{row}");
        assert_eq!(text(row, 5).as_deref(), Some("software"));
        Timestamp {
            host: text(row, 0).expect("a host"),
            interface: text(row, 1).expect("an interface"),
            flow: long(2).expect("a flow"),
            sequence: long(3).expect("a number"),
            is_sent: text(row, 4).expect("a direction") == "tx",
            ticks: long(7),
            utc: utc.ok_or_else(|| text(row, 10).expect("a reason")),
        }
    };
    rows(folder, "timestamps").iter().map(of).collect()
}
