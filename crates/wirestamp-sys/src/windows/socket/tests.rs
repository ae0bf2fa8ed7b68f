//! What a socket does on any Windows, timestamps or not: Wine has none, and these run there too.

use super::*;
use crate::native::{api, clock};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Received;
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{Timestamps, TransmitId};

fn bound(address: impl Into<IpAddr>) -> Socket {
    Socket::bind(SocketAddr::new(address.into(), 0), None).expect("bound")
}

fn soon() -> MonotonicTime {
    clock::now() + Span::from_seconds(10)
}

fn receive_one(socket: &Socket, buffer: &mut [u8]) -> Received {
    let mut incoming = Incoming::new(buffer);
    while socket
        .receive(std::slice::from_mut(&mut incoming))
        .expect("received")
        == 0
    {
        assert!(
            !socket
                .wait(Interest::Receive, soon())
                .expect("waited")
                .timed_out(),
            "nothing came"
        );
    }
    incoming.received
}

fn plain(payload: &[u8], to: SocketAddr) -> Outgoing<'_> {
    Outgoing::new(payload).to(to)
}

/// Whether this system timestamps: on Wine it does not.
fn timestamps_here() -> bool {
    api::get("ask", "this system").is_ok()
}

#[test]
fn datagrams_flow_with_their_source_whole_and_cut() {
    for (address, other) in [
        (
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V4(Ipv4Addr::LOCALHOST),
        ),
        (
            IpAddr::V6(Ipv6Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ),
    ] {
        let Ok(receiver) = Socket::bind(SocketAddr::new(address, 0), None) else {
            assert!(address.is_ipv6(), "only IPv6 can be switched off");
            continue;
        };
        let sender = bound(other);
        let to = receiver.local_address().expect("an address");
        let batch = [plain(b"", to), plain(b"0123456789", to), plain(b"xy", to)];
        assert_eq!(sender.send(&batch).expect("sent"), 3);
        assert_eq!(receive_one(&receiver, &mut [0; 4]).length, 0);
        let cut = receive_one(&receiver, &mut [0; 4]);
        assert_eq!((cut.length, cut.truncated), (4, true));
        let whole = receive_one(&receiver, &mut [0; 4]);
        assert_eq!(
            (whole.length, whole.truncated, whole.source),
            (2, false, sender.local_address().ok())
        );
        assert_eq!(
            receiver
                .receive(&mut [Incoming::new(&mut [0; 4])])
                .expect("nothing"),
            0
        );
    }
}

#[test]
fn where_the_interface_is_missing_timestamping_is_refused_by_name_and_packets_flow() {
    if timestamps_here() {
        return;
    }
    let (sender, receiver) = (bound(Ipv4Addr::LOCALHOST), bound(Ipv4Addr::LOCALHOST));
    let mut tracker = sender.tracker();
    for wanted in [
        Timestamping::OFF.receive(),
        Timestamping::OFF.transmit(8),
        Timestamping::OFF.receive().transmit(8),
    ] {
        let error = sender
            .configure(&wanted, &mut tracker)
            .expect_err("no timestamps here");
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::NotSupported, Some(ws::WSAEOPNOTSUPP)),
            "{error}"
        );
        assert!(error.to_string().contains("20348"), "{error}");
    }
    let off = sender.configure(&Timestamping::OFF, &mut tracker);
    assert!(off.is_ok(), "off is off");
    let to = receiver.local_address().expect("an address");
    let asked = Outgoing::new(b"x").to(to).id(TransmitId(1));
    assert_eq!(sender.send(&[asked]).expect("sent"), 1);
    assert_eq!(
        receive_one(&receiver, &mut [0; 4]).timestamps,
        Timestamps::NONE
    );
    sender
        .ask_for_timestamps(&mut tracker, &[TransmitId(1)])
        .expect("nothing to ask for");
    assert!(!tracker.holds_any());
}

#[test]
fn a_wait_ends_by_wake_by_close_and_by_time() {
    let socket = Arc::new(bound(Ipv4Addr::LOCALHOST));
    let quick = clock::now() + Span::from_milliseconds(2);
    assert!(
        socket
            .wait(Interest::Timestamps, quick)
            .expect("waited")
            .timed_out()
    );
    assert!(
        socket
            .wait(Interest::Receive, quick)
            .expect("waited")
            .timed_out()
    );
    assert!(socket.wait(Interest::Send, soon()).expect("waited").send);
    socket.wake();
    assert!(
        socket
            .wait(Interest::Timestamps, MonotonicTime::MAX)
            .expect("waited")
            .woken
    );
    let waiting = Arc::clone(&socket);
    let waiter = thread::spawn(move || waiting.wait(Interest::Receive, MonotonicTime::MAX));
    thread::sleep(Duration::from_millis(20));
    socket.close();
    assert!(waiter.join().expect("no panic").expect("waited").closed);
    let error = socket
        .receive(&mut [Incoming::new(&mut [0; 8])])
        .expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn two_threads_that_wait_to_receive_do_not_take_each_others_signal() {
    let receiver = Arc::new(bound(Ipv4Addr::LOCALHOST));
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = receiver.local_address().expect("an address");
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || {
                (0..20)
                    .map(|_| receive_one(&receiver, &mut [0; 4]).length)
                    .sum::<usize>()
            })
        })
        .collect();
    for _ in 0..40 {
        sender.send(&[plain(b"x", to)]).expect("sent");
        thread::yield_now();
    }
    let received: usize = waiters
        .into_iter()
        .map(|waiter| waiter.join().expect("no panic"))
        .sum();
    assert_eq!(received, 40);
}

#[test]
fn a_dual_stack_socket_names_ipv4_peers_as_ipv4() {
    let Ok(receiver) = Socket::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0), None) else {
        return;
    };
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = SocketAddr::from((
        Ipv4Addr::LOCALHOST,
        receiver.local_address().expect("an address").port(),
    ));
    sender.send(&[plain(b"x", to)]).expect("sent");
    let received = receive_one(&receiver, &mut [0; 8]);
    assert_eq!(received.source, sender.local_address().ok());
    receiver
        .send(&[Outgoing::new(b"y").to(received.source)])
        .expect("sent");
    assert_eq!(receive_one(&sender, &mut [0; 8]).length, 1);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let socket = bound(Ipv4Addr::LOCALHOST);
    let taken = socket.local_address().expect("an address");
    let kind = |result: Result<Socket>| result.expect_err("refused").kind();
    assert_eq!(kind(Socket::bind(taken, None)), ErrorKind::Busy);
    assert_eq!(
        kind(Socket::bind(SocketAddr::from(([192, 0, 2, 77], 0)), None)),
        ErrorKind::NoSuchDevice
    );
    let to = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    assert_eq!(
        socket
            .send(&[plain(b"x", to)])
            .expect_err("wrong family")
            .kind(),
        ErrorKind::InvalidInput
    );
    let too_long = vec![0; 65_508];
    let error = socket
        .send(&[plain(&too_long, taken)])
        .expect_err("too long");
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidInput, Some(ws::WSAEMSGSIZE))
    );
    let index = InterfaceIndex::new(1).expect("not zero");
    let error = socket
        .join_multicast([192, 0, 2, 1].into(), index)
        .expect_err("no group");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        socket
            .set_multicast(index, 256, true)
            .expect_err("too far")
            .kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn multicast_comes_back_on_the_joined_group_only() {
    let loopback = interface::list()
        .expect("a list")
        .into_iter()
        .find(|one| one.loopback)
        .expect("loopback");
    let receiver = bound(Ipv4Addr::UNSPECIFIED);
    let group = IpAddr::from([224, 0, 1, 129]);
    receiver
        .join_multicast(group, loopback.index)
        .expect("joined");
    let sender = bound(Ipv4Addr::LOCALHOST);
    sender.set_multicast(loopback.index, 1, true).expect("set");
    let to = SocketAddr::new(group, receiver.local_address().expect("an address").port());
    sender.send(&[plain(b"x", to)]).expect("sent");
    assert_eq!(receive_one(&receiver, &mut [0; 8]).length, 1);
    receiver
        .leave_multicast(group, loopback.index)
        .expect("left");
}

/// What an alarm calls, and whether it did.
fn bell() -> (Arc<dyn Fn() + Send + Sync>, std::sync::mpsc::Receiver<()>) {
    let (ring, rung) = std::sync::mpsc::channel();
    let ring = move || {
        let _ = ring.send(());
    };
    (Arc::new(ring), rung)
}

#[test]
fn an_alarm_rings_for_a_datagram_and_for_closing() {
    let receiver = bound(Ipv4Addr::LOCALHOST);
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = receiver.local_address().expect("an address");
    let (bell_one, rung_one) = bell();
    let alarm = receiver
        .when_readable(&bell_one)
        .expect("set")
        .expect("nothing came yet");
    assert!(
        rung_one.recv_timeout(Duration::from_millis(20)).is_err(),
        "for nothing"
    );
    sender.send(&[plain(b"x", to)]).expect("sent");
    rung_one
        .recv_timeout(Duration::from_secs(10))
        .expect("rung");
    drop(alarm);
    let (bell_two, _rung_two) = bell();
    assert!(
        receiver.when_readable(&bell_two).expect("asked").is_none(),
        "a datagram waits"
    );
    receive_one(&receiver, &mut [0; 4]);
    let (bell_three, rung_three) = bell();
    let alarm = receiver
        .when_readable(&bell_three)
        .expect("set")
        .expect("it was received");
    drop(bell_three);
    receiver.close();
    rung_three
        .recv_timeout(Duration::from_secs(10))
        .expect("rung");
    drop(alarm);
    assert_eq!(
        rung_three.try_recv(),
        Err(std::sync::mpsc::TryRecvError::Disconnected),
        "rung once, and freed"
    );
}

#[test]
fn an_alarm_for_timestamps_rings_when_somebody_sends_and_when_it_is_worth_asking() {
    let socket = bound(Ipv4Addr::LOCALHOST);
    socket
        .timestamping
        .lock()
        .expect("free")
        .departures
        .reserve(16);
    let (bell_one, rung_one) = bell();
    let alarm = socket
        .when_timestamps_may_be_there(&bell_one)
        .expect("set")
        .expect("nothing was sent");
    assert!(
        rung_one.recv_timeout(Duration::from_millis(20)).is_err(),
        "for nothing"
    );
    socket.note_departure(
        TransmitId(1),
        &plain(b"x", socket.local_address().expect("an address")),
    );
    rung_one
        .recv_timeout(Duration::from_secs(10))
        .expect("rung");
    drop(alarm);
    thread::sleep(Duration::from_millis(5)); // an eighth of it is worth a timer
    let (bell_two, rung_two) = bell();
    let alarm = socket
        .when_timestamps_may_be_there(&bell_two)
        .expect("set")
        .expect("not at once");
    rung_two
        .recv_timeout(Duration::from_secs(10))
        .expect("rung");
    drop(alarm);
}
