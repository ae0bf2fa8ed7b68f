//! On a veth pair of a network namespace that exists for one test alone. Skipped without root.

use super::*;
use crate::native::interface;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp_core::backend::{DatagramSocket, Incoming, Outgoing, Received};
use wirestamp_core::configuration::{Engine, Identification, IoUringState};
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::timestamp::{Arrival, TransmitId, TransmitTracker};

const PATIENCE: Duration = Duration::from_secs(5);

fn ip(command: &str) {
    let output = Command::new("ip").args(command.split_whitespace()).output();
    let output = output.expect("iproute2 is installed");
    assert!(output.status.success(), "ip {command}: {output:?}");
}

/// Runs `test` in a namespace of its own, where `near` and `far` are joined.
fn on_a_pair(test: impl FnOnce() + Send) {
    let inside = || {
        // SAFETY: it takes a number, and concerns this thread alone, which then ends.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return;
        }
        ip("link add near type veth peer name far");
        for name in ["lo", "near", "far"] {
            ip(&format!("link set {name} up"));
        }
        test();
    };
    thread::scope(|scope| scope.spawn(inside).join().expect("no panic"));
}

fn described(name: &str) -> InterfaceDescription {
    let all = interface::list().expect("a list");
    let found = all.into_iter().find(|description| description.name == name);
    found.expect("it was just made")
}

fn open(name: &str) -> Socket<Frames> {
    Socket::open_frames(&described(name), Ethertype::EXPERIMENTAL).expect("a socket")
}

/// Sends a frame under `id`, repeatedly until the pair lets frames pass.
fn send(socket: &Socket<Frames>, to: MacAddress, payload: &[u8]) -> Result<usize> {
    socket.send(&[Outgoing::new(payload).to(to)])
}

fn receive(socket: &Socket<Frames>, within: Duration) -> Option<(Received<Ethernet>, Vec<u8>)> {
    let (mut buffer, started) = ([0; 2_000], Instant::now());
    loop {
        let mut incoming = [Incoming::new(&mut buffer)];
        if socket.receive(&mut incoming).expect("received") == 1 {
            return Some((incoming[0].received, incoming[0].payload().to_vec()));
        }
        if started.elapsed() > within {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Both ends, once the first frame came through.
fn pair() -> (Socket<Frames>, Socket<Frames>) {
    let (near, far) = (open("near"), open("far"));
    let started = Instant::now();
    while send(&near, far.kind.own, b"up?").is_err()
        || receive(&far, Duration::from_millis(20)).is_none()
    {
        assert!(started.elapsed() < PATIENCE, "the pair does not come up");
    }
    while receive(&far, Duration::from_millis(20)).is_some() {}
    (near, far)
}

fn read(socket: &Socket<Frames>, tracker: &mut TransmitTracker) -> Vec<TransmitId> {
    socket
        .read_transmit_timestamps(tracker, 2)
        .expect("a queue");
    let mut ids = Vec::new();
    tracker.take(|arrival| match arrival {
        Arrival::Timestamped(id, timestamps) if timestamps.software.is_some() => ids.push(*id),
        _ => {}
    });
    ids
}

#[test]
fn a_frame_arrives_with_its_addresses_and_without_its_header() {
    on_a_pair(|| {
        let (near, far) = pair();
        assert_eq!(send(&near, far.kind.own, b"a payload").expect("sent"), 1);
        let (received, payload) = receive(&far, PATIENCE).expect("it arrives");
        assert_eq!((&payload[..], received.length), (&b"a payload"[..], 9));
        assert_eq!(received.source, Some(near.kind.own));
        let destination = FrameDestination::new(far.kind.own, None);
        assert_eq!(received.destination, Some(destination));
        assert_eq!(received.interface, Some(described("far").index));
        // neither what this host sends itself, nor what is for another one
        assert!(receive(&near, Duration::from_millis(20)).is_none());
        let stranger = MacAddress::new([2, 0, 0, 0, 0, 0x99]);
        send(&near, stranger, b"not for you").expect("sent");
        assert!(receive(&far, Duration::from_millis(20)).is_none());
        // nothing at all, and what is longer than the buffer
        send(&near, far.kind.own, b"").expect("sent");
        assert_eq!(receive(&far, PATIENCE).expect("it arrives").1, b"");
        send(&near, far.kind.own, &[7; 1_500]).expect("sent");
        assert_eq!(receive(&far, PATIENCE).expect("it arrives").0.length, 1_500);
        send(&near, far.kind.own, &[7; 30]).expect("sent");
        thread::sleep(Duration::from_millis(20));
        let mut short = [0; 10];
        let mut incoming = [Incoming::new(&mut short)];
        assert_eq!(far.receive(&mut incoming).expect("received"), 1);
        assert!(incoming[0].received.truncated && incoming[0].payload() == [7; 10]);
    });
}

#[test]
fn a_vlan_tag_is_told_and_the_payload_is_the_same() {
    on_a_pair(|| {
        let (near, far) = pair();
        let tag = VlanTag::new(5, 3).expect("a tag");
        let tagged = [&tag.bits().to_be_bytes()[..], &[0x88, 0xb5], b"tagged"].concat();
        // a frame whose "ethertype" is that of a tag, which no caller can make
        let mut header = link::header(far.kind.own, near.kind.own, Ethertype::EXPERIMENTAL);
        header[12..].copy_from_slice(&[0x81, 0x00]);
        let frame = [&header[..], &tagged].concat();
        let raw = super::super::messages::send_plain(near.as_fd(), &frame, &AddressBytes::NONE);
        raw.expect("sent");
        let (received, payload) = receive(&far, PATIENCE).expect("it arrives");
        let destination = FrameDestination::new(far.kind.own, Some(tag));
        assert_eq!(received.destination, Some(destination));
        assert_eq!(payload, b"tagged");
    });
}

#[test]
fn carried_and_counted_ids_come_back_as_the_callers() {
    on_a_pair(|| {
        let (near, far) = pair();
        for identification in [Identification::Carried, Identification::Counter] {
            let mut tracker = near.tracker();
            let wanted = Timestamping::OFF.transmit(8).identification(identification);
            near.configure(&wanted, &mut tracker).expect("configured");
            let long = [0; 1_501];
            let mut ids = Vec::new();
            for id in [7, u32::MAX, 0x8000_0001] {
                let id = Some(TransmitId(id));
                let to = Some(far.kind.own);
                let outgoing = |payload| [Outgoing::new(payload).to(to).id(id)];
                let sent = near.send_counted(&outgoing(b"x"), &mut tracker);
                assert_eq!(sent.expect("sent"), 1);
                ids.append(&mut read(&near, &mut tracker));
                // the kernel counts it, and sends nothing
                let error = near.send_counted(&outgoing(&long), &mut tracker);
                let error = error.expect_err("too long");
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert!(error.to_string().contains("MTU"), "{error}");
                ids.append(&mut read(&near, &mut tracker));
            }
            let expected = [7, u32::MAX, 0x8000_0001].map(TransmitId);
            assert_eq!(ids, expected, "{identification:?}");
        }
    });
}

#[test]
fn rings_and_icmp_errors_are_refused_by_name() {
    on_a_pair(|| {
        let near = open("near");
        let wanted = Timestamping::OFF
            .transmit(8)
            .icmp_errors()
            .engine(Engine::Ring { longest: 100 });
        let granted = near
            .configure(&wanted, &mut near.tracker())
            .expect("configured");
        assert!(!granted.timestamping.icmp_errors);
        assert!(matches!(granted.transmit_ring, IoUringState::Refused(_)));
    });
}

#[test]
fn groups_are_those_of_the_own_interface() {
    on_a_pair(|| {
        let near = open("near");
        let (own, other) = (described("near").index, described("far").index);
        let group = MacAddress::PTP_PEER_DELAY;
        let is_joined = || {
            let groups = std::fs::read_to_string("/proc/thread-self/net/dev_mcast");
            groups.expect("a list").contains("0180c200000e")
        };
        assert!(!is_joined());
        near.join_multicast(group, own).expect("joined");
        assert!(is_joined());
        near.leave_multicast(group, own).expect("left");
        assert!(!is_joined());
        for (group, interface) in [(group, other), (near.kind.own, own)] {
            let refused = near.join_multicast(group, interface).expect_err("refused");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
        }
    });
}

#[test]
fn an_interface_without_ethernet_frames_is_refused() {
    on_a_pair(|| {
        if !std::path::Path::new("/dev/net/tun").exists() {
            return;
        }
        ip("tuntap add dev layer3 mode tun");
        let refused = Socket::open_frames(&described("layer3"), Ethertype::PTP);
        let refused = refused.expect_err("no Ethernet");
        assert_eq!(refused.kind(), ErrorKind::NotSupported, "{refused}");
    });
}

#[test]
fn an_interface_that_is_switched_off_or_gone_fails_the_send() {
    on_a_pair(|| {
        let (near, far) = pair();
        ip("link set near down");
        // the first reports it, and so does each that follows
        for _ in 0..3 {
            let error = send(&near, far.kind.own, b"x").expect_err("down");
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        }
        ip("link set near up");
        let _ = near.receive(&mut [Incoming::new(&mut [0; 8])]);
        ip("link del near");
        let gone = |error: Error| error.kind() == ErrorKind::NoSuchDevice;
        let errors = [(); 2].map(|()| send(&near, far.kind.own, b"x").expect_err("gone"));
        assert!(errors.into_iter().any(gone));
    });
}

#[test]
fn without_the_privilege_the_error_names_it() {
    let error = open_error(&described("lo"), &io::Error::from_raw_os_error(libc::EPERM));
    assert_eq!(error.kind(), ErrorKind::NotPermitted);
    assert!(error.to_string().contains("CAP_NET_RAW"), "{error}");
}

/// It keeps its index in its new namespace and back. Nothing else shows a socket that no frame reaches.
#[test]
fn a_socket_whose_interface_went_has_no_address_even_if_the_interface_comes_back() {
    on_a_pair(|| {
        let (near, far) = (open("near"), open("far"));
        let index = described("near").index;
        for state in ["down", "up"] {
            ip(&format!("link set near {state}"));
            assert_eq!(near.local_address(), Ok(near.kind.own), "{state}");
        }
        let place = format!("wirestamp-frames-{}", std::process::id());
        ip(&format!("netns add {place}"));
        ip(&format!("link set near netns {place}"));
        // SAFETY: it takes no argument, and cannot fail.
        let thread = unsafe { libc::gettid() };
        ip(&format!("-n {place} link set near netns {thread}"));
        ip(&format!("netns del {place}"));
        assert_eq!(described("near").index, index);
        let gone = near.local_address().expect_err("gone");
        assert_eq!(gone.kind(), ErrorKind::NoSuchDevice);
        assert_eq!(far.local_address(), Ok(far.kind.own));
        assert_eq!(open("near").local_address(), Ok(near.kind.own));
    });
}
