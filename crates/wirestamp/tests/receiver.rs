//! A receiver of many sockets on the running kernel, through io_uring and by system calls: the lent
//! packets are complete and correct, and no wait is missed. `facade/receiver.rs` has the tests in
//! the simulator.

#![cfg(all(target_os = "linux", not(wirestamp_unsupported)))]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::receiver::{ReceiverEvent, SocketToken};
use wirestamp::socket::IoUringState;
use wirestamp::{ErrorKind, PacketReceiver, Simulation, Timestamping, UdpSocket};

const SOON: Duration = Duration::from_secs(10);

/// Through io_uring if available, and by system calls.
fn both_ways(buffers: u16, test: impl Fn(PacketReceiver)) {
    test(PacketReceiver::with_buffers(1_472, buffers));
    test(PacketReceiver::with_buffers(1_472, buffers).without_ring());
}

fn socket() -> Arc<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    socket
        .configure(Timestamping::OFF.receive())
        .expect("granted");
    Arc::new(socket)
}

fn address(socket: &UdpSocket) -> SocketAddr {
    socket.local_address().expect("bound")
}

/// Receives until `count` packets came. Returns the socket and the payload of each.
fn collect(receiver: &mut PacketReceiver, count: usize) -> Vec<(SocketToken, Vec<u8>)> {
    let mut came = Vec::new();
    while came.len() < count {
        let packets = receiver.receive(SOON).expect("received");
        assert!(packets.len() > 0, "{} of {count} came", came.len());
        came.extend(packets.map(|packet| (packet.socket, packet.payload.to_vec())));
    }
    came
}

#[test]
fn a_ring_receives_where_the_kernel_has_one() {
    let mut receiver = PacketReceiver::new(1_472);
    assert_eq!(receiver.ring(), IoUringState::NotAsked);
    receiver.add(socket()).expect("added");
    let expected = cfg!(feature = "io-uring");
    match receiver.ring() {
        IoUringState::InForce => assert!(expected),
        IoUringState::Refused(why) => assert!(!expected || why.code.is_some(), "{why}"),
        state => panic!("{state:?}"),
    }
    let mut by_calls = PacketReceiver::new(1_472).without_ring();
    by_calls.add(socket()).expect("added");
    assert_eq!(by_calls.ring(), IoUringState::NotAsked);
}

#[test]
fn packets_of_several_sockets_come_with_timestamps_source_and_token() {
    both_ways(64, |mut receiver| {
        let sockets = [socket(), socket(), socket()];
        let tokens = sockets
            .each_ref()
            .map(|socket| receiver.add(Arc::clone(socket)).expect("added"));
        let sender = socket();
        let before = sender.now();
        for (place, socket) in sockets.iter().enumerate() {
            sender
                .send_to(&[place as u8; 5], address(socket), None)
                .expect("sent");
        }
        let mut seen = Vec::new();
        while seen.len() < 3 {
            // items stay valid beyond their iterator
            let packets: Vec<_> = receiver.receive(SOON).expect("received").collect();
            let after = sender.now();
            for packet in packets {
                let place = tokens
                    .iter()
                    .position(|token| *token == packet.socket)
                    .expect("known");
                assert_eq!(packet.payload, [place as u8; 5]);
                assert_eq!(packet.received.length, 5);
                assert_eq!(packet.received.source, Some(address(&sender)));
                assert!(!packet.received.truncated);
                let at = packet
                    .received
                    .timestamps
                    .software
                    .expect("timestamped")
                    .at
                    .value;
                assert!(before <= at && at <= after, "{before:?} {at:?} {after:?}");
                seen.push(place);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2]);
        for socket in &sockets {
            let counters = socket.receive_counters();
            assert_eq!((counters.datagrams, counters.timestamped), (1, 1));
        }
    });
}

#[test]
fn more_packets_than_buffers_all_come_and_in_order() {
    both_ways(8, |mut receiver| {
        let sockets = [socket(), socket()];
        let tokens = sockets
            .each_ref()
            .map(|socket| receiver.add(Arc::clone(socket)).expect("added"));
        let sender = socket();
        for number in 0..100_u8 {
            for socket in &sockets {
                sender
                    .send_to(&[number], address(socket), None)
                    .expect("sent");
            }
        }
        let came = collect(&mut receiver, 200);
        for token in tokens {
            let numbers: Vec<_> = came
                .iter()
                .filter(|(whose, _)| *whose == token)
                .map(|(_, payload)| payload[0])
                .collect();
            assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        }
        assert_eq!(receiver.receive(Duration::ZERO).expect("received").len(), 0);
    });
}

#[test]
fn a_payload_that_is_too_long_is_cut_and_says_so() {
    let test = |mut receiver: PacketReceiver| {
        let (target, sender) = (socket(), socket());
        receiver.add(Arc::clone(&target)).expect("added");
        sender
            .send_to(&[7; 1_000], address(&target), None)
            .expect("sent");
        let mut packets = receiver.receive(SOON).expect("received");
        let packet = packets.next().expect("one came");
        assert_eq!(packet.payload, [7; 100]);
        assert!(packet.received.truncated);
    };
    test(PacketReceiver::with_buffers(100, 4).without_ring());
    // the kernel's buffers are of 512 bytes
    let mut receiver = PacketReceiver::with_buffers(100, 4);
    let (target, sender) = (socket(), socket());
    receiver.add(Arc::clone(&target)).expect("added");
    sender
        .send_to(&[7; 1_000], address(&target), None)
        .expect("sent");
    let packet = receiver
        .receive(SOON)
        .expect("received")
        .next()
        .expect("one came");
    assert!(packet.received.truncated && packet.payload.len() < 1_000);
    assert_eq!(packet.received.length, packet.payload.len());
}

#[test]
fn a_receive_ends_at_its_deadline() {
    both_ways(8, |mut receiver| {
        let socket = socket();
        receiver.add(Arc::clone(&socket)).expect("added");
        let before = socket.now();
        let count = receiver
            .receive(Duration::from_millis(30))
            .expect("waited")
            .len();
        let waited = socket.now() - before;
        assert_eq!(count, 0);
        assert!(
            waited.to_duration() >= Duration::from_millis(30),
            "{waited:?}"
        );
    });
}

#[test]
fn a_close_on_another_thread_ends_the_wait_and_is_told() {
    both_ways(8, |mut receiver| {
        let (socket, other) = (socket(), socket());
        let token = receiver.add(Arc::clone(&socket)).expect("added");
        receiver.add(Arc::clone(&other)).expect("added");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                socket.close();
            });
            assert_eq!(receiver.receive(SOON).expect("received").len(), 0);
        });
        assert_eq!(receiver.events(), [(token, ReceiverEvent::Closed)]);
        assert!(receiver.socket(token).is_none());
        // the others continue, and it is reported once
        other.send_to(b"x", address(&other), None).expect("sent");
        assert_eq!(collect(&mut receiver, 1).len(), 1);
        assert_eq!(receiver.events(), []);
        for _ in 0..3 {
            receiver.receive(Duration::ZERO).expect("received");
        }
        assert_eq!(Arc::strong_count(&socket), 1, "it was let go");
    });
}

#[test]
fn a_removed_socket_gives_nothing_more_and_its_place_is_used_again() {
    both_ways(8, |mut receiver| {
        let (first, second, sender) = (socket(), socket(), socket());
        let kept = socket();
        receiver.add(Arc::clone(&kept)).expect("added");
        let token = receiver.add(Arc::clone(&first)).expect("added");
        sender.send_to(b"1", address(&first), None).expect("sent");
        assert_eq!(collect(&mut receiver, 1), [(token, b"1".to_vec())]);
        receiver.remove(token).expect("removed");
        receiver.remove(token).expect("nothing");
        assert!(receiver.socket(token).is_none());
        assert_eq!(
            receiver
                .receive(Duration::from_millis(5))
                .expect("received")
                .len(),
            0
        );
        sender.send_to(b"2", address(&first), None).expect("sent");
        assert_eq!(
            receiver
                .receive(Duration::from_millis(5))
                .expect("received")
                .len(),
            0
        );
        let mut buffer = [0; 8];
        let received = first.receive(&mut buffer, SOON).expect("received");
        assert_eq!(
            received.map(|received| received.length),
            Some(1),
            "it is its owner's again"
        );
        let again = receiver.add(Arc::clone(&second)).expect("added");
        assert_eq!(again.index(), token.index());
        assert_ne!(again, token);
        sender.send_to(b"3", address(&second), None).expect("sent");
        assert_eq!(collect(&mut receiver, 1), [(again, b"3".to_vec())]);
    });
}

#[test]
fn a_socket_that_is_removed_before_anything_was_received_is_let_go() {
    both_ways(8, |mut receiver| {
        let (kept, removed) = (socket(), socket());
        receiver.add(Arc::clone(&kept)).expect("added");
        let token = receiver.add(Arc::clone(&removed)).expect("added");
        receiver.remove(token).expect("removed");
        for _ in 0..3 {
            receiver.receive(Duration::ZERO).expect("received");
        }
        assert_eq!(Arc::strong_count(&removed), 1);
        let again = receiver
            .add(Arc::clone(&removed))
            .expect("its place is free");
        assert_eq!(again.index(), token.index());
    });
}

#[test]
fn what_fails_for_one_socket_is_told_and_all_go_on() {
    both_ways(8, |mut receiver| {
        let nobody = address(&socket());
        let (connected, sender) = (socket(), socket());
        connected.connect(nobody).expect("connected");
        let token = receiver.add(Arc::clone(&connected)).expect("added");
        receiver.add(Arc::clone(&sender)).expect("added");
        assert_eq!(receiver.receive(Duration::ZERO).expect("received").len(), 0);
        connected.send(b"refused", None).expect("sent");
        let mut failed = None;
        for _ in 0..100 {
            receiver
                .receive(Duration::from_millis(100))
                .expect("received");
            if let [(whose, ReceiverEvent::Failed(error))] = receiver.events() {
                failed = Some((*whose, error.kind()));
                break;
            }
        }
        assert_eq!(failed, Some((token, ErrorKind::Unreachable)));
        sender.send_to(b"on", address(&sender), None).expect("sent");
        assert_eq!(collect(&mut receiver, 1)[0].1, b"on");
    });
}

#[test]
fn unread_transmit_timestamps_keep_no_packet_away_and_no_processor_busy() {
    both_ways(8, |mut receiver| {
        let (socket, sink) = (socket(), socket());
        socket
            .configure(Timestamping::OFF.receive().transmit(64))
            .expect("granted");
        receiver.add(Arc::clone(&socket)).expect("added");
        for id in 1..=20 {
            socket
                .send_to(
                    b"timestamped",
                    address(&sink),
                    Some(wirestamp::TransmitId(id)),
                )
                .expect("sent");
        }
        sink.send_to(b"in", address(&socket), None).expect("sent");
        assert_eq!(collect(&mut receiver, 1)[0].1, b"in");
        let before = processor_time();
        let _ = receiver
            .receive(Duration::from_millis(400))
            .expect("received");
        let used = processor_time() - before;
        assert!(
            used < Duration::from_millis(200),
            "{used:?} of a wait of 400 ms"
        );
        sink.send_to(b"again", address(&socket), None)
            .expect("sent");
        assert_eq!(collect(&mut receiver, 1)[0].1, b"again");
    });
}

/// Of this thread.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

#[test]
fn a_ring_stays_on_the_thread_that_received_first() {
    let mut receiver = PacketReceiver::new(1_472);
    let socket = socket();
    receiver.add(Arc::clone(&socket)).expect("added");
    let mut receiver = std::thread::spawn(move || {
        assert_eq!(receiver.receive(Duration::ZERO).expect("received").len(), 0);
        receiver
    })
    .join()
    .expect("moved before the first receive");
    let elsewhere = receiver
        .receive(Duration::ZERO)
        .map(|packets| packets.len());
    match receiver.ring() {
        IoUringState::InForce => {
            assert_eq!(
                elsewhere.map_err(|error| error.kind()),
                Err(ErrorKind::Busy)
            );
        }
        _ => assert_eq!(elsewhere.expect("calls are of no thread"), 0),
    }
}

#[test]
fn a_receiver_without_sockets_says_so() {
    let mut receiver = PacketReceiver::new(1_472);
    let error = receiver
        .receive(Duration::ZERO)
        .expect_err("nothing to receive from");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn sockets_of_another_system_are_rejected() {
    let simulation = Simulation::preset("igb", 1).expect("a preset");
    let nic = simulation.interface("sim0").expect("a NIC");
    let address = nic.description().addresses[0].address;
    let simulated = Arc::new(nic.bind((address, 0).into()).expect("a free port"));
    let mut receiver = PacketReceiver::new(1_472);
    receiver.add(simulated).expect("added");
    let error = receiver.add(socket()).expect_err("of this system");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
