use super::*;
use std::time::Instant;
use wirestamp::time::UtcCrossTimestamp;

fn configuration(folder: &str, more: &str) -> Configuration {
    toml::from_str(&format!("directory = '{folder}'\n{more}")).expect("it can be read")
}

fn window(number: i64) -> Window {
    Window {
        start: UtcTime::from_nanoseconds(1_795_392_000_000_000_000 + number * 1_000_000_000),
        length: Span::from_seconds(1),
        forward: None,
        backward: None,
        sent: 10,
    }
}

fn at(second: i64) -> Moment {
    let nanoseconds = second * 1_000_000_000;
    let now = MonotonicTime::from_nanoseconds(nanoseconds);
    let reading = UtcCrossTimestamp {
        before: now,
        utc: UtcTime::from_nanoseconds(1_795_392_000_000_000_000 + nanoseconds),
        after: now,
    };
    Moment::of(reading)
}

fn hand_over(recording: &mut Recording, second: i64) {
    let Moment { now, reading, .. } = at(second);
    recording.last = (now, reading.utc);
    recording.hand_over();
}

/// A thread that takes nothing: its disk does not answer.
#[test]
fn a_disk_that_hangs_holds_nothing_up_and_what_it_costs_is_counted() {
    let (batches, received) = sync_channel(BATCHES);
    let wanted = configuration("/nonexistent", "");
    let mut recording = Recording::without_thread(&wanted, "db7".into(), false, &at(0), batches);
    let peer: Arc<str> = "db8".into();
    let sessions: usize = 5_000;
    for second in 0..12 {
        for _ in 0..sessions {
            recording.probe(&peer, &window(second));
        }
        hand_over(&mut recording, second);
    }
    // two batches are on their way, the rest waits
    let waiting = 12 * sessions - 2 * sessions;
    let lost = waiting.saturating_sub(WAITING);
    assert_eq!(recording.rows.len(), WAITING);
    assert_eq!(recording.show().lost["probes"], lost as u64);
    let arrived: usize = received.try_iter().map(|batch| batch.rows.len()).sum();
    assert_eq!(arrived, 2 * sessions);
    // it answers again
    hand_over(&mut recording, 12);
    assert_eq!(recording.rows.len(), 0);
    let batch = received.try_recv().expect("there is one");
    assert_eq!(batch.rows.len(), WAITING);
    drop(received);
}

#[test]
fn tables_that_are_not_asked_for_have_no_rows() {
    let (batches, received) = sync_channel(BATCHES);
    let wanted = configuration("/nonexistent", "tables = [\"estimates\"]");
    let mut recording = Recording::without_thread(&wanted, "db7".into(), false, &at(0), batches);
    assert_eq!(recording.window(), None);
    recording.probe(&"db8".into(), &window(1));
    recording.estimate("utc", &Known::nothing(at(0).reading.utc, "no"));
    hand_over(&mut recording, 1);
    let rows = received.try_recv().expect("there is a batch").rows;
    assert!(matches!(rows.as_slice(), [Row::Estimate(_)]));
    let counted: Vec<_> = recording.show().lost.into_keys().collect();
    assert_eq!(counted, ["estimates"]);
    drop(received);
}

/// A disk that fails is tried again; what it holds back is written when there is room, and what was beyond is counted.
#[test]
fn a_folder_that_cannot_be_made_fails_at_once_and_recovers() {
    let folder = tempfile::tempdir().expect("made");
    let place = folder.path().join("recordings");
    std::fs::write(&place, "a file where the folder should be").expect("written");
    let wanted = configuration(place.to_str().expect("plain"), "file_interval = \"1h\"");
    let mut recording =
        Recording::start(&wanted, "db7".into(), true, &at(0), None).expect("it starts");
    let until = |recording: &mut Recording, state: &str| {
        let begun = Instant::now();
        for second in 0..60 {
            recording.probe(&"db8".into(), &window(second));
            hand_over(recording, second);
            let shown = recording.show();
            if shown.state == state {
                return shown;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{shown:?}");
            thread::sleep(Duration::from_millis(1));
        }
        panic!("not {state} within a minute")
    };
    let failed = until(&mut recording, "failed");
    assert!(
        failed.error.is_some() && failed.rows["probes"] == 0,
        "{failed:?}"
    );
    std::fs::remove_file(&place).expect("removed");
    let recovered = until(&mut recording, "recording");
    assert_eq!((recovered.error, recovered.lost["probes"]), (None, 0));
    assert!(recovered.rows["probes"] > 0);
}

/// A monitor that is reloaded and ended within a second has rows that no look handed over.
#[test]
fn what_came_before_the_first_look_is_written() {
    let folder = tempfile::tempdir().expect("made");
    let wanted = configuration(folder.path().to_str().expect("plain"), "");
    let mut recording =
        Recording::start(&wanted, "db7".into(), false, &at(0), None).expect("it starts");
    recording.probe(&"db8".into(), &window(0));
    recording.close();
    let begun = Instant::now();
    while !recording.is_over() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never ends");
        thread::sleep(LOOK);
    }
    assert_eq!(recording.show().rows["probes"], 1);
    assert_eq!(recording.end(begun), 0, "all is written");
}

/// The thread took a batch, and its disk answers no more.
#[test]
fn an_end_does_not_wait_for_a_disk_that_hangs_and_knows_what_it_costs() {
    let wanted = configuration("/nonexistent", "");
    let (batches, received) = sync_channel(BATCHES);
    let mut recording = Recording::without_thread(&wanted, "db7".into(), false, &at(0), batches);
    let (release, held) = sync_channel::<()>(0);
    let (hangs, took) = sync_channel(1);
    recording.thread = Some(thread::spawn(move || {
        let taken = received.recv();
        let _ = hangs.send(());
        let _ = held.recv();
        drop((taken, received));
    }));
    for second in 0..6 {
        recording.probe(&"db8".into(), &window(second));
        hand_over(&mut recording, second);
        if second == 0 {
            took.recv().expect("it took the first");
        }
    }
    // two batches are on their way, the rest waits
    assert_eq!(recording.rows.len(), 3);
    let begun = Instant::now();
    assert_eq!(recording.end(begun + Duration::from_millis(100)), 6);
    assert!(begun.elapsed() >= Duration::from_millis(100));
    drop(recording);
    assert!(begun.elapsed() < PATIENCE, "it was waited for twice");
    drop(release);
}

#[test]
fn a_disk_that_fails_at_the_end_costs_what_it_could_not_write() {
    let file = tempfile::NamedTempFile::new().expect("made");
    let place = file.path().join("in a file");
    let wanted = configuration(place.to_str().expect("plain"), "");
    let mut recording =
        Recording::start(&wanted, "db7".into(), false, &at(0), None).expect("it starts");
    recording.probe(&"db8".into(), &window(0));
    assert_eq!(recording.end(Instant::now() + Duration::from_secs(60)), 1);
}

#[test]
fn a_thread_that_is_gone_is_a_failure() {
    let wanted = configuration("/nonexistent", "");
    let (batches, received) = sync_channel(BATCHES);
    let mut recording = Recording::without_thread(&wanted, "db7".into(), false, &at(0), batches);
    recording.probe(&"db8".into(), &window(0));
    drop(received);
    hand_over(&mut recording, 1);
    let shown = recording.show();
    assert_eq!(shown.state, "failed");
    assert!(shown.error.is_some(), "{shown:?}");
    recording.close();
    assert!(recording.is_over());
}

/// What the thread says once it is so.
fn shown(recording: &Recording, is_so: impl Fn(&RecordingState) -> bool) -> RecordingState {
    let begun = Instant::now();
    loop {
        let shown = recording.show();
        if is_so(&shown) {
            return shown;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{shown:?}");
        thread::sleep(LOOK);
    }
}

#[cfg(unix)]
fn files(folder: &std::path::Path) -> usize {
    let inner = std::fs::read_dir(folder).into_iter().flatten();
    let counted = inner.map(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path) } else { 1 }
    });
    counted.sum()
}

/// What cannot be removed is said, and costs no small files.
#[cfg(unix)]
#[test]
fn files_that_cannot_be_removed_do_not_make_others_smaller() {
    let folder = tempfile::tempdir().expect("made");
    let text = folder.path().to_str().expect("plain");
    let wanted = configuration(text, "file_interval = \"100s\"\ntables = [\"probes\"]");
    let table = folder.path().join("probes");
    // a link to itself can't be listed
    std::os::unix::fs::symlink(&table, &table).expect("made");
    let mut recording =
        Recording::start(&wanted, "db7".into(), true, &at(0), None).expect("it starts");
    let mut until = |seconds: std::ops::Range<i64>, state: &str| {
        for second in seconds {
            recording.probe(&"db8".into(), &window(second));
            hand_over(&mut recording, second);
        }
        shown(&recording, |shown| shown.state == state)
    };
    let error = until(0..2, "failed").error.expect("there is one");
    assert!(error.starts_with("old files are not removed"), "{error}");
    std::fs::remove_file(&table).expect("removed");
    until(2..99, "recording");
    assert_eq!(files(&table), 0, "the interval is not over");
    drop(recording);
    assert_eq!(files(&table), 1);
}

/// What memory has no room for is a file before the interval is over: it counts at once, and towards the limit.
#[test]
fn files_that_memory_makes_are_counted_at_once_and_kept_below_the_limit() {
    let folder = tempfile::tempdir().expect("made");
    let text = folder.path().to_str().expect("plain");
    let lines = "file_interval = \"1h\"\nlimit_bytes = 1048576";
    let wanted = configuration(text, lines);
    let mut recording =
        Recording::start(&wanted, "db7".into(), true, &at(0), None).expect("it starts");
    let peer: Arc<str> = "db8".into();
    for second in 0..200 {
        for number in 0..3_000 {
            let one = |least: i64| Differences {
                least: Span::from_nanoseconds(i128::from(least)),
                middle: Span::from_nanoseconds(i128::from(least + number)),
            };
            // what no encoding makes small
            let odd = 0x9e37_79b9_7f4a_7c15_u64.cast_signed();
            let mixed = (second * 3_000 + number).wrapping_mul(odd);
            let noise = (mixed ^ (mixed >> 29)).wrapping_mul(odd);
            recording.probe(
                &peer,
                &Window {
                    forward: Some(one(noise >> 20)),
                    backward: Some(one(noise >> 16)),
                    ..window(second)
                },
            );
        }
        hand_over(&mut recording, second);
    }
    shown(&recording, |shown| {
        shown.rows["probes"] > 500_000 && shown.removed > 0
    });
}

/// A service may not write everywhere. That is known at once, not when the first file is due.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_is_there_and_may_not_be_written_fails_at_once() {
    let wanted = configuration("/proc", "file_interval = \"1h\"");
    let mut recording =
        Recording::start(&wanted, "db7".into(), true, &at(0), None).expect("it starts");
    hand_over(&mut recording, 0);
    shown(&recording, |shown| shown.state == "failed");
}
