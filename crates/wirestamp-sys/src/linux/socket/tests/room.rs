//! The receive buffer, by the datagrams that are sent.

use super::*;
use crate::native::socket::room::{Room, limit};
use crate::native::wire::constants::{SO_RCVBUFFORCE, TIMESTAMP_CHARGE};
use std::net::UdpSocket;

const CAP_NET_ADMIN: u32 = 12;

/// A socket whose receive buffer has so many bytes.
fn with_buffer(size: usize) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let set = SockRef::from(&socket).set_recv_buffer_size(size / 2);
    set.expect("a receive buffer");
    assert_eq!(size_of(&socket), size);
    socket
}

fn size_of(socket: &UdpSocket) -> usize {
    SockRef::from(socket).recv_buffer_size().expect("a size")
}

/// All sizes are below what an unprivileged process may have.
#[test]
fn room_is_made_for_the_longest_datagram_since_the_configuration_and_for_unread_ones() {
    let (room, socket) = (Room::default(), with_buffer(20_000));
    assert_eq!(room.charge(), TIMESTAMP_CHARGE);
    let configure = |with_packets| room.configure(socket.as_fd(), with_packets, 8);
    let send = |length| {
        let entries = room.make_for(socket.as_fd(), length);
        assert_eq!(entries, room.entries());
        (room.charge(), size_of(&socket))
    };
    configure(true).expect("configured");
    assert!(room.is_for_packets());
    assert_eq!(room.charge(), 2_560);
    assert_eq!(send(1_000), (2_560, 20_000 + 8 * 2_560));
    assert_eq!(send(3_000), (4_608, 20_000 + 8 * 4_608));
    assert_eq!(send(8_972), (16_896, 20_000 + 8 * 16_896));
    assert_eq!(send(1), (16_896, 20_000 + 8 * 16_896));
    assert_eq!(room.entries(), (20_000 + 8 * 16_896) / 16_896);
    configure(true).expect("configured");
    let made = (2_560, 20_000 + 8 * 16_896);
    assert_eq!(send(1), made, "it stays as large as it is");
    configure(false).expect("configured");
    assert!(!room.is_for_packets());
    assert_eq!(room.charge(), TIMESTAMP_CHARGE);
    assert_eq!(send(60_000).0, TIMESTAMP_CHARGE, "without its packet");
    room.assume_long_datagrams();
    configure(true).expect("configured");
    assert_eq!(room.charge(), 131_584);
}

#[test]
fn a_configuration_that_is_repeated_makes_no_more_room() {
    let (room, socket) = (Room::default(), with_buffer(20_000));
    for _ in 0..3 {
        room.configure(socket.as_fd(), false, 8)
            .expect("configured");
        assert_eq!(size_of(&socket), 20_000 + 8 * TIMESTAMP_CHARGE as usize);
    }
    let resized = SockRef::from(&socket).set_recv_buffer_size(30_000);
    resized.expect("a receive buffer");
    room.configure(socket.as_fd(), false, 8)
        .expect("configured");
    assert_eq!(size_of(&socket), 60_000 + 8 * TIMESTAMP_CHARGE as usize);
}

#[test]
fn without_the_privilege_room_is_made_up_to_the_limit_and_never_taken_away() {
    let most = limit().expect("a limit");
    let make = |socket: &UdpSocket| {
        without(CAP_NET_ADMIN, || {
            let room = Room::default();
            room.configure(socket.as_fd(), true, 128)
                .expect("configured");
            let entries = room.make_for(socket.as_fd(), 60_000);
            assert_eq!(entries as usize, size_of(socket) / room.charge() as usize);
            size_of(socket)
        })
    };
    assert_eq!(make(&with_buffer(20_000)), most.min(8 << 20));
    if call::has_capability(CAP_NET_ADMIN).expect("an answer") {
        // by as little as possible: more is asked for unless the limit is above 8 MiB
        let (large, half) = (with_buffer(20_000), most as i32 / 2 + 1_000);
        call::set_number(large.as_fd(), libc::SOL_SOCKET, SO_RCVBUFFORCE, half).expect("allowed");
        assert_eq!(make(&large), most + 2_000);
    }
}

/// Nobody takes away what another thread has made, or counts on what another is making.
#[test]
fn threads_that_make_room_at_once_all_have_it() {
    const AT_ONCE: usize = 100; // each takes a descriptor
    for round in 0..10 {
        let fresh = || (Room::default(), with_buffer(20_000));
        let all: Vec<_> = (0..AT_ONCE).map(|_| fresh()).collect();
        for (room, socket) in &all {
            room.configure(socket.as_fd(), true, 4).expect("configured");
        }
        let come = AtomicUsize::new(0);
        let fewest = |payload| {
            let entries = (1..).zip(&all).map(|(place, (room, socket))| {
                come.fetch_add(1, Ordering::AcqRel);
                until(|| come.load(Ordering::Acquire) >= 2 * place);
                room.make_for(socket.as_fd(), payload)
            });
            entries.min().expect("some")
        };
        let length = if round % 2 == 0 { 4_000 } else { 60_000 };
        let fewest = thread::scope(|scope| {
            let another = scope.spawn(|| fewest(60_000));
            fewest(length).min(another.join().expect("no panic"))
        });
        assert!(fewest >= 4, "{fewest} in round {round}");
        for (room, socket) in &all {
            let made = (size_of(socket), room.charge());
            assert_eq!(made, (20_000 + 4 * 66_048, 66_048), "in round {round}");
        }
    }
}

#[test]
fn a_datagram_that_is_too_long_to_be_sent_takes_no_room() {
    let socket = bound(Ipv4Addr::LOCALHOST);
    let room = &socket.naming.room;
    room.configure(socket.as_fd(), true, 8).expect("configured");
    let payload = [0; 70_000];
    assert_eq!(socket.make_room(&[outgoing(&payload, 1)]), None);
    assert_eq!(room.charge(), 2_560);
    let (longest, short) = (outgoing(&payload[..65_507], 2), outgoing(b"x", 3));
    assert!(
        socket
            .make_room(&[short, outgoing(&payload, 1), longest])
            .is_some()
    );
    assert_eq!(room.charge(), 131_584);
}

#[test]
fn each_source_of_an_id_has_room() {
    for (wanted, entries) in [
        (Timestamping::OFF.source(Source::Both), 2),
        (Timestamping::OFF.queueing(), 2),
        (Timestamping::OFF.source(Source::Both).queueing(), 3),
    ] {
        let socket = bound(Ipv4Addr::LOCALHOST);
        let set = SockRef::from(&socket.fd).set_recv_buffer_size(5_000);
        set.expect("a receive buffer");
        let granted = socket.configure(&wanted.transmit(40)).expect("configured");
        let holds = granted.system_queue.expect("known");
        assert!(holds >= entries * 40, "{holds} of {wanted:?}");
    }
}

/// What a packet took is not known once it is read.
#[test]
fn a_buffer_of_packets_that_is_not_full_is_not_said_to_be_full() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    let room = &sender.naming.room;
    room.configure(sender.as_fd(), true, 4).expect("configured");
    assert!(room.make_for(sender.as_fd(), 60_000) >= 4);
    let overflows = || {
        let batch: Vec<_> = (0..64).map(|id| outgoing(b"x", id)).collect();
        assert_eq!(sender.send(&batch), Ok(64));
        let kept = collect_awaited(&sender, 64);
        assert_eq!(kept.ids().len(), 64);
        kept.overflows
    };
    assert_eq!(overflows(), 0);
    let smaller = SockRef::from(&sender.fd).set_recv_buffer_size(50_000);
    smaller.expect("a receive buffer");
    assert!(overflows() > 0, "no room for one of 60,000 bytes");
}
