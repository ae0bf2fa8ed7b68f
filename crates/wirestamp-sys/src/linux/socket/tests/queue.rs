//! The entries of the error queue: timestamps and others.

use super::*;

/// A ring gives no timestamp that has its datagram with it. While an id is awaited, a drain that had
/// others from the ring looks for it nevertheless: overdue IDs resolve as missing after it.
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
                assert_eq!(sender.send(&[outgoing(b"x", 0).id(None)]), Ok(1));
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
                let inside = timestamp.at.value + timestamp.at.bound >= before
                    && timestamp.at.value - timestamp.at.bound <= after;
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

/// A port on which nobody listens.
/// Who asks for each timestamp at once empties the queue each time: one timestamp is in doubt, none after it.
#[test]
fn after_a_step_back_one_timestamp_at_a_time_is_in_doubt_once() {
    let (sender, _receiver) = pair(Ipv4Addr::LOCALHOST, Timestamping::OFF.engine(Engine::Calls));
    *lock(&sender.tracker).placement().offset_mut() = clock::an_hour_back();
    let in_doubt: Vec<bool> = (0..4)
        .map(|id| {
            sender.send(&[outgoing(b"x", id)]).expect("sent");
            let tracker = &mut lock(&sender.tracker);
            sender.read_queue(tracker, 1).expect("read");
            let kept = Kept::of(tracker);
            assert_eq!(kept.timestamped.len() + kept.lost.len(), 1, "{kept:?}");
            kept.timestamped
                .iter()
                .all(|(_, timestamps)| timestamps.software.is_none_or(|of| of.clock_stepped))
        })
        .collect();
    assert_eq!(in_doubt, [true, false, false, false]);
}

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
        .send(&[Outgoing::new(b"x").to(to).id(TransmitId(3))])
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
    assert_eq!(sender.send(&[Outgoing::new(b"x").to(to)]).expect("sent"), 1);
}

#[test]
fn a_refusal_without_notices_is_reported_once_and_ends_no_wait_early_for_ever() {
    let sender = bound(Ipv4Addr::LOCALHOST);
    sender
        .configure(&Timestamping::OFF.transmit(8))
        .expect("configured");
    sender.connect(closed_port()).expect("connected");
    sender.send(&[Outgoing::new(b"x")]).expect("sent");
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
        sender.send(&[Outgoing::new(&[0; 512])]).expect("sent");
    }
    sender.send(&[outgoing(b"x", 1)]).expect("sent");
    let kept = collect_awaited(&sender, 1);
    assert_eq!((kept.ids(), kept.overflows), (vec![], 1));
    while sender
        .receive(&mut [Incoming::new(&mut [0; 600])])
        .expect("received")
        == 1
    {}
    sender.send(&[Outgoing::new(b"x")]).expect("sent");
    receive_one(&sender, &mut [0; 8]);
    assert!(sender.dropped() > 30, "{} dropped", sender.dropped());
}
