//! Captures, on this system's loopback interface and on a simulated one.

use std::net::UdpSocket;
use std::time::{Duration, SystemTime};
use wirestamp::capture::{CaptureOptions, CapturedDirection, LinkType};
use wirestamp::xdp::{XdpFilter, XdpOptions, XdpSendOptions};
use wirestamp::{ErrorKind, Interface, Simulation, Span, TimestampSource};

#[test]
fn a_filter_lets_its_packets_pass_and_each_has_utc_with_a_bound() {
    let loopback = Interface::loopback().expect("a loopback interface");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
    let to = socket.local_addr().expect("bound");
    let options = CaptureOptions::new().filter(format!("udp dst port {}", to.port()));
    let mut capture = match loopback.capture(&options) {
        Err(error) if error.kind() == ErrorKind::NotPermitted => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) if error.kind() == ErrorKind::NotSupported => {
            eprintln!("skipped: {error}"); // no libpcap here
            return;
        }
        opened => opened.expect("opens"),
    };
    assert_eq!(capture.link_type(), LinkType::Ethernet);
    let other = UdpSocket::bind("127.0.0.1:0").expect("binds");
    other
        .send_to(b"not this one", other.local_addr().expect("bound"))
        .expect("sent");
    let since_1970 = || {
        SystemTime::UNIX_EPOCH
            .elapsed()
            .expect("after 1970")
            .as_nanos() as i64
    };
    let before = since_1970();
    socket.send_to(b"this one", to).expect("sent");
    socket.recv(&mut [0; 16]).expect("received");
    let after = since_1970();
    let mut directions = Vec::new();
    while let Some(block) = capture
        .next_block(Duration::from_millis(300))
        .expect("waits")
    {
        for packet in block.packets() {
            assert!(
                packet.data().ends_with(b"this one"),
                "the filter let pass {packet:?}"
            );
            assert_eq!(packet.clock(), TimestampSource::Software);
            let time = packet.utc().expect("no step");
            assert_eq!(
                (time.at.bound, time.generation.0),
                (Span::from_nanoseconds(1), 0)
            );
            assert!(
                (before..=after).contains(&time.at.value.nanoseconds()),
                "{before} {time:?} {after}"
            );
            directions.push(packet.direction());
        }
    }
    assert_eq!(
        directions,
        [CapturedDirection::Sent, CapturedDirection::Received]
    );
    let statistics = capture.statistics().expect("counted");
    assert_eq!((statistics.received, statistics.dropped), (2, 0));
}

#[test]
fn a_simulated_interface_is_captured_in_virtual_time() {
    let simulation = Simulation::preset("ideal", 1).expect("known");
    let nic = simulation.interface("sim0").expect("simulated");
    let mut capture = nic.capture(&CaptureOptions::new()).expect("opens");
    let none = capture.next_block(Duration::from_secs(3_600));
    assert!(none.expect("waits").is_none(), "an hour without a packet");
    let address = nic.description().addresses[0].address;
    let socket = nic.bind((address, 0).into()).expect("binds");
    let to = socket.local_address().expect("bound");
    socket.send_to(b"by the NIC", to, None).expect("sent");
    let block = capture.next_block(Duration::from_secs(1)).expect("waits");
    let block = block.expect("a packet");
    let ways: Vec<_> = block.packets().map(|packet| packet.direction()).collect();
    assert_eq!(ways, [CapturedDirection::Sent, CapturedDirection::Received]);
    let packet = block.packets().next().expect("two");
    let truth = simulation.world().truth();
    let left = truth.datagram(0).expect("sent").transmit_software_at;
    let time = packet.utc().expect("no step");
    assert_eq!(time.at.value, truth.utc() - (truth.now() - left));
    assert_eq!(packet.kernel_time(), Some(time.at.value));
}

#[test]
fn a_simulated_interface_has_no_xdp() {
    let nic = Interface::find("sim0").expect("simulated");
    let error = nic
        .receive_xdp(&XdpOptions::new(XdpFilter::Everything))
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    let error = nic.send_xdp(&XdpSendOptions::new()).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    let error = nic.xdp_features().expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
}
