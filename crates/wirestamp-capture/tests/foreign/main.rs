//! Captures of other programs: every byte order, resolution, link type and kind of block, unusable
//! packets, segments that NICs joined, files out of order. No packet that is in both files is
//! reported as lost, and tshark reads the same packets at the same times.

mod build;
mod copies;
mod copies_unknown;
mod erf;
mod frames;
mod judged;
mod rotated;
mod runs;
mod steps;
mod streams;
mod tools;
mod tunnels;
mod two_nics;
mod unseen;
mod unusable;

use build::{ACK, MICROSECONDS, NANOSECONDS, Ng, ethernet, pcap, tcp, udp};
use wirestamp_capture::answers::answers;
use wirestamp_capture::compare::{FlowReport, Options, Report, compare};
use wirestamp_capture::read::Reader;

const START: u64 = 1_790_000_000_000_000_000;
const MS: u64 = 1_000_000;

fn compared(a: &[u8], b: &[u8], options: Options) -> Report {
    let mut a = Reader::new("a", a).expect("is a capture");
    let mut b = Reader::new("b", b).expect("is a capture");
    compare(&mut a, &mut b, options).expect("reads")
}

/// The only flow of a report.
fn only(report: &Report) -> &FlowReport {
    let [flow] = &report.flows[..] else {
        panic!("one flow: {report:?}");
    };
    flow
}

/// Raw IP in nanoseconds.
fn file(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Ng::of(101);
    for (after, data) in packets {
        file.whole(START + after, data, "");
    }
    file.bytes
}

fn datagrams(count: u16) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| udp(1, 2, (5, 6), number, &[number as u8; 100]))
        .collect()
}

/// The same packets 3 ms later, as captured by another program or at another place.
fn seen_as(link_type: u16, change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut file = Ng::of(link_type);
    for (number, data) in (0..).zip(datagrams(50)) {
        file.whole(START + (number + 3) * MS, &change(&data), "");
    }
    file.bytes
}

fn sent() -> Vec<u8> {
    let packets = (0..).zip(datagrams(50));
    file(
        &packets
            .map(|(number, data)| (number * MS, data))
            .collect::<Vec<_>>(),
    )
}

#[test]
fn the_same_packets_are_found_behind_other_headers() {
    let cooked = |data: &[u8]| [&[0; 14], &[8, 0][..], data].concat();
    let fcs: Vec<_> = (0..)
        .zip(datagrams(50))
        .map(|(number, data)| {
            let frame = [ethernet(&[8, 0], &data), vec![1, 2, 3, 4]].concat();
            ((1_790_000_000, (number + 3) * 1_000_000), frame)
        })
        .collect();
    for (name, other) in [
        ("SLL", seen_as(113, cooked)),
        (
            "SLL2",
            seen_as(276, |data| [&[8, 0][..], &[0; 18], data].concat()),
        ),
        ("NULL", seen_as(0, |data| [&[2, 0, 0, 0], data].concat())),
        ("LOOP", seen_as(108, |data| [&[0, 0, 0, 2], data].concat())),
        ("raw", seen_as(12, <[u8]>::to_vec)),
        ("PPP", seen_as(9, |data| [&[0, 0x21], data].concat())),
        (
            "HDLC",
            seen_as(50, |data| [&[0xff, 3, 0, 0x21], data].concat()),
        ),
        (
            "Cisco HDLC",
            seen_as(104, |data| [&[0x0f, 0, 8, 0], data].concat()),
        ),
        (
            "PPPoE alone",
            seen_as(51, |data| {
                [&[0x11, 0, 0, 1, 0, 130, 0, 0x21], data].concat()
            }),
        ),
        (
            "pppd",
            seen_as(166, |data| [&[0, 3, 0, 0x21], data].concat()),
        ),
        (
            "PPP with direction",
            seen_as(204, |data| [&[0, 0xff, 3, 0, 0x21], data].concat()),
        ),
        (
            "PPPoE in two VLANs",
            seen_as(1, |data| {
                let tags = [0x88, 0xa8, 0, 0, 0x81, 0, 0, 0];
                let session = [0x88, 0x64, 0x11, 0, 0, 1, 0, 130, 0, 0x21];
                ethernet(&[&tags[..], &session].concat(), data)
            }),
        ),
        (
            "MPLS",
            seen_as(1, |data| ethernet(&[0x88, 0x47, 0, 1, 1, 64], data)),
        ),
        (
            "PPPoE",
            seen_as(1, |data| {
                ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 130, 0, 0x21], data)
            }),
        ),
        (
            "SNAP",
            seen_as(1, |data| {
                ethernet(&[0, 136, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], data)
            }),
        ),
        ("FCS", pcap(false, NANOSECONDS, 0, 0x5000_0001, &fcs)),
        ("FCS present", pcap(true, NANOSECONDS, 0, 0x2400_0001, &fcs)),
    ] {
        let report = compared(&sent(), &other, Options::default());
        let flow = only(&report);
        assert_eq!(
            (flow.matched, flow.lost, flow.extra),
            (50, 0, 0),
            "{name}: {report:?}"
        );
        let delay = flow.delay.expect("matched");
        assert_eq!(
            (delay.minimum_ns, delay.maximum_ns),
            (3_000_000, 3_000_000),
            "{name}"
        );
    }
}

#[test]
fn what_can_not_be_used_never_becomes_lost_and_is_counted_by_reason() {
    let short = |data: &[u8]| ethernet(&[8, 0], data)[..60].to_vec();
    let mut snapped = Ng::of(1);
    let mut cut = Ng::of(1);
    for (number, data) in (0..).zip(datagrams(50)) {
        let at = START + (number + 3) * MS;
        let frame = ethernet(&[8, 0], &data);
        snapped.packet(0, at, &short(&data), frame.len(), &[]);
        cut.packet(0, at, &frame[..30], frame.len(), &[]);
    }
    let mut unknown = Ng::of(101);
    (0..50).for_each(|_| unknown.block(0x0bad_beef, &[0; 16]));
    unknown.whole(START, &udp(9, 9, (1, 1), 1, b"other"), "");
    unknown.whole(START + 60 * MS, &udp(9, 9, (1, 1), 2, b"other"), "");
    let encapsulated = seen_as(1, |data| ethernet(&[0x89, 0x4f, 0, 0], data));
    for (name, other, count) in [
        ("snapped", snapped.bytes, [0, 50, 0, 0]),
        ("cut in the headers", cut.bytes, [0, 50, 0, 0]),
        ("NSH", encapsulated, [50, 0, 0, 0]),
        ("unknown blocks", unknown.bytes, [0, 0, 0, 50]),
    ] {
        let report = compared(&sent(), &other, Options::default());
        let ours = |flow: &&FlowReport| flow.flow.is_some_and(|flow| flow.source_port == 5);
        let flow = report.flows.iter().find(ours).expect("a flow");
        assert_eq!((flow.lost, flow.extra), (0, 0), "{name}: {report:?}");
        assert_eq!(flow.undecided[0] + flow.outside, 50, "{name}: {report:?}");
        let found = report.files[1].unusable;
        let found = [
            found.encapsulated,
            found.cut_off,
            found.without_time,
            found.unknown_blocks,
        ];
        assert_eq!(found, count, "{name}");
    }
    // a packet that cannot be compared can account for one missing packet, not for more
    let mut most = Ng::of(1);
    for (number, data) in (0..).zip(datagrams(50)) {
        let frame = ethernet(&[8, 0], &data);
        let at = START + (number + 3) * MS;
        match number {
            7 => most.packet(0, at, &frame[..60], frame.len(), &[]),
            20..30 => {}
            _ => most.whole(at, &frame, ""),
        }
    }
    let report = compared(&sent(), &most.bytes, Options::default());
    let flow = only(&report);
    assert_eq!((flow.matched, flow.lost, flow.undecided), (39, 10, [1, 0]));
}

#[test]
fn packets_without_a_time_are_found_and_have_no_delay() {
    let mut without = Ng::of(101);
    for (number, data) in (0..).zip(datagrams(50)) {
        match number % 5 {
            0 | 1 => without.whole(0, &data, "wirestamp: hardware clock, no UTC: not_ready"),
            _ => without.whole(START + (number + 3) * MS, &data, ""),
        }
    }
    // nanoseconds in a file that declares microseconds: values below a millisecond look valid
    let wrong: Vec<_> = (0..)
        .zip(datagrams(50))
        .map(|(number, data)| ((1_790_000_000, (number + 3) * 1_000_000), data))
        .collect();
    let wrong = pcap(false, MICROSECONDS, 0, 101, &wrong);
    let mut simple = Ng::of(101);
    datagrams(50).iter().for_each(|data| simple.simple(data));
    for (name, other, timed) in [
        ("no UTC", without.bytes, 30),
        ("fractions", wrong, 0),
        ("simple", simple.bytes, 0),
    ] {
        for (a, b) in [(&sent(), &other), (&other, &sent())] {
            let report = compared(a, b, Options::default());
            let flow = only(&report);
            assert_eq!(
                (flow.matched, flow.lost, flow.extra, flow.outside),
                (50, 0, 0, 0),
                "{name}: {report:?}"
            );
            assert_eq!(flow.without_time, 50 - timed, "{name}");
            assert_eq!(flow.delay.map_or(0, |delay| delay.count), timed, "{name}");
            if let Some(delay) = flow.delay {
                assert_eq!(delay.minimum_ns.abs(), 3_000_000, "{name}");
            }
            let without: u64 = report
                .files
                .iter()
                .map(|file| file.unusable.without_time)
                .sum();
            assert_eq!(without, 50 - timed, "{name}");
        }
    }
}

#[test]
fn a_link_type_that_is_not_read_is_an_error_that_names_it() {
    let mut file = Ng::of(101);
    file.interface(127, &[]);
    file.whole(START, &udp(1, 2, (5, 6), 1, b"read"), "");
    let before = file.bytes.clone();
    file.packet(1, START, &[0; 60], 60, &[]);
    let mut reader = Reader::new("wifi.pcapng", &before[..]).expect("is a capture");
    assert!(reader.next_packet().expect("reads").is_some());
    assert!(reader.next_packet().expect("no packet of it").is_none());
    let mut reader = Reader::new("wifi.pcapng", &file.bytes[..]).expect("is a capture");
    let error = answers(&mut reader, 1_000)
        .expect_err("not read")
        .to_string();
    assert!(
        error.contains("wifi.pcapng") && error.contains("127 (IEEE802_11_RADIOTAP)"),
        "{error}"
    );
}

#[test]
fn files_out_of_order_are_sorted_or_an_error_says_where() {
    let ask = |number| udp(1, 2, (1_000 + number, 53), 1, b"who?");
    let tell = |number| udp(2, 1, (53, 1_000 + number), 1, b"me");
    // as `mergecap -a` writes it: all answers, then all requests
    let mut packets: Vec<_> = (0..40_u16)
        .map(|number| (u64::from(number) * MS + 500_000, tell(number)))
        .collect();
    packets.extend((0..40_u16).map(|number| (u64::from(number) * MS, ask(number))));
    let bytes = file(&packets);
    let mut reader = Reader::new("it", &bytes[..]).expect("is a capture");
    let report = answers(&mut reader, 1_000_000_000).expect("reads");
    let [service] = &report.services[..] else {
        panic!("one service: {report:?}");
    };
    assert_eq!((service.service.port, service.unanswered), (53, 0));
    let told = service.answers.expect("timed");
    assert_eq!(
        (told.count, told.minimum_ns, told.maximum_ns),
        (40, 500_000, 500_000)
    );
    assert_eq!(report.out_of_order, 40);
    packets.sort_by_key(|(at, _)| *at);
    let mut options = Options::default();
    let report = compared(&file(&packets), &bytes, options);
    for flow in &report.flows {
        assert_eq!(
            (flow.matched, flow.lost, flow.reordered),
            (1, 0, 0),
            "{flow:?}"
        );
    }
    options.order_window = 16;
    let (mut a, mut b) = (
        Reader::new("a", &bytes[..]).expect("is a capture"),
        Reader::new("b", &bytes[..]).expect("is a capture"),
    );
    let error = compare(&mut a, &mut b, options)
        .expect_err("too far")
        .to_string();
    assert!(
        error.contains("packet 41 is") && error.contains("reordercap"),
        "{error}"
    );
}

/// The clock is set back by 5 s between a request and its answer.
#[test]
fn nothing_is_measured_across_a_step_of_the_clock() {
    const BACK: u64 = 5_000 * MS;
    let (ask, tell) = (
        |number: u16| udp(1, 2, (9, 53), number, &number.to_be_bytes()),
        |number: u16| udp(2, 1, (53, 9), number, &number.to_be_bytes()),
    );
    let (mut a, mut b) = (Ng::of(101), Ng::of(101));
    for number in 0..1_000_u16 {
        let at = START + u64::from(number) * 10 * MS;
        let put = |file: &mut Ng, after: u64, data: &[u8]| {
            let is_after = number > 500 || (number == 500 && after >= 2 * MS);
            let at = at + after - if is_after { BACK } else { 0 };
            let note = format!(
                "wirestamp: software clock, error bound 1 ns, generation {}",
                u8::from(is_after)
            );
            file.whole(at, data, &note);
        };
        put(&mut a, 0, &ask(number));
        put(&mut b, 3 * MS, &ask(number));
        put(&mut b, 4 * MS, &tell(number));
        put(&mut a, 7 * MS, &tell(number));
    }
    let mut reader = Reader::new("a", &a.bytes[..]).expect("is a capture");
    let report = answers(&mut reader, 1_000_000_000).expect("reads");
    let service = &report.services[0];
    let told = service.answers.expect("timed");
    assert_eq!(
        (told.count, told.minimum_ns, told.maximum_ns),
        (999, 7_000_000, 7_000_000)
    );
    assert_eq!(
        (service.across_step, service.unanswered, report.clock_steps),
        (1, 0, 1)
    );
    let report = compared(&a.bytes, &b.bytes, Options::default());
    for flow in &report.flows {
        assert_eq!(
            (flow.matched, flow.lost, flow.extra, flow.outside),
            (1_000, 0, 0, 0),
            "{flow:?}"
        );
        let delay = flow.delay.expect("timed");
        assert_eq!(delay.minimum_ns, 3_000_000, "{flow:?}");
        assert_eq!(delay.maximum_ns, 3_000_000, "{flow:?}");
    }
    let across: Vec<_> = report.flows.iter().map(|flow| flow.across_step).collect();
    assert_eq!(across, [1, 0], "{report:?}");
}

#[test]
fn fragments_and_datagrams_that_nics_join_are_not_lost() {
    let joined = udp(1, 2, (5, 6), 0, &[0; 6_400]);
    let parts: Vec<_> = (0..64)
        .map(|number| (number * 1_000, udp(1, 2, (5, 6), number as u16, &[0; 100])))
        .collect();
    let report = compared(
        &file(&[(0, joined.clone()), (MS, joined)]),
        &file(&parts),
        Options::default(),
    );
    let flow = only(&report);
    assert_eq!(
        (flow.lost, flow.extra, flow.duplicated),
        (0, 0, 0),
        "{report:?}"
    );
    let mut first = udp(1, 2, (5, 6), 7, &[1; 1_200]);
    let whole = first.clone();
    first.truncate(20 + 800);
    first[2..4].copy_from_slice(&820_u16.to_be_bytes());
    first[6] = 0x20;
    let mut second = whole[..20].to_vec();
    second.extend(&whole[820..]);
    second[2..4].copy_from_slice(&(20 + 408_u16).to_be_bytes());
    second[7] = 100;
    let end = udp(3, 4, (1, 1), 1, b"the end");
    let begin = udp(3, 4, (1, 1), 0, b"the beginning");
    let a = file(&[(0, begin.clone()), (10, whole), (MS, end.clone())]);
    let b = file(&[(0, begin), (20, first), (21, second), (MS, end)]);
    for flow in &compared(&a, &b, Options::default()).flows {
        assert_eq!((flow.lost, flow.extra), (0, 0), "{flow:?}");
    }
}

#[test]
fn packets_at_both_ends_of_the_range_of_times_have_a_delay() {
    let data = tcp(1, 1, ACK, 10);
    let ends = [(0x7fff_ffff_ffff_ffff, 0), (0, -9_223_372_036)].map(|(count, offset)| {
        let offset: i64 = offset;
        let options = [(9, vec![9]), (14, offset.to_le_bytes().to_vec())];
        let mut file = Ng::new(false, 101, &options);
        file.whole(
            count,
            &data,
            "wirestamp: software clock, error bound 18446744073709551615 ns, generation 0",
        );
        file.bytes
    });
    for (a, b) in [(0, 1), (1, 0)] {
        let mut options = Options::default();
        options.window_ns = i64::MAX;
        options.clock_bound_ns = Some(5);
        let report = compared(&ends[a], &ends[b], options);
        let delay = only(&report).delay.expect("found");
        assert!(
            delay.minimum_ns.unsigned_abs() >= i64::MAX as u64,
            "{report:?}"
        );
    }
}
