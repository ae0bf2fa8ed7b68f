//! Captures that have each packet several times, because it passes several interfaces of a host or
//! one of them twice: each packet counts once, none of its copies is lost or an answer.

use super::build::{Ng, udp};
use super::{MS, START, compared, file, only};
use wirestamp_capture::answers;
use wirestamp_capture::compare::{FlowReport, Options, Way};
use wirestamp_capture::read::Reader;

/// Linux' cooked header, version 1; kind 0 is received, 4 sent.
pub(super) fn sll(kind: u8, data: &[u8]) -> Vec<u8> {
    [&[0, kind][..], &[0; 12], &[8, 0], data].concat()
}

/// The same, version 2.
pub(super) fn sll2(interface: u8, kind: u8, data: &[u8]) -> Vec<u8> {
    let head = [8, 0, 0, 0, 0, 0, 0, interface, 0, 1, kind];
    [&head[..], &[0; 9], data].concat()
}

/// Each has its IPv4 identification; with `identified` false, all have none, and differ by payload.
pub(super) fn datagram(number: u16, identified: bool) -> Vec<u8> {
    let identification = if identified { number + 1 } else { 0 };
    udp(1, 2, (5, 6), identification, &number.to_be_bytes())
}

/// What a router forwards: a packet that each kind of file has as it came, in a bridge, and as it
/// left.
pub(super) fn forwarded(kind: &str, count: u16, late: u64, identified: bool) -> Vec<u8> {
    let link = match kind {
        "SLL" => 113,
        "SLL2" => 276,
        _ => 101,
    };
    let mut file = Ng::of(link);
    file.interface(link, &[(9, vec![9])]);
    for number in 0..count {
        let data = datagram(number, identified);
        let at = START + u64::from(number) * MS + late;
        for (place, after, sent) in [(0, 0, 0), (1, 40_000, 0), (1, 90_000, 4)] {
            match kind {
                "SLL" => file.whole(at + after, &sll(sent, &data), ""),
                "SLL2" => file.whole(at + after, &sll2(place, sent, &data), ""),
                _ => {
                    let flags = 1 + u32::from(sent) / 4;
                    let flags = [(2, file.order.word(flags).to_vec())];
                    let place = u32::from(place);
                    file.packet(place, at + after, &data, data.len(), &flags);
                }
            }
        }
    }
    file.bytes
}

/// A capture of one interface that lacks the 7th packet.
pub(super) fn beyond(count: u16, identified: bool) -> Vec<u8> {
    let packets = (0..count).filter(|number| *number != 7);
    let packets = packets.map(|number| {
        let at = u64::from(number) * MS + 500_000;
        (at, datagram(number, identified))
    });
    file(&packets.collect::<Vec<_>>())
}

#[test]
fn a_packet_that_a_host_forwards_counts_once() {
    for kind in ["SLL2", "interfaces"] {
        for identified in [true, false] {
            let router = forwarded(kind, 50, 0, identified);
            let report = compared(&router, &beyond(50, identified), Options::default());
            let flow = only(&report);
            assert_eq!(
                (flow.matched, flow.lost, flow.ambiguous, flow.way),
                (49, 1, 0, Way::AToB),
                "{kind}: {report:?}"
            );
            let delay = flow.delay.expect("matched");
            assert_eq!((delay.minimum_ns, delay.maximum_ns), (500_000, 500_000));
            assert_eq!(report.files.map(|file| file.copies), [100, 0], "{kind}");
        }
    }
    // both hosts capture all their interfaces
    let [near, far] = [0, 700_000].map(|late| forwarded("SLL2", 50, late, true));
    let report = compared(&near, &far, Options::default());
    let flow = only(&report);
    assert_eq!((flow.matched, flow.lost, flow.duplicated), (50, 0, 0));
    assert_eq!(flow.delay.expect("matched").maximum_ns, 700_000);
}

/// Version 1 has no interface: the bridge's copy was received, as the first was, and may be another
/// packet.
#[test]
fn without_an_interface_in_the_header_copies_are_known_by_their_direction() {
    let mut file = Ng::of(113);
    for number in 0..50 {
        let at = START + u64::from(number) * MS;
        let data = datagram(number, false);
        file.whole(at, &sll(0, &data), "");
        file.whole(at + 70_000, &sll(4, &data), "");
    }
    let report = compared(&file.bytes, &beyond(50, false), Options::default());
    let flow = only(&report);
    assert_eq!((flow.matched, flow.lost, flow.ambiguous), (49, 1, 0));
    assert_eq!(report.files.map(|file| file.copies), [50, 0]);
}

/// A queue of the kernel may hold a packet for longer than packets that look alike are apart.
#[test]
fn what_may_be_a_late_copy_is_neither_lost_nor_a_duplicate() {
    let mut late = Ng::of(276);
    for number in 0..50 {
        let at = START + u64::from(number) * MS;
        late.whole(at, &sll2(1, 0, &datagram(number, false)), "");
    }
    for number in 0..50 {
        let at = START + 400 * MS + u64::from(number) * MS;
        late.whole(at, &sll2(2, 4, &datagram(number, false)), "");
    }
    let end = |file: &mut Ng| file.whole(START + 900 * MS, &sll2(1, 0, &datagram(90, false)), "");
    end(&mut late);
    let mut other = Ng::of(276);
    for number in (0..50).filter(|number| *number != 7) {
        let at = START + u64::from(number) * MS + 500_000;
        other.whole(at, &sll2(1, 0, &datagram(number, false)), "");
    }
    end(&mut other);
    let report = compared(&late.bytes, &other.bytes, Options::default());
    let flow = only(&report);
    assert_eq!(
        (flow.matched, flow.lost, flow.duplicated, flow.undecided),
        (50, 1, 0, [50, 0]),
        "{report:?}"
    );
    assert_eq!(flow.delay.expect("matched").maximum_ns, 500_000);
}

/// Heartbeats look alike, and a host may send them by two interfaces in turn.
#[test]
fn packets_that_look_alike_are_no_copies_of_earlier_ones() {
    let mut file = Ng::of(276);
    let mut other = Ng::of(101);
    let heartbeat = udp(1, 2, (5, 6), 0, b"I am here");
    for number in 0..100 {
        let at = START + number * 100 * MS;
        file.whole(at, &sll2(number as u8 % 2, 4, &heartbeat), "");
        other.whole(at + MS, &heartbeat, "");
    }
    let mut options = Options::default();
    options.window_ns = 1_000 * MS as i64;
    let report = compared(&file.bytes, &other.bytes, options);
    let flow = only(&report);
    assert_eq!(
        (flow.matched, flow.lost, flow.duplicated, flow.ambiguous),
        (100, 0, 0, 0),
        "{report:?}"
    );
}

/// A capture of two interfaces that begins between them, and one of which falls silent.
#[test]
fn heartbeats_are_copies_of_the_latest_one_wherever_that_was_seen() {
    let heartbeat = udp(1, 2, (5, 6), 0, b"I am here");
    let (mut near, mut far) = (Ng::of(276), Ng::of(101));
    near.whole(START + 50_000, &sll2(2, 4, &heartbeat), "");
    far.whole(START + MS, &heartbeat, "");
    for number in 1..200 {
        let at = START + number * 100 * MS;
        if number < 100 {
            near.whole(at, &sll2(1, 0, &heartbeat), "");
        }
        near.whole(at + 50_000, &sll2(2, 4, &heartbeat), "");
        if number != 150 {
            far.whole(at + MS, &heartbeat, "");
        }
    }
    let mut options = Options::default();
    options.window_ns = 1_000 * MS as i64;
    let report = compared(&near.bytes, &far.bytes, options);
    let flow = only(&report);
    assert_eq!((flow.matched, flow.duplicated), (199, 0), "{report:?}");
    assert_eq!(report.files.map(|file| file.copies), [99, 0]);
    let missing = (flow.lost, flow.undecided);
    assert_eq!(missing, (1, [0, 0]), "{report:?}");
}

/// A bridge of many interfaces: each of them receives a packet, and one sends it.
#[test]
fn a_packet_that_leaves_by_one_of_many_interfaces_says_nothing_of_its_way() {
    let mut router = Ng::of(276);
    for number in 0..50 {
        let at = START + u64::from(number) * MS;
        let data = datagram(number, true);
        for place in 0..6 {
            let kind = if place == 5 { 4 } else { 0 };
            router.whole(
                at + u64::from(place) * 20_000,
                &sll2(place, kind, &data),
                "",
            );
        }
    }
    let report = compared(&router.bytes, &beyond(50, true), Options::default());
    let flow = only(&report);
    assert_eq!((flow.lost, flow.way), (1, Way::AToB), "{report:?}");
    assert_eq!(flow.delay.expect("matched").minimum_ns, 500_000);
}

#[test]
fn answers_of_a_host_with_bridges_are_timed_once() {
    for kind in ["SLL", "SLL2", "interfaces"] {
        let link = match kind {
            "SLL" => 113,
            "SLL2" => 276,
            _ => 101,
        };
        let mut file = Ng::of(link);
        file.interface(link, &[(9, vec![9])]);
        let mut put = |at: u64, place: u8, sent: bool, data: &[u8]| {
            let kind_of_packet = if sent { 4 } else { 0 };
            match kind {
                "SLL" => file.whole(at, &sll(kind_of_packet, data), ""),
                "SLL2" => file.whole(at, &sll2(place, kind_of_packet, data), ""),
                _ => file.packet(u32::from(place), at, data, data.len(), &[]),
            }
        };
        for number in 0..20 {
            let at = START + u64::from(number) * 100 * MS;
            let ask = udp(1, 2, (1_000, 53), number, b"who?");
            let tell = udp(2, 1, (53, 1_000), number, b"me");
            put(at, 0, false, &ask);
            put(at + 30_000, 1, true, &ask);
            // two files that were merged, or two clocks: the copy that left is first
            let is_sent_first = number == 10;
            put(at + 2 * MS, 1, is_sent_first, &tell);
            put(at + 2 * MS + 30_000, 0, !is_sent_first, &tell);
        }
        let mut reader = Reader::new("it", &file.bytes[..]).expect("is a capture");
        let report = answers::answers(&mut reader, 1_000_000_000).expect("reads");
        let [service] = &report.services[..] else {
            panic!("{kind}: {report:?}");
        };
        let times = service.answers.expect("answered");
        assert_eq!((times.count, service.ambiguous), (20, 0), "{kind}");
        assert_eq!((times.minimum_ns, times.maximum_ns), (2_000_000, 2_000_000));
        assert_eq!(report.copies, 40, "{kind}");
    }
}

/// A mirror port that copies each packet when it arrives and when it leaves, by one interface.
#[test]
fn what_a_mirror_port_sends_twice_is_reported_and_counts_once_if_asked_for() {
    let mut twice = Ng::of(101);
    for number in 0..50 {
        let at = START + u64::from(number) * 20 * MS;
        let (ask, tell) = (
            udp(1, 2, (5, 53), number + 1, b"who?"),
            udp(2, 1, (53, 5), number + 1, b"me"),
        );
        for after in [0, 3_000] {
            twice.whole(at + after, &ask, "");
        }
        for after in [MS, MS + 3_000] {
            twice.whole(at + after, &tell, "");
        }
    }
    let mut once = Ng::of(101);
    for number in (0..50).filter(|number| *number != 7) {
        let at = START + u64::from(number) * 20 * MS + 500_000;
        once.whole(at, &udp(1, 2, (5, 53), number + 1, b"who?"), "");
    }
    for asked_for in [false, true] {
        let mut options = Options::default();
        options.mirrored_once = asked_for;
        let report = compared(&twice.bytes, &once.bytes, options);
        assert_eq!(report.files.map(|file| file.mirrored), [100, 0]);
        assert_eq!(report.files[0].copies, 0, "only mirrored");
        let forth = |flow: &&FlowReport| flow.flow.is_some_and(|flow| flow.source_port == 5);
        let flow = report.flows.iter().find(forth).expect("a flow");
        if asked_for {
            assert_eq!((flow.matched, flow.lost, flow.ambiguous), (49, 1, 0));
            assert_eq!(flow.delay.expect("matched").maximum_ns, 500_000);
        }
        let mut reader = Reader::new("it", &twice.bytes[..]).expect("is a capture");
        let mut options = answers::Options::from(1_000_000_000);
        options.mirrored_once = asked_for;
        let report = answers::answers_with(&mut reader, options).expect("reads");
        assert_eq!((report.mirrored, report.copies), (100, 0));
        let times = report.services[0].answers;
        if asked_for {
            let times = times.expect("answered");
            assert_eq!((times.count, times.maximum_ns), (50, 1_000_000));
        }
    }
}

/// Nobody knows how soon they came after one another.
#[test]
fn packets_without_a_time_are_no_copies() {
    let mut file = Ng::of(101);
    for number in (0..30).chain(0..30) {
        file.simple(&datagram(number, true));
    }
    let mut options = Options::default();
    options.mirrored_once = true;
    let report = compared(&file.bytes, &file.bytes, options);
    assert_eq!(report.files.map(|file| file.mirrored), [0, 0]);
    assert_eq!(only(&report).matched, 60, "{report:?}");
    let mut reader = Reader::new("it", &file.bytes[..]).expect("is a capture");
    let mut options = answers::Options::from(1_000_000_000);
    options.mirrored_once = true;
    let report = answers::answers_with(&mut reader, options).expect("reads");
    assert_eq!(
        (report.mirrored, report.services[0].undecided),
        (0, 60),
        "{report:?}"
    );
}
