//! Against the running kernel, on loopback.

mod bind;
mod counting;
mod naming;
mod queue;
mod queueing;
mod room;
mod withheld;

use super::*;
use crate::native::call;
use crate::native::clock;
use crate::native::wire::constants::{OPT_TSONLY, TX_HARDWARE, TX_SOFTWARE};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::AnySocket;
use wirestamp_core::configuration::{Engine, Identification, Source};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{
    Arrival, CountRules, CounterMap, MissingReason, Notice, SendFailure, SoftwareTimestamp,
    Timestamps, TransmitId,
};

/// A socket and its tracker.
#[derive(Debug)]
struct Tracked {
    socket: Socket,
    tracker: Mutex<TransmitTracker>,
}

impl std::ops::Deref for Tracked {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Tracked {
    fn configure(&self, wanted: &Timestamping) -> Result<Granted> {
        self.socket.configure(wanted, &mut lock(&self.tracker))
    }

    fn send(&self, batch: &[Outgoing<'_>]) -> Result<usize> {
        self.socket.send_counted(batch, &mut lock(&self.tracker))
    }
}

/// The entries read from an error queue.
#[derive(Debug, Default)]
struct Kept {
    timestamped: Vec<(u32, Timestamps)>,
    queued: Vec<(u32, SoftwareTimestamp)>,
    lost: Vec<(u32, MissingReason)>,
    notices: Vec<Notice>,
    overflows: usize,
}

impl Kept {
    fn of(tracker: &mut TransmitTracker) -> Self {
        let mut kept = Self::default();
        tracker.take(|arrival| match *arrival {
            Arrival::Timestamped(id, timestamps) => kept.timestamped.push((id.0, timestamps)),
            Arrival::Queued(id, queued) => kept.queued.push((id.0, queued)),
            Arrival::Lost(id, reason) => kept.lost.push((id.0, reason)),
            Arrival::Notice(notice) => kept.notices.push(notice),
            Arrival::Overflowed => kept.overflows += 1,
        });
        kept
    }

    fn ids(&self) -> Vec<u32> {
        self.timestamped.iter().map(|(id, _)| *id).collect()
    }
}

fn bound(ip: impl Into<IpAddr>) -> Tracked {
    let socket = Socket::bind(SocketAddr::new(ip.into(), 0), None).expect("a loopback socket");
    let tracker = Mutex::new(socket.tracker());
    Tracked { socket, tracker }
}

/// A sender and a receiver, connected, both timestamping.
fn pair(ip: impl Into<IpAddr> + Copy, timestamping: Timestamping) -> (Tracked, Tracked) {
    let (sender, receiver) = (bound(ip), bound(ip));
    sender
        .connect(receiver.local_address().expect("an address"))
        .expect("connected");
    sender
        .configure(&timestamping.transmit(64))
        .expect("configured");
    receiver
        .configure(&timestamping.receive().packet_information())
        .expect("configured");
    (sender, receiver)
}

/// Runs `made` on a thread that lacks this capability.
fn without<T: Send>(capability: u32, made: impl FnOnce() -> T + Send) -> T {
    const VERSION_3: u32 = 0x2008_0522;
    thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let header = [VERSION_3, 0];
            // effective, permitted and inheritable ones, twice
            let mut sets = [0u32; 6];
            // SAFETY: both have the layout and the length that this version has; this thread alone is asked about.
            let got = unsafe { libc::syscall(libc::SYS_capget, &raw const header, &raw mut sets) };
            sets[0] &= !(1 << capability);
            // SAFETY: as above; this thread alone changes, which then ends.
            let set =
                unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const sets) };
            assert_eq!((got, set), (0, 0), "{}", io::Error::last_os_error());
            made()
        });
        ended.join().expect("no panic")
    })
}

/// Waits until it `is_so`, which another thread is about to make, and goes on at once then.
pub(super) fn until(is_so: impl Fn() -> bool) {
    for spins in 1u32.. {
        if is_so() {
            return;
        }
        if spins % 1_000 == 0 {
            thread::yield_now();
        }
    }
}

fn soon() -> MonotonicTime {
    clock::now() + Span::from_seconds(2)
}

fn outgoing(payload: &[u8], id: u32) -> Outgoing<'_> {
    Outgoing::new(payload).id(TransmitId(id))
}

fn receive_one(socket: &Socket, buffer: &mut [u8]) -> wirestamp_core::backend::Received {
    let mut incoming = [Incoming::new(buffer)];
    while socket.receive(&mut incoming).expect("received") == 0 {
        let ready = socket.wait(Interest::Receive, soon()).expect("waited");
        assert!(!ready.timed_out(), "no datagram within two seconds");
    }
    incoming[0].received
}

/// All that waits, while nobody awaits anything.
fn collect(socket: &Tracked) -> Kept {
    collect_awaited(socket, 0)
}

fn collect_awaited(socket: &Tracked, awaited: usize) -> Kept {
    let mut tracker = lock(&socket.tracker);
    while socket
        .read_transmit_timestamps(&mut tracker, awaited)
        .expect("read")
    {}
    Kept::of(&mut tracker)
}

#[test]
fn both_ends_are_timestamped_between_the_calls_in_each_family() {
    for ip in [
        IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::from(Ipv6Addr::LOCALHOST),
    ] {
        let (sender, receiver) = pair(ip, Timestamping::OFF);
        let before = clock::now();
        assert_eq!(sender.send(&[outgoing(b"ping", 7)]).expect("sent"), 1);
        let received = receive_one(&receiver, &mut [0; 64]);
        let after = clock::now();
        let kept = collect(&sender);
        let sent = kept.timestamped[0]
            .1
            .software
            .expect("a transmit timestamp");
        let arrived = received.timestamps.software.expect("a receive timestamp");
        assert_eq!(kept.ids(), [7]);
        assert!(
            before - sent.at.bound <= sent.at.value
                && sent.at.value <= arrived.at.value
                && arrived.at.value <= after + arrived.at.bound
        );
        assert!(
            sent.at.bound < Span::from_milliseconds(1),
            "{:?}",
            sent.at.bound
        );
        assert_eq!((received.length, received.destination), (4, Some(ip)));
        assert_eq!(received.source, sender.local_address().ok());
        assert!(received.interface.is_some());
    }
}

#[test]
fn ids_are_the_callers_whether_carried_or_counted() {
    for identification in [Identification::Carried, Identification::Counter] {
        let (sender, _receiver) = pair(
            Ipv4Addr::LOCALHOST,
            Timestamping::OFF.identification(identification),
        );
        let ids = [u32::MAX, 0, 5, 0x8000_0000];
        let batch: Vec<_> = ids.iter().map(|id| outgoing(b"x", *id)).collect();
        assert_eq!(sender.send(&batch).expect("sent"), ids.len());
        assert_eq!(collect(&sender).ids(), ids, "{identification:?}");
    }
}

#[test]
fn datagrams_without_an_id_are_not_timestamped() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    let plain = Outgoing::new(b"x");
    assert_eq!(
        sender
            .send(&[plain, outgoing(b"x", 4), plain])
            .expect("sent"),
        3
    );
    assert_eq!(collect(&sender).ids(), [4]);
}

#[test]
fn batches_larger_than_a_chunk_keep_order_and_ids() {
    let (sender, receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    let payloads: Vec<[u8; 4]> = (0..150u32).map(u32::to_be_bytes).collect();
    let batch: Vec<_> = payloads
        .iter()
        .zip(0..)
        .map(|(payload, id)| outgoing(payload, id))
        .collect();
    assert_eq!(sender.send(&batch).expect("sent"), 150);
    let mut storage = vec![0; 150 * 16];
    let mut incoming: Vec<_> = storage.chunks_mut(16).map(Incoming::new).collect();
    assert_eq!(receiver.receive(&mut incoming).expect("received"), 150);
    for (index, slot) in incoming.iter().enumerate() {
        assert_eq!(slot.payload(), (index as u32).to_be_bytes());
        assert!(slot.received.timestamps.software.is_some());
    }
    assert_eq!(collect(&sender).ids(), (0..150).collect::<Vec<_>>());
}

#[test]
fn what_is_omitted_is_off() {
    let (sender, receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    receiver.configure(&Timestamping::OFF).expect("configured");
    sender
        .configure(&Timestamping::OFF.receive())
        .expect("configured");
    assert_eq!(sender.send(&[outgoing(b"x", 1)]).expect("sent"), 1);
    assert_eq!(
        receive_one(&receiver, &mut [0; 8]).timestamps,
        Timestamps::NONE,
        "though another socket asks for timestamps"
    );
    assert!(collect(&sender).ids().is_empty());
}

#[test]
fn both_sources_leave_the_software_timestamp_where_there_is_no_hardware() {
    for source in [Source::Both, Source::HardwareElseSoftware] {
        for identification in [Identification::Carried, Identification::Counter] {
            let timestamping = Timestamping::OFF
                .source(source)
                .identification(identification);
            let (sender, receiver) = pair(Ipv4Addr::LOCALHOST, timestamping);
            assert_eq!(sender.send(&[outgoing(b"x", 6)]).expect("sent"), 1);
            let timestamps = receive_one(&receiver, &mut [0; 8]).timestamps;
            assert!(timestamps.software.is_some() && timestamps.hardware.is_none());
            assert_eq!(collect(&sender).ids(), [6], "{source:?} {identification:?}");
        }
    }
}

#[test]
fn a_dual_stack_socket_names_ipv4_peers_as_ipv4() {
    let receiver = bound(Ipv6Addr::UNSPECIFIED);
    receiver
        .configure(&Timestamping::OFF.receive().packet_information())
        .expect("configured");
    let port = receiver.local_address().expect("an address").port();
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    sender.send(&[Outgoing::new(b"x").to(to)]).expect("sent");
    let received = receive_one(&receiver, &mut [0; 8]);
    assert_eq!(received.source, sender.local_address().ok());
    assert_eq!(received.destination, Some(Ipv4Addr::LOCALHOST.into()));
    let back = Outgoing::new(b"y").to(received.source);
    assert_eq!(receiver.send(&[back]).expect("sent"), 1);
    assert_eq!(receive_one(&sender, &mut [0; 8]).length, 1);
}

#[test]
fn an_ipv6_address_on_an_ipv4_socket_is_refused_by_name() {
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    let error = sender
        .send(&[Outgoing::new(b"x").to(to)])
        .expect_err("wrong family");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("IPv6"), "{error}");
}

#[test]
fn empty_and_cut_datagrams_are_delivered_with_their_timestamps() {
    let (sender, receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    sender
        .send(&[outgoing(b"", 1), outgoing(b"0123456789", 2)])
        .expect("sent");
    let empty = receive_one(&receiver, &mut [0; 4]);
    assert_eq!((empty.length, empty.truncated), (0, false));
    let cut = receive_one(&receiver, &mut [0; 4]);
    assert_eq!((cut.length, cut.truncated), (4, true));
    assert!(empty.timestamps.software.is_some() && cut.timestamps.software.is_some());
    assert_eq!(collect(&sender).ids(), [1, 2]);
}

#[test]
fn no_wait_blocks_while_the_socket_is_kept_awake() {
    let socket = Arc::new(bound(Ipv4Addr::LOCALHOST));
    let waiters = [true, false].map(|alone| {
        let waiting = Arc::clone(&socket);
        thread::spawn(move || match alone {
            true => waiting.wait(Interest::Receive, MonotonicTime::MAX),
            false => wait_any(
                &[AnySocket::Udp(&**waiting)],
                MonotonicTime::MAX,
                &mut Vec::new(),
            )
            .map(|()| Readiness::default()),
        })
    });
    thread::sleep(Duration::from_millis(20)); // they block now
    socket.keep_awake(true);
    for waiter in waiters {
        let ended = waiter.join().expect("no panic").expect("waited");
        assert!(ended.timed_out(), "{ended:?}");
    }
    let wait = |until| socket.wait(Interest::Receive, until).expect("waited");
    assert!(wait(MonotonicTime::MAX).timed_out(), "later waits, too");
    socket.keep_awake(false);
    let later = clock::now() + Span::from_milliseconds(20);
    assert!(wait(later).timed_out());
    assert!(clock::now() >= later, "they block again");
    for awake in [true, false] {
        socket.close();
        socket.keep_awake(awake);
        assert!(wait(MonotonicTime::MAX).closed, "a close outlasts it");
    }
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
    socket.wake();
    assert!(
        socket
            .wait(Interest::Timestamps, MonotonicTime::MAX)
            .expect("waited")
            .woken
    );
    let waiters = [
        Interest::Receive,
        Interest::Timestamps,
        Interest::Timestamps,
    ]
    .map(|interest| {
        let waiting = Arc::clone(&socket);
        thread::spawn(move || waiting.wait(interest, MonotonicTime::MAX))
    });
    thread::sleep(Duration::from_millis(20));
    socket.close();
    for waiter in waiters {
        assert!(waiter.join().expect("no panic").expect("waited").closed);
    }
    for interest in [Interest::Timestamps, Interest::Timestamps, Interest::Send] {
        let later = socket.wait(interest, MonotonicTime::MAX).expect("waited");
        assert!(later.closed, "{interest:?}");
    }
    let error = socket
        .receive(&mut [Incoming::new(&mut [0; 8])])
        .expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Closed);
}
