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
        .send(&[Outgoing::new(b"x").to(to).id(TransmitId(1))])
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
        let send = |id| sender.send(&[Outgoing::new(b"x").to(to).id(id)]);
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

/// Of one batch, each with and without an id, beside a source of the socket's own.
#[test]
fn each_datagram_of_a_batch_can_have_its_own_source() {
    let receiver = bound(Ipv4Addr::LOCALHOST);
    let to = receiver.local_address().expect("an address");
    for ip in [
        IpAddr::from(Ipv4Addr::UNSPECIFIED),
        Ipv6Addr::UNSPECIFIED.into(),
    ] {
        let sender = bound(ip);
        sender
            .configure(&Timestamping::OFF.transmit(8))
            .expect("configured");
        sender.set_source(Some([127, 0, 0, 9].into())).expect("set");
        let from = |last: u8, id: Option<u32>| {
            let source = (last > 0).then_some(IpAddr::from([127, 0, 0, last]));
            let id = id.map(TransmitId);
            Outgoing::new(b"x").to(to).id(id).source(source)
        };
        let batch = [
            from(2, None),
            from(3, Some(1)),
            from(0, None),
            from(4, None),
        ];
        for part in [&batch[..], &batch[..1], &batch[1..2], &batch[2..3]] {
            assert_eq!(sender.send(part).expect("sent"), part.len());
            for sent in part {
                let received = receive_one(&receiver, &mut [0; 8]);
                let expected = sent.source.unwrap_or([127, 0, 0, 9].into());
                assert_eq!(received.source.map(|source| source.ip()), Some(expected));
            }
            collect(&sender);
        }
    }
    let other_family = Outgoing::new(b"x")
        .to(to)
        .source(IpAddr::from(Ipv6Addr::LOCALHOST));
    let error = receiver.send(&[other_family]).expect_err("an IPv4 socket");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn options_count_before_the_socket_is_bound() {
    let bind = |local: SocketAddr, options| Socket::bind_with(local, None, &options);
    let usual = BindOptions::new();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    for shared in [usual.reuse_port(), usual.reuse_address()] {
        let first = bind(any, shared).expect("a free port");
        let local = first.local_address().expect("bound");
        let alone = bind(local, usual).expect_err("it is taken");
        assert_eq!(alone.kind(), ErrorKind::Busy);
        let second = bind(local, shared).expect("it is shared");
        assert_eq!(second.local_address(), Ok(local));
    }
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    for (only, serves_ipv4) in [(None, true), (Some(false), true), (Some(true), false)] {
        let options = only.map_or(usual, |only| usual.ipv6_only(only));
        let both = bind(any, options).expect("a free port");
        let port = both.local_address().expect("bound").port();
        let of_ipv4 = bind((Ipv4Addr::UNSPECIFIED, port).into(), usual);
        assert_eq!(of_ipv4.is_err(), serves_ipv4, "{only:?}: {of_ipv4:?}");
    }
}

/// A server without descriptors to spare goes on with what is there.
#[test]
fn a_wait_that_does_not_block_makes_no_descriptor() {
    let has_bell = |socket: &Socket| {
        let bells = [&socket.closing, &socket.nudge];
        bells.map(|bell| bell.without_descriptor().is_none())
    };
    let (receiver, sender) = (bound(Ipv4Addr::LOCALHOST), bound(Ipv4Addr::LOCALHOST));
    let to = receiver.local_address().expect("an address");
    let wait = |interest, until| receiver.wait(interest, until).expect("no error");
    let polled = MonotonicTime::MIN;
    assert!(!wait(Interest::Receive, polled).receive);
    assert!(!wait(Interest::Timestamps, polled).timestamps);
    let mut ready = Vec::new();
    wait_any(&[AnySocket::Udp(&*receiver)], polled, &mut ready).expect("no error");
    assert_eq!(ready, [0; 0]);
    sender.send(&[Outgoing::new(b"x").to(to)]).expect("sent");
    let end = soon();
    while !wait(Interest::Receive, polled).receive {
        assert!(clock::now() < end, "no datagram within two seconds");
    }
    assert!(wait(Interest::Receive, MonotonicTime::MAX).receive);
    wait_any(
        &[AnySocket::Udp(&*receiver)],
        MonotonicTime::MAX,
        &mut ready,
    )
    .expect("no error");
    assert_eq!(ready, [0]);
    assert!(wait(Interest::Send, MonotonicTime::MAX).send);
    receiver.wake();
    assert!(wait(Interest::Timestamps, MonotonicTime::MAX).woken);
    assert!(!wait(Interest::Timestamps, polled).woken, "it was taken");
    assert_eq!(has_bell(&receiver), [false; 2]);
    // under Valgrind a few milliseconds are over before it begins
    let later = clock::now() + Span::from_milliseconds(200);
    wait(Interest::Timestamps, later);
    assert_eq!(has_bell(&receiver), [false, true], "that one blocks");
    receiver.close();
    for interest in [Interest::Receive, Interest::Timestamps, Interest::Close] {
        assert!(wait(interest, MonotonicTime::MAX).closed);
    }
}
