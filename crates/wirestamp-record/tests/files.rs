//! The contents of the files, and when there are any.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wirestamp_record::{
    Direction, Kind, Options, Probe, Recorder, Source, Timestamp, VERSION, flow_of, tables,
};

const AT: i64 = 1_795_416_000_000_000_000; // 2026-11-23 06:40:00

fn timestamp(sequence: i64) -> Timestamp {
    Timestamp {
        interface: "eth0".into(),
        flow: flow_of("one", "two", 0),
        sequence,
        direction: Direction::Transmit,
        source: Source::Hardware,
        generation: Some(3),
        ticks: Some(u64::MAX - 5), // a counter about to wrap
        utc: Ok((AT, 420)),
    }
}

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

fn complete(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder);
    found.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "parquet")
    });
    found
}

fn rows(path: &Path) -> Vec<parquet::record::Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn columns_read_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::new(folder.path(), "host-1", Options::default());
    let failed = Timestamp {
        utc: Err("stale"),
        ..timestamp(7)
    };
    let missing = Timestamp {
        ticks: None,
        generation: None,
        utc: Err("overflow"),
        ..timestamp(8)
    };
    for row in [missing, timestamp(6), failed] {
        recorder.push(AT, row).unwrap();
    }
    recorder.finish().unwrap();
    let found = complete(folder.path());
    let [file] = found.as_slice() else {
        panic!("{found:?}")
    };
    let place = file
        .strip_prefix(folder.path())
        .unwrap()
        .to_str()
        .unwrap()
        .replace('\\', "/");
    assert!(
        place.starts_with("timestamps/day=2026-11-23/hour=06/bucket="),
        "{place}"
    );
    let rows = rows(file);
    assert_eq!(rows.len(), 3);
    // sorted by sequence
    let [converted, failed, missing] = rows.as_slice() else {
        panic!()
    };
    assert_eq!(converted.get_string(0).unwrap(), "host-1");
    assert_eq!(converted.get_string(1).unwrap(), "eth0");
    assert_eq!(converted.get_long(2).unwrap(), flow_of("two", "one", 0));
    assert_eq!(converted.get_long(3).unwrap(), 6);
    assert_eq!(converted.get_string(4).unwrap(), "tx");
    assert_eq!(converted.get_string(5).unwrap(), "hardware");
    assert_eq!(converted.get_long(6).unwrap(), 3);
    let (ticks, difference) = (
        converted.get_long(7).unwrap(),
        converted.get_long(8).unwrap(),
    );
    assert_eq!(ticks.wrapping_add(difference), AT);
    assert_eq!(converted.get_long(9).unwrap(), 432); // 420, rounded up
    assert!(converted.get_string(10).is_err());
    // a failed conversion keeps its ticks and has no time
    assert_eq!(failed.get_long(7).unwrap(), (u64::MAX - 5).cast_signed());
    assert!(failed.get_long(8).is_err() && failed.get_long(9).is_err());
    assert_eq!(failed.get_string(10).unwrap(), "stale");
    assert!(missing.get_long(7).is_err() && missing.get_long(6).is_err());
    assert_eq!(missing.get_string(10).unwrap(), "overflow");
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let metadata = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap()
        .clone();
    let version = metadata
        .iter()
        .find(|entry| entry.key == "wirestamp.version")
        .unwrap();
    assert_eq!(version.value, Some(VERSION.to_string()));
}

/// More of them than are handed to the encoder at a time, with and without NULL between them.
#[test]
fn text_that_changes_from_row_to_row_reads_back_as_it_was() {
    const ROWS: i64 = 30_000;
    let interface = |number: i64| ["eth0", "eth1", "enp3s0f1"][(number / 5 % 3) as usize];
    let reason = |number: i64| match number {
        0..9_000 => None,
        _ if number % 7 == 0 => Some("stale"),
        _ if number % 5 == 0 => Some("overflow"),
        _ => None,
    };
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::new(folder.path(), "host", Options::default());
    for sequence in 0..ROWS {
        let row = Timestamp {
            interface: interface(sequence).into(),
            utc: reason(sequence).map_or(Ok((AT, 1)), Err),
            ..timestamp(sequence)
        };
        recorder.push(AT, row).unwrap();
    }
    recorder.finish().unwrap();
    let rows = rows(&complete(folder.path())[0]);
    assert_eq!(rows.len(), ROWS as usize);
    for (row, number) in rows.iter().zip(0..) {
        assert_eq!(row.get_string(1).unwrap(), interface(number), "{number}");
        let found = row.get_string(10).ok().map(String::as_str);
        assert_eq!(found, reason(number), "{number}");
        assert_eq!(row.get_long(8).is_ok(), reason(number).is_none());
    }
}

/// Files of a size follow each other in one part, and in several at a time: rows of one never show up in another.
#[test]
fn files_hold_their_own_rows_alone() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        rows: 50,
        age: Duration::from_secs(3_600),
    };
    let mut recorder = Recorder::new(folder.path(), "host", options);
    for sequence in 0..1_000 {
        let hour = if sequence < 500 { 0 } else { sequence % 3 };
        let at = AT + hour * 3_600_000_000_000;
        recorder.push(at, timestamp(sequence)).unwrap();
    }
    recorder.finish().unwrap();
    let mut found: Vec<_> = complete(folder.path())
        .iter()
        .flat_map(|path| rows(path))
        .map(|row| row.get_long(3).unwrap())
        .collect();
    found.sort_unstable();
    assert!(found.into_iter().eq(0..1_000));
}

#[test]
fn rows_are_written_by_number_and_by_age() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        rows: 100,
        age: Duration::from_secs(3_600),
    };
    let mut recorder = Recorder::new(folder.path(), "host", options);
    for sequence in 0..250 {
        recorder.push(AT, timestamp(sequence)).unwrap();
    }
    let counts = |folder: &Path| {
        complete(folder)
            .iter()
            .map(|path| rows(path).len())
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(folder.path()), [100, 100]);
    recorder.finish().unwrap();
    assert_eq!(counts(folder.path()).iter().sum::<usize>(), 250);

    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        rows: 1_000,
        age: Duration::from_millis(1),
    };
    let mut recorder = Recorder::new(folder.path(), "host", options);
    recorder.push(AT, timestamp(0)).unwrap();
    recorder.poll().unwrap();
    std::thread::sleep(Duration::from_millis(2));
    recorder.poll().unwrap();
    assert_eq!(counts(folder.path()), [1]);
}

#[test]
fn hours_and_flows_are_apart_and_memory_is_bounded_over_all() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        rows: 64,
        age: Duration::from_secs(3_600),
    };
    let mut recorder = Recorder::new(folder.path(), "host", options);
    for number in 0..1_000 {
        let row = Timestamp {
            flow: number % 40,
            ..timestamp(number)
        };
        recorder
            .push(AT + number % 3 * 3_600_000_000_000, row)
            .unwrap();
    }
    recorder.finish().unwrap();
    let found = complete(folder.path());
    assert_eq!(
        found.iter().map(|path| rows(path).len()).sum::<usize>(),
        1_000
    );
    assert!(found.iter().all(|path| rows(path).len() <= 64));
    for hour in ["hour=06", "hour=07", "hour=08"] {
        assert!(
            found
                .iter()
                .any(|path| path.to_str().unwrap().contains(hour)),
            "{hour}"
        );
    }
}

#[test]
fn a_file_that_is_there_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let mut recorder = Recorder::new(folder.path(), "host", Options::default());
        recorder.push(AT, timestamp(0)).unwrap();
        recorder.finish().unwrap();
    }
    assert_eq!(complete(folder.path()).len(), 3);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut recorder = Recorder::new(file.path().join("below"), "host", Options::default());
    recorder.push(AT, timestamp(0)).unwrap();
    assert!(recorder.finish().is_err());
    #[cfg(target_os = "linux")]
    {
        let mut recorder = Recorder::new("/proc/nothing/below", "host", Options::default());
        recorder.push(AT, timestamp(0)).unwrap();
        assert!(recorder.finish().is_err());
    }
}

#[test]
fn rows_that_could_not_be_written_are_held_and_written_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("recordings");
    fs::write(&root, "a file where the folder should be").unwrap();
    let options = Options {
        rows: 4,
        age: Duration::from_secs(3_600),
    };
    let mut recorder = Recorder::new(&root, "host", options);
    for sequence in [1, 0, 2] {
        recorder.push(AT, timestamp(sequence)).unwrap();
    }
    assert!(recorder.flush().is_err());
    assert_eq!(
        (recorder.held(), recorder.written(), recorder.lost()),
        (3, 0, 0)
    );
    // no room for more
    assert!(recorder.push(AT, timestamp(3)).is_err());
    assert_eq!(
        (recorder.held(), recorder.written(), recorder.lost()),
        (0, 0, 4)
    );
    recorder.push(AT, timestamp(5)).unwrap();
    assert!(recorder.flush().is_err());
    fs::remove_file(&root).unwrap();
    recorder.push(AT, timestamp(4)).unwrap();
    recorder.flush().unwrap();
    assert_eq!(
        (recorder.held(), recorder.written(), recorder.lost()),
        (0, 2, 4)
    );
    let found = complete(&root);
    let [file] = found.as_slice() else {
        panic!("{found:?}")
    };
    let sequences = rows(file).into_iter().map(|row| row.get_long(3).unwrap());
    assert_eq!(sequences.collect::<Vec<_>>(), [4, 5]);
    assert_eq!(files(&root).len(), 1, "no draft is left");
}

/// The fleet's programs read this document; they are not written in Rust.
#[test]
fn the_schema_document_is_that_of_the_tables() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parquet/schema.json");
    let described: Vec<_> = tables().iter().map(|table| {
        let columns: Vec<_> = table.columns.iter().map(|column| serde_json::json!({
            "name": column.name,
            "type": match column.kind { Kind::Integer => "int64", Kind::Text => "string" },
            "nullable": column.nullable,
            "meaning": column.meaning,
        })).collect();
        let mut partitions = vec!["day", "hour"];
        partitions.extend(table.by_flow.then_some("bucket"));
        serde_json::json!({ "name": table.name, "meaning": table.meaning, "partitions": partitions, "columns": columns })
    }).collect();
    let described = serde_json::json!({ "version": VERSION, "buckets": wirestamp_record::BUCKETS, "tables": described });
    let described = serde_json::to_string_pretty(&described).unwrap() + "\n";
    if std::env::var_os("WIRESTAMP_WRITE_SCHEMA").is_some() {
        fs::write(&place, &described).unwrap();
    }
    let document = fs::read_to_string(&place).unwrap().replace("\r\n", "\n");
    assert_eq!(
        document, described,
        "WIRESTAMP_WRITE_SCHEMA=1 writes the document anew"
    );
}

const CHILD: &str = "WIRESTAMP_RECORD_CHILD";

/// The child records until it is killed, which is while it writes a file: it prints how many rows it has handed over just
/// before each.
#[test]
fn a_killed_process_leaves_complete_files_and_loses_only_what_it_held() {
    const ROWS: usize = 1_000;
    if let Some(folder) = std::env::var_os(CHILD) {
        let options = Options {
            rows: ROWS,
            age: Duration::from_secs(3_600),
        };
        let mut recorder = Recorder::new(PathBuf::from(folder), "host", options);
        for sequence in 0.. {
            recorder.push(AT, timestamp(sequence)).unwrap();
            if sequence % ROWS as i64 == ROWS as i64 - 2 {
                writeln!(std::io::stdout(), "handed over {}", sequence + 1).unwrap();
            }
        }
    }
    let mut found = 0;
    for files in [0, 3, 6, 9, 12] {
        let enough = files * ROWS + ROWS - 1;
        let folder = tempfile::tempdir().unwrap();
        let handed_over = killed_after(enough, folder.path());
        let mut sequences: Vec<_> = complete(folder.path())
            .iter()
            .flat_map(|path| rows(path))
            .map(|row| row.get_long(3).unwrap())
            .collect();
        sequences.sort_unstable();
        // all but the last, open row group
        assert!(sequences.iter().copied().eq(0..sequences.len() as i64));
        assert!(
            sequences.len() + ROWS >= handed_over,
            "{} of {handed_over}",
            sequences.len()
        );
        found += sequences.len();
    }
    assert!(found > 20 * ROWS, "{found}");
}

/// Runs the child until it has handed over so many rows; returns how many it said.
fn killed_after(enough: usize, folder: &Path) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "a_killed_process_leaves_complete_files_and_loses_only_what_it_held",
        ])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut handed_over = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(number) = line.strip_prefix("handed over ") {
            let before = std::mem::replace(&mut handed_over, number.parse().unwrap());
            if before < enough && handed_over >= enough {
                child.kill().unwrap(); // SIGKILL
            }
        }
    }
    child.wait().unwrap();
    assert!(handed_over >= enough, "{handed_over} of {enough}");
    handed_over
}

#[test]
fn probes_are_stored_by_the_hour_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::new(folder.path(), "host", Options::default());
    let probe = Probe {
        peer: "other".into(),
        window_start: AT,
        window: 1_000_000_000,
        forward: Some(4_210),
        backward: None,
        forward_middle: Some(4_410),
        backward_middle: None,
        count: 10,
    };
    recorder.push(AT, probe).unwrap();
    recorder.finish().unwrap();
    let found = complete(folder.path());
    assert!(
        found[0]
            .parent()
            .unwrap()
            .ends_with("probes/day=2026-11-23/hour=06"),
        "{found:?}"
    );
    let row = &rows(&found[0])[0];
    assert_eq!(row.get_long(4).unwrap(), 4_210);
    assert!(row.get_long(5).is_err());
}
