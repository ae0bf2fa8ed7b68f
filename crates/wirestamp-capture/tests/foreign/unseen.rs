//! Answers to requests that are not in the file or are no longer followed.

use super::build::{ACK, ipv4, udp};
use super::{MS, file};
use wirestamp_capture::answers::{Report, answers};
use wirestamp_capture::read::Reader;

fn answered(packets: &[(u64, Vec<u8>)]) -> Report {
    let bytes = file(packets);
    let mut reader = Reader::new("it", &bytes[..]).expect("is a capture");
    answers(&mut reader, 1_000_000_000).expect("reads")
}

fn ask(port: u16) -> Vec<u8> {
    udp(1, 2, (port, 53), port, b"who?")
}

fn tell(port: u16) -> Vec<u8> {
    udp(2, 1, (53, port), port, b"me")
}

/// A packet that shows that the capture went on.
fn much_later() -> (u64, Vec<u8>) {
    (200_000 * MS, ipv4(3, 4, 1, 1, &[0; 8]))
}

#[test]
fn the_answer_to_a_connection_beyond_those_that_are_followed_is_no_request() {
    let of = |number: u64, is_answer: bool| {
        let (other, port) = (3 + (number >> 16) as u8, number as u16);
        if is_answer {
            udp(2, other, (53, port), 2, b"me")
        } else {
            udp(other, 2, (port, 53), 1, b"who?")
        }
    };
    let mut packets: Vec<_> = (1_000..66_537)
        .map(|number| (number, of(number, false)))
        .collect();
    packets.push((66_600, of(1_000, true)));
    // the client repeats its request
    packets.push((66_700, of(1_000, false)));
    packets.push((66_800, of(1_000, true)));
    packets.push(much_later());
    let report = answered(&packets);
    let [service] = &report.services[..] else {
        panic!("{:?}", report.services);
    };
    // two were forgotten before their answer could be decided
    assert_eq!(
        (service.unanswered, service.undecided),
        (65_535, 2),
        "{service:?}"
    );
    assert_eq!(
        service
            .answers
            .map(|answers| (answers.count, answers.maximum_ns)),
        Some((1, 100))
    );
}

#[test]
fn the_answer_to_a_request_before_the_file_makes_no_service() {
    let mut packets = vec![(0, ask(1_000)), (1, tell(1_000)), (2, tell(1_001))];
    packets.extend([(3, ask(1_001)), (4, tell(1_001)), much_later()]);
    let report = answered(&packets);
    let [service] = &report.services[..] else {
        panic!("{:?}", report.services);
    };
    let counts = (service.unanswered, service.undecided, service.ambiguous);
    assert_eq!(counts, (0, 1, 2), "nobody knows who asks: {service:?}");
    assert_eq!(service.answers.map(|answers| answers.count), Some(1));
}

/// NTP servers query other servers from the port on which they receive queries.
#[test]
fn a_service_may_ask_another_one() {
    let packets = [
        (0, udp(1, 2, (1_000, 123), 1, b"what time?")),
        (10, udp(2, 1, (123, 1_000), 2, b"noon")),
        (20, udp(2, 3, (123, 123), 3, b"what time?")),
        (50, udp(3, 2, (123, 123), 4, b"noon")),
        much_later(),
    ];
    let report = answered(&packets);
    let times = report
        .services
        .iter()
        .map(|service| service.answers.map(|answers| answers.maximum_ns));
    assert_eq!(Vec::from_iter(times), [Some(10), Some(30)], "{report:?}");
}

#[test]
fn a_segment_of_a_known_tcp_service_makes_no_other() {
    let tcp = |from: u8, to: u8, ports: [u16; 2], sequence: u32, flags: u8, length: usize| {
        let mut segment = ports.map(u16::to_be_bytes).concat();
        segment.extend([sequence, 7].map(u32::to_be_bytes).concat());
        segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        segment.resize(20 + length, 1);
        ipv4(from, to, 1, 6, &segment)
    };
    let packets = [
        (0, tcp(1, 2, [5_000, 80], 1, 2, 0)),
        (1, tcp(2, 1, [80, 5_000], 1, 18, 0)),
        (2, tcp(2, 1, [80, 5_001], 100, ACK, 1_000)), // of a connection from before the file
    ];
    let report = answered(&packets);
    assert_eq!(report.services.len(), 1, "{report:?}");
}
