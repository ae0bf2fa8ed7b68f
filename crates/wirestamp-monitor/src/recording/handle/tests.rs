use super::*;
use std::time::Instant;

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

fn at(second: i64) -> (MonotonicTime, UtcTime) {
    let nanoseconds = second * 1_000_000_000;
    (
        MonotonicTime::from_nanoseconds(nanoseconds),
        UtcTime::from_nanoseconds(1_795_392_000_000_000_000 + nanoseconds),
    )
}

/// A thread that takes nothing: its disk does not answer.
#[test]
fn a_disk_that_hangs_holds_nothing_up_and_what_it_costs_is_counted() {
    let (batches, received) = sync_channel(BATCHES);
    let wanted = configuration("/nonexistent", "");
    let mut recording = Recording::without_thread(&wanted, "db7".into(), false, batches);
    let peer: Arc<str> = "db8".into();
    let sessions: usize = 5_000;
    for second in 0..12 {
        for _ in 0..sessions {
            recording.probe(&peer, &window(second));
        }
        let (now, utc) = at(second);
        recording.hand_over(now, utc);
    }
    // two batches are on their way, the rest waits
    let waiting = 12 * sessions - 2 * sessions;
    let lost = waiting.saturating_sub(WAITING);
    assert_eq!(recording.rows.len(), WAITING);
    assert_eq!(recording.show().lost["probes"], lost as u64);
    let arrived: usize = received.try_iter().map(|batch| batch.rows.len()).sum();
    assert_eq!(arrived, 2 * sessions);
    // it answers again
    let (now, utc) = at(12);
    recording.hand_over(now, utc);
    assert_eq!(recording.rows.len(), 0);
    let batch = received.try_recv().expect("there is one");
    assert_eq!(batch.rows.len(), WAITING);
    drop(received);
}

#[test]
fn tables_that_are_not_asked_for_have_no_rows() {
    let (batches, received) = sync_channel(BATCHES);
    let wanted = configuration("/nonexistent", "tables = [\"estimates\"]");
    let mut recording = Recording::without_thread(&wanted, "db7".into(), false, batches);
    assert_eq!(recording.window(), None);
    recording.probe(&"db8".into(), &window(1));
    recording.estimate("utc", &Known::nothing(at(0).1, "no"));
    let (now, utc) = at(1);
    recording.hand_over(now, utc);
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
    let mut recording = Recording::start(&wanted, "db7".into(), true).expect("it starts");
    let until = |recording: &mut Recording, state: &str| {
        let begun = Instant::now();
        for second in 0..60 {
            recording.probe(&"db8".into(), &window(second));
            let (now, utc) = at(second);
            recording.hand_over(now, utc);
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
