//! Sending through AF_XDP, on a pair of veth interfaces in a network namespace of the test's
//! thread. Requires root and iproute2.

use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::Duration;
use wirestamp::xdp::{XdpSendOptions, XdpSender};
use wirestamp::{
    ErrorKind, Interface, MissingReason, TransmitAnswer, TransmitId, TransmitOutcome,
    TransmitRecord,
};

const FRAMES: u32 = 64;
const LONG: Duration = Duration::from_secs(20);
const NOT_SUPPORTED: TransmitOutcome = TransmitOutcome::Missing(MissingReason::NotSupported);

/// Runs `test` in its own network namespace; skips it without root, and reports that.
pub(crate) fn in_namespace(test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let ended = scope.spawn(|| {
            if let Err(missing) = unshare(CloneFlags::CLONE_NEWNET) {
                assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{missing}");
                return eprintln!("skipped: a network namespace: {missing}");
            }
            test();
        });
        ended.join().expect("the test passes");
    });
}

/// Runs `test` with one end of a cable, in its own namespace.
fn with_interface(test: impl FnOnce(&Interface) + Send) {
    in_namespace(|| {
        for line in [
            "link add xdp0 type veth peer name xdp1",
            "link set xdp1 up",
            "link set xdp0 up",
        ] {
            ip(line);
        }
        test(&Interface::find("xdp0").expect("made"));
    });
}

/// Runs `ip` with these arguments.
pub(crate) fn ip(line: &str) {
    let status = Command::new("ip").args(line.split(' ')).status();
    assert!(status.expect("iproute2").success(), "ip {line}");
}

fn open(interface: &Interface) -> XdpSender {
    let options = XdpSendOptions::new().frames(FRAMES);
    interface.send_xdp(&options).expect("opens")
}

fn queue(sender: &mut XdpSender, id: u32) -> wirestamp::Result<()> {
    let mut frame = sender.frame(LONG).expect("a frame is free");
    let packet = [[0xff; 12].as_slice(), &[0x88, 0xb5], &id.to_be_bytes()].concat();
    frame.data()[..packet.len()].copy_from_slice(&packet);
    frame.queue(packet.len(), TransmitId(id))
}

/// Fetches until no ID is awaited. Returns how often each resolved, and its outcome.
fn outcomes(sender: &mut XdpSender) -> BTreeMap<u32, Vec<TransmitOutcome>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut records = [TransmitRecord::EMPTY; 50];
    loop {
        let count = sender.wait_transmit_timestamps(&mut records, LONG);
        for record in &records[..count] {
            all.entry(record.id.0).or_default().push(record.outcome);
        }
        if count == 0 {
            return all;
        }
    }
}

#[test]
fn every_id_resolves_once_also_of_more_frames_than_there_is_room_for() {
    with_interface(|interface| {
        let mut sender = open(interface);
        (0..500).for_each(|id| queue(&mut sender, id).expect("queued"));
        let all = outcomes(&mut sender);
        assert!(all.values().all(|one| one == &[NOT_SUPPORTED]), "{all:?}");
        assert!(all.into_keys().eq(0..500));
        let counters = sender.counters();
        let missing = counters.missing_for(MissingReason::NotSupported);
        assert_eq!((counters.sent, counters.pending, missing), (500, 0, 500));
        let counted = sender.statistics().expect("counted");
        assert_eq!((counted.handed_over, counted.completed), (500, 500));
    });
}

#[test]
fn without_a_free_frame_nothing_is_lost_and_a_flush_frees_some() {
    with_interface(|interface| {
        let mut sender = open(interface);
        let mut id = 0;
        while sender.frame(Duration::ZERO).is_some() && id < FRAMES {
            queue(&mut sender, id).expect("queued");
            id += 1;
        }
        assert_eq!(id, FRAMES);
        sender.flush().expect("handed over");
        assert!(sender.frame(LONG).is_some());
        assert_eq!(outcomes(&mut sender).len(), FRAMES as usize);
    });
}

#[test]
fn an_id_in_use_and_a_frame_that_is_too_long_are_refused_and_not_sent() {
    with_interface(|interface| {
        let mut sender = open(interface);
        queue(&mut sender, 1).expect("queued");
        let error = queue(&mut sender, 1).expect_err("in use");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let mut frame = sender.frame(LONG).expect("a frame is free");
        let room = frame.data().len();
        let error = frame.queue(room + 1, TransmitId(2)).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!(
            sender.transmit_timestamp(TransmitId(2)),
            TransmitAnswer::Unknown
        );
        let answer = sender.wait_transmit_timestamp(TransmitId(1), LONG);
        assert_eq!(answer, TransmitAnswer::Resolved(NOT_SUPPORTED));
        queue(&mut sender, 1).expect("free again");
        assert_eq!(outcomes(&mut sender).len(), 1);
        let counted = sender.statistics().expect("counted");
        assert_eq!((counted.handed_over, counted.completed), (2, 2));
    });
}

#[test]
fn ids_of_frames_that_never_come_back_end_by_their_deadline() {
    with_interface(|interface| {
        let options = XdpSendOptions::new().frames(FRAMES);
        let options = options.deadline(Duration::from_millis(20));
        let mut sender = interface.send_xdp(&options).expect("opens");
        ip("link set xdp0 down");
        (0..10).for_each(|id| queue(&mut sender, id).expect("queued"));
        let error = sender.flush().expect_err("it is down");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        let all = outcomes(&mut sender);
        let silent = TransmitOutcome::Missing(MissingReason::NeverGenerated);
        assert!(all.values().all(|one| one == &[silent]), "{all:?}");
        assert_eq!(all.len(), 10);
        // they leave afterwards, which does not resolve an ID again
        ip("link set xdp0 up");
        sender.flush().expect("handed over");
        queue(&mut sender, 10).expect("queued");
        assert!(outcomes(&mut sender).into_keys().eq([10]));
        let counters = sender.counters();
        assert_eq!((counters.sent, counters.missing_in_all()), (11, 11));
    });
}

#[test]
fn a_longer_deadline_leaves_ids_pending() {
    with_interface(|interface| {
        let options = XdpSendOptions::new().frames(FRAMES);
        let options = options.deadline(Duration::from_secs(3_600));
        let mut sender = interface.send_xdp(&options).expect("opens");
        ip("link set xdp0 down");
        queue(&mut sender, 1).expect("queued");
        // twice the default deadline
        let answer = sender.wait_transmit_timestamp(TransmitId(1), Duration::from_millis(400));
        assert_eq!(answer, TransmitAnswer::Pending);
    });
}

#[test]
fn when_the_interface_goes_away_ids_resolve_and_no_wait_lasts() {
    with_interface(|interface| {
        let mut sender = open(interface);
        (0..FRAMES).for_each(|id| queue(&mut sender, id).expect("queued"));
        ip("link del xdp0");
        let error = sender.flush().expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
        let mut records = [TransmitRecord::EMPTY; FRAMES as usize + 1];
        let count = sender.transmit_timestamps(&mut records);
        let reset = TransmitOutcome::Missing(MissingReason::Reset);
        let ended = records[..count].iter().map(|record| record.outcome);
        assert!(ended.eq([reset; FRAMES as usize]), "{records:?}");
        assert!(outcomes(&mut sender).is_empty(), "each ended once");
        assert!(sender.frame(Duration::MAX).is_none(), "none comes back");
    });
}
