//! A receiver of many sockets in virtual time.

use std::sync::Arc;
use std::time::Duration;
use wirestamp::socket::IoUringState;
use wirestamp::{PacketReceiver, Simulation, Timestamping};

#[test]
fn simulated_sockets_are_received_from_in_virtual_time() {
    let simulation = Simulation::preset("igb", 1).expect("a preset");
    let nic = simulation.interface("sim0").expect("a NIC");
    let address = nic.description().addresses[0].address;
    let bound = || {
        let socket = nic.bind((address, 0).into()).expect("a free port");
        socket
            .configure(Timestamping::OFF.receive())
            .expect("granted");
        Arc::new(socket)
    };
    let (first, second, sender) = (bound(), bound(), bound());
    let mut receiver = PacketReceiver::new(1_472);
    let tokens = [&first, &second].map(|socket| receiver.add(Arc::clone(socket)).expect("added"));
    assert_eq!(receiver.ring(), IoUringState::NotAsked);
    for (place, socket) in [&first, &second].into_iter().enumerate() {
        let to = socket.local_address().expect("bound");
        sender.send_to(&[place as u8], to, None).expect("sent");
    }
    let mut came = Vec::new();
    while came.len() < 2 {
        let packets = receiver.receive(Duration::from_secs(10)).expect("received");
        assert!(packets.len() > 0, "{came:?}");
        came.extend(packets.map(|packet| {
            assert!(packet.received.timestamps.software.is_some());
            (packet.socket, packet.payload.to_vec())
        }));
    }
    came.sort();
    assert_eq!(came, [(tokens[0], vec![0]), (tokens[1], vec![1])]);
    let (before, wait) = (sender.now(), Duration::from_secs(3));
    assert_eq!(receiver.receive(wait).expect("waited").len(), 0);
    assert!((sender.now() - before).to_duration() >= wait);
}

#[cfg(all(any(target_os = "linux", windows), not(wirestamp_unsupported)))]
#[test]
fn packets_flow_without_timestamping_on_every_system() {
    let bound = || wirestamp::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let (socket, sender) = (Arc::new(bound()), bound());
    let mut receiver = PacketReceiver::new(100).without_ring();
    receiver.add(Arc::clone(&socket)).expect("added");
    let to = socket.local_address().expect("bound");
    for number in 0..3 {
        sender.send_to(&[number; 7], to, None).expect("sent");
    }
    let mut came = Vec::new();
    while came.len() < 3 {
        let packets = receiver.receive(Duration::from_secs(10)).expect("received");
        assert!(packets.len() > 0, "{came:?}");
        came.extend(packets.map(|packet| (packet.payload[6], packet.received.length)));
    }
    assert_eq!(came, [(0, 7), (1, 7), (2, 7)]);
    assert_eq!(socket.receive_counters().datagrams, 3);
}
