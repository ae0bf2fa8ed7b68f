//! Against the running kernel, on loopback.

use super::*;
use crate::native::clock;
use crate::native::wire::constants::{OPT_TSONLY, TX_HARDWARE, TX_SOFTWARE};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wirestamp_core::configuration::{Engine, Identification, Source};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{
    Arrival, CountRules, CounterMap, MissingReason, Notice, SendFailure, Timestamps, TransmitId,
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

/// What came out of an error queue.
#[derive(Debug, Default)]
struct Kept {
    timestamped: Vec<(u32, Timestamps)>,
    lost: Vec<(u32, MissingReason)>,
    notices: Vec<Notice>,
    overflows: usize,
}

impl Kept {
    fn of(tracker: &mut TransmitTracker) -> Self {
        let mut kept = Self::default();
        tracker.take(|arrival| match *arrival {
            Arrival::Timestamped(id, timestamps) => kept.timestamped.push((id.0, timestamps)),
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
        .configure(&timestamping.receive())
        .expect("configured");
    (sender, receiver)
}

fn soon() -> MonotonicTime {
    clock::now() + Span::from_seconds(2)
}

fn outgoing(payload: &[u8], id: u32) -> Outgoing<'_> {
    Outgoing {
        payload,
        to: None,
        id: Some(TransmitId(id)),
    }
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
            before - sent.bound <= sent.at
                && sent.at <= arrived.at
                && arrived.at <= after + arrived.bound
        );
        assert!(sent.bound < Span::from_milliseconds(1), "{:?}", sent.bound);
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
fn failed_sends_do_not_shift_the_count() {
    let (sender, receiver) = pair(
        Ipv4Addr::LOCALHOST,
        Timestamping::OFF.identification(Identification::Counter),
    );
    assert_eq!(sender.send(&[outgoing(b"x", 1)]).expect("sent"), 1);
    let too_long = vec![0; 65_508];
    let error = sender
        .send(&[outgoing(&too_long, 2)])
        .expect_err("too long");
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidInput, Some(libc::EMSGSIZE))
    );
    assert_eq!(sender.send(&[outgoing(b"x", 3)]).expect("sent"), 1);
    assert_eq!(collect(&sender).ids(), [1, 3]);
    drop(receiver);
}

#[test]
fn after_an_ambiguous_failure_the_count_starts_anew() {
    let (sender, _receiver) = pair(
        Ipv4Addr::LOCALHOST,
        Timestamping::OFF.identification(Identification::Counter),
    );
    assert_eq!(
        sender
            .send(&[outgoing(b"x", 10), outgoing(b"x", 11)])
            .expect("sent"),
        2
    );
    // As if a firewall had refused a send: the kernel may have counted it or not.
    lock(&sender.tracker).failed(SendFailure::Other);
    assert_eq!(
        sender
            .send(&[outgoing(b"x", 12), outgoing(b"x", 13)])
            .expect("sent"),
        2
    );
    assert_eq!(collect(&sender).ids(), [10, 11, 12, 13]);
}

#[test]
fn while_an_old_timestamp_can_still_come_nothing_is_timestamped_and_every_id_ends() {
    let (sender, _receiver) = pair(
        Ipv4Addr::LOCALHOST,
        Timestamping::OFF.identification(Identification::Counter),
    );
    {
        let mut tracker = lock(&sender.tracker);
        tracker.sent(TransmitId(98), true, clock::now()); // its timestamp never comes
        tracker.failed(SendFailure::Other);
    }
    assert_eq!(sender.send(&[outgoing(b"x", 99)]).expect("sent"), 1);
    let kept = collect(&sender);
    assert_eq!(
        (kept.ids(), kept.lost),
        (vec![], vec![(99, MissingReason::Reset)])
    );
}

/// The kernel's numbers begin anew, and what waited under the old ones is nobody's.
#[test]
fn a_new_configuration_gives_no_old_timestamp_to_a_new_id() {
    let counted = Timestamping::OFF.identification(Identification::Counter);
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, counted);
    assert_eq!(
        sender
            .send(&[outgoing(b"x", 1), outgoing(b"x", 2)])
            .expect("sent"),
        2
    );
    sender.configure(&counted.transmit(64)).expect("configured");
    let before = clock::now();
    assert_eq!(sender.send(&[outgoing(b"x", 3)]).expect("sent"), 1);
    let kept = collect(&sender);
    assert_eq!(kept.ids(), [3]);
    let timestamp = kept.timestamped[0]
        .1
        .software
        .expect("a software timestamp");
    assert!(
        timestamp.at + timestamp.bound >= before,
        "the timestamp of an earlier datagram"
    );
}

#[test]
fn an_adopted_socket_timestamps_once_nothing_of_its_owner_can_come() {
    let counted = Timestamping::OFF.identification(Identification::Counter);
    for identification in [Identification::Carried, Identification::Counter] {
        let (owner, _receiver) = pair(Ipv4Addr::LOCALHOST, counted);
        owner
            .send(&[outgoing(b"x", 0), outgoing(b"x", 1)])
            .expect("sent");
        let descriptor = owner.fd.try_clone().expect("a second descriptor");
        let (socket, tracker) = Socket::adopt(descriptor).expect("adopted");
        let tracker = Mutex::new(tracker);
        let heir = Tracked { socket, tracker };
        let wanted = Timestamping::OFF.transmit(64);
        heir.configure(&wanted.identification(identification))
            .expect("configured");
        heir.send(&[outgoing(b"x", 0)]).expect("sent");
        let kept = collect(&heir);
        let reset = vec![(0, MissingReason::Reset)];
        assert_eq!((kept.ids(), kept.lost), (vec![], reset));

        let long_ago = clock::now() - CounterMap::QUARANTINE;
        lock(&heir.tracker).adopt(long_ago);
        heir.send(&[outgoing(b"x", 1)]).expect("sent");
        let kept = collect(&heir);
        assert_eq!((kept.ids(), kept.lost), (vec![1], vec![]));
        let is_carried = heir.carried.load(Ordering::Relaxed);
        assert_eq!(is_carried, !lock(&heir.tracker).is_needed_to_send());
    }
}

#[test]
fn what_can_still_come_of_an_earlier_configuration_holds_up_the_count() {
    let counted = Timestamping::OFF
        .identification(Identification::Counter)
        .transmit(64);
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, counted);
    lock(&sender.tracker).sent(TransmitId(98), true, clock::now());
    for timestamping in [Timestamping::OFF, counted] {
        sender.configure(&timestamping).expect("configured");
    }
    assert_eq!(sender.send(&[outgoing(b"x", 99)]).expect("sent"), 1);
    let kept = collect(&sender);
    assert_eq!(
        (kept.ids(), kept.lost),
        (vec![], vec![(99, MissingReason::Reset)])
    );
}

/// As on kernels that do not count datagrams with a hardware timestamp alone: asked for so that the
/// kernel counts, and nobody's.
#[test]
fn a_software_timestamp_that_nobody_wants_ends_no_id() {
    let timestamping = Timestamping::OFF
        .source(Source::Hardware)
        .identification(Identification::Counter);
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, timestamping);
    for unreported in [true, false] {
        let rules = CountRules {
            counts_hardware_alone: !unreported,
            ..CountRules::FIXED
        };
        lock(&sender.tracker).configure(&timestamping, Some(rules));
        sender
            .transmit_bits
            .store(TX_HARDWARE | TX_SOFTWARE, Ordering::Release);
        assert_eq!(sender.send(&[outgoing(b"x", 1)]).expect("sent"), 1);
        let kept = collect(&sender);
        assert_eq!(
            (kept.timestamped.len(), kept.lost.len()),
            (0, usize::from(!unreported)),
            "{kept:?}"
        );
    }
}

#[test]
fn datagrams_without_an_id_are_not_timestamped() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    let plain = Outgoing {
        payload: b"x",
        to: None,
        id: None,
    };
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

/// A ring gives no timestamp that has its datagram with it. While an id is awaited, a drain that had
/// others from the ring looks for it all the same: what is overdue ends as lost after it.
#[test]
fn a_drain_finds_what_a_ring_leaves_while_an_id_is_awaited() {
    let (sender, _receiver) = pair(
        Ipv4Addr::LOCALHOST,
        Timestamping::OFF.engine(Engine::Ring { longest: 1_472 }),
    );
    sender.send(&[outgoing(b"x", 1)]).expect("sent");
    let mut ids = collect_awaited(&sender, 2).ids(); // from here on the ring is told
    sender
        .send(&[outgoing(b"x", 2), outgoing(b"x", 3)])
        .expect("sent");
    let with_datagram = sender.flags.load(Ordering::Relaxed) & !OPT_TSONLY;
    sender.set_flags(with_datagram).expect("set");
    sender.send(&[outgoing(b"x", 4)]).expect("sent");
    ids.extend(collect_awaited(&sender, 4).ids());
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4]);
}

/// The same UTC times are shown again: datagrams that were under way are in doubt, and none
/// after them, however many there are at a time.
#[test]
fn after_a_step_back_a_busy_queue_is_in_doubt_once() {
    const AT_ONCE: usize = 20;
    for engine in [Engine::Calls, Engine::Ring { longest: 1_472 }] {
        let (sender, receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF.engine(engine));
        let mut storage = vec![0; AT_ONCE * 16];
        for round in 0..6 {
            if round == 2 {
                *lock(&receiver.receiving).placement.offset_mut() = clock::an_hour_back();
            }
            let before = clock::now();
            (0..AT_ONCE).for_each(|_| {
                assert_eq!(
                    sender.send(&[Outgoing {
                        id: None,
                        ..outgoing(b"x", 0)
                    }]),
                    Ok(1)
                );
            });
            let mut incoming: Vec<_> = storage.chunks_mut(16).map(Incoming::new).collect();
            let mut received = 0;
            while received < AT_ONCE {
                let ready = receiver.wait(Interest::Receive, soon()).expect("waited");
                assert!(!ready.timed_out(), "{received} of {AT_ONCE} came");
                received += receiver
                    .receive(&mut incoming[received..])
                    .expect("received");
            }
            let after = clock::now();
            for slot in &incoming {
                let Some(timestamp) = slot.received.timestamps.software else {
                    assert_eq!(round, 2, "{engine:?}: in doubt for longer");
                    continue;
                };
                let inside = timestamp.at + timestamp.bound >= before
                    && timestamp.at - timestamp.bound <= after;
                assert!(
                    inside,
                    "{engine:?}, round {round}: {timestamp:?} from {before:?} to {after:?}"
                );
            }
            let in_doubt = incoming
                .iter()
                .any(|slot| slot.received.timestamps.software.is_none());
            assert_eq!(in_doubt, round == 2, "{engine:?}, round {round}");
        }
    }
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
    assert_eq!(collect(&sender).ids(), []);
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
        .configure(&Timestamping::OFF.receive())
        .expect("configured");
    let port = receiver.local_address().expect("an address").port();
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    sender
        .send(&[Outgoing {
            payload: b"x",
            to: Some(to),
            id: None,
        }])
        .expect("sent");
    let received = receive_one(&receiver, &mut [0; 8]);
    assert_eq!(received.source, sender.local_address().ok());
    assert_eq!(received.destination, Some(Ipv4Addr::LOCALHOST.into()));
    let back = Outgoing {
        payload: b"y",
        to: received.source,
        id: None,
    };
    assert_eq!(receiver.send(&[back]).expect("sent"), 1);
    assert_eq!(receive_one(&sender, &mut [0; 8]).length, 1);
}

#[test]
fn an_ipv6_address_on_an_ipv4_socket_is_refused_by_name() {
    let sender = bound(Ipv4Addr::LOCALHOST);
    let to = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    let error = sender
        .send(&[Outgoing {
            payload: b"x",
            to: Some(to),
            id: None,
        }])
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

/// A port on which nobody listens.
fn closed_port() -> SocketAddr {
    bound(Ipv4Addr::LOCALHOST)
        .local_address()
        .expect("an address")
}

#[test]
fn icmp_errors_come_as_notices_and_not_as_timestamps() {
    let sender = bound(Ipv4Addr::LOCALHOST);
    sender
        .configure(&Timestamping::OFF.receive().transmit(8).icmp_errors())
        .expect("configured");
    let to = closed_port();
    sender
        .send(&[Outgoing {
            payload: b"x",
            to: Some(to),
            id: Some(TransmitId(3)),
        }])
        .expect("sent");
    let kept = collect(&sender);
    assert_eq!(kept.ids(), [3]);
    let [Notice::Icmp(icmp)] = kept.notices[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        (icmp.code, icmp.icmp_type, icmp.icmp_code),
        (libc::ECONNREFUSED, 3, 3)
    );
    assert_eq!((icmp.destination, icmp.reporter), (Some(to), Some(to.ip())));
    // The pending error of the first does not fail the second.
    assert_eq!(
        sender
            .send(&[Outgoing {
                payload: b"x",
                to: Some(to),
                id: None
            }])
            .expect("sent"),
        1
    );
}

#[test]
fn a_refusal_without_notices_is_reported_once_and_ends_no_wait_early_for_ever() {
    let sender = bound(Ipv4Addr::LOCALHOST);
    sender
        .configure(&Timestamping::OFF.transmit(8))
        .expect("configured");
    sender.connect(closed_port()).expect("connected");
    sender
        .send(&[Outgoing {
            payload: b"x",
            to: None,
            id: None,
        }])
        .expect("sent");
    assert!(
        sender
            .wait(Interest::Timestamps, soon())
            .expect("waited")
            .timestamps,
        "the refusal shows as an error"
    );
    let kept = collect(&sender);
    assert_eq!(
        kept.notices,
        [Notice::Other {
            origin: 1,
            code: libc::ECONNREFUSED
        }]
    );
    let quick = clock::now() + Span::from_milliseconds(5);
    assert!(
        sender
            .wait(Interest::Timestamps, quick)
            .expect("waited")
            .timed_out(),
        "it would spin"
    );
}

#[test]
fn zero_copy_completions_are_set_apart() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    call::set_number(sender.as_fd(), libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1).expect("zero copy");
    let payload = vec![1u8; 8_000];
    // SAFETY: `payload` outlives the completion, which is awaited below.
    let sent = unsafe {
        libc::send(
            std::os::fd::AsRawFd::as_raw_fd(&sender.fd),
            payload.as_ptr().cast(),
            payload.len(),
            libc::MSG_ZEROCOPY,
        )
    };
    assert_eq!(sent, 8_000);
    sender.send(&[outgoing(b"x", 2)]).expect("sent");
    let (mut ids, mut notices) = (vec![], vec![]);
    while notices.is_empty() {
        assert!(
            !sender
                .wait(Interest::Timestamps, soon())
                .expect("waited")
                .timed_out()
        );
        let kept = collect(&sender);
        ids.extend(kept.ids());
        notices.extend(kept.notices);
    }
    assert_eq!(
        (ids, notices),
        (vec![2], vec![Notice::ZeroCopy { first: 0, last: 0 }])
    );
}

#[test]
fn a_full_error_queue_is_noticed() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF);
    call::set_number(sender.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 32_768)
        .expect("a small buffer");
    for id in 0..200 {
        sender.send(&[outgoing(b"x", id)]).expect("sent");
    }
    let kept = collect(&sender);
    assert!(
        kept.timestamped.len() < 200 && kept.overflows == 1,
        "{} timestamps",
        kept.timestamped.len()
    );
    assert_eq!(
        kept.ids(),
        (0..kept.timestamped.len() as u32).collect::<Vec<_>>(),
        "the oldest are kept"
    );
    sender.send(&[outgoing(b"x", 300)]).expect("sent");
    let later = collect(&sender);
    assert_eq!((later.ids(), later.overflows), (vec![300], 0));
}

#[test]
fn unread_datagrams_that_keep_timestamps_out_are_noticed() {
    let sender = bound(Ipv4Addr::LOCALHOST);
    sender
        .configure(&Timestamping::OFF.receive().transmit(8))
        .expect("configured");
    call::set_number(sender.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 4_096)
        .expect("a small buffer");
    sender
        .connect(sender.local_address().expect("an address"))
        .expect("connected to itself");
    for _ in 0..50 {
        sender
            .send(&[Outgoing {
                payload: &[0; 512],
                to: None,
                id: None,
            }])
            .expect("sent");
    }
    sender.send(&[outgoing(b"x", 1)]).expect("sent");
    let kept = collect_awaited(&sender, 1);
    assert_eq!((kept.ids(), kept.overflows), (vec![], 1));
    while sender
        .receive(&mut [Incoming::new(&mut [0; 600])])
        .expect("received")
        == 1
    {}
    sender
        .send(&[Outgoing {
            payload: b"x",
            to: None,
            id: None,
        }])
        .expect("sent");
    receive_one(&sender, &mut [0; 8]);
    assert!(sender.dropped() > 30, "{} dropped", sender.dropped());
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
        .configure(&Timestamping::OFF.receive())
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
