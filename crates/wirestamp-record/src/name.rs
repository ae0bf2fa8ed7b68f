//! Names of files: whose they are, and how old. Touches no file.

use crate::flow::hash;
use crate::schema::Table;

/// So much of a host's name is in the names of its files.
const LONGEST: usize = 64;
const SUFFIX: &str = ".parquet";

/// Returns the label of a host in the names of its files: its own name, if that is short and plain; otherwise the plain letters of
/// its name and a hash, so that no two hosts have the same.
pub fn label(host: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    let label: String = host.chars().take(LONGEST).map(plain).collect();
    if label == host && !host.is_empty() {
        return label;
    }
    format!("{label}_{:016x}", hash(host.bytes()))
}

/// A file's name. `first`: UTC of its first row, in nanoseconds since 1970.
pub(crate) fn of(label: &str, first: i64, process: u32, file: u32, number: u32) -> String {
    format!("{label}-{first}-{process}-{file}-{number}{SUFFIX}")
}

/// UTC of the first row of the file with this name, if the host with this label wrote it.
pub(crate) fn first(name: &str, label: &str) -> Option<i64> {
    let stem = name.strip_suffix(SUFFIX)?.strip_prefix(label)?;
    let mut parts = stem.strip_prefix('-')?.rsplitn(4, '-');
    let mut number = || parts.next()?.parse().ok();
    let (number, file, process): (u32, u32, u32) = (number()?, number()?, number()?);
    // what `rsplitn` leaves may begin with the sign
    let first = parts.next()?.parse().ok()?;
    (of(label, first, process, file, number) == name).then_some(first)
}

/// Whether a folder of this name can be one of a table's, so many levels below it: day, hour and, where there are some, bucket.
pub(crate) fn is_part(name: &str, table: Table, level: usize) -> bool {
    let key = ["day=", "hour=", "bucket="].get(level);
    (level < 2 || table.by_flow) && key.is_some_and(|key| name.starts_with(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_say_whose_they_are_and_when_they_begin() {
        for host in [
            "db7",
            "rack1-host1",
            "a.b",
            "",
            "../../etc/passwd",
            "é\u{202e}\0",
        ] {
            let label = label(host);
            for at in [1_795_416_000_000_000_000, 0, -5, i64::MIN, i64::MAX] {
                let name = of(&label, at, 7, 3, 0);
                assert!(!name.contains(['/', '\\', '\0']), "{name}");
                assert_eq!(first(&name, &label), Some(at), "{name}");
                assert_eq!(first(&name, &super::label("other")), None);
            }
        }
        let label = label("db7");
        assert_eq!(label, "db7");
        for name in [
            "db7-5-7-3.parquet",
            "db7-5-7-3-0.parquet.part",
            "db7-+5-7-3-0.parquet",
            "db7-5-7-3-00.parquet",
            "db7-5-7-3-x.parquet",
            "db70-5-7-3-0.parquet",
            ".wirestamp-db7-5-7-3-0.parquet",
            "merged-5.parquet",
        ] {
            assert_eq!(first(name, &label), None, "{name}");
        }
    }

    #[test]
    fn no_two_hosts_have_one_label_and_none_is_too_long_for_a_file() {
        let long = "a".repeat(10_000);
        let hosts = [
            "a.b",
            "a_b",
            "a-b",
            "a/b",
            &long,
            &long[1..],
            &long[..LONGEST],
            "é",
            "è",
        ];
        let labels: BTreeSet<_> = hosts.iter().map(|host| label(host)).collect();
        assert_eq!(labels.len(), hosts.len(), "{labels:?}");
        let longest = of(&label(&long), i64::MIN, u32::MAX, u32::MAX, u32::MAX);
        assert!(longest.len() < 200, "{}", longest.len());
    }
}
