//! The kernel's count of timestamped datagrams, and what restarts it.

use super::*;

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
        timestamp.at.value + timestamp.at.bound >= before,
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
