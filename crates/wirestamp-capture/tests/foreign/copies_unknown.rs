//! Copies of packets that a file does not show to be copies: without the interface, under another
//! VLAN, cut otherwise, long after the first, or without a payload. None of them is called lost, but for TCP segments that are cut
//! otherwise and come late, or in a file without interfaces.

use super::build::{ACK, Ng, SYN, ethernet, tcp, udp};
use super::copies::{beyond, datagram, forwarded, sll, sll2};
use super::{MS, START, compared, file, only};
use proptest::prelude::*;
use wirestamp_capture::answers;
use wirestamp_capture::compare::{FlowReport, Options, Report};
use wirestamp_capture::read::Reader;

fn counts(report: &Report) -> (u64, u64, u64, [u64; 2]) {
    let flow = only(report);
    (
        flow.matched,
        flow.lost,
        flow.duplicated + flow.extra,
        flow.undecided,
    )
}

/// The first version of Linux' cooked header: a NIC and its bridge both received a packet.
#[test]
fn without_an_interface_in_the_header_a_copy_is_not_called_lost() {
    for identified in [true, false] {
        let router = forwarded("SLL", 50, 0, identified);
        let other = beyond(50, identified);
        for (a, b, undecided) in [(&router, &other, [50, 0]), (&other, &router, [0, 50])] {
            let report = compared(a, b, Options::default());
            let missing = if undecided[0] > 0 { (1, 0) } else { (0, 1) };
            assert_eq!(
                counts(&report),
                (49, missing.0, missing.1, undecided),
                "{identified}: {report:?}"
            );
        }
    }
    let mut options = Options::default();
    options.mirrored_once = true;
    let router = forwarded("SLL", 50, 0, true);
    let report = compared(&router, &beyond(50, true), options);
    assert_eq!(counts(&report), (49, 1, 0, [0, 0]), "{report:?}");
    assert_eq!(only(&report).delay.expect("timed").maximum_ns, 500_000);
}

/// `dumpcap -i eth0 -i eth0.5`
#[test]
fn the_same_packet_under_another_vlan_is_not_called_lost() {
    let tagged = |number| ethernet(&[0x81, 0, 0, 5, 8, 0], &datagram(number, true));
    let mut both = Ng::of(1);
    both.interface(1, &[(9, vec![9])]);
    let mut trunk = Ng::of(1);
    for number in 0..50 {
        let at = START + u64::from(number) * MS;
        let packet = tagged(number);
        trunk.whole(at, &packet, "");
        both.whole(at, &packet, "");
        let packet = ethernet(&[8, 0], &datagram(number, true));
        both.packet(1, at + 40_000, &packet, packet.len(), &[]);
    }
    let report = compared(&both.bytes, &beyond(50, true), Options::default());
    assert_eq!(counts(&report), (49, 0, 0, [51, 0]), "{report:?}");
    assert_eq!(only(&report).delay.expect("timed").minimum_ns, 460_000);
    let mut options = Options::default();
    options.vlan = true;
    let report = compared(&both.bytes, &beyond(50, true), options);
    assert_eq!(counts(&report), (49, 1, 0, [0, 0]), "{report:?}");
    assert_eq!(report.files[0].copies, 50);
    // a file of one VLAN, and one that lacks a packet
    let packets = (0..50).filter(|number| *number != 7);
    let mut other = Ng::of(1);
    for number in packets {
        other.whole(
            START + u64::from(number) * MS + 500_000,
            &tagged(number),
            "",
        );
    }
    let report = compared(&trunk.bytes, &other.bytes, Options::default());
    assert_eq!(counts(&report), (49, 1, 0, [0, 0]), "{report:?}");
}

/// A mirror port, or files that were merged.
#[test]
fn the_same_packet_under_another_vlan_of_one_interface_is_not_called_lost() {
    for identified in [true, false] {
        let mut both = Ng::of(1);
        for number in 0..50 {
            let at = START + u64::from(number) * 20 * MS;
            let data = datagram(number, identified);
            both.whole(at, &ethernet(&[0x81, 0, 0, 5, 8, 0], &data), "");
            both.whole(at + 40_000, &ethernet(&[8, 0], &data), "");
        }
        let packets = (0..50).filter(|number| *number != 7);
        let packets = packets.map(|number| {
            (
                u64::from(number) * 20 * MS + MS / 2,
                datagram(number, identified),
            )
        });
        let other = file(&packets.collect::<Vec<_>>());
        for mirrored_once in [false, true] {
            let mut options = Options::default();
            (options.vlan, options.mirrored_once) = (true, mirrored_once);
            let (lost, undecided) = if identified && mirrored_once {
                (1, 0)
            } else {
                (0, 51)
            };
            for (a, b) in [(&both.bytes, &other), (&other, &both.bytes)] {
                let report = compared(a, b, options);
                let (matched, found_lost, other, unknown) = counts(&report);
                let case = format!("{identified} {mirrored_once}: {report:?}");
                assert_eq!((matched, found_lost + other), (49, lost), "{case}");
                assert_eq!(unknown[0] + unknown[1], undecided, "{case}");
            }
        }
    }
}

/// GRO joins what a router receives, and GSO splits what it sends.
#[test]
fn segments_that_a_host_joins_or_splits_between_two_interfaces_are_not_called_lost() {
    for (received, sent) in [
        (3_000, 1_000),
        (1_000, 3_000),
        (1_000, 1_000),
        (1_500, 1_000),
    ] {
        for lost in [None, Some(2)] {
            let mut router = Ng::of(276);
            let mut other = Vec::new();
            router.whole(START, &sll2(1, 0, &tcp(0, 0, SYN, 0)), "");
            router.whole(START + 50_000, &sll2(2, 4, &tcp(0, 0, SYN, 0)), "");
            other.push((MS / 2, tcp(0, 0, SYN, 0)));
            for number in 0..20_u32 {
                let at = u64::from(number + 1) * 10 * MS;
                let mut put = |length: u32, interface, kind, after| {
                    for place in 0..3_000 / length {
                        let start = 1 + number * 3_000 + place * length;
                        let id = (start / 100) as u16;
                        let data = tcp(start, id, ACK, length as usize);
                        let after = after + u64::from(place) * 1_000;
                        router.whole(START + at + after, &sll2(interface, kind, &data), "");
                        if interface == 2 && (number, Some(place)) != (7, lost) {
                            other.push((at + after + MS / 2, data));
                        }
                    }
                };
                put(received, 1, 0, 0);
                put(sent, 2, 4, 50_000);
            }
            let case = (received, sent, lost);
            let report = compared(&router.bytes, &file(&other), Options::default());
            let (_, found_lost, other, undecided) = counts(&report);
            let is_lost = u64::from(lost.is_some() && sent == 1_000);
            assert_eq!((found_lost, other), (is_lost, 0), "{case:?}: {report:?}");
            assert!(undecided[0] <= is_lost, "{case:?}: {report:?}");
        }
    }
}

/// Bytes that another interface has take nothing away from a stream that changes its interface.
#[test]
fn a_stream_that_two_interfaces_share_loses_what_it_lost() {
    for by in [1, 2] {
        let (mut near, mut far) = (Ng::of(276), Vec::new());
        for number in 0..60_u32 {
            let at = u64::from(number) * 10 * MS;
            // by two NICs in turn, then by one alone
            let interface = if number < 30 { 1 + number as u8 % 2 } else { 2 };
            let data = tcp(number * 1_000, number as u16 + 1, ACK, 1_000);
            near.whole(START + at, &sll2(interface, 4, &data), "");
            if number != 40 && number % 2 == 0 {
                far.push((at + MS, tcp(number * 1_000, number as u16 + 1, ACK, 2_000)));
            }
            if number == 40 || number == 41 {
                let again = tcp(number * 1_000, 900 + number as u16, ACK, 1_000);
                near.whole(START + 2_000 * MS + at, &sll2(by, 4, &again), "");
                far.push((2_001 * MS + at, again));
            }
        }
        let report = compared(&near.bytes, &file(&far), Options::default());
        assert_eq!(counts(&report), (2, 2, 0, [0, 0]), "{by}: {report:?}");
        assert_eq!(only(&report).resegmented, [58, 29]);
    }
}

/// A copy may come when its packet is no longer there: after a short window, or beyond the most
/// that wait.
#[test]
fn a_copy_of_a_forgotten_packet_is_not_called_lost() {
    // between two interfaces, the bridge's queue is 30 ms long
    let mut bridge = Ng::of(276);
    for number in 0..50 {
        let at = START + u64::from(number) * 100 * MS;
        let data = datagram(number, true);
        bridge.whole(at, &sll2(1, 0, &data), "");
        bridge.whole(at + 30 * MS, &sll2(2, 4, &data), "");
    }
    let packets = (0..50).filter(|number| *number != 27);
    let packets = packets.map(|number| (u64::from(number) * 100 * MS + MS, datagram(number, true)));
    let other = file(&packets.collect::<Vec<_>>());
    let mut options = Options::default();
    options.window_ns = 20 * MS as i64;
    let report = compared(&bridge.bytes, &other, options);
    // the first was forgotten before the file was known to have another interface
    assert_eq!(counts(&report), (49, 1, 0, [1, 0]), "{report:?}");
    assert_eq!(report.files[0].copies, 49);
    // so many others in between that it is forgotten
    let mut crowded = Ng::of(276);
    let last = datagram(0, true);
    crowded.whole(START, &sll2(1, 0, &last), "");
    for number in 1..=200 {
        crowded.whole(
            START + u64::from(number) * 1_000,
            &sll2(1, 0, &datagram(number, true)),
            "",
        );
    }
    crowded.whole(START + MS, &sll2(2, 4, &last), "");
    crowded.whole(START + 2 * MS, &sll2(1, 0, &datagram(999, true)), "");
    let mut options = Options::default();
    options.most_waiting = 50;
    let report = compared(&crowded.bytes, &crowded.bytes, options);
    assert_eq!(counts(&report), (203, 0, 0, [0, 0]), "{report:?}");
    let without_copy = (0..=200).map(|number| (u64::from(number) * 1_000, datagram(number, true)));
    let end = (2 * MS, datagram(999, true));
    let without_copy = file(&without_copy.chain([end]).collect::<Vec<_>>());
    let report = compared(&crowded.bytes, &without_copy, options);
    assert_eq!(counts(&report), (202, 0, 0, [1, 0]), "{report:?}");
}

/// What a router and the far end have of a burst for which there is no room.
fn after_burst(burst: u16, every: u64, far_late: u64) -> (Ng, Vec<(u64, Vec<u8>)>) {
    let (mut near, mut far) = (Ng::of(276), Vec::new());
    for number in 0..burst {
        let at = u64::from(number) * every;
        router(&mut near, at, &datagram(1_000 + number, true));
        far.push((at + far_late, datagram(1_000 + number, true)));
    }
    (near, far)
}

/// A packet as a router's two interfaces have it.
fn router(near: &mut Ng, at: u64, data: &[u8]) {
    near.whole(START + at, &sll2(1, 0, data), "");
    near.whole(START + at + 40_000, &sll2(2, 4, data), "");
}

/// Those were found, and their copies came.
#[test]
fn packets_for_which_there_is_no_room_hide_no_loss_if_nothing_like_them_can_come() {
    let (mut near, mut far) = after_burst(200, 10 * MS, MS);
    for number in 0..100 {
        let at = 2_000 * MS + u64::from(number) * 100 * MS;
        router(&mut near, at, &datagram(number, true));
        if number != 20 {
            far.push((at + MS, datagram(number, true)));
        }
    }
    let mut options = Options::default();
    options.window_ns = 4_000 * MS as i64;
    options.most_waiting = 75;
    let report = compared(&near.bytes, &file(&far), options);
    assert_eq!(counts(&report), (299, 1, 0, [0, 0]), "{report:?}");
    assert_eq!(report.given_up, 0);
}

/// Each of those that were given up explains one packet of the other file, and no other one later.
#[test]
fn packets_that_were_given_up_hide_as_many_others_once() {
    let (mut near, mut far) = after_burst(100, 1_000, 100 * MS);
    for number in 0..20 {
        let at = 30_000 * MS + u64::from(number) * 100 * MS;
        if number % 4 != 1 {
            router(&mut near, at, &datagram(number, true));
        }
        far.push((at + MS, datagram(number, true)));
    }
    let mut options = Options::default();
    options.most_waiting = 50;
    let report = compared(&near.bytes, &file(&far), options);
    // those that came meanwhile took the room of the others
    assert_eq!(counts(&report), (15, 0, 5, [100, 100]), "{report:?}");
}

/// Such as that of VRRP; IPv6 has no identification.
#[test]
fn a_packet_that_is_sent_again_and_again_is_lost_long_after_others_were_given_up() {
    for burst in [0, 100] {
        let (mut near, mut far) = after_burst(burst, 1_000, 100 * MS);
        for number in 0..300 {
            let at = 1_000 * MS + number * 100 * MS;
            router(&mut near, at, &datagram(0, false));
            if number != 250 {
                far.push((at + MS, datagram(0, false)));
            }
        }
        let mut options = Options::default();
        options.most_waiting = 50;
        let report = compared(&near.bytes, &file(&far), options);
        let (_, lost, _, undecided) = counts(&report);
        assert_eq!((lost, undecided), (1, [burst.into(); 2]), "{report:?}");
    }
}

/// It is unknown how soon a packet came after one that has no time.
#[test]
fn what_follows_a_packet_without_a_time_may_be_a_copy() {
    for place in [1, 2] {
        let (mut near, mut far) = (Ng::of(276), Vec::new());
        for number in 0..30 {
            let at = u64::from(number) * 20 * MS;
            let (timed, other) = (datagram(100 + number, true), datagram(number, true));
            near.whole(START + at, &sll2(1, 0, &timed), "");
            near.simple(&sll2(1, 0, &other));
            near.whole(START + at + MS, &sll2(place, 0, &other), "");
            far.extend([(at + MS, timed), (at + 2 * MS, other)]);
        }
        let mut options = Options::default();
        options.mirrored_once = true;
        let report = compared(&near.bytes, &file(&far), options);
        let known = &report.files[0];
        assert_eq!((known.copies, known.mirrored), (0, 0), "{report:?}");
        let again = if place == 1 {
            (30, [0, 0])
        } else {
            (0, [30, 0])
        };
        assert_eq!(counts(&report), (60, 0, again.0, again.1), "{report:?}");
    }
}

/// TCP's numbers and the identification are in the headers.
#[test]
fn answers_are_timed_once_in_captures_of_headers_alone() {
    let mut file = Ng::of(276);
    let mut put = |at: u64, data: &[u8]| {
        for (after, interface, kind) in [(0, 1, 0), (30_000, 2, 4)] {
            let whole = sll2(interface, kind, data);
            let cut = &whole[..whole.len().min(60)];
            file.packet(0, at + after, cut, whole.len(), &[]);
        }
    };
    let back = |number: u32| {
        let mut data = tcp(7, 1 + number as u16, ACK, 0);
        data[12..20].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
        data[20..24].copy_from_slice(&[0, 80, 0x13, 0x89]);
        data[28..32].copy_from_slice(&(1 + (number + 1) * 1_000).to_be_bytes());
        data
    };
    for number in 0..20_u32 {
        let at = START + u64::from(number) * 100 * MS;
        let id = number as u16 + 1;
        put(at, &udp(1, 2, (1_000, 53), id, &[1; 200]));
        put(at + 2 * MS, &udp(2, 1, (53, 1_000), id, &[2; 200]));
        put(at + 3 * MS, &tcp(1 + number * 1_000, id, ACK, 1_000));
        put(at + 5 * MS, &back(number));
    }
    let mut reader = Reader::new("it", &file.bytes[..]).expect("is a capture");
    let report = answers::answers(&mut reader, 1_000_000_000).expect("reads");
    assert_eq!(
        (report.copies, report.services.len()),
        (80, 2),
        "{report:?}"
    );
    for service in &report.services {
        let of_tcp = service.acknowledged_by_service;
        let times = service.answers.or(of_tcp).expect("timed");
        assert_eq!((times.count, service.ambiguous), (20, 0), "{report:?}");
        assert_eq!((times.minimum_ns, times.maximum_ns), (2_000_000, 2_000_000));
    }
}

/// How much later it comes than the one before, its interface, whether it is sent, its number and
/// its kind.
type Repeated = (u64, u8, bool, u16, u16);

fn repeated() -> impl Strategy<Value = Repeated> {
    // at the same time, one file is read further than the other
    let later = prop_oneof![3 => Just(0_u64), 1 => 0_u64..40];
    (later, 0_u8..3, any::<bool>(), 0_u16..30, 0_u16..4)
}

/// A packet of a kind.
fn of_kind(kind: u16, number: u16) -> Vec<u8> {
    match kind {
        0 => datagram(number, true),
        1 => datagram(number % 3, false),
        _ => tcp(
            u32::from(number) * 500,
            number,
            ACK,
            500 * usize::from(kind),
        ),
    }
}

/// A frame of a link type; Ethernet's interfaces are VLANs.
fn framed(link: u16, interface: u8, is_sent: bool, data: &[u8]) -> Vec<u8> {
    let sent = if is_sent { 4 } else { 0 };
    match link {
        1 if interface == 0 => ethernet(&[8, 0], data),
        1 => ethernet(&[0x81, 0, 0, interface, 8, 0], data),
        113 => sll(sent, data),
        _ => sll2(interface, sent, data),
    }
}

/// Compares a file with itself.
fn compared_with_itself(link: u16, packets: &[Repeated], options: Options) -> Report {
    let mut file = Ng::of(link);
    let mut at = START;
    for &(later, interface, is_sent, number, kind) in packets {
        at += later * later * 10_000;
        let data = of_kind(kind, number);
        file.whole(at, &framed(link, interface, is_sent, &data), "");
    }
    compared(&file.bytes, &file.bytes, options)
}

/// What a host that has some packets twice, and the far end, have of packets: how much later each comes than the one
/// before, its number and kind, and the interface by which the copy leaves. `missing` is the place of one that the near or
/// the far end lacks.
fn with_one_missing(
    link: u16,
    packets: &[(u64, u16, u16, Option<u8>)],
    missing: usize,
    is_near: bool,
) -> [Vec<u8>; 2] {
    let (mut near, mut far) = (Ng::of(link), Ng::of(101));
    near.interface(link, &[(9, vec![9])]);
    let mut put = |at: u64, data: &[u8], copy: Option<u8>, has: [bool; 2]| {
        if has[0] {
            near.whole(at, &framed(link, 0, false, data), "");
        }
        if let Some(interface) = copy.filter(|_| has[0]) {
            let copied = framed(link, interface, true, data);
            let of_file = u32::from(link == 1);
            near.packet(of_file, at + 40_000, &copied, copied.len(), &[]);
        }
        if has[1] {
            far.whole(at + 100_000, data, "");
        }
    };
    let mut at = START;
    put(at - 10 * MS, &datagram(900, true), None, [true; 2]);
    for (place, (later, number, kind, copy)) in packets.iter().enumerate() {
        at += 200_000 + later * later * 10_000;
        let is_missing = place == missing;
        let has = [!(is_missing && is_near), !is_missing || is_near];
        put(at, &of_kind(*kind, *number), *copy, has);
    }
    put(at + 10 * MS, &datagram(901, true), None, [true; 2]);
    [near.bytes, far.bytes]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a file repeats, nothing of it is missing in itself, however few packets wait and for
    /// however short a time.
    #[test]
    fn a_file_lacks_nothing_of_itself(
        link in prop::sample::select(vec![1, 113, 276]),
        packets in proptest::collection::vec(repeated(), 1..600),
        window_ms in prop::sample::select(vec![20, 10_000]),
        most_waiting in 5_usize..200,
        mirrored_once: bool,
    ) {
        let mut options = Options::default();
        options.window_ns = window_ms * MS as i64;
        options.most_waiting = most_waiting;
        options.mirrored_once = mirrored_once;
        let report = compared_with_itself(link, &packets, options);
        for flow in &report.flows {
            prop_assert_eq!((flow.lost, flow.extra, flow.duplicated), (0, 0, 0), "{:?}", flow);
        }
    }

    /// The same with tags that may change.
    #[test]
    fn a_file_with_vlans_that_change_lacks_nothing_of_itself(
        packets in proptest::collection::vec(repeated(), 1..600),
        window_ms in prop::sample::select(vec![20, 10_000]),
        most_waiting in 5_usize..200,
        mirrored_once: bool,
    ) {
        let mut options = Options::default();
        options.vlan = true;
        options.window_ns = window_ms * MS as i64;
        options.most_waiting = most_waiting;
        options.mirrored_once = mirrored_once;
        let report = compared_with_itself(1, &packets, options);
        for flow in &report.flows {
            prop_assert_eq!((flow.lost, flow.extra, flow.duplicated), (0, 0, 0), "{:?}", flow);
        }
    }

    /// Where there is room for all that waits, a packet that one file lacks is lost or undecided, whatever the other
    /// one has twice.
    #[test]
    fn no_copies_hide_that_a_packet_is_missing(
        link in prop::sample::select(vec![1, 113, 276]),
        packets in proptest::collection::vec(
            (0_u64..40, 0_u16..30, 0_u16..4, proptest::option::of(1_u8..3)),
            1..300,
        ),
        missing: prop::sample::Index,
        is_near: bool,
        vlan: bool,
        window_ms in prop::sample::select(vec![20, 10_000]),
    ) {
        let missing = missing.index(packets.len());
        let [near, far] = with_one_missing(link, &packets, missing, is_near);
        let mut options = Options::default();
        options.window_ns = window_ms * MS as i64;
        options.vlan = vlan;
        let report = compared(&near, &far, options);
        let not_found = |flow: &FlowReport| {
            let undecided: u64 = flow.undecided.iter().sum();
            flow.lost + flow.extra + flow.duplicated + undecided
        };
        let all: u64 = report.flows.iter().map(not_found).sum();
        prop_assert!(all > 0, "{report:?}");
    }
}
