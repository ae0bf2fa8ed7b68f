//! Against the running kernel, on loopback. Where it refuses rings, the reason is what is tested.

use super::*;
use crate::native::call;
use crate::native::wire::address::AddressBytes;
use crate::native::wire::constants::{
    OPT_ID, OPT_TSONLY, SO_RCVBUFFORCE, SO_TIMESTAMPING_NEW, SOFTWARE, TX_SOFTWARE,
};
use crate::native::wire::control::QueueEntry;
use socket2::SockRef;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

fn bound() -> (OwnedFd, SocketAddr) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    socket.set_nonblocking(true).expect("non-blocking");
    let own = socket.local_addr().expect("an address");
    (socket.into(), own)
}

fn connect(socket: &OwnedFd, peer: SocketAddr) {
    SockRef::from(socket)
        .connect(&peer.into())
        .expect("connected");
}

/// A socket that has itself for a peer.
fn looped() -> OwnedFd {
    let (socket, own) = bound();
    connect(&socket, own);
    socket
}

fn send(socket: &OwnedFd, payload: &[u8]) {
    super::super::messages::send_plain(socket.as_fd(), payload, &AddressBytes::NONE).expect("sent");
}

/// What the ring makes of it; `None` where the kernel refuses rings.
fn receive_ring(longest: u16) -> Option<ReceiveRing> {
    ReceiveRing::new(longest)
        .inspect_err(|refusal| assert!(refusal.code.is_some(), "{refusal}"))
        .ok()
}

fn payloads(ring: &mut ReceiveRing, most: usize) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    let count = ring.take(most, |place, datagram| {
        assert_eq!(place, payloads.len());
        assert_eq!(datagram.name.len(), 16);
        payloads.push(datagram.payload.to_vec());
    });
    assert_eq!(count.expect("no error"), payloads.len());
    payloads
}

#[test]
fn more_than_there_are_buffers_come_in_order() {
    let (socket, Some(mut ring)) = (looped(), receive_ring(1_472)) else {
        return;
    };
    call::set_number(socket.as_fd(), libc::SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20).ok();
    let sent: Vec<Vec<u8>> = (0..200u8)
        .map(|number| vec![number; 10 + usize::from(number)])
        .collect();
    for _ in 0..3 {
        sent.iter().for_each(|payload| send(&socket, payload));
        let mut received = Vec::new();
        while received.len() < sent.len() {
            let held = ring
                .fill(socket.as_fd(), sent.len() - received.len())
                .expect("no error")
                .expect("our ring");
            assert!(held > 0, "{} of {} came", received.len(), sent.len());
            received.extend(payloads(&mut ring, 50));
        }
        assert_eq!(received, sent);
    }
}

#[test]
fn what_is_longer_than_was_said_is_cut_and_marked() {
    let (socket, Some(mut ring)) = (looped(), receive_ring(100)) else {
        return;
    };
    send(&socket, &[7; 2_000]);
    assert_eq!(ring.fill(socket.as_fd(), 1).expect("no error"), Some(1));
    let mut seen = None;
    ring.take(1, |_, datagram| {
        seen = Some((datagram.payload.len(), datagram.truncated));
    })
    .expect("one");
    let (length, truncated) = seen.expect("a datagram");
    assert!(
        truncated && (100..2_000).contains(&length),
        "{length} bytes, truncated: {truncated}"
    );
}

/// What a ring holds anybody may take; to take more from the socket, another thread uses calls.
#[test]
fn a_ring_is_of_one_thread() {
    let (socket, Some(mut ring)) = (looped(), receive_ring(100)) else {
        return;
    };
    (0..3).for_each(|number| send(&socket, &[number]));
    assert_eq!(ring.fill(socket.as_fd(), 3).expect("no error"), Some(3));
    assert_eq!(payloads(&mut ring, 1), [[0]]);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert_eq!(ring.fill(socket.as_fd(), 9).expect("no error"), Some(2));
            assert_eq!(payloads(&mut ring, 9), [[1], [2]]);
            send(&socket, &[3]);
            assert_eq!(ring.fill(socket.as_fd(), 9).expect("no error"), None);
            let orphaned = (0..1_000)
                .find_map(|_| ring.fill(socket.as_fd(), 9).err())
                .expect("left to others");
            assert_eq!(orphaned.raw_os_error(), Some(libc::EOWNERDEAD));
            ring = ring.another().expect("another ring");
            assert_eq!(ring.fill(socket.as_fd(), 9).expect("no error"), Some(1));
            assert_eq!(payloads(&mut ring, 9), [[3]]);
        });
        other.join().expect("no panic");
    });
}

/// A socket whose datagrams nobody receives: they would take room from the timestamps.
fn timestamping() -> (OwnedFd, OwnedFd) {
    let ((socket, _), (sink, to)) = (bound(), bound());
    connect(&socket, to);
    let flags = (OPT_ID | OPT_TSONLY | SOFTWARE | TX_SOFTWARE).to_ne_bytes();
    call::set_option(
        socket.as_fd(),
        libc::SOL_SOCKET,
        SO_TIMESTAMPING_NEW,
        &flags,
    )
    .expect("timestamping");
    (socket, sink)
}

/// `None` where the kernel has no timestamps as completions.
fn timestamp_ring(most: u32) -> Option<TimestampIoUring> {
    TimestampIoUring::new(most)
        .inspect_err(|refusal| assert!(refusal.code.is_some(), "{refusal}"))
        .ok()
}

fn ids(ring: &mut TimestampIoUring, socket: &OwnedFd) -> (Vec<u32>, bool) {
    let mut ids = Vec::new();
    ring.fill(socket.as_fd())
        .expect("no error")
        .expect("our ring");
    let taken = ring.take(|entry| {
        let QueueEntry::Timestamp { id, timestamps, .. } = entry else {
            panic!("{entry:?}")
        };
        assert!(timestamps.software.is_some_and(|at| at.nanoseconds() > 0));
        ids.push(id.0);
    });
    let stalled = ring.is_stalled_after(taken.expect("no error"));
    (ids, stalled)
}

#[test]
fn each_timestamp_comes_once_under_its_number() {
    let ((socket, _sink), Some(mut ring)) = (timestamping(), timestamp_ring(200)) else {
        return;
    };
    for round in 0..3 {
        (0..100).for_each(|_| send(&socket, &[0]));
        assert_eq!(
            ids(&mut ring, &socket),
            ((round * 100..(round + 1) * 100).collect(), false)
        );
        assert_eq!(ids(&mut ring, &socket), (vec![], false));
    }
}

/// 100 timestamps for a queue of 16 completions: the kernel stops without a word, sometimes again
/// after it was asked anew.
#[test]
fn a_queue_that_was_full_is_noticed_and_asked_anew() {
    let ((socket, _sink), Some(mut ring)) = (timestamping(), timestamp_ring(1)) else {
        return;
    };
    (0..100).for_each(|_| send(&socket, &[0]));
    let (mut seen, mut stalls) = (Vec::new(), 0);
    for _ in 0..100 {
        let (more, stalled) = ids(&mut ring, &socket);
        stalls += usize::from(stalled);
        if more.is_empty() && seen.len() < 100 {
            ring.missed_some(); // as who reads the rest by calls
        }
        seen.extend(more);
    }
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
    assert!(stalls > 0, "the queue was never full");
}

/// Linux 6.18 leaves the last place of a queue as it was, and means it to be read, where its
/// reserve of places ended just before.
#[test]
fn what_the_last_place_of_the_queue_had_is_not_read_twice() {
    let ((socket, _sink), Some(mut ring)) = (timestamping(), timestamp_ring(1)) else {
        return;
    };
    let mut sent = 0;
    // Of 16 places the first has the end of a command, then come 14 timestamps; then two around the end.
    for count in [7, 7, 2]
        .into_iter()
        .chain((0..400).map(|round| round * 5 % 7 + 1))
    {
        (0..count).for_each(|_| send(&socket, &[0]));
        assert_eq!(
            ids(&mut ring, &socket).0,
            (sent..sent + count).collect::<Vec<_>>()
        );
        sent += count;
    }
}

#[test]
fn a_socket_that_keeps_more_than_a_ring_has_room_for_has_none() {
    let Some(_possible) = timestamp_ring(1) else {
        return;
    };
    for most in [1 << 15, u32::MAX] {
        let made = TimestampIoUring::new(most);
        assert_eq!(made.is_ok(), most == 1 << 15, "{made:?}");
    }
}
