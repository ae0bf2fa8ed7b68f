//! On a pair of veth interfaces, in a network namespace of the test's thread. Needs root and iproute2.

use super::*;
use crate::System;
use crate::linux::namespace::in_namespace;
use crate::linux::xdp::cable::{Cable, ip, with_cable};
use crate::linux::xdp_features;
use wirestamp_core::backend::Backend;
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::xdp::{XdpFeatures, XdpFilter};

impl Cable {
    fn open(&self, options: &XdpOptions) -> Xdp {
        Xdp::open(&self.end, options).expect("opens")
    }
}

fn soon() -> MonotonicTime {
    clock::now() + Span::from_milliseconds(200)
}

/// Everything that comes until it is quiet.
fn payloads(socket: &mut Xdp) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(batch) = socket.next_batch(soon()).expect("waits") {
        all.extend(batch.packets().map(|packet| packet.data()[14..].to_vec()));
    }
    all
}

fn options() -> XdpOptions {
    XdpOptions::new(XdpFilter::Ethertype(Ethertype::PTP)).frames(64)
}

#[test]
fn frames_of_an_ethertype_are_lent_with_the_time_at_which_they_came() {
    with_cable(|cable| {
        let mut socket = cable.open(&options());
        for round in 0..10u8 {
            let before = clock::now();
            for number in 0..40 {
                cable.send(0x88f7, &[round, number, 1, 2, 3]);
                cable.send(0x88b5, b"another ethertype");
            }
            let after = clock::now();
            let mut seen = 0;
            while seen < 40 {
                let batch = socket.next_batch(soon()).expect("waits");
                let batch = batch.expect("packets come");
                for packet in batch.packets() {
                    assert_eq!(packet.data()[14..], [round, seen, 1, 2, 3]);
                    let timestamps = packet.timestamps();
                    let software = timestamps.software.expect("the program notes it");
                    let (at, bound) = (software.at.value, software.at.bound);
                    assert!(at + bound >= before && at - bound <= after + Span::from_seconds(1));
                    assert_eq!(timestamps.hardware, None, "veth has no clock");
                    seen += 1;
                }
            }
        }
        assert_eq!(
            socket.statistics().expect("counted"),
            XdpStatistics::default()
        );
    });
}

#[test]
fn the_best_way_that_the_driver_has_is_taken() {
    with_cable(|cable| {
        let socket = cable.open(&options());
        assert_eq!(socket.way().mode, XdpMode::Copy);
        match xdp_features(&cable.end) {
            Ok(features) => {
                assert!(features.driver && !features.zero_copy, "{features:?}");
                // Linux 6.6 and later report that veth has the function
                assert_eq!(socket.way().hardware, features.receive_timestamp);
                assert!(socket.tried().is_empty(), "{:?}", socket.tried());
            }
            // before Linux 6.3 it is only found out by trying
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
                let [(way, error)] = socket.tried() else {
                    panic!("zero copy fails: {:?}", socket.tried());
                };
                assert_eq!(way.mode, XdpMode::ZeroCopy);
                assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
            }
        }
        let error = Xdp::open(&cable.end, &options()).expect_err("has a program");
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        drop(socket);
        drop(cable.open(&options()));
    });
}

#[test]
fn a_frame_that_is_given_back_keeps_no_time_for_its_next_packet() {
    with_cable(|cable| {
        let mut socket = cable.open(&options());
        cable.send(Ethertype::PTP.get(), &[1; 50]);
        let batch = socket.next_batch(soon()).expect("waits").expect("it came");
        let came = batch.socket.received.came(0);
        let note = |frames: &Frames| Note::read(frames.packet(came).expect("within its frame").0);
        assert!(note(&batch.socket.frames).is_some());
        drop(batch);
        assert_eq!(note(&socket.frames), None);
    });
}

#[test]
fn without_the_drivers_help_the_kernel_hands_packets_over() {
    with_cable(|cable| {
        let way = XdpWay::of(XdpFeatures::default()).next().expect("a way");
        let mut socket = Xdp::open_so(&cable.end, &options(), way).expect("opens");
        cable.send(0x88f7, b"generic");
        assert_eq!(payloads(&mut socket), [b"generic"]);
        let counted = socket.statistics().expect("counted");
        assert_eq!(counted, XdpStatistics::default());
    });
}

#[test]
fn a_driver_is_left_alone_if_that_is_asked_for() {
    with_cable(|cable| {
        let mut socket = cable.open(&options().driver(false));
        assert_eq!(socket.way().mode, XdpMode::Generic);
        assert!(!socket.tried().is_empty());
        for (_, error) in socket.tried() {
            assert!(
                error.to_string().contains("leave the driver alone"),
                "{error}"
            );
        }
        cable.send(0x88f7, b"generic");
        assert_eq!(payloads(&mut socket), [b"generic"]);
    });
}

#[test]
fn packets_that_nobody_fetches_are_counted() {
    const SENT: u64 = 500;
    with_cable(|cable| {
        let mut socket = cable.open(&options());
        for number in 0..SENT {
            cable.send(0x88f7, &number.to_be_bytes());
        }
        let read = payloads(&mut socket).len() as u64;
        let counted = socket.statistics().expect("counted");
        assert!(counted.dropped > 0, "{counted:?}");
        assert_eq!(read + counted.dropped, SENT, "{counted:?}");
        cable.send(0x88f7, b"and then it goes on");
        assert_eq!(payloads(&mut socket), [b"and then it goes on"]);
    });
}

/// An IPv4 header, and UDP's to this port.
fn datagram(port: u16, first: u8, fragment: u16, protocol: u8) -> Vec<u8> {
    let mut packet = vec![first, 0, 0, 32, 0, 0];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9]);
    packet.extend(port.to_be_bytes());
    packet.extend([0, 12, 0, 0, 1, 2, 3, 4]);
    packet
}

#[test]
fn datagrams_to_a_port_are_taken_and_nothing_else_is() {
    with_cable(|cable| {
        let options = XdpOptions::new(XdpFilter::UdpPort(319)).frames(64);
        let mut socket = cable.open(&options);
        let wanted = datagram(319, 0x45, 0x4000, 17);
        let mut wanted6 = vec![0x60, 0, 0, 0, 0, 12, 17, 64];
        wanted6.extend([0xfd; 32]);
        wanted6.extend(&wanted[20..]);
        let mut extended = wanted6.clone();
        extended[6] = 0;
        cable.send(0x0800, &wanted);
        cable.send(0x0800, &datagram(320, 0x45, 0, 17));
        cable.send(0x0800, &datagram(319, 0x46, 0, 17)); // options
        cable.send(0x0800, &datagram(319, 0x45, 0x2000, 17)); // the first fragment
        cable.send(0x0800, &datagram(319, 0x45, 7, 17)); // another fragment
        cable.send(0x0800, &datagram(319, 0x45, 0, 6));
        cable.send(0x0800, &wanted[..20]);
        cable.send(0x86dd, &extended);
        cable.send(0x86dd, &wanted6);
        cable.send(0x0806, &wanted);
        assert_eq!(payloads(&mut socket), [wanted, wanted6]);
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let all = System::new().interfaces().expect("interfaces");
    let loopback = all.iter().find(|one| one.loopback).expect("loopback");
    for options in [
        options().frames(100),
        options().frames(32),
        options().queue(5_000),
    ] {
        let error = Xdp::open(loopback, &options).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
fn an_interface_that_is_gone_is_an_error() {
    with_cable(|cable| {
        let mut socket = cable.open(&options());
        ip("link del xdp0").expect("was there");
        let until = clock::now() + Span::from_seconds(20);
        let error = socket.next_batch(until).expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
    });
}

/// The program in the kernel reads the host's monotonic clock, which is a day behind this process's there.
#[test]
fn in_a_time_namespace_packets_came_by_the_clock_of_this_process() {
    if !std::fs::exists("/proc/self/ns/time").expect("proc(5)") {
        return; // before Linux 5.6
    }
    in_namespace("a time namespace", || {
        let (_, module) = module_path!().split_once("::").expect("of this crate");
        let this = std::env::current_exe().expect("a path");
        let run = std::process::Command::new("unshare")
            .args(["-T", "--monotonic", "86400"])
            .arg(this)
            .arg("--exact")
            .arg(format!(
                "{module}::frames_of_an_ethertype_are_lent_with_the_time_at_which_they_came"
            ))
            .output()
            .expect("unshare(1) runs");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{run:?}");
    });
}
