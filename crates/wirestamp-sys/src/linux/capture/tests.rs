//! On the loopback interface of a network namespace: on the machine's, others send as well, and it would never be quiet. Needs root.

use super::*;
use crate::System;
use crate::linux::namespace::in_namespace;
use std::collections::HashSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use wirestamp_core::backend::Backend;
use wirestamp_core::time::Span;

fn loopback() -> InterfaceDescription {
    let mut all = System::new().interfaces().expect("interfaces");
    all.retain(|interface| interface.loopback);
    all.pop().expect("a loopback interface")
}

fn with_capture(options: &CaptureOptions, test: impl FnOnce(Capture) + Send) {
    in_namespace("capture", || {
        test(Capture::open(&loopback(), options).expect("opens"));
    });
}

fn in_a_second() -> MonotonicTime {
    clock::now() + Span::from_seconds(1)
}

/// How often a payload was seen, until it is quiet: on loopback, once sent and once received.
fn seen(capture: &mut Capture, payload: &[u8]) -> Vec<(CapturedDirection, Timestamps, u32)> {
    let mut found = Vec::new();
    while let Some(block) = capture.next_block(in_a_second()).expect("waits") {
        for packet in block.packets() {
            if packet
                .data()
                .windows(payload.len())
                .any(|part| part == payload)
            {
                found.push((packet.direction(), packet.timestamps(), packet.length()));
            }
        }
        if found.len() >= 2 {
            break;
        }
    }
    found
}

#[test]
fn a_datagram_is_captured_both_ways_and_its_timestamps_lie_around_its_journey() {
    with_capture(&CaptureOptions::new(), |mut capture| {
        assert_eq!(capture.link_type(), LinkType::Ethernet);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let before = clock::now();
        let to = socket.local_addr().expect("bound");
        socket.send_to(b"a capture, both ways", to).expect("sent");
        socket.recv(&mut [0; 64]).expect("received");
        let after = clock::now();
        let found = seen(&mut capture, b"a capture, both ways");
        let [(sent, left, length), (received, arrived, _)] = found[..] else {
            panic!("sent and received: {found:?}");
        };
        assert_eq!(
            (sent, received),
            (CapturedDirection::Sent, CapturedDirection::Received)
        );
        assert_eq!(length, 14 + 20 + 8 + 20);
        for timestamps in [left, arrived] {
            let software = timestamps.software.expect("the kernel timestamps");
            let (at, bound) = (software.at.value, software.at.bound);
            assert!(
                at + bound >= before && at - bound <= after,
                "{before:?} {at:?} {after:?}"
            );
        }
    });
}

#[test]
fn a_snap_length_cuts_what_is_captured_and_keeps_the_length() {
    with_capture(&CaptureOptions::new().snap_length(50), |mut capture| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("bound");
        socket.send_to(&[b'x'; 500], to).expect("sent");
        let port = to.port().to_be_bytes();
        while let Some(block) = capture.next_block(in_a_second()).expect("waits") {
            for packet in block.packets() {
                assert!(packet.data().len() <= 50);
                if packet.data().get(36..38) == Some(&port) {
                    assert_eq!((packet.data().len(), packet.length()), (50, 542));
                    return;
                }
            }
        }
        panic!("not captured");
    });
}

#[test]
fn a_full_ring_counts_what_it_drops() {
    const SENT: u64 = 3_000;
    let small = CaptureOptions::new().block(1 << 14).buffer(1 << 15);
    with_capture(&small, |mut capture| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("bound");
        for _ in 0..SENT {
            socket.send_to(&[b'd'; 200], to).expect("sent");
        }
        let quiet = Span::from_milliseconds(200);
        let read_all = |capture: &mut Capture| {
            let mut read = 0;
            while let Some(block) = capture.next_block(clock::now() + quiet).expect("waits") {
                read += u64::from(block.count());
                assert_eq!(block.packets().count() as u64, u64::from(block.count()));
            }
            read
        };
        let before = read_all(&mut capture);
        let statistics = capture.statistics().expect("counted");
        assert!(
            statistics.dropped > 0 && statistics.freezes > 0,
            "{statistics:?}"
        );
        assert_eq!(statistics.received, 2 * SENT, "{statistics:?}");
        assert_eq!(
            before + statistics.dropped,
            statistics.received,
            "{statistics:?}"
        );
    });
}

#[test]
fn the_kernels_counts_are_taken_before_they_overflow() {
    with_capture(&CaptureOptions::new(), |mut capture| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("bound");
        let left_to_count = |capture: &Capture| {
            let mut counts = [0; STATISTICS];
            let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
            call::option(capture.fd.as_fd(), level, name, &mut counts).expect("counted");
            packet_ring::statistics(&counts).received
        };
        for (age, left) in [(COUNTED - Span::from_seconds(5), 2), (COUNTED, 0)] {
            socket.send_to(b"is counted", to).expect("sent");
            capture.counted_at = clock::now() - age;
            let block = capture.next_block(in_a_second()).expect("waits");
            drop(block.expect("a packet"));
            assert_eq!(left_to_count(&capture), left, "{age:?}");
        }
        assert_eq!(capture.statistics().expect("counted").received, 2);
    });
}

#[test]
fn several_captures_divide_the_packets_and_none_sees_one_twice() {
    in_namespace("capture", || {
        let shared = Capture::open_several(&loopback(), &CaptureOptions::new(), 2, Fanout::Turn);
        let mut captures = shared.expect("opens");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("bound");
        for number in 0..100u32 {
            let payload = [&b"divided"[..], &number.to_be_bytes()].concat();
            socket.send_to(&payload, to).expect("sent");
        }
        let port = to.port().to_be_bytes();
        let mut counts = Vec::new();
        for capture in &mut captures {
            let mut count = 0;
            let quiet = Span::from_milliseconds(300);
            while let Some(block) = capture.next_block(clock::now() + quiet).expect("waits") {
                count += block
                    .packets()
                    .filter(|packet| packet.data().get(36..38) == Some(&port))
                    .count();
            }
            counts.push(count);
        }
        assert_eq!(counts.iter().sum::<usize>(), 200, "{counts:?}");
        assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
    });
}

#[test]
fn while_several_captures_are_opened_none_has_a_packet_of_another() {
    in_namespace("capture", || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("bound");
        let is_open = AtomicBool::new(false);
        let captures = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0u64.. {
                    socket.send_to(&number.to_be_bytes(), to).expect("sent");
                    if is_open.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            let opened =
                Capture::open_several(&loopback(), &CaptureOptions::new(), 4, Fanout::Processor);
            is_open.store(true, Ordering::Relaxed);
            opened
        });
        let captures = captures.expect("opens");
        let mut seen = HashSet::new();
        for mut capture in captures {
            let quiet = Span::from_milliseconds(100);
            while let Some(block) = capture.next_block(clock::now() + quiet).expect("waits") {
                let ours = to.port().to_be_bytes();
                let packets = block.packets();
                for packet in packets.filter(|packet| packet.data().get(36..38) == Some(&ours)) {
                    let number = packet.data().get(42..50).map(<[u8]>::to_vec);
                    assert!(seen.insert((number, packet.direction())), "{packet:?}");
                }
            }
        }
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    for options in [
        CaptureOptions::new().block(3_000),
        CaptureOptions::new().buffer(1 << 20),
        CaptureOptions::new().snap_length(0),
    ] {
        let error = Capture::open(&loopback(), &options).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}
