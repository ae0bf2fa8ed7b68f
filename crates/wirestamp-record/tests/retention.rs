//! Files that are removed, and files that never are.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wirestamp_record::{ClockEstimate, Kept, Options, Recorder, Retention};

const HOUR: i64 = 3_600_000_000_000;
const AT: i64 = 1_795_416_000_000_000_000; // 2026-11-23 06:40:00
const DAY: Duration = Duration::from_secs(86_400);

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file in each of the last hours.
fn record(folder: &Path, host: &str, hours: i64) {
    let mut recorder = Recorder::new(folder, host, Options::default());
    for hour in 0..hours {
        let at = AT - hour * HOUR;
        let row = ClockEstimate {
            clock: "utc".into(),
            from: at,
            until: at,
            generation: None,
            offset: Ok((1, 2)),
            frequency_ppt: None,
            right_servers: None,
        };
        recorder.push(at, row).unwrap();
    }
    recorder.finish().unwrap();
}

#[test]
fn the_oldest_go_until_the_rest_is_below_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "db7", 10);
    let each = fs::metadata(&files(folder.path())[0]).unwrap().len();
    let all = Retention::new(folder.path(), "db7", u64::MAX, 30 * DAY);
    let kept = all.sweep(AT).unwrap();
    assert_eq!((kept.files, kept.removed), (10, 0));
    let few = Retention::new(folder.path(), "db7", 4 * each + each / 2, 30 * DAY);
    let kept = few.sweep(AT).unwrap();
    assert_eq!((kept.files, kept.removed), (4, 6));
    assert_eq!(few.sweep(AT).unwrap(), Kept { removed: 0, ..kept });
    let left = files(folder.path());
    assert_eq!(left.len(), 4);
    assert_eq!(
        kept.bytes,
        left.iter()
            .map(|file| fs::metadata(file).unwrap().len())
            .sum::<u64>()
    );
    let hours: Vec<_> = ["03", "04", "05", "06"]
        .map(|hour| format!("hour={hour}"))
        .into();
    for (file, hour) in left.iter().zip(hours) {
        assert!(file.to_str().unwrap().contains(&hour), "{left:?}");
    }
    // nothing is left of the folders of the others
    let day = folder.path().join("estimates/day=2026-11-23");
    assert_eq!(fs::read_dir(day).unwrap().count(), 4);
    assert!(!folder.path().join("estimates/day=2026-11-22").exists());
}

#[test]
fn only_files_of_this_host_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    for host in ["db.7", "db_7", "db.70", "other"] {
        record(folder.path(), host, 3);
    }
    let hour = folder.path().join("estimates/day=2026-11-23/hour=06");
    let beside = folder.path().join("estimates/hour=06");
    let outside = tempfile::tempdir().unwrap();
    record(outside.path(), "db.7", 3);
    fs::create_dir_all(&beside).unwrap();
    let own = files(&hour)
        .into_iter()
        .map(|file| file.file_name().unwrap().to_owned())
        .find(|name| name.to_str().unwrap().starts_with("db_7_"));
    let own = own.unwrap();
    // merged, a copy in a folder that is none of the table's, notes
    for path in [
        hour.join("merged-1-2.parquet"),
        beside.join(&own),
        folder.path().join("notes.txt"),
        folder.path().join(&own),
    ] {
        File::create(path).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        outside.path().join("estimates/day=2026-11-23"),
        folder.path().join("estimates/day=2020-01-01"),
    )
    .unwrap();
    let before = files(folder.path());
    let kept = Retention::new(folder.path(), "db.7", 0, DAY)
        .sweep(AT)
        .unwrap();
    assert_eq!((kept.files, kept.removed), (0, 3));
    let after = files(folder.path());
    assert_eq!(before.len() - after.len(), 3);
    assert_eq!(files(outside.path()).len(), 3);
    for host in ["db_7-", "db_70_", "other-"] {
        let is_its = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(host)
        };
        assert_eq!(after.iter().filter(is_its).count(), 3, "{host}: {after:?}");
    }
}

#[test]
fn what_is_too_old_goes_a_few_at_a_time_and_what_is_of_the_future_first() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "db7", 100);
    let each = fs::metadata(&files(folder.path())[0]).unwrap().len();
    let retention = Retention::new(folder.path(), "db7", u64::MAX, DAY);
    // the clock shows a wrong year: it costs a few files, not all
    let kept = retention.sweep(AT + 50 * 365 * 24 * HOUR).unwrap();
    assert_eq!((kept.files, kept.removed), (68, 32));
    let mut removed = 0;
    for _ in 0..10 {
        removed += retention.sweep(AT).unwrap().removed;
    }
    assert_eq!(removed, 68 - 25, "25 are not older than a day");
    // the other way round: at the limit, files that the wrong clock dated go before right ones
    let few = Retention::new(folder.path(), "db7", 20 * each + each / 2, DAY);
    let kept = few.sweep(AT - 10 * HOUR).unwrap();
    assert_eq!((kept.files, kept.removed), (20, 5));
    let left = files(folder.path());
    let future = left.iter().filter(|file| {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let first: i64 = name.split('-').nth(1).unwrap().parse().unwrap();
        first > AT - 10 * HOUR
    });
    assert_eq!(future.count(), 5, "of ten");
}

#[test]
fn drafts_that_a_killed_process_left_are_removed_once_they_are_old() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "db7", 1);
    let hour = folder.path().join("estimates/day=2026-11-23/hour=06");
    let old = SystemTime::now() - Duration::from_secs(4_000);
    for (name, is_old) in [
        (".wirestamp-db7-aaaaaa.part", true),
        (".wirestamp-db7-bbbbbb.part", false),
        (".wirestamp-db70-aaaaaa.part", true),
        (".wirestamp-aaaaaa.part", true),
    ] {
        let file = File::create(hour.join(name)).unwrap();
        if is_old {
            file.set_modified(old).unwrap();
        }
    }
    let kept = Retention::new(folder.path(), "db7", u64::MAX, DAY)
        .sweep(AT)
        .unwrap();
    assert_eq!((kept.files, kept.removed), (1, 0));
    let left = files(&hour);
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(!hour.join(".wirestamp-db7-aaaaaa.part").exists());
}

#[test]
fn a_folder_that_is_not_there_has_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention::new(folder.path().join("none"), "db7", 0, DAY);
    assert_eq!(retention.sweep(AT).unwrap(), Kept::default());
}
