//! Addresses, routes, datagrams, waiting and closing.

use crate::station::{
    Station, address, after, configure, custom, interface, receive, receive_now, world,
};
use std::net::IpAddr;
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::{
    Backend, BindOptions, DatagramSocket, Incoming, Interest, InternetSocket, Outgoing, Readiness,
};
use wirestamp_core::configuration::{HardwareConfiguration, Timestamping};
use wirestamp_core::interface::{InterfaceIndex, InterfaceState};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::Notice;
use wirestamp_sim::{Fate, NicName, SimulatedSocket, World};

fn send(socket: &SimulatedSocket, payload: &[u8], to: &str) -> wirestamp_core::Result<usize> {
    socket.send(&[Outgoing::new(payload).to(address(to))])
}

fn kind<T: std::fmt::Debug>(result: wirestamp_core::Result<T>) -> ErrorKind {
    result.expect_err("refused").kind()
}

#[test]
fn interfaces_are_listed_with_names_addresses_and_clocks() {
    let world = world("i225");
    let all = world.interfaces().expect("interfaces");
    assert_eq!(all.len(), 2);
    let first = &all[0];
    assert!(first.is_called("sim0") && first.is_called("simulated"));
    assert_eq!(
        (first.index.get(), first.mtu, first.state),
        (1_000, 1_500, InterfaceState::Up)
    );
    assert_eq!(
        (
            first.hardware_clock,
            first.simulated,
            first.loopback,
            first.luid
        ),
        (Some(0), true, false, None)
    );
    let addresses: Vec<String> = first
        .addresses
        .iter()
        .map(|own| format!("{}/{}", own.address, own.prefix_length))
        .collect();
    assert_eq!(addresses, ["192.0.2.1/24", "2001:db8::1/64"]);
}

#[test]
fn datagrams_cross_the_cable_both_ways_in_both_families() {
    let world = world("i225");
    for (left, right) in [
        ("192.0.2.1:7000", "192.0.2.2:7001"),
        ("[2001:db8::1]:7000", "[2001:db8::2]:7001"),
    ] {
        let one = world.bind(address(left), None).expect("bind");
        let other = world.bind(address(right), None).expect("bind");
        send(&one, b"there", right).expect("sent");
        let (received, payload) = receive(&world, &other).expect("received");
        assert_eq!(
            (payload.as_slice(), received.source),
            (b"there".as_slice(), Some(address(left)))
        );
        send(&other, b"", left).expect("an empty datagram is one");
        let (received, payload) = receive(&world, &one).expect("received");
        assert_eq!(
            (payload.len(), received.length, received.truncated),
            (0, 0, false)
        );
    }
}

#[test]
fn one_nic_is_enough() {
    let world = world("i225");
    let socket = world.bind(address("192.0.2.1:0"), None).expect("bind");
    let own = socket.local_address().expect("bound").to_string();
    send(&socket, b"round", &own).expect("sent");
    assert_eq!(receive(&world, &socket).expect("received").1, b"round");
    assert!(
        world
            .truth()
            .datagram(0)
            .expect("known")
            .receive_hardware_at
            .is_some(),
        "it went through the NIC"
    );
}

#[test]
fn a_wildcard_ipv6_socket_serves_both_families() {
    let world = world("i225");
    let both = world.bind(address("[::]:7000"), None).expect("bind");
    configure(&both, &Timestamping::OFF.receive().packet_information()).expect("on");
    let old = world.bind(address("192.0.2.2:0"), None).expect("bind");
    let new = world.bind(address("[2001:db8::2]:0"), None).expect("bind");
    send(&old, b"4", "192.0.2.1:7000").expect("sent");
    let (received, _) = receive(&world, &both).expect("received");
    let source = received.source.expect("known");
    assert_eq!(
        source.ip(),
        "192.0.2.2".parse::<IpAddr>().expect("an address")
    );
    assert_eq!(
        received.destination,
        Some("192.0.2.1".parse().expect("an address")),
        "as on Linux"
    );
    assert_eq!(received.interface.map(InterfaceIndex::get), Some(1_000));
    let mapped = format!("[::ffff:192.0.2.2]:{}", source.port());
    both.send(&[Outgoing::new(b"back").to(source)])
        .expect("sent");
    send(&both, b"again", &mapped).expect("written either way");
    assert_eq!(receive(&world, &old).expect("received").1, b"back");
    assert_eq!(receive(&world, &old).expect("received").1, b"again");
    send(&new, b"6", "[2001:db8::1]:7000").expect("sent");
    assert_eq!(receive(&world, &both).expect("received").1, b"6");
}

#[test]
fn datagrams_come_from_the_address_that_is_chosen() {
    let world = world("i225");
    let both = world.bind(address("[::]:7000"), None).expect("bind");
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    for (far, own, other) in [
        ("192.0.2.2:7001", "192.0.2.2", "192.0.2.1"),
        ("[2001:db8::2]:7001", "2001:db8::2", "2001:db8::1"),
    ] {
        let receiver = world.bind(address(far), None).expect("bind");
        let source = || {
            send(&both, b"x", far).expect("sent");
            let (received, _) = receive(&world, &receiver).expect("received");
            received.source.expect("known").ip()
        };
        let by_route = source();
        for chosen in [own, other] {
            both.set_source(Some(ip(chosen))).expect("set");
            assert_eq!(source(), ip(chosen));
        }
        both.set_source(None).expect("set");
        assert_eq!(source(), by_route);
    }
    for (foreign, to, refusal) in [
        ("192.0.2.77", "192.0.2.2:7001", ErrorKind::Unreachable),
        (
            "2001:db8::77",
            "[2001:db8::2]:7001",
            ErrorKind::InvalidInput,
        ),
    ] {
        both.set_source(Some(ip(foreign)))
            .expect("not known before it is used");
        assert_eq!(kind(send(&both, b"x", to)), refusal, "{foreign}");
    }
    let old = world.bind(address("0.0.0.0:0"), None).expect("bind");
    let refused = old.set_source(Some(ip("2001:db8::1")));
    assert_eq!(kind(refused), ErrorKind::InvalidInput);
}

#[test]
fn a_datagram_can_have_a_source_of_its_own() {
    let world = world("i225");
    let both = world.bind(address("[::]:7000"), None).expect("bind");
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    let receiver = world.bind(address("192.0.2.2:7001"), None).expect("bind");
    both.set_source(Some(ip("192.0.2.2"))).expect("set");
    let send = |source: &str| {
        let outgoing = Outgoing::new(b"x").to(address("192.0.2.2:7001"));
        both.send(&[outgoing.source(ip(source))])
    };
    for own in ["192.0.2.1", "::ffff:192.0.2.2"] {
        assert_eq!(send(own), Ok(1));
        let (received, _) = receive(&world, &receiver).expect("received");
        let source = received.source.expect("known").ip();
        assert_eq!(source, ip(own).to_canonical());
    }
    assert_eq!(kind(send("192.0.2.77")), ErrorKind::Unreachable);
    let of_ipv6 = Outgoing::new(b"x").source(ip("2001:db8::2"));
    let refused = receiver.send(&[of_ipv6.to(address("192.0.2.1:7000"))]);
    assert_eq!(kind(refused), ErrorKind::InvalidInput);
    let options = BindOptions::new().reuse_port();
    let refused = world.bind_with(address("192.0.2.1:0"), None, &options);
    assert_eq!(kind(refused), ErrorKind::NotSupported);
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    let world = world("i225");
    let connected = world.bind(address("0.0.0.0:7000"), None).expect("bind");
    let peer = world.bind(address("192.0.2.2:7001"), None).expect("bind");
    let stranger = world.bind(address("192.0.2.2:7002"), None).expect("bind");
    connected
        .connect(address("192.0.2.2:7001"))
        .expect("connected");
    assert_eq!(
        connected.local_address().expect("bound"),
        address("192.0.2.1:7000")
    );
    send(&stranger, b"no", "192.0.2.1:7000").expect("sent");
    send(&peer, b"yes", "192.0.2.1:7000").expect("sent");
    assert_eq!(receive(&world, &connected).expect("received").1, b"yes");
    assert!(receive(&world, &connected).is_none());
    connected
        .send(&[Outgoing::new(b"to the peer")])
        .expect("sent");
    assert_eq!(receive(&world, &peer).expect("received").1, b"to the peer");
}

#[test]
fn taken_unknown_and_privileged_addresses_are_refused() {
    let world = world("i225");
    let _taken = world.bind(address("192.0.2.1:7000"), None).expect("bind");
    assert_eq!(
        kind(world.bind(address("192.0.2.1:7000"), None)),
        ErrorKind::Busy
    );
    assert_eq!(
        kind(world.bind(address("0.0.0.0:7000"), None)),
        ErrorKind::Busy
    );
    assert_eq!(
        kind(world.bind(address("[::]:7000"), None)),
        ErrorKind::Busy
    );
    assert!(world.bind(address("192.0.2.2:7000"), None).is_ok());
    assert!(world.bind(address("192.0.2.1:319"), None).is_ok());
    assert_eq!(
        kind(world.bind(address("127.0.0.1:0"), None)),
        ErrorKind::NoSuchDevice
    );
    let unprivileged = crate::station::world("unprivileged");
    assert_eq!(
        kind(unprivileged.bind(address("192.0.2.1:319"), None)),
        ErrorKind::NotPermitted
    );
    let first = world
        .bind(address("192.0.2.1:0"), None)
        .expect("bind")
        .local_address()
        .expect("bound");
    let second = world
        .bind(address("192.0.2.1:0"), None)
        .expect("bind")
        .local_address()
        .expect("bound");
    assert_ne!(first.port(), second.port());
}

#[test]
fn closing_keeps_the_address_and_dropping_frees_it() {
    let world = world("i225");
    let socket = world.bind(address("192.0.2.1:7000"), None).expect("bind");
    socket.close();
    assert_eq!(
        kind(world.bind(address("192.0.2.1:7000"), None)),
        ErrorKind::Busy
    );
    assert_eq!(kind(send(&socket, b"x", "192.0.2.2:9")), ErrorKind::Closed);
    assert_eq!(kind(receive_now(&socket)), ErrorKind::Closed);
    assert_eq!(kind(socket.local_address()), ErrorKind::Closed);
    let readiness = socket
        .wait(Interest::Receive, MonotonicTime::MAX)
        .expect("returns at once");
    assert!(readiness.closed);
    drop(socket);
    assert!(world.bind(address("192.0.2.1:7000"), None).is_ok());
}

#[test]
fn sends_that_cannot_go_are_refused_for_their_reason() {
    let world = world("i225");
    let socket = world.bind(address("192.0.2.1:0"), None).expect("bind");
    assert_eq!(
        kind(send(&socket, b"x", "198.51.100.1:9")),
        ErrorKind::Unreachable
    );
    assert_eq!(
        kind(send(&socket, b"x", "[2001:db8::2]:9")),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        kind(send(&socket, b"x", "192.0.2.2:0")),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        kind(socket.send(&[Outgoing::new(b"x")])),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        kind(send(&socket, &[0; 65_508], "192.0.2.2:9")),
        ErrorKind::InvalidInput
    );
    assert_eq!(send(&socket, &[0; 65_507], "192.0.2.2:9").expect("fits"), 1);
    assert_eq!(
        kind(socket.connect(address("198.51.100.1:9"))),
        ErrorKind::Unreachable
    );
    assert_eq!(
        kind(socket.connect(address("[2001:db8::2]:9"))),
        ErrorKind::InvalidInput
    );
    let new = world.bind(address("[2001:db8::1]:0"), None).expect("bind");
    assert_eq!(
        kind(send(&new, &[0; 65_528], "[2001:db8::2]:9")),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        send(&new, &[0; 65_527], "[2001:db8::2]:9").expect("fits"),
        1
    );
}

#[test]
fn a_batch_ends_at_the_first_failure_which_is_met_again() {
    let station = Station::new("i225");
    let good = Outgoing::new(b"x").to(station.to);
    let bad = Outgoing::new(b"x").to(address("198.51.100.1:9"));
    assert_eq!(
        station
            .sender
            .send(&[good, good, bad, good])
            .expect("two went"),
        2
    );
    assert_eq!(
        kind(station.sender.send(&[bad, good])),
        ErrorKind::Unreachable
    );
    assert_eq!(station.receive_all().len(), 2);
}

#[test]
fn batches_are_received_in_order_and_cut_to_the_buffer() {
    let mut station = Station::new("ideal");
    for id in 0..5 {
        station.send(id, &[id as u8; 9]).expect("sent");
    }
    station.world.advance(Span::from_milliseconds(1));
    let mut buffers = [[0u8; 4]; 8];
    let mut batch: Vec<Incoming<'_>> = buffers
        .iter_mut()
        .map(|buffer| Incoming::new(buffer))
        .collect();
    assert_eq!(station.receiver.receive(&mut batch).expect("open"), 5);
    let firsts: Vec<u8> = batch[..5]
        .iter()
        .map(|incoming| incoming.payload()[0])
        .collect();
    assert_eq!(firsts, [0, 1, 2, 3, 4]);
    assert!(
        batch[..5]
            .iter()
            .all(|incoming| incoming.received.truncated && incoming.received.length == 4)
    );
}

#[test]
fn multicast_reaches_members_over_the_cable_and_at_home_if_wanted() {
    let world = world("i225");
    let group: IpAddr = "224.0.1.129".parse().expect("an address");
    let (near, far) = (
        interface(&world, "sim0").index,
        interface(&world, "sim1").index,
    );
    let sender = world.bind(address("192.0.2.1:0"), None).expect("bind");
    let member = |index| {
        let socket = world
            .bind(
                address("224.0.1.129:7000"),
                Some(&world_interface(&world, index)),
            )
            .expect("bind");
        socket.join_multicast(group, index).expect("joined");
        socket
    };
    let (at_home, across) = (member(near), member(far));
    assert_eq!(kind(across.join_multicast(group, far)), ErrorKind::Busy);
    sender.set_multicast(near, 1, true).expect("set");
    send(&sender, b"to all", "224.0.1.129:7000").expect("sent");
    assert_eq!(receive(&world, &across).expect("received").1, b"to all");
    assert_eq!(receive(&world, &at_home).expect("received").1, b"to all");
    sender.set_multicast(near, 1, false).expect("set");
    send(&sender, b"to others", "224.0.1.129:7000").expect("sent");
    assert_eq!(receive(&world, &across).expect("received").1, b"to others");
    assert!(receive(&world, &at_home).is_none());
    across.leave_multicast(group, far).expect("left");
    assert_eq!(
        kind(across.leave_multicast(group, far)),
        ErrorKind::NoSuchDevice
    );
    send(&sender, b"to nobody", "224.0.1.129:7000").expect("sent");
    assert!(receive(&world, &across).is_none());
    assert_eq!(
        kind(sender.set_multicast(near, 256, true)),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        kind(across.join_multicast("192.0.2.1".parse().expect("an address"), far)),
        ErrorKind::InvalidInput
    );
}

fn world_interface(
    world: &World,
    index: InterfaceIndex,
) -> wirestamp_core::interface::InterfaceDescription {
    world
        .interfaces()
        .expect("interfaces")
        .into_iter()
        .find(|own| own.index == index)
        .expect("known")
}

#[test]
fn a_refused_datagram_is_reported_to_a_connected_sender_and_as_a_notice() {
    let mut station = Station::new("i225");
    let nobody = address("192.0.2.2:9");
    station.sender.connect(nobody).expect("connected");
    station
        .configure(Timestamping::OFF.transmit(8).icmp_errors())
        .expect("on");
    let datagram = [Outgoing::new(b"x")];
    station.sender.send(&datagram).expect("the first goes");
    let readiness = station
        .sender
        .wait(
            Interest::Receive,
            after(&station.world, Span::from_seconds(1)),
        )
        .expect("waits");
    assert!(readiness.receive, "receiving would report an error");
    let error = receive_now(&station.sender).expect_err("refused");
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Unreachable, Some(111))
    );
    assert!(
        receive_now(&station.sender)
            .expect("reported once")
            .is_none()
    );
    let collected = station.collect();
    let [Notice::Icmp(icmp)] = collected.notices[..] else {
        panic!("{:?}", collected.notices)
    };
    assert_eq!(
        (icmp.destination, icmp.code, icmp.icmp_type, icmp.icmp_code),
        (Some(nobody), 111, 3, 3)
    );
    assert!(collected.timestamped.is_empty());
    assert_eq!(
        station.world.truth().datagram(0).expect("known").fate,
        Fate::Refused
    );
}

#[test]
fn who_did_not_ask_for_notices_gets_none() {
    let mut station = Station::new("i225");
    station
        .configure(Timestamping::OFF.transmit(8))
        .expect("on");
    station.to = address("192.0.2.2:9");
    station.send(1, b"x").expect("sent");
    let collected = station.collect_after(Span::from_seconds(1));
    assert_eq!(
        (collected.timestamped.len(), collected.notices.len()),
        (1, 0)
    );
    assert!(
        receive_now(&station.sender).is_ok(),
        "it is not connected: no error either"
    );
}

#[test]
fn a_neighbour_that_nobody_has_takes_datagrams_and_gives_no_timestamp() {
    let mut station = Station::new("i225");
    station
        .configure(Timestamping::OFF.transmit(8).icmp_errors())
        .expect("on");
    station.to = address("192.0.2.77:9");
    station.send(1, b"x").expect("sending succeeds");
    let collected = station.collect_after(Span::from_seconds(2));
    assert!(collected.timestamped.is_empty() && collected.notices.is_empty());
    let collected = station.collect_after(Span::from_seconds(2));
    let [Notice::Icmp(icmp)] = collected.notices[..] else {
        panic!("{:?}", collected.notices)
    };
    assert_eq!((icmp.code, icmp.icmp_code), (113, 1));
}

#[test]
fn a_full_receive_queue_drops_the_newest_and_counts() {
    let mut station = Station::of(custom("preset = 'ideal'\n[host]\nreceive_buffer = 8192"));
    station.send_many(20, Span::from_microseconds(5));
    let kept = station.receive_all();
    assert_eq!(kept.len(), 10, "772 bytes each below 8192");
    assert_eq!(kept[0].1, 0u32.to_be_bytes());
    assert_eq!(station.receiver.dropped(), 10);
    assert_eq!(
        station.world.truth().datagram(19).expect("known").fate,
        Fate::QueueFull
    );
}

#[test]
fn waiting_ends_when_served_when_woken_and_in_time() {
    let mut station = Station::new("ideal");
    let world = station.world.clone();
    let started = world.truth().now();
    let nothing = station
        .receiver
        .wait(Interest::Receive, started + Span::from_seconds(1))
        .expect("waits");
    assert!(nothing.timed_out());
    assert_eq!(world.truth().now() - started, Span::from_seconds(1));
    station.send(0, b"x").expect("sent");
    let served = station
        .receiver
        .wait(Interest::Receive, after(&world, Span::from_seconds(1)))
        .expect("waits");
    assert_eq!(
        served,
        Readiness {
            receive: true,
            ..Readiness::default()
        }
    );
    assert!(world.truth().now() - started < Span::from_milliseconds(1_001));
    station.sender.wake();
    let other = station
        .sender
        .wait(Interest::Receive, after(&world, Span::from_seconds(1)))
        .expect("waits");
    assert!(!other.woken, "waking is for those who wait for timestamps");
    let woken = station
        .sender
        .wait(Interest::Timestamps, MonotonicTime::MAX)
        .expect("waits");
    assert!(woken.woken);
    let again = station
        .sender
        .wait(Interest::Timestamps, after(&world, Span::from_seconds(1)))
        .expect("waits");
    assert!(again.timed_out(), "once");
    assert!(
        station
            .sender
            .wait(Interest::Send, MonotonicTime::MAX)
            .expect("waits")
            .send
    );
}

#[test]
fn a_nic_that_goes_away_takes_its_sockets_with_it() {
    let station = Station::new("i225").with_hardware();
    let world = &station.world;
    let gone = interface(world, "sim0");
    world.remove_nic(NicName::Sim0);
    assert_eq!(kind(world.supported(&gone)), ErrorKind::NoSuchDevice);
    assert_eq!(
        kind(send(&station.sender, b"x", "192.0.2.2:9")),
        ErrorKind::NoSuchDevice
    );
    let readiness = station
        .sender
        .wait(Interest::Receive, MonotonicTime::MAX)
        .expect("does not hang");
    assert!(readiness.receive);
    assert_eq!(kind(receive_now(&station.sender)), ErrorKind::NoSuchDevice);
    world.add_nic(NicName::Sim0);
    let back = interface(world, "sim0");
    assert_ne!(back.index, gone.index);
    assert_eq!(
        world.configuration(&back).expect("readable"),
        HardwareConfiguration::OFF
    );
    assert_eq!(
        kind(world.supported(&gone)),
        ErrorKind::NoSuchDevice,
        "the old index stays gone"
    );
    assert!(
        send(&station.sender, b"x", "192.0.2.2:9").is_ok(),
        "the address is back"
    );
}

#[test]
fn a_datagram_on_its_way_ends_with_its_nic() {
    let mut station = Station::new("i225").with_hardware();
    station
        .configure(
            Timestamping::OFF
                .transmit(8)
                .source(wirestamp_core::configuration::Source::Hardware),
        )
        .expect("on");
    station.send(1, b"x").expect("sent");
    station.world.remove_nic(NicName::Sim0);
    assert!(
        station
            .collect_after(Span::from_seconds(1))
            .timestamped
            .is_empty()
    );
    assert_eq!(
        station.world.truth().datagram(0).expect("known").fate,
        Fate::NicGone
    );
    assert!(station.receive().is_none());
}

#[test]
fn a_pulled_cable_takes_datagrams_and_delivers_none() {
    let mut station = Station::new("i225").with_hardware();
    let both = wirestamp_core::configuration::Source::Both;
    station
        .configure(Timestamping::OFF.transmit(8).source(both).icmp_errors())
        .expect("on");
    station.world.set_link(false);
    assert_eq!(
        interface(&station.world, "sim0").state,
        InterfaceState::NoCarrier
    );
    station.send(1, b"x").expect("sending succeeds");
    let collected = station.collect_after(Span::from_seconds(4));
    assert!(
        collected.timestamped.is_empty() && collected.notices.is_empty(),
        "nobody says so either"
    );
    assert!(station.receive().is_none());
    station.world.set_link(true);
    station.send(2, b"x").expect("sent");
    assert!(station.receive().is_some());
}
