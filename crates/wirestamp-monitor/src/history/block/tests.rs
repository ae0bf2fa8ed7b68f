use super::*;
use crate::snapshot::Event;

const TIME: &str = "2026-11-23T03:12:00.123456789Z";

fn stamp(time: &str, sequence: u32, delays: &[(&str, i64, i64)]) -> Record {
    Record::Stamp {
        time: time.to_owned(),
        peer: "peer".to_owned(),
        sequence,
        delays: delays
            .iter()
            .map(|(segment, delay, bound)| ((*segment).to_owned().into(), *delay, *bound))
            .collect(),
    }
}

fn clock(name: &str, offset_ns: Option<i64>) -> Record {
    Record::Clock {
        time: TIME.to_owned(),
        clock: name.to_owned(),
        offset_ns,
        bound_ns: 7,
        right_servers: None,
    }
}

/// As NTP servers say it, if so many are right.
fn clock_if(offset_ns: Option<i64>, right_servers: u64) -> Record {
    Record::Clock {
        time: TIME.to_owned(),
        clock: "peer".to_owned(),
        offset_ns,
        bound_ns: 7,
        right_servers: Some(right_servers),
    }
}

/// Every kind, extremes, names that are not ASCII or empty, times that are no times.
fn all() -> Vec<Record> {
    let many: Vec<_> = (0..=MOST_SEGMENTS).map(|_| ("path", 1, 1)).collect();
    vec![
        stamp(
            TIME,
            0,
            &[("path", 1_000, 20), ("forward", i64::MIN, i64::MAX)],
        ),
        stamp(
            TIME,
            u32::MAX,
            &[("path", -1, 0), ("forward", i64::MAX, i64::MIN)],
        ),
        stamp(TIME, 1, &[("path", 5, 5)]),
        stamp(TIME, 1, &many),
        stamp("1969-12-31T23:59:59.999999999Z", 2, &[]),
        stamp("2026-11-23T03:12:00Z", 3, &[]),
        stamp("yesterday", 4, &[]),
        Record::Path {
            time: "2026-11-23T03:11:59.000000000Z".to_owned(),
            interface: String::new(),
            delays: vec![("wire".into(), 9_000, 4)],
        },
        Record::Ntp {
            time: TIME.to_owned(),
            server: "peer".to_owned(),
            offset_ns: -5,
            bound_ns: 6,
            path_delay_ns: 7,
        },
        Record::Ptp {
            time: TIME.to_owned(),
            interface: "Ä\u{202e}\"".to_owned(),
            offset_ns: 5,
            bound_ns: -6,
            path_delay_ns: 0,
        },
        clock("peer", Some(0)),
        clock("peer", None),
        clock("peer", Some(i64::MIN)),
        clock_if(Some(3), 2),
        clock_if(Some(4), 3),
        clock_if(Some(5), u64::MAX),
        clock_if(None, 1),
        Record::Event(Event {
            run: "187b".to_owned(),
            id: u64::MAX,
            time: TIME.to_owned(),
            kind: "reload".to_owned(),
            subject: "s".to_owned(),
            message: "m".repeat(1_000),
        }),
    ]
}

fn block(records: &[Record]) -> Vec<u8> {
    let mut block = Block::default();
    records.iter().for_each(|record| block.add(record, 65_536));
    block.take().expect("there is something in it")
}

fn read(block: &[u8]) -> Vec<Record> {
    let mut read = Vec::new();
    records(block, |_| true, |record| read.push(record));
    read
}

#[test]
fn every_record_reads_back_as_it_was() {
    let all = all();
    let written = block(&all);
    assert_eq!(read(&written), all);
    let second = |text: &str| nanoseconds(text).expect("a time");
    assert_eq!(
        times(&written),
        Some((second("2026-11-23T03:11:59Z"), second(TIME)))
    );
    let mut clocks = Vec::new();
    records(
        &written,
        |kind| kind == "clock",
        |record| clocks.push(record),
    );
    assert_eq!(clocks, all[10..17], "the others are passed over");
}

#[test]
fn a_block_begins_anew_and_what_is_too_long_is_left_out() {
    let mut block = Block::default();
    assert_eq!(block.take(), None);
    let records = all();
    records.iter().for_each(|record| block.add(record, 500));
    let first = block.take().expect("there is something in it");
    // the event, and the packet with too many segments
    assert_eq!(read(&first).len(), records.len() - 2);
    assert_eq!(block.take(), None);
    block.add(&records[1], 500);
    assert_eq!(read(&block.take().expect("one")), records[1..2]);
}

/// A name that many series have is kept many times while a block is read.
#[test]
fn a_block_with_a_longer_name_than_any_is_not_believed() {
    let long = "n".repeat(LONGEST_NAME + 1);
    let mut forged = Block::default();
    unsigned(&mut forged.entries, 1);
    forged.entries.push(Kind::Clock as u8);
    forged.name(&long);
    for number in [0, 0, 0, 0] {
        unsigned(&mut forged.entries, number);
    }
    let forged = forged.take().expect("there is something in it");
    assert!(read(&forged).is_empty());
    let records = [
        clock(&long, Some(1)),
        clock(&long[1..], Some(1)),
        stamp(TIME, 5, &[(&long, 1, 1)]),
    ];
    let written = block(&records);
    assert_eq!(read(&written), records);
    assert_eq!(
        written[HEAD], 0,
        "as text, where the name does not harm others"
    );
}

#[test]
fn damage_is_the_end_of_a_block_at_worst() {
    let all = all();
    let whole = block(&all);
    for length in 0..whole.len() {
        let cut = read(&whole[..length]);
        assert!(
            cut.len() < all.len() && cut[..] == all[..cut.len()],
            "{length}"
        );
    }
    for place in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << bit;
            // whatever it says now, it is read without harm
            assert!(read(&damaged).len() <= whole.len());
        }
    }
    assert!(
        read(b"{\"record\":\"clock\"}").is_empty(),
        "of an earlier version"
    );
    assert!(read(&[&[VERSION; HEAD][..], &[0xff; 40]].concat()).is_empty());
}
