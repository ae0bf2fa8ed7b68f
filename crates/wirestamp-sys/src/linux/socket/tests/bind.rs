//! Addresses, groups and room.

use super::*;

#[test]
fn taken_and_foreign_addresses_are_told_apart() {
    let taken = bound(Ipv4Addr::LOCALHOST)
        .local_address()
        .expect("an address");
    let held = Socket::bind(taken, None).expect("free again");
    assert_eq!(
        Socket::bind(taken, None).expect_err("taken").kind(),
        ErrorKind::Busy
    );
    drop(held);
    let foreign = SocketAddr::from(([192, 0, 2, 77], 0));
    assert_eq!(
        Socket::bind(foreign, None).expect_err("foreign").kind(),
        ErrorKind::NoSuchDevice
    );
}

#[test]
fn capacity_decides_how_much_room_is_asked_for() {
    let socket = bound(Ipv4Addr::LOCALHOST);
    let small = socket
        .configure(&Timestamping::OFF.transmit(0))
        .expect("configured");
    let large = socket
        .configure(&Timestamping::OFF.transmit(u16::MAX))
        .expect("configured");
    let (small, large) = (
        small.system_queue.expect("told"),
        large.system_queue.expect("told"),
    );
    assert!(small >= 200 && large > small, "{small} {large}");
}

#[test]
fn multicast_comes_back_on_the_joined_group_only() {
    let index = crate::native::interface::list()
        .expect("a list")
        .into_iter()
        .find(|i| i.loopback)
        .expect("loopback")
        .index;
    let receiver = bound(Ipv4Addr::UNSPECIFIED);
    receiver
        .configure(&Timestamping::OFF.receive().packet_information())
        .expect("configured");
    let group = IpAddr::from([224, 0, 1, 129]);
    assert_eq!(
        receiver
            .join_multicast([192, 0, 2, 1].into(), index)
            .expect_err("no group")
            .kind(),
        ErrorKind::InvalidInput
    );
    receiver.join_multicast(group, index).expect("joined");
    let sender = bound(Ipv4Addr::LOCALHOST);
    sender
        .configure(&Timestamping::OFF.transmit(4))
        .expect("configured");
    sender.set_multicast(index, 1, true).expect("set");
    let to = SocketAddr::new(group, receiver.local_address().expect("an address").port());
    sender
        .send(&[Outgoing {
            payload: b"x",
            to: Some(to),
            id: Some(TransmitId(1)),
        }])
        .expect("sent");
    let received = receive_one(&receiver, &mut [0; 8]);
    assert_eq!(
        (received.destination, received.interface),
        (Some(group), Some(index))
    );
    assert!(received.timestamps.software.is_some());
    assert_eq!(collect(&sender).ids(), [1]);
}

#[test]
fn an_unbound_socket_is_bound_once() {
    let socket = Socket::unbound(false).expect("a socket");
    assert_eq!(socket.local_address().expect("an address").port(), 0);
    let local: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    socket.bind_to(local).expect("free");
    let bound = socket.local_address().expect("an address");
    assert!(bound.ip().is_loopback() && bound.port() != 0);
    let error = socket.bind_to(local).expect_err("bound already");
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidInput, Some(libc::EINVAL))
    );
}

#[test]
fn datagrams_come_from_the_address_that_is_chosen() {
    let receiver = bound(Ipv4Addr::LOCALHOST);
    receiver
        .configure(&Timestamping::OFF.receive())
        .expect("configured");
    let to = receiver.local_address().expect("an address");
    for ip in [
        IpAddr::from(Ipv4Addr::UNSPECIFIED),
        Ipv6Addr::UNSPECIFIED.into(),
    ] {
        let sender = bound(ip);
        let send = |id| {
            sender.send(&[Outgoing {
                payload: b"x",
                to: Some(to),
                id,
            }])
        };
        let source = |id| {
            assert_eq!(send(id).expect("sent"), 1);
            let received = receive_one(&receiver, &mut [0; 8]);
            received.source.expect("known").ip()
        };
        // plain sends, and sends with both control messages of a timestamp
        for timestamping in [Timestamping::OFF, Timestamping::OFF.transmit(8)] {
            sender.configure(&timestamping).expect("configured");
            let id = timestamping.transmit.map(|_| TransmitId(7));
            for own in [[127, 0, 0, 2], [127, 0, 0, 3]].map(IpAddr::from) {
                sender.set_source(Some(own)).expect("set");
                assert_eq!(source(id), own);
                assert_eq!(collect(&sender).ids().len(), usize::from(id.is_some()));
            }
            sender.set_source(None).expect("set");
            assert_eq!(source(id), Ipv4Addr::LOCALHOST, "the route's");
            collect(&sender);
        }
        let foreign = [192, 0, 2, 77].into();
        sender
            .set_source(Some(foreign))
            .expect("not known before it is used");
        let error = send(None).expect_err("none of this host's");
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Unreachable, Some(libc::ENETUNREACH))
        );
    }
    let other_family = receiver
        .set_source(Some(Ipv6Addr::LOCALHOST.into()))
        .expect_err("an IPv4 socket");
    assert_eq!(other_family.kind(), ErrorKind::InvalidInput);
}
