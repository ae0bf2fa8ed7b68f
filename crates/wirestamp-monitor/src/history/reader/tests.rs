use super::*;
use crate::history::{Journal, Record};
use crate::snapshot::Event;

const RANGE: &str = "from=2026-11-23T03:00:00Z&to=2026-11-23T04:00:00Z";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wirestamp-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn at(minute: u32, second: u32) -> String {
    format!("2026-11-23T03:{minute:02}:{second:02}.000000000Z")
}

fn clock(name: &str, time: String, offset_ns: Option<i64>, bound_ns: i64) -> Record {
    Record::Clock {
        time,
        clock: name.to_owned(),
        offset_ns,
        bound_ns,
        right_servers: None,
    }
}

fn asked(reader: &Reader, query: &str) -> serde_json::Value {
    let question = Question::read(query).expect("it is right");
    let answer = reader.answer(&question).expect("it reads");
    serde_json::to_value(answer).expect("JSON")
}

fn written(name: &str, records: impl IntoIterator<Item = Record>) -> (PathBuf, Reader) {
    let folder = folder(name);
    let mut journal = Journal::open(&folder, 1 << 24).expect("it opens");
    for record in records {
        journal.append(&record);
        journal.sync().expect("written");
    }
    let reader = Reader::new(&folder);
    (folder, reader)
}

#[test]
fn a_bin_keeps_the_extremes_and_the_largest_bound() {
    let mut records: Vec<_> = (0..60)
        .flat_map(|minute| {
            (0..60)
                .step_by(10)
                .map(move |second| clock("eth0", at(minute, second), Some(100), 50))
        })
        .collect();
    // one second of a fault, and one without an offset
    records[72] = clock("eth0", at(12, 3), Some(-9_000), 70_000);
    records[78] = clock("eth0", at(13, 3), None, 5);
    records.push(clock(
        "eth0",
        "2026-11-23T04:00:00Z".to_owned(),
        Some(1),
        1_000_000,
    ));
    records.push(clock("far", at(1, 0), Some(-1_795_415_400_123_456_789), 1));
    records.push(clock("unknown", at(1, 0), None, 7));
    let (folder, reader) = written("bins", records);
    let answer = asked(&reader, &format!("{RANGE}&points=6"));
    assert_eq!(
        (answer["complete"].as_bool(), answer["records"].as_u64()),
        (Some(true), Some(362))
    );
    let eth0 = &answer["offsets"][0];
    assert_eq!(eth0["bin"], serde_json::json!([0, 1, 2, 3, 4, 5]));
    assert_eq!(
        eth0["offset_min_ns"],
        serde_json::json!([100, -9_000, 100, 100, 100, 100])
    );
    assert_eq!(
        eth0["offset_max_ns"],
        serde_json::json!([100, 100, 100, 100, 100, 100])
    );
    assert_eq!(
        eth0["bound_max_ns"],
        serde_json::json!([50, 70_000, 50, 50, 50, 50])
    );
    assert_eq!(
        answer["offsets"][1]["offset_min_ns"][0], "-1795415400123456789",
        "exact"
    );
    let unknown = &answer["offsets"][2];
    assert_eq!(
        (&unknown["offset_min_ns"][0], &unknown["bound_max_ns"][0]),
        (&serde_json::Value::Null, &serde_json::json!(7))
    );
    let one = asked(&reader, &format!("{RANGE}&name=far"));
    assert_eq!(one["offsets"].as_array().map(Vec::len), Some(1));
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn delays_are_counted_by_peer_and_segment() {
    let stamp = |minute, delay| Record::Stamp {
        time: at(minute, 0),
        peer: "<b>peer</b>".to_owned(),
        sequence: 1,
        delays: vec![("path".into(), delay, 20), ("send_path".into(), 5, 1)],
    };
    let path = Record::Path {
        time: at(2, 0),
        interface: "lo".to_owned(),
        delays: vec![("wire".into(), 9_000, 4)],
    };
    let (folder, reader) = written(
        "delays",
        [
            stamp(0, 1_000),
            stamp(0, -3),
            stamp(0, 1_001),
            stamp(59, 8_000_000),
            path,
        ],
    );
    let answer = asked(
        &reader,
        &format!("{RANGE}&show=delays&points=2&segment=path"),
    );
    let all = answer["delays"].as_array().expect("a list");
    assert_eq!(
        (all.len(), &all[0]["name"], &all[0]["segment"]),
        (1, &"<b>peer</b>".into(), &"path".into())
    );
    assert_eq!(all[0]["count"], serde_json::json!([3, 1]));
    assert_eq!(all[0]["delay_min_ns"], serde_json::json!([-3, 8_000_000]));
    assert_eq!(
        all[0]["delay_max_ns"],
        serde_json::json!([1_001, 8_000_000])
    );
    assert_eq!(all[0]["zero"], serde_json::json!([1, 0]));
    let buckets: Vec<(i32, u64)> =
        serde_json::from_value(all[0]["buckets"][0].clone()).expect("pairs");
    let limit = |index: i32| 1e9 * (f64::from(index) / 4.0).exp2();
    assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 2);
    assert!(
        buckets
            .iter()
            .all(|(index, _)| limit(index - 1) < 1_001.0 && 1_000.0 <= limit(*index)),
        "{buckets:?}"
    );
    assert_eq!(
        asked(&reader, &format!("{RANGE}&show=delays"))["delays"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn series_and_events_have_limits() {
    let clocks = (0..100)
        .rev()
        .map(|number| clock(&format!("clock{number:03}"), at(0, 0), Some(number), 1));
    let events = (0..600).map(|id| {
        Record::Event(Event {
            id,
            time: at(30, 0),
            ..Event::default()
        })
    });
    let (folder, reader) = written("limits", clocks.chain(events));
    let answer = asked(&reader, RANGE);
    let names: Vec<_> = answer["offsets"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    assert_eq!(
        (names.len(), &names[0], answer["more_series"].as_bool()),
        (64, &"clock000".into(), Some(true))
    );
    let answer = asked(&reader, &format!("{RANGE}&show=events"));
    let events = answer["events"].as_array().expect("a list");
    assert_eq!(
        (
            events.len(),
            events[0]["id"].as_u64(),
            answer["events_left_out"].as_u64()
        ),
        (500, Some(100), Some(100))
    );
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn what_is_read_is_limited_and_the_newest_comes_first() {
    let folder = folder("budget");
    // three runs of a monitor: three segments
    for minute in [10, 20, 30] {
        let mut journal = Journal::open(&folder, 1 << 24).expect("it opens");
        journal.append(&clock("eth0", at(minute, 0), Some(1), 1));
        journal.sync().expect("written");
    }
    let one = fs::metadata(folder.join("00000001.journal"))
        .expect("it is there")
        .len();
    let reader = Reader {
        most_bytes: 2 * one,
        ..Reader::new(&folder)
    };
    let answer = asked(&reader, &format!("{RANGE}&points=6"));
    assert_eq!(
        (answer["complete"].as_bool(), &answer["offsets"][0]["bin"]),
        (Some(false), &serde_json::json!([2, 3]))
    );
    // those that are known to have nothing of the range cost nothing
    let early = asked(&reader, "from=2026-11-23T03:00:00Z&to=2026-11-23T03:15:00Z");
    assert_eq!(
        (early["complete"].as_bool(), early["records"].as_u64()),
        (Some(true), Some(1))
    );
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn damage_within_a_segment_is_counted_where_it_may_hide_something_of_the_range() {
    let folder = folder("damage");
    for minute in [10, 20, 30] {
        let mut journal = Journal::open(&folder, 1 << 24).expect("it opens");
        for second in [0, 30] {
            journal.append(&clock("eth0", at(minute, second), Some(1), 1));
            journal.sync().expect("written");
        }
    }
    let told = |range: &str| {
        let answer = asked(&Reader::new(&folder), range);
        (
            answer["unreadable_bytes"].as_u64(),
            answer["records"].as_u64(),
        )
    };
    assert_eq!(told(RANGE), (Some(0), Some(6)));
    // the second block of the second segment, and of the newest
    let path = folder.join("00000002.journal");
    let whole = fs::read(&path).expect("it is there");
    let damage = |file: &str| {
        let mut bytes = fs::read(folder.join(file)).expect("it is there");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(folder.join(file), bytes).expect("written");
    };
    damage("00000002.journal");
    damage("00000003.journal");
    let (unreadable, records) = told(RANGE);
    let unreadable = unreadable.expect("a number");
    assert!(unreadable > 0 && unreadable < whole.len() as u64);
    assert_eq!(records, Some(4), "the newest may be at work there");
    let between = |from: u32, to: u32| {
        let range = format!("from=2026-11-23T03:{from:02}:00Z&to=2026-11-23T03:{to:02}:00Z");
        told(&range).0
    };
    assert_eq!(
        between(10, 20),
        Some(0),
        "it is later than what can be read"
    );
    assert_eq!(between(25, 28), Some(unreadable), "its time is not known");
    assert_eq!(between(31, 40), Some(0), "it is earlier than the next");
    // one in the middle costs itself alone
    let mut bytes = whole.clone();
    bytes[20] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let (unreadable, records) = told(RANGE);
    let unreadable = unreadable.expect("a number");
    assert!(unreadable > 0 && unreadable < whole.len() as u64);
    assert_eq!(records, Some(4));
    assert_eq!(
        between(0, 10),
        Some(unreadable),
        "the segment begins with it"
    );
    assert_eq!(
        between(21, 22),
        Some(0),
        "it is earlier than the next block"
    );
    let answer = asked(&Reader::new(&folder), RANGE);
    assert_eq!(answer["complete"].as_bool(), Some(false));
    damage("00000002.journal");
    let unreadable = between(25, 28).expect("a number");
    // the list of segments agrees
    let reader = Reader::new(&folder);
    for _ in 0..2 {
        let range = "from=2026-11-23T03:25:00Z&to=2026-11-23T03:28:00Z";
        let answer = asked(&reader, range);
        assert_eq!(answer["unreadable_bytes"].as_u64(), Some(unreadable));
    }
    fs::remove_dir_all(folder).expect("removed");
}
