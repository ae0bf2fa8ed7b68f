//! Captures that are written, read again and compared. The packets are generated here, so that the
//! truth is known.

use proptest::prelude::*;
use wirestamp_capture::answers::answers;
use wirestamp_capture::compare::{FlowReport, Options, Report, Way, compare};
use wirestamp_capture::link::Link;
use wirestamp_capture::note::{Known, Note};
use wirestamp_capture::packet::ip;
use wirestamp_capture::pcapng::{Encoder, Head, Packet, Statistics};
use wirestamp_capture::read::Reader;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::capture::{CaptureStatistics, CapturedDirection, LinkType};
use wirestamp_core::correlate::{ClockGeneration, ConversionError};
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::time::Span;

const START: u64 = 1_790_000_000_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// An IPv4 packet with a UDP datagram in it.
fn datagram(from: u8, to: u8, ports: (u16, u16), identification: u16, payload: &[u8]) -> Vec<u8> {
    let total = 28 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend(identification.to_be_bytes());
    packet.extend([0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    packet.extend(ports.0.to_be_bytes());
    packet.extend(ports.1.to_be_bytes());
    packet.extend((total - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

fn segment(
    from: u8,
    to: u8,
    ports: (u16, u16),
    numbers: (u32, u32),
    flags: u8,
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = datagram(from, to, ports, 7, &[0; 12]);
    packet[9] = 6;
    packet[2..4].copy_from_slice(&(40 + payload.len() as u16).to_be_bytes());
    packet[24..28].copy_from_slice(&numbers.0.to_be_bytes());
    packet[28..32].copy_from_slice(&numbers.1.to_be_bytes());
    packet[32..40].copy_from_slice(&[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

fn note(bound: i64) -> Note {
    let known = Known {
        bound: Span::from_nanoseconds(i128::from(bound)),
        generation: ClockGeneration(0),
        utc_generation: None,
    };
    Note {
        clock: TimestampSource::Software,
        utc: Ok(known),
    }
}

/// Packets with their times after the start, in nanoseconds.
fn file(packets: &[(u64, Vec<u8>)], direction: CapturedDirection, dropped: u64) -> Vec<u8> {
    let mut encoder = Encoder::new();
    encoder.head(&Head {
        program: "a test",
        interface: "net0",
        filter: Some("udp"),
        link_type: LinkType::Ip,
        snap_length: 262_144,
        queues: 1,
    });
    for (after, data) in packets {
        encoder.packet(&Packet {
            queue: 0,
            utc: Some(START + after),
            data,
            length: data.len() as u32,
            vlan: None,
            direction,
            note: note(5),
        });
    }
    let count = packets.len() as u64 + dropped;
    let statistics = CaptureStatistics::new(count, dropped, 0);
    encoder.statistics(&Statistics {
        queue: 0,
        counted: statistics,
        packets: packets.len() as u64,
        begun: START - 1_000,
        ended: START + 100_000 * MILLISECOND,
    });
    encoder.bytes().to_vec()
}

fn compared(a: &[u8], b: &[u8], options: Options) -> Report {
    let mut a = Reader::new("a", a).expect("is a capture");
    let mut b = Reader::new("b", b).expect("is a capture");
    compare(&mut a, &mut b, options).expect("reads")
}

#[test]
fn what_is_written_is_read_again() {
    let frame: Vec<u8> = [[2; 6], [4; 6]]
        .concat()
        .into_iter()
        .chain([8, 0])
        .chain(datagram(1, 2, (5, 6), 9, b"tagged"))
        .collect();
    let mut encoder = Encoder::new();
    encoder.head(&Head {
        program: "a test",
        interface: "eth0",
        filter: None,
        link_type: LinkType::Ethernet,
        snap_length: 100,
        queues: 1,
    });
    let tag = VlanTag::new(42, 5).expect("valid");
    let mut packet = Packet {
        queue: 0,
        utc: Some(START + 123_456_789),
        data: &frame,
        length: 1_000,
        vlan: Some((0x8100, tag)),
        direction: CapturedDirection::Sent,
        note: note(77),
    };
    encoder.packet(&packet);
    packet.vlan = None;
    packet.utc = None;
    packet.note.utc = Err(ConversionError::Stale);
    encoder.packet(&packet);
    packet.utc = Some(START + 5);
    packet.note = note(3);
    packet.direction = CapturedDirection::Others;
    encoder.packet(&packet);
    encoder.statistics(&Statistics {
        queue: 0,
        counted: CaptureStatistics::new(10, 7, 1),
        packets: 3,
        begun: START,
        ended: START + 9,
    });
    let bytes = encoder.bytes();
    assert!(bytes.len() % 4 == 0);
    let mut reader = Reader::new("it", bytes).expect("is a capture");
    let first = reader.next_packet().expect("reads").expect("a packet");
    assert_eq!(first.utc_ns, Some((START + 123_456_789) as i64));
    assert_eq!(first.run.map(|run| run.generation), Some(0));
    assert_eq!((first.bound_ns, first.length), (Some(77), 1_004));
    assert_eq!(
        (first.link, first.direction),
        (Link::Ethernet, Some(CapturedDirection::Sent))
    );
    assert_eq!(first.data[12..16], [0x81, 0, 0xa0, 42]);
    let found = ip(LinkType::Ethernet, first.data).expect("is IP");
    assert_eq!(
        (found.vlan, found.payload, found.flow.source_port),
        (42, &b"tagged"[..], 5)
    );
    let second = reader.next_packet().expect("reads").expect("a packet");
    assert_eq!((second.utc_ns, second.data), (None, &frame[..]));
    let second = reader.next_packet().expect("reads").expect("a packet");
    assert_eq!(
        (second.utc_ns, second.data),
        (Some((START + 5) as i64), &frame[..])
    );
    assert_eq!(second.direction, Some(CapturedDirection::Others));
    assert_eq!(reader.next_packet().expect("reads"), None);
    assert_eq!((reader.dropped(), reader.is_truncated()), (Some(7), false));
    assert_eq!(reader.lasted(), Some(START as i64..=(START + 9) as i64));
}

#[test]
fn a_file_that_ends_within_a_packet_is_read_until_there() {
    let whole = file(
        &[
            (0, datagram(1, 2, (5, 6), 9, b"one")),
            (1, datagram(1, 2, (5, 6), 9, b"two")),
        ],
        CapturedDirection::Sent,
        0,
    );
    let mut seen = Vec::new();
    for length in 0..whole.len() {
        let Ok(mut reader) = Reader::new("part", &whole[..length]) else {
            continue;
        };
        let mut count = 0;
        while let Ok(Some(_)) = reader.next_packet() {
            count += 1;
        }
        seen.push(count);
    }
    assert!(
        seen.is_sorted() && seen.contains(&1) && seen.last() == Some(&2),
        "{seen:?}"
    );
}

#[test]
fn delay_loss_duplication_and_reordering_come_out_as_they_were() {
    let packet = |number: u64| datagram(1, 2, (5, 6), number as u16, &number.to_be_bytes());
    let sent: Vec<_> = (0..1_000)
        .map(|number| (number * MILLISECOND, packet(number)))
        .collect();
    let mut arrived = Vec::new();
    for number in 0..1_000 {
        let late = if number % 100 == 50 {
            5 * MILLISECOND
        } else {
            0
        };
        let at = number * MILLISECOND + 3 * MILLISECOND + late;
        if number % 50 != 7 {
            arrived.push((at, packet(number)));
        }
        if number % 200 == 11 {
            arrived.push((at + 10_000, packet(number)));
        }
    }
    arrived.sort_by_key(|(at, _)| *at);
    let a = file(&sent, CapturedDirection::Sent, 0);
    let b = file(&arrived, CapturedDirection::Received, 3);
    let mut options = Options::default();
    options.clock_bound_ns = Some(100);
    for turned in [false, true] {
        let report = if turned {
            compared(&b, &a, options)
        } else {
            compared(&a, &b, options)
        };
        let [flow] = &report.flows[..] else {
            panic!("one flow: {report:?}");
        };
        assert_eq!(flow.way, if turned { Way::BToA } else { Way::AToB });
        assert_eq!(
            (flow.matched, flow.lost, flow.duplicated, flow.extra),
            (980, 20, 5, 0),
            "{flow:?}"
        );
        assert_eq!((flow.reordered, flow.outside), (10, 0));
        let delay = flow.delay.expect("matched");
        assert_eq!((delay.minimum_ns, delay.maximum_ns), (3_000_000, 8_000_000));
        assert_eq!((delay.error_bound_ns, delay.count), (Some(110), 980));
        assert!(
            (delay.p50_ns - 3_000_000).abs() < 3_000_000 / 64,
            "{delay:?}"
        );
        let dropped = report.files.map(|file| file.dropped);
        assert!(dropped.contains(&Some(3)) && dropped.contains(&Some(0)));
    }
}

/// Compares 300 identical packets, one every 100 ms, with a delay of 3 ms. `arrivals` returns how
/// often each arrives.
fn of_packets_that_look_alike(arrivals: impl Fn(u64) -> u64) -> FlowReport {
    let packet = || datagram(1, 2, (5, 6), 0, b"I am here");
    let sent: Vec<_> = (0..300)
        .map(|number| (number * 100 * MILLISECOND, packet()))
        .collect();
    let arrived: Vec<_> = (0..300)
        .flat_map(|number| (0..arrivals(number)).map(move |again| (number, again)))
        .map(|(number, again)| ((number * 100 + 3 + again) * MILLISECOND, packet()))
        .collect();
    let a = file(&sent, CapturedDirection::Sent, 0);
    let b = file(&arrived, CapturedDirection::Received, 0);
    let mut options = Options::default();
    options.window_ns = 1_000 * MILLISECOND as i64;
    let mut report = compared(&a, &b, options);
    report.flows.remove(0)
}

#[test]
fn a_packet_that_looks_like_another_never_lends_it_its_time() {
    let flow = of_packets_that_look_alike(|_| 1);
    let counts = |flow: &FlowReport| (flow.matched, flow.lost, flow.duplicated, flow.ambiguous);
    assert_eq!(counts(&flow), (300, 0, 0, 0));
    for (arrivals, expected) in [(0, (299, 1, 0)), (2, (300, 0, 1))] {
        let flow = of_packets_that_look_alike(|number| if number == 150 { arrivals } else { 1 });
        let (matched, lost, duplicated, ambiguous) = counts(&flow);
        assert_eq!((matched, lost, duplicated), expected, "{flow:?}");
        assert!((1..=150).contains(&ambiguous), "{flow:?}");
        let delay = flow.delay.expect("matched");
        assert_eq!(delay.count, matched - ambiguous);
        assert_eq!((delay.minimum_ns, delay.maximum_ns), (3_000_000, 3_000_000));
    }
}

#[test]
fn behind_a_nat_and_in_another_vlan_packets_are_found_only_if_asked_for() {
    let a = file(
        &[(0, datagram(1, 2, (5, 6), 9, b"through a NAT"))],
        CapturedDirection::Sent,
        0,
    );
    let b = file(
        &[(9, datagram(7, 2, (61_000, 6), 9, b"through a NAT"))],
        CapturedDirection::Received,
        0,
    );
    let matched = |options| {
        compared(&a, &b, options)
            .flows
            .iter()
            .map(|flow| flow.matched)
            .sum::<u64>()
    };
    let mut options = Options::default();
    assert_eq!(matched(options), 0);
    options.nat = true;
    assert_eq!(matched(options), 1);
}

#[test]
fn memory_is_bounded_by_giving_up_what_waits_longest() {
    let packet = |number: u32| datagram(1, 2, (5, 6), 0, &number.to_be_bytes());
    let sent: Vec<_> = (0..10_000)
        .map(|number| (u64::from(number), packet(number)))
        .collect();
    let a = file(&sent, CapturedDirection::Sent, 0);
    let b = file(&[(20_000, packet(9_999))], CapturedDirection::Received, 0);
    let mut options = Options::default();
    options.most_waiting = 100;
    let report = compared(&a, &b, options);
    let flow = &report.flows[0];
    assert_eq!((flow.matched, report.given_up), (1, 9_900));
    assert_eq!((flow.lost, flow.undecided), (99, [9_900, 0]));
}

#[test]
fn answers_are_timed_where_it_is_certain_what_they_answer() {
    let ask = |port| datagram(1, 2, (port, 53), 1, b"who?");
    let tell = |port| datagram(2, 1, (53, port), 1, b"me");
    let (syn, ack) = (2, 16);
    let client =
        |numbers, flags, payload: &[u8]| segment(1, 2, (4_000, 80), numbers, flags, payload);
    let service =
        |numbers, flags, payload: &[u8]| segment(2, 1, (80, 4_000), numbers, flags, payload);
    let packets = [
        (0, ask(1_000)),
        (5 * MILLISECOND, tell(1_000)),
        (10 * MILLISECOND, ask(1_001)),
        (11 * MILLISECOND, ask(1_001)),
        (12 * MILLISECOND, tell(1_001)),
        (20 * MILLISECOND, ask(1_002)),
        (30 * MILLISECOND, client((u32::MAX, 0), syn, b"")),
        (32 * MILLISECOND, service((500, 0), syn | ack, b"")),
        (33 * MILLISECOND, client((0, 501), ack, b"")),
        (40 * MILLISECOND, client((0, 501), ack, b"0123456789")),
        (44 * MILLISECOND, service((501, 10), ack, b"")),
        (50 * MILLISECOND, client((10, 501), ack, b"again")),
        (60 * MILLISECOND, client((10, 501), ack, b"again")),
        (61 * MILLISECOND, service((501, 15), ack, b"answer")),
        (64 * MILLISECOND, client((15, 507), ack, b"")),
    ];
    let bytes = file(&packets, CapturedDirection::Received, 0);
    let mut reader = Reader::new("it", &bytes[..]).expect("is a capture");
    let report = answers(&mut reader, 1_000_000_000).expect("reads");
    assert_eq!((report.packets, report.others), (15, 0));
    let of = |port| {
        report
            .services
            .iter()
            .find(|found| found.service.port == port)
            .expect("measured")
    };
    let dns = of(53);
    let told = dns.answers.expect("one");
    assert_eq!(
        (told.count, told.minimum_ns, told.error_bound_ns),
        (1, 5_000_000, Some(10))
    );
    // their time limit has not passed
    assert_eq!((dns.ambiguous, dns.unanswered, dns.undecided), (1, 0, 2));
    let web = of(80);
    let only = |summary: Option<wirestamp_capture::spread::Summary>| {
        summary.map(|summary| (summary.count, summary.maximum_ns))
    };
    assert_eq!(only(web.handshake_service), Some((1, 2_000_000)));
    assert_eq!(only(web.handshake_client), Some((1, 1_000_000)));
    assert_eq!(only(web.acknowledged_by_service), Some((1, 4_000_000)));
    assert_eq!(only(web.acknowledged_by_client), Some((1, 3_000_000)));
    assert_eq!(web.ambiguous, 1);
    let mut reader = Reader::new("it", &bytes[..]).expect("is a capture");
    let report = answers(&mut reader, 40_000_000).expect("reads");
    let dns = report
        .services
        .iter()
        .find(|found| found.service.port == 53);
    let dns = dns.expect("measured");
    // the only answer of its flow may be both of them, joined
    assert_eq!((dns.ambiguous, dns.unanswered, dns.undecided), (1, 1, 1));
}

/// Every packet twice, as on loopback.
#[test]
fn an_answer_is_timed_again_when_no_earlier_request_can_be_meant() {
    let (ask, tell) = (
        datagram(1, 2, (1_000, 53), 1, b"who?"),
        datagram(2, 1, (53, 1_000), 1, b"me"),
    );
    let packets: Vec<_> = [
        (0, &ask),
        (1, &ask),
        (101, &tell), // the first one's, late, or the second one's
        (102, &tell), // the other's
        (200, &ask),
        (203, &tell),
        (300, &ask), // lost
        (400, &ask),
        (402, &tell), // possibly the lost one's
        (1_350, &ask),
        (1_354, &tell),
    ]
    .map(|(at, packet)| (at * MILLISECOND, packet.clone()))
    .into();
    let bytes = file(&packets, CapturedDirection::Received, 0);
    let mut reader = Reader::new("it", &bytes[..]).expect("is a capture");
    let report = answers(&mut reader, 1_000_000_000).expect("reads");
    let dns = &report.services[0];
    let told = dns.answers.expect("two");
    assert_eq!(
        (told.count, told.minimum_ns, told.maximum_ns),
        (2, 3_000_000, 4_000_000)
    );
    assert_eq!((dns.ambiguous, dns.unanswered), (3, 1));
}

#[test]
fn each_queue_is_an_interface_with_drops_of_its_own() {
    let mut encoder = Encoder::new();
    encoder.head(&Head {
        program: "a test",
        interface: "eth0",
        filter: None,
        link_type: LinkType::Ip,
        snap_length: 100,
        queues: 2,
    });
    let data = datagram(1, 2, (5, 6), 9, b"of a queue");
    for queue in [1, 0] {
        encoder.packet(&Packet {
            queue,
            utc: Some(START + u64::from(queue)),
            data: &data,
            length: data.len() as u32,
            vlan: None,
            direction: CapturedDirection::Received,
            note: note(1),
        });
    }
    for (queue, dropped) in [(0, 5), (1, 7)] {
        encoder.statistics(&Statistics {
            queue,
            counted: CaptureStatistics::new(1 + dropped, dropped, 1),
            packets: 1,
            begun: START,
            ended: START + 9,
        });
    }
    let mut reader = Reader::new("it", encoder.bytes()).expect("is a capture");
    for queue in [1, 0] {
        let packet = reader.next_packet().expect("reads").expect("a packet");
        assert_eq!(packet.utc_ns, Some((START + queue) as i64));
        assert_eq!(packet.link, Link::Ip);
    }
    assert_eq!(reader.next_packet().expect("reads"), None);
    assert_eq!(reader.dropped(), Some(12));
    let text = String::from_utf8_lossy(encoder.bytes()).into_owned();
    assert!(text.contains("queue 0 of 2") && text.contains("queue 1 of 2"));
}

#[test]
fn packets_that_are_captured_both_ways_count_once() {
    let mut encoder = Encoder::new();
    encoder.head(&Head {
        program: "a test",
        interface: "lo",
        filter: None,
        link_type: LinkType::Ip,
        snap_length: 262_144,
        queues: 1,
    });
    let (ask, tell) = (
        datagram(1, 2, (9, 53), 1, b"who?"),
        datagram(2, 1, (53, 9), 1, b"me"),
    );
    for (after, data) in [(0, &ask), (4, &tell)] {
        for (later, direction) in [
            (0, CapturedDirection::Sent),
            (1, CapturedDirection::Received),
        ] {
            encoder.packet(&Packet {
                queue: 0,
                utc: Some(START + after + later),
                data,
                length: data.len() as u32,
                vlan: None,
                direction,
                note: note(1),
            });
        }
    }
    let mut reader = Reader::new("it", encoder.bytes()).expect("is a capture");
    let report = answers(&mut reader, 1_000).expect("reads");
    let service = &report.services[0];
    let told = service.answers.expect("one");
    assert_eq!(
        (
            told.count,
            told.maximum_ns,
            service.ambiguous,
            service.unanswered
        ),
        (1, 4, 0, 0)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Files with changed bytes are read to the end or an error, and compared in bounded memory.
    #[test]
    fn damaged_files_are_read_to_an_end(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let packets: Vec<_> = (0..20u64).map(|number| (number, datagram(1, 2, (5, 6), 3, &number.to_be_bytes()))).collect();
        let whole = file(&packets, CapturedDirection::Sent, 0);
        let mut damaged = whole.clone();
        for (place, value) in changes {
            let place = place.index(damaged.len());
            damaged[place] = value;
        }
        if let (Ok(mut a), Ok(mut b)) = (Reader::new("a", &damaged[..]), Reader::new("b", &whole[..])) {
            let _ = compare(&mut a, &mut b, Options::default());
        }
        if let Ok(mut reader) = Reader::new("a", &damaged[..]) {
            let _ = answers(&mut reader, 1_000);
        }
    }
}
