//! Records of Endace's cards in files of other programs: the time and port that the card wrote.

use super::build::{MICROSECONDS, Ng, ethernet, pcap, udp};
use super::judged::agrees_with_tshark;
use super::{MS, START, compared, datagrams, only, sent};
use wirestamp_capture::compare::Options;
use wirestamp_capture::read::Reader;

const ETHERNET: u8 = 2;
const EXTENDED: u8 = 0x80;
const META: u8 = 27;

/// A record, whose length is a multiple of 8. A frame has its check sequence.
fn record(at: u64, kind: u8, port: u8, lost: u16, packet: &[u8]) -> Vec<u8> {
    let seconds = at / 1_000_000_000;
    let fraction = ((at % 1_000_000_000) << 32).div_ceil(1_000_000_000);
    let mut behind = Vec::new();
    if kind & EXTENDED != 0 {
        behind.extend([0x83, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 9]);
    }
    let mut on_wire = packet.len();
    if matches!(kind & 0x7f, 2 | 11) {
        behind.extend([0, 0]);
        behind.extend([packet, &[1, 2, 3, 4]].concat());
        on_wire += 4;
    } else {
        behind.extend(packet);
    }
    behind.resize(behind.len().next_multiple_of(8), 0);
    let words = [16 + behind.len(), lost.into(), on_wire].map(|word| (word as u16).to_be_bytes());
    let time = (seconds << 32 | fraction).to_le_bytes();
    [&time[..], &[kind, 4 | port], &words.concat(), &behind].concat()
}

/// The packets without the 7th, 3 ms and 321 ns later than they were sent, with `ahead` more in the file's own times, which have
/// microseconds.
fn arrived(kind: u8, behind: impl Fn(&[u8]) -> Vec<u8>, ahead: u64) -> Vec<u8> {
    let mut packets = Vec::new();
    for (number, data) in (0..).zip(datagrams(50)).filter(|(number, _)| *number != 7) {
        let at = START + (number + 3) * MS + 321;
        let by_file = at + ahead;
        let time = |at: u64| {
            (
                (at / 1_000_000_000) as u32,
                (at % 1_000_000_000) as u32 / 1_000,
            )
        };
        packets.push((time(by_file), record(at, kind, 1, 2, &behind(&data))));
        if number == 20 {
            let about = record(at, META, 0, 0, &[0; 32]);
            packets.push((time(by_file), about));
        }
    }
    pcap(false, MICROSECONDS, 0, 197, &packets)
}

fn frame(data: &[u8]) -> Vec<u8> {
    ethernet(&[8, 0], data)
}

/// PPP in HDLC on a channel.
fn labelled(data: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 7, 0xff, 3, 0, 0x21], data].concat()
}

#[test]
fn records_have_the_time_and_the_losses_of_the_card() {
    for (kind, other, lost) in [
        (ETHERNET, arrived(ETHERNET, frame, 0), Some(98)),
        (
            EXTENDED | ETHERNET,
            arrived(EXTENDED | ETHERNET, frame, 0),
            Some(98),
        ),
        (11, arrived(11, frame, 0), None),
        (5, arrived(5, labelled, 0), Some(98)),
        (22, arrived(22, <[u8]>::to_vec, 0), Some(98)),
    ] {
        let report = compared(&sent(), &other, Options::default());
        let flow = only(&report);
        let counts = (flow.matched, flow.lost, flow.extra, flow.undecided);
        assert_eq!(counts, (49, 1, 0, [0, 0]), "{kind}: {report:?}");
        let delay = flow.delay.expect("matched");
        let delays = (delay.minimum_ns, delay.maximum_ns);
        assert_eq!(delays, (3_000_321, 3_000_321), "{kind}");
        let file = &report.files[1];
        assert_eq!(
            (file.packets, file.unit_ns, file.dropped),
            (49, 1, lost),
            "{kind}"
        );
    }
}

/// `editcap -t 0.5` and the like change the file's time alone.
#[test]
fn a_time_that_a_program_corrected_is_that_of_the_file() {
    let other = arrived(ETHERNET, frame, 500 * MS);
    let report = compared(&sent(), &other, Options::default());
    let delay = only(&report).delay.expect("matched");
    assert_eq!(
        (delay.minimum_ns, delay.maximum_ns),
        (503_000_000, 503_000_000)
    );
    assert_eq!(report.files[1].unit_ns, 1_000);
}

/// A card between a host and a switch, and behind it.
#[test]
fn a_packet_at_two_ports_of_a_card_counts_once() {
    let mut file = Ng::of(197);
    for (number, data) in (0..).zip(datagrams(50)) {
        for (port, after) in [(0, 0), (3, 5_000)] {
            let at = START + number * MS + after;
            file.whole(at, &record(at, ETHERNET, port, 0, &frame(&data)), "");
        }
    }
    let report = compared(&file.bytes, &sent(), Options::default());
    assert_eq!(report.files[0].copies, 50, "{report:?}");
    assert_eq!((only(&report).matched, only(&report).lost), (50, 0));
}

/// They may have IP packets in them.
#[test]
fn records_of_other_networks_hide_losses() {
    let mut file = Ng::of(197);
    for (number, data) in (0..).zip(datagrams(50)) {
        let at = START + number * MS;
        let kind = if number == 7 { 21 } else { ETHERNET };
        file.whole(at, &record(at, kind, 0, 0, &frame(&data)), "");
    }
    let report = compared(&sent(), &file.bytes, Options::default());
    let flow = only(&report);
    assert_eq!((flow.matched, flow.lost, flow.undecided), (49, 0, [1, 0]));
    assert_eq!(report.files[1].unusable.encapsulated, 1);
}

#[test]
fn tshark_reads_the_same_records_at_the_same_times() {
    for (name, kind) in [
        ("plain", ETHERNET),
        ("extended", EXTENDED | ETHERNET),
        ("colour", 11),
        ("channel", 5),
        ("ip", 22),
    ] {
        let mut file = Ng::of(197);
        for number in 0..9 {
            // of each length of padding
            let payload = vec![5; 60 + number];
            let data = udp(1, 2, (5, 6), number as u16, &payload);
            let packet = match kind {
                5 => labelled(&data),
                22 => data,
                _ => frame(&data),
            };
            let at = START + number as u64 * 1_234_567;
            let data = record(at, kind, 2, 1, &packet);
            file.whole(at, &data, "");
        }
        agrees_with_tshark(name, &file.bytes);
    }
}

/// `dumpcap` counts none, because the card lost them, and records without a packet have losses, too.
#[test]
fn the_card_lost_what_the_file_does_not_count() {
    let data = frame(&datagrams(1)[0]);
    for (dropped, expected) in [(0, 15), (100, 100)] {
        let mut file = Ng::of(197);
        for kind in [ETHERNET, META, 48, 11, 21] {
            file.whole(START, &record(START, kind, 0, 3, &data), "");
        }
        let mut damaged = record(START, ETHERNET, 0, 3, &data);
        damaged[9] |= 0x10;
        file.whole(START, &damaged, "");
        let options = file.options(&[(5, file.order.double(dropped).to_vec())]);
        file.block(5, &[&[0; 12], &options[..]].concat());
        let mut reader = Reader::new("it", &file.bytes[..]).expect("is a capture");
        while reader.next_packet().expect("reads").is_some() {}
        assert_eq!(reader.dropped(), Some(expected));
    }
}

/// The writer had a reason; or it is an error.
#[test]
fn a_time_that_is_unknown_or_invalid_in_the_file_is_not_replaced() {
    let mut file = Ng::of(197);
    let data = record(START, ETHERNET, 0, 0, &frame(&datagrams(1)[0]));
    file.whole(START, &data, "wirestamp: hardware clock, no UTC: unstable");
    file.whole(u64::MAX, &data, "");
    // a file whose times have another unit than it states
    let seconds = (START / 1_000_000_000) as u32;
    let packets = [((seconds, 1_000_000), data.clone()), ((seconds, 0), data)];
    let other = pcap(false, MICROSECONDS, 0, 197, &packets);
    for bytes in [&file.bytes, &other] {
        let mut reader = Reader::new("it", &bytes[..]).expect("is a capture");
        for _ in 0..2 {
            let packet = reader.next_packet().expect("reads").expect("a packet");
            assert_eq!(packet.utc_ns, None);
        }
    }
}

/// No time at all: a Simple Packet Block, and a record that says so.
#[test]
fn a_record_has_a_time_where_the_file_has_none() {
    let mut file = Ng::of(197);
    let data = frame(&datagrams(1)[0]);
    file.simple(&record(START, ETHERNET, 0, 0, &data));
    file.simple(&record(0, ETHERNET, 0, 0, &data));
    let mut reader = Reader::new("it", &file.bytes[..]).expect("is a capture");
    for expected in [Some(START as i64), None] {
        let packet = reader.next_packet().expect("reads").expect("a packet");
        assert_eq!(packet.utc_ns, expected);
        assert_eq!(packet.data.len(), data.len() + 4);
    }
}
