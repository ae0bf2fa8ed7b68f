//! One-way delays of flows, against numbers worked out by hand. That SQL gives the same: `tests/python/test_flows.py`.

use wirestamp_fleet_kernels::delays::{Flow, Overflow, Packets, Timestamp, UNKNOWN};

const ONE: u32 = 1;
const TWO: u32 = 0;
/// Hosts are numbered as they come; by name, the second is first.
const RANKS: [u32; 2] = [0, 1];

fn at(host: u32, sequence: i64, utc: i64) -> Timestamp {
    Timestamp {
        flow: 7,
        sequence,
        utc,
        error_bound: 10,
        host,
    }
}

#[test]
fn packets_are_missing_duplicate_or_overtaken() {
    let mut packets = Packets::with_capacity(9);
    for (sequence, utc) in [(0, 1_000), (1, 2_000), (2, 3_000), (3, 4_000), (4, 5_000)] {
        packets.sent(at(ONE, sequence, utc));
    }
    // 1 is lost, 2 comes twice, 3 is overtaken by 4; 9 was sent by nobody
    for (sequence, utc) in [
        (0, 1_100),
        (2, 3_300),
        (2, 3_700),
        (4, 5_200),
        (3, 5_900),
        (9, 9_000),
    ] {
        packets.received(at(TWO, sequence, utc));
    }
    let flows = packets.flows(&RANKS, 10_000).unwrap();
    let expected = Flow {
        host: ONE,
        flow: 7,
        peer: Some(TWO),
        sent: 5,
        missing: 1,
        duplicate: 1,
        reordered: 1,
        unmatched: 1,
        least: Some(100),
        median: Some(200),
        p99: Some(1_900),
        most: Some(1_900),
        error_bound: Some(20),
    };
    assert_eq!(flows, [expected]);
}

#[test]
fn numbers_that_start_again_and_the_other_direction_are_told_apart() {
    let mut packets = Packets::default();
    for run in 0..1_000 {
        for sequence in [0, 1] {
            let utc = run * 1_000_000 + sequence * 1_000;
            packets.sent(at(ONE, sequence, utc));
            packets.received(at(TWO, sequence, utc + 100 + run));
            packets.sent(at(TWO, sequence, utc + 5_000));
            packets.received(at(ONE, sequence, utc + 5_200));
        }
    }
    let flows = packets.flows(&RANKS, 10_000).unwrap();
    let found: Vec<_> = flows
        .iter()
        .map(|flow| {
            (
                flow.host,
                flow.peer,
                flow.sent,
                flow.missing,
                flow.least,
                flow.most,
            )
        })
        .collect();
    let expected = [
        (TWO, Some(ONE), 2_000, 0, Some(200), Some(200)),
        (ONE, Some(TWO), 2_000, 0, Some(100), Some(1_099)),
    ];
    assert_eq!(found, expected);
    assert!(
        flows
            .iter()
            .all(|flow| flow.duplicate + flow.reordered + flow.unmatched == 0)
    );
}

#[test]
fn bounds_that_are_not_known_give_none_and_too_great_ones_are_an_error() {
    let with = |sent, received| {
        let mut packets = Packets::default();
        packets.sent(Timestamp {
            error_bound: sent,
            ..at(ONE, 0, 0)
        });
        packets.received(Timestamp {
            error_bound: received,
            ..at(TWO, 0, 50)
        });
        packets.flows(&RANKS, 10_000)
    };
    assert_eq!(with(UNKNOWN, 5).unwrap()[0].error_bound, None);
    assert_eq!(with(i64::MAX, 0).unwrap()[0].error_bound, Some(i64::MAX));
    assert_eq!(with(i64::MAX, 1), Err(Overflow));
}
