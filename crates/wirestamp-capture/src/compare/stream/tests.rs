use super::*;
use crate::copies::longest;
use proptest::prelude::*;

/// One stream, which is 0.
fn streams() -> Streams {
    let mut streams = Streams::default();
    assert_eq!(streams.of(flow(1)), Some(0));
    streams
}

fn flow(source_port: u16) -> Flow {
    let address = std::net::Ipv4Addr::LOCALHOST.into();
    Flow {
        source: address,
        destination: address,
        protocol: 6,
        source_port,
        destination_port: 2,
    }
}

fn place() -> (Vantage, i64) {
    at(0, 0)
}

fn at(interface: u32, line_ns: i64) -> (Vantage, i64) {
    (Vantage::new(0, interface, None, None), line_ns)
}

fn range(start: u32, length: u32) -> Range {
    Range { start, length }
}

#[test]
fn joined_bytes_are_found_and_lost_ones_are_missed_once() {
    for base in [0, u32::MAX - 1_500, 1 << 31] {
        let at = |start: u32, length| range(start.wrapping_add(base), length);
        let mut streams = streams();
        for part in [at(0, 1_000), at(1_000, 1_000), at(2_000, 1_000)] {
            streams.add(0, Side::A, part, place());
        }
        streams.add(0, Side::A, at(1_000, 1_000), place()); // sent again
        streams.add(0, Side::B, at(0, 3_000), place());
        assert_eq!(streams.settle(0, Side::B, at(0, 3_000)), Bytes::Found);
        assert_eq!(streams.settle(0, Side::A, at(0, 1_000)), Bytes::Found);
        assert_eq!(streams.settle(0, Side::A, at(1_000, 1_000)), Bytes::Fewer);
        assert_eq!(streams.settle(0, Side::A, at(1_000, 1_000)), Bytes::Found);
        assert_eq!(streams.settle(0, Side::A, at(2_000, 1_000)), Bytes::Found);
        streams.add(0, Side::A, at(3_000, 10), place());
        assert_eq!(streams.settle(0, Side::A, at(2_990, 20)), Bytes::Missing);
        assert_eq!(streams.settle(0, Side::A, at(3_000, 10)), Bytes::Forgotten);
    }
}

#[test]
fn bytes_from_another_place_are_copies_for_a_while() {
    let long = 30 * longest(None);
    let mut streams = streams();
    for (interface, line_ns, expected) in [
        (1, 0, Brought::New),
        (2, longest(None), Brought::Elsewhere),
        (2, longest(None) + 1, Brought::Again),
        // sent again by the first one, and copied
        (1, long, Brought::Again),
        (2, long + longest(None), Brought::Elsewhere),
        (1, 2 * long, Brought::Again),
    ] {
        let brought = streams.add(0, Side::A, range(0, 9), at(interface, line_ns));
        assert_eq!(brought, expected, "{interface} {line_ns}");
    }
    assert_eq!(streams.all[0].at(0), [4, 0]);
}

#[test]
fn a_stream_of_many_gigabytes_takes_no_room() {
    let mut streams = streams();
    for turn in 0..200_000_u32 {
        let part = range(turn.wrapping_mul(60_000), 60_000);
        streams.add(0, Side::A, part, place());
        streams.add(0, Side::B, part, place());
        assert!(streams.changes <= 6, "{turn}: {streams:?}");
    }
    // every second byte, of one capture alone, in any order
    type Order = fn(u32) -> u32;
    let orders: [Order; 4] = [
        |turn| turn * 2,
        |turn| 0_u32.wrapping_sub(turn * 2),
        |turn| turn.wrapping_mul(0x9e37_79b9),
        |turn| ((turn % 8) << 29).wrapping_sub(turn * 2), // further behind than is remembered, again and again
    ];
    for order in orders {
        let mut streams = self::streams();
        for turn in 0..60_000 {
            streams.add(0, Side::A, range(order(turn), 1), place());
            assert!(
                streams.changes <= MOST_CHANGES,
                "{turn}: {}",
                streams.changes
            );
        }
    }
}

#[test]
fn as_much_of_a_stream_is_known_as_it_loses_in_a_window() {
    // beyond that, the stream forgets the bytes furthest behind, whichever segment came last
    for (sent, known) in [(8_000, 2), (20_000, 12_400)] {
        let mut streams = self::streams();
        for number in 0..sent {
            let part = range(number * 1_000, 1_000);
            streams.add(0, Side::A, part, place());
            if number % 2 == 0 {
                streams.add(0, Side::A, part, place());
                streams.add(0, Side::A, range(0, 1_000), place());
            }
            streams.add(0, Side::B, part, place());
        }
        for number in (known..sent).step_by(2) {
            let part = range(number * 1_000, 1_000);
            assert_eq!(streams.settle(0, Side::A, part), Bytes::Fewer, "{number}");
            assert_eq!(streams.settle(0, Side::A, part), Bytes::Found, "{number}");
        }
    }
}

#[test]
fn one_segment_never_costs_much() {
    let mut streams = streams();
    for turn in 0..2_000 {
        streams.add(0, Side::B, range(turn * 2, 1), place());
    }
    let long = range(0, 4_000);
    assert_eq!(streams.settle(0, Side::B, long), Bytes::Forgotten);
    streams.add(0, Side::A, long, place());
    assert_eq!(streams.changes, 2);
    assert_eq!(streams.settle(0, Side::A, long), Bytes::Missing);
}

#[test]
fn many_streams_without_end_leave_room_for_others() {
    let mut streams = streams();
    let mut port = 0;
    while streams.changes + 16 < MOST_CHANGES_TOGETHER {
        port += 1;
        let stream = streams.of(flow(port)).expect("there is room");
        for turn in 0..8_000 {
            streams.add(stream, Side::A, range(turn * 2, 1), place());
        }
    }
    assert!(port > 60, "{port}: each has its limit");
    let stream = streams.of(flow(999)).expect("there is room");
    let parts = (0..31).map(|number| range(number * 3_000, 1_000));
    for part in parts.clone() {
        streams.add(stream, Side::A, part, place());
    }
    for part in parts {
        assert_eq!(streams.settle(stream, Side::A, part), Bytes::Missing);
    }
    assert!(streams.changes < MOST_CHANGES_TOGETHER + 2 * FEWEST_CHANGES);
}

proptest! {
    /// Both captures see every byte as often as it was transmitted but for lost ones, cut anew at each.
    #[test]
    fn as_many_segments_are_missing_as_were_lost(base: u32, lost in proptest::collection::vec(any::<bool>(), 1..60), joined in 1usize..10) {
        let mut streams = streams();
        let part = |number: usize, count: usize| range(base.wrapping_add(number as u32 * 100), count as u32 * 100);
        for (number, is_lost) in lost.iter().enumerate() {
            streams.add(0, Side::A, part(number, 1), place());
            if *is_lost {
                streams.add(0, Side::A, part(number, 1), place());
            }
        }
        for start in (0..lost.len()).step_by(joined) {
            streams.add(0, Side::B, part(start, joined.min(lost.len() - start)), place());
        }
        let mut missing = 0;
        for (number, is_lost) in lost.iter().enumerate() {
            for _ in 0..1 + usize::from(*is_lost) {
                let found = streams.settle(0, Side::A, part(number, 1));
                prop_assert!(found != Bytes::Forgotten);
                missing += usize::from(found != Bytes::Found);
            }
        }
        prop_assert_eq!(missing, lost.iter().filter(|lost| **lost).count());
        for start in (0..lost.len()).step_by(joined) {
            prop_assert_eq!(streams.settle(0, Side::B, part(start, joined.min(lost.len() - start))), Bytes::Found);
        }
    }
}
