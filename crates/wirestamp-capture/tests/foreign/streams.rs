//! TCP streams with different segment boundaries at either end.

use super::build::{ACK, FIN, Ng, SYN, ipv4, tcp};
use super::{MS, START, compared, file, only};
use proptest::prelude::*;
use wirestamp_capture::compare::{Options, Report};

const MSS: u32 = 1_448;

/// `count` segments from `base` on, one every 10 µs, then a FIN.
fn segments(base: u32, count: u32) -> Vec<(u64, Vec<u8>)> {
    let mut all = vec![(0, tcp(base.wrapping_sub(1), 0, SYN, 0))];
    for number in 0..count {
        let sequence = base.wrapping_add(number * MSS);
        all.push((
            10 * MS + u64::from(number) * 10_000,
            tcp(sequence, 1 + number as u16, ACK, MSS as usize),
        ));
    }
    let end = base.wrapping_add(count * MSS);
    all.push((
        10 * MS + u64::from(count) * 10_000,
        tcp(end, 1 + count as u16, ACK | FIN, 0),
    ));
    all
}

/// Segments joined like GRO does: up to `most` into one, which arrives with the last one, `after`
/// later.
fn joined(base: u32, count: u32, most: u32, after: u64) -> Vec<(u64, Vec<u8>)> {
    let mut all = vec![(after, tcp(base.wrapping_sub(1), 0, SYN, 0))];
    for first in (0..count).step_by(most as usize) {
        let parts = most.min(count - first);
        let is_last = first + parts == count;
        let at = 10 * MS + u64::from(first + parts - 1) * 10_000 + after;
        let flags = if is_last { ACK | FIN } else { ACK };
        let sequence = base.wrapping_add(first * MSS);
        all.push((
            at,
            tcp(sequence, 1 + first as u16, flags, (parts * MSS) as usize),
        ));
    }
    all
}

#[test]
fn segments_that_are_joined_or_not_split_yet_lose_nothing() {
    for base in [1_000, u32::MAX - 100 * MSS, u32::MAX - MSS / 2] {
        let parts = file(&segments(base, 440));
        let whole = file(&joined(base, 440, 44, 3 * MS));
        let others = file(&joined(base, 440, 17, 3 * MS));
        for (a, b, at_a, at_b) in [
            (&parts, &whole, 441, 10),
            (&whole, &parts, 10, 441),
            (&others, &whole, 26, 10),
        ] {
            let report = compared(a, b, Options::default());
            let flow = only(&report);
            assert_eq!(
                (flow.lost, flow.extra, flow.duplicated, flow.undecided),
                (0, 0, 0, [0, 0]),
                "{report:?}"
            );
            assert_eq!(
                (flow.matched, flow.resegmented),
                (1, [at_a, at_b]),
                "{report:?}"
            );
            assert_eq!(flow.delay.map(|delay| delay.count), Some(1), "the SYN's");
        }
    }
}

#[test]
fn what_did_not_arrive_is_lost_all_the_same() {
    let mut sent = segments(5_000, 100);
    let again = tcp(5_000 + 30 * MSS, 500, ACK, MSS as usize);
    sent.push((300 * MS, again.clone()));
    sent.push((301 * MS, tcp(4_999 + 100 * MSS, 900, ACK, 1))); // a keep-alive
    sent.push((302 * MS, tcp(5_001 + 100 * MSS, 901, ACK, 0)));
    // segment 30 is lost and sent again, 60 is lost for good
    let mut arrived = vec![(3 * MS, tcp(4_999, 0, SYN, 0))];
    for (first, count) in [(0, 30), (31, 29), (61, 39)] {
        let sequence = 5_000 + first * MSS;
        arrived.push((
            15 * MS + u64::from(first),
            tcp(sequence, 1 + first as u16, ACK, (count * MSS) as usize),
        ));
    }
    arrived.push((16 * MS, tcp(5_000 + 100 * MSS, 101, ACK | FIN, 0)));
    arrived.push((303 * MS, again));
    arrived.push((304 * MS, tcp(4_999 + 100 * MSS, 900, ACK, 1)));
    arrived.push((305 * MS, tcp(5_001 + 100 * MSS, 901, ACK, 0)));
    let report = compared(&file(&sent), &file(&arrived), Options::default());
    let flow = only(&report);
    assert_eq!(
        (flow.lost, flow.extra, flow.duplicated),
        (2, 0, 0),
        "{report:?}"
    );
    // the SYN, the FIN, the segment that was sent again, the keep-alive and the acknowledgment
    assert_eq!((flow.matched, flow.resegmented), (5, [98, 3]), "{report:?}");
    // the time of the identical first segment, which arrived joined with others long before, is not
    // used
    let mut twice = arrived.clone();
    twice.push((306 * MS, tcp(5_000, 1, ACK, MSS as usize)));
    let report = compared(&file(&sent), &file(&twice), Options::default());
    let flow = only(&report);
    assert_eq!((flow.lost, flow.duplicated), (2, 1), "{report:?}");
    // as the segment that was sent again and the keep-alive
    assert_eq!((flow.matched, flow.ambiguous), (6, 3), "{report:?}");
    assert!(
        flow.delay
            .is_some_and(|delay| delay.maximum_ns < 10_000_000),
        "{report:?}"
    );
}

#[test]
fn headers_alone_are_enough() {
    let snapped = |packets: &[(u64, Vec<u8>)]| {
        let mut file = Ng::of(101);
        for (after, data) in packets {
            file.packet(
                0,
                START + after,
                &data[..data.len().min(54)],
                data.len(),
                &[],
            );
        }
        file.bytes
    };
    let later: Vec<_> = segments(9, 50)
        .into_iter()
        .map(|(at, data)| (at + MS, data))
        .collect();
    let report = compared(
        &snapped(&segments(9, 50)),
        &file(&later),
        Options::default(),
    );
    assert_eq!(
        (only(&report).matched, only(&report).lost),
        (52, 0),
        "{report:?}"
    );
    let report = compared(
        &file(&segments(9, 50)),
        &snapped(&joined(9, 50, 20, MS)),
        Options::default(),
    );
    assert_eq!(
        (only(&report).resegmented, only(&report).lost),
        ([51, 3], 0),
        "{report:?}"
    );
}

#[test]
fn behind_a_nat_streams_are_found_by_their_handshake() {
    let inside = segments(77, 90);
    let outside: Vec<_> = joined(77, 90, 30, MS)
        .into_iter()
        .map(|(at, mut data)| {
            data[15] = 9; // 10.0.0.9
            data[20..22].copy_from_slice(&61_000_u16.to_be_bytes());
            (at, data)
        })
        .collect();
    let mut options = Options::default();
    options.nat = true;
    let lost = |report: &Report| {
        report
            .flows
            .iter()
            .map(|flow| flow.lost + flow.extra)
            .sum::<u64>()
    };
    let sums = |report: &Report| {
        report
            .flows
            .iter()
            .map(|flow| flow.resegmented[0])
            .sum::<u64>()
    };
    let report = compared(&file(&inside), &file(&outside), options);
    assert_eq!((lost(&report), sums(&report)), (0, 91), "{report:?}");
    // without the handshake it is unknown which side's segments they are
    let report = compared(&file(&inside[1..]), &file(&outside[1..]), options);
    let undecided: u64 = report.flows.iter().map(|flow| flow.undecided[0]).sum();
    assert_eq!((lost(&report), undecided), (0, 91), "{report:?}");
    // and a lost segment is lost
    let report = compared(&file(&inside), &file(&outside[..3]), options);
    let outside: u64 = report.flows.iter().map(|flow| flow.outside).sum();
    assert_eq!(lost(&report) + outside, 31, "{report:?}");
}

/// A stream that begins at `base`: its segments are sent, lost, sent again and joined.
#[derive(Debug, Clone)]
struct World {
    base: u32,
    /// For each segment: its length, whether it is lost at first, and whether the next one is
    /// joined to it at A and at B.
    segments: Vec<(u32, bool, bool, bool)>,
    ipv6: bool,
}

fn world() -> impl Strategy<Value = World> {
    let segment = (
        1_u32..3_000,
        prop::bool::weighted(0.1),
        any::<bool>(),
        any::<bool>(),
    );
    (
        any::<u32>(),
        proptest::collection::vec(segment, 1..80),
        any::<bool>(),
    )
        .prop_map(|(base, segments, ipv6)| World {
            base,
            segments,
            ipv6,
        })
}

/// Packets in a row that can be joined are.
fn cut(parts: &[(u64, u32, u32, bool)], ipv6: bool) -> Vec<(u64, Vec<u8>)> {
    let mut packets: Vec<(u64, u32, u32, u64)> = Vec::new();
    let mut joins = false;
    for (number, (at, start, length, join)) in (0..).zip(parts) {
        match packets.last_mut() {
            Some((last_at, first, have, _))
                if joins && first.wrapping_add(*have) == *start && *have + length < 60_000 =>
            {
                *have += length;
                *last_at = *at;
            }
            _ => packets.push((*at, *start, *length, number)),
        }
        joins = *join;
    }
    let build = |(at, start, length, number): (u64, u32, u32, u64)| {
        let packet = tcp(start, number as u16, ACK, length as usize);
        (at, if ipv6 { as_ipv6(&packet) } else { packet })
    };
    packets.into_iter().map(build).collect()
}

/// Without an identification.
fn as_ipv6(packet: &[u8]) -> Vec<u8> {
    let segment = &packet[20..];
    let mut whole = vec![0x60, 0, 0, 0];
    whole.extend((segment.len() as u16).to_be_bytes());
    whole.extend([6, 64]);
    whole.extend([[0x20; 16], [0x30; 16]].concat());
    whole.extend(segment);
    whole
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The reported losses equal the true ones, with any joining: the lost segments of A if none
    /// were joined there, otherwise those that lost a part.
    #[test]
    fn any_stream_loses_what_it_lost(world in world()) {
        let (mut sent, mut arrived, mut start, mut lost) = (Vec::new(), Vec::new(), world.base, 0);
        let mut again = Vec::new();
        for (number, (length, is_lost, _, at_b)) in (0..).zip(&world.segments) {
            let at = number * 100_000;
            sent.push((at, start, *length, false));
            if *is_lost {
                lost += 1;
                again.push((start, *length, *at_b));
            } else {
                arrived.push((at + 500_000, start, *length, *at_b));
            }
            start = start.wrapping_add(*length);
        }
        for (number, (start, length, at_b)) in (0..).zip(again) {
            let at = 1_000 * MS + number * 100_000;
            sent.push((at, start, length, false));
            arrived.push((at + 500_000, start, length, at_b));
        }
        // both captures begin and end with the same packet
        let edge = |at| (at, ipv4(8, 9, 1, 99, &[at as u8]));
        let with_edges = |mut packets: Vec<(u64, Vec<u8>)>| {
            packets.insert(0, edge(0));
            packets.push(edge(9_000 * MS));
            file(&packets)
        };
        let (a, b) = (with_edges(cut(&sent, world.ipv6)), with_edges(cut(&arrived, world.ipv6)));
        let report = compared(&a, &b, Options::default());
        let flows: Vec<_> = report.flows.iter().filter(|flow| flow.flow.is_some_and(|flow| flow.protocol == 6)).collect();
        prop_assert_eq!(flows.len(), 1);
        let flow = flows[0];
        prop_assert_eq!((flow.lost, flow.extra, flow.duplicated), (lost, 0, 0), "{:?}", flow);
        prop_assert_eq!(flow.undecided, [0, 0]);
        if let Some(delay) = flow.delay {
            prop_assert!(delay.minimum_ns >= 500_000, "{:?}", flow);
        }
        // cut at both ends, no more losses are reported
        let parts = |joined: usize| (0..).zip(&sent).map(|(number, part)| (part.0, part.1, part.2, world.segments.get(number).is_some_and(|segment| joined == 0 && segment.2))).collect::<Vec<_>>();
        let a = with_edges(cut(&parts(0), world.ipv6));
        let report = compared(&a, &b, Options::default());
        let flow = report.flows.iter().find(|flow| flow.flow.is_some_and(|flow| flow.protocol == 6)).expect("there");
        prop_assert!(flow.lost <= lost && (lost == 0 || flow.lost > 0), "{:?}", flow);
        prop_assert_eq!((flow.extra, flow.undecided), (0, [0, 0]), "{:?}", flow);
    }
}
