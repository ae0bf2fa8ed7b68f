//! Row 9: the caller's ids, carried by the system or mapped from its own count. The
//! second way is forced here, so that it is shown on every kernel.

use super::Behaviour;
use super::row16_engines::RING;
use crate::exchange::{PATIENCE, ask, outcome_of, timestamps_of};
use crate::refusal::refused;
use crate::rig::{Family, Need, Pair, Rig};
use crate::{Outcome, Stop};
use std::process::Command;
use wirestamp::socket::Identification;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    ErrorKind, MissingReason, MonotonicTime, Outgoing, Source, Timestamping, TransmitAnswer,
    TransmitId, TransmitOutcome,
};

const OLD_KERNEL: &str = r#"
preset = "ideal"
[host]
carried_ids = false
"#;

/// Whose count moves with every send that fails, as before Linux 6.9.
const OLD_COUNT: &str = r#"
preset = "ideal"
[host]
carried_ids = false
old_count = true
"#;

const COUNTED: Timestamping = Timestamping::OFF
    .transmit(256)
    .identification(Identification::Counter);
const CARRIED: Timestamping = Timestamping::OFF.transmit(256);
/// Holds two of the large datagrams, and passes the small ones from time to time.
const SMALL_QUEUE: &str = "tbf rate 80kbit burst 1600 limit 1600";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(9, "ids-are-carried-where-the-system-can", carried),
    Behaviour::new(9, "carried-ids-are-the-callers", |rig| {
        callers_ids(rig, CARRIED)
    }),
    Behaviour::new(9, "counted-ids-are-the-callers", |rig| {
        callers_ids(rig, COUNTED)
    })
    .also(&[Need::Linux]),
    Behaviour::new(9, "counted-ids-are-the-callers-in-batches", counted_batches)
        .also(&[Need::Linux]),
    Behaviour::new(9, "carried-ids-mix-with-datagrams-without-one", |rig| {
        mix(rig, CARRIED)
    }),
    Behaviour::new(9, "counted-ids-mix-with-datagrams-without-one", |rig| {
        mix(rig, COUNTED)
    })
    .also(&[Need::Linux]),
    Behaviour::new(9, "a-kernel-that-can-not-carry-counts", old_kernel)
        .needs(&[Need::Simulation])
        .toml(OLD_KERNEL)
        .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "a-datagram-that-is-too-long-does-not-shift-the-count",
        |rig| too_long(rig, COUNTED),
    )
    .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "a-datagram-that-is-too-long-does-not-shift-an-older-kernels-count",
        |rig| too_long(rig, COUNTED),
    )
    .needs(&[Need::Simulation])
    .toml(OLD_COUNT)
    .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "after-a-datagram-that-is-too-long-no-timestamp-is-its-predecessors",
        long_before_many,
    )
    .toml(OLD_COUNT)
    .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "a-pending-refusal-does-not-shift-an-older-kernels-count",
        pending_refusal,
    )
    .needs(&[Need::Simulation])
    .toml(OLD_COUNT)
    .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "a-datagram-that-is-too-long-frees-its-carried-id",
        |rig| too_long(rig, CARRIED),
    ),
    Behaviour::new(
        9,
        "a-pending-refusal-does-not-shift-the-count",
        pending_refusal,
    )
    .also(&[Need::Linux]),
    Behaviour::new(9, "a-full-queue-does-not-shift-the-count", |rig| {
        full_queue(rig, COUNTED)
    })
    .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(9, "a-firewall-does-not-shift-the-count", |rig| {
        firewall(rig, COUNTED)
    })
    .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(9, "a-full-queue-frees-carried-ids", |rig| {
        full_queue(rig, CARRIED)
    })
    .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(9, "a-firewall-frees-carried-ids", |rig| {
        firewall(rig, CARRIED.engine(RING))
    })
    .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(9, "a-full-send-buffer-does-not-shift-the-count", |rig| {
        full_send_buffer(rig, COUNTED)
    })
    .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(9, "a-full-send-buffer-frees-carried-ids", |rig| {
        full_send_buffer(rig, CARRIED.engine(RING))
    })
    .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(
        9,
        "sends-refused-at-random-shift-nothing",
        refused_at_random,
    )
    .needs(&[Need::Simulation])
    .preset("counter-ids")
    .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "sends-refused-at-random-shift-nothing-on-an-older-kernel",
        refused_at_random,
    )
    .needs(&[Need::Simulation])
    .preset("counter-old")
    .also(&[Need::Linux]),
    Behaviour::new(
        9,
        "a-new-configuration-gives-no-old-timestamp-to-a-new-id",
        configured_again,
    )
    .also(&[Need::Linux]),
    Behaviour::new(9, "counted-ids-serve-both-sources", both_sources).also(&[Need::Linux]),
    Behaviour::new(
        9,
        "while-an-old-timestamp-can-still-come-the-count-does-not-restart",
        quarantine,
    )
    .also(&[Need::Linux]),
];

fn carried(rig: &Rig) -> Outcome {
    let granted = rig.near_socket(Family::V4)?.configure(CARRIED)?;
    if !rig.is_simulated() && granted.timestamping.identification == Identification::Counter {
        return Err(Stop::lacking("this kernel is older than 6.13: it counts"));
    }
    assert_eq!(granted.timestamping.identification, Identification::Carried);
    Ok(())
}

/// A pair whose ids travel as asked for.
fn pair(rig: &Rig, sending: Timestamping) -> Outcome<Pair> {
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF.receive())?;
    if sending.identification == Identification::Counter {
        let granted = pair.sender.configure(sending)?;
        assert_eq!(granted.timestamping.identification, Identification::Counter);
    }
    Ok(pair)
}

/// Checks that the timestamp of each id was made when that id was sent.
#[derive(Debug, Default)]
struct Log(Vec<(u32, MonotonicTime, MonotonicTime)>);

impl Log {
    fn send(&mut self, rig: &Rig, pair: &Pair, id: u32) -> wirestamp::Result<()> {
        let (before, mut payload) = (pair.sender.now(), [0; 32]);
        payload[..4].copy_from_slice(&id.to_be_bytes());
        let gone = send_away(rig, pair, &payload, Some(TransmitId(id)))?;
        self.0.push((id, before, gone));
        Ok(())
    }

    /// Returns how many were timestamped.
    fn check(&self, rig: &Rig, pair: &Pair) -> Outcome<usize> {
        let mut timestamped = 0;
        for (id, before, after) in &self.0 {
            match outcome_of(&pair.sender, *id)? {
                TransmitOutcome::Timestamped(timestamps) => {
                    timestamped += 1;
                    check_own(
                        rig,
                        *id,
                        &timestamps.software.expect("a software timestamp"),
                        *before,
                        *after,
                    );
                }
                TransmitOutcome::Missing(reason) => {
                    assert_eq!(reason, MissingReason::Reset, "id {id}");
                }
            }
        }
        Ok(timestamped)
    }
}

/// Sends one datagram; returns when it was gone at the latest. A NIC may leave it waiting after
/// the send has returned: then it is gone when it arrives.
fn send_away(
    rig: &Rig,
    pair: &Pair,
    payload: &[u8],
    id: Option<TransmitId>,
) -> wirestamp::Result<MonotonicTime> {
    pair.sender.send_to(payload, pair.to, id)?;
    let mut buffer = [0; 64];
    while rig.cable().is_some() {
        let received = pair
            .receiver
            .receive(&mut buffer, PATIENCE)?
            .expect("the datagram arrives");
        if buffer.get(..received.length) == Some(payload) {
            break;
        }
    }
    Ok(pair.sender.now())
}

/// A timestamp that was made after the datagram was gone is another's. Simulated, the truth is known.
fn check_own(
    rig: &Rig,
    id: u32,
    timestamp: &SoftwareTimestamp,
    before: MonotonicTime,
    after: MonotonicTime,
) {
    if rig.is_simulated() {
        let truth = rig
            .host()
            .datagram_with_id(TransmitId(id))
            .expect("it was sent");
        assert_eq!(
            timestamp.at.value, truth.transmit_software_at,
            "the timestamp of {id}"
        );
    } else {
        let is_own = timestamp.at.value + timestamp.at.bound >= before
            && timestamp.at.value - timestamp.at.bound <= after;
        assert!(
            is_own,
            "the timestamp of {id}, sent from {before:?} to {after:?}: {timestamp:?}"
        );
    }
}

fn callers_ids(rig: &Rig, sending: Timestamping) -> Outcome {
    let pair = pair(rig, sending)?;
    let mut log = Log::default();
    for id in [7, u32::MAX, 0, 1_000_000, 3, 0x8000_0000] {
        log.send(rig, &pair, id)?;
        send_away(rig, &pair, b"without an id", None)?;
    }
    assert_eq!(log.check(rig, &pair)?, 6);
    assert_eq!(
        (
            pair.sender.counters().stray,
            pair.sender.counters().duplicate
        ),
        (0, 0)
    );
    Ok(())
}

fn counted_batches(rig: &Rig) -> Outcome {
    let pair = pair(rig, COUNTED)?;
    let ids: Vec<u32> = (0..100).map(|place| place * 77 + 5).collect();
    let one = |id: &u32| Outgoing::new(b"x").to(pair.to).id(TransmitId(*id));
    let batch: Vec<_> = ids.iter().map(one).collect();
    assert_eq!(pair.sender.send_batch(&batch)?, 100);
    let mut last = MonotonicTime::MIN;
    for id in &ids {
        let timestamp = timestamps_of(&pair.sender, *id)?
            .software
            .expect("a software timestamp");
        assert!(
            timestamp.at.value + timestamp.at.bound >= last,
            "in the order of sending"
        );
        last = timestamp.at.value;
    }
    Ok(())
}

/// Long runs of either, and both in turn: only those with an id are timestamped.
fn mix(rig: &Rig, sending: Timestamping) -> Outcome {
    let pair = pair(rig, sending)?;
    let (mut log, mut next) = (Log::default(), 0);
    for (with, without) in [
        (100, 1),
        (3, 100),
        (1, 1),
        (50, 0),
        (0, 50),
        (2, 3),
        (1, 1),
        (40, 40),
    ] {
        for _ in 0..with {
            log.send(rig, &pair, next)?;
            next += 7;
        }
        (0..without).try_for_each(|_| send_away(rig, &pair, b"without an id", None).map(drop))?;
        assert_eq!(log.check(rig, &pair)?, with);
        log = Log::default();
    }
    assert_eq!(
        (
            pair.sender.counters().stray,
            pair.sender.counters().duplicate
        ),
        (0, 0)
    );
    Ok(())
}

fn old_kernel(rig: &Rig) -> Outcome {
    let pair = rig.pair(Family::V4, CARRIED, Timestamping::OFF)?;
    let granted = pair.sender.configure(CARRIED)?;
    assert_eq!(granted.timestamping.identification, Identification::Counter);
    for id in [9, 4, u32::MAX] {
        pair.send(id)?;
        let timestamp = timestamps_of(&pair.sender, id)?
            .software
            .expect("a software timestamp");
        check_own(rig, id, &timestamp, MonotonicTime::MIN, MonotonicTime::MAX);
    }
    Ok(())
}

fn too_long(rig: &Rig, sending: Timestamping) -> Outcome {
    let pair = pair(rig, sending)?;
    let mut log = Log::default();
    for round in 0..5 {
        log.send(rig, &pair, 2 * round)?;
        let id = TransmitId(2 * round + 1);
        let error = refused(
            pair.sender.send_to(&[0; 65_508], pair.to, Some(id)),
            ErrorKind::InvalidInput,
        );
        assert!(error.code().is_some(), "{error:?}");
        assert_eq!(
            pair.sender.transmit_timestamp(id)?,
            TransmitAnswer::Unknown,
            "as if it had never begun"
        );
    }
    assert_eq!(log.check(rig, &pair)?, 5);
    assert_eq!(pair.sender.counters().sent, 5);
    Ok(())
}

/// What was seen on Linux 5.10: one refused datagram, and then each of forty gets the timestamp of
/// the one before it.
fn long_before_many(rig: &Rig) -> Outcome {
    let pair = pair(rig, COUNTED)?;
    let mut log = Log::default();
    log.send(rig, &pair, 100)?;
    refused(
        pair.sender
            .send_to(&[0; 65_508], pair.to, Some(TransmitId(101))),
        ErrorKind::InvalidInput,
    );
    (0..40).try_for_each(|id| log.send(rig, &pair, id))?;
    let timestamped = log.check(rig, &pair)?;
    assert!(
        timestamped > 20,
        "the count came into step too late: {timestamped} of 41"
    );
    assert_eq!(pair.sender.counters().duplicate, 0);
    Ok(())
}

/// The count begins anew with a configuration: timestamps of before are not taken for those after it.
fn configured_again(rig: &Rig) -> Outcome {
    let pair = pair(rig, COUNTED)?;
    for round in 0..3 {
        let first = 10 * round;
        let mut before = Log::default();
        (0..3).try_for_each(|id| before.send(rig, &pair, first + id))?;
        pair.sender.configure(COUNTED)?;
        let mut log = Log::default();
        (3..6).try_for_each(|id| log.send(rig, &pair, first + id))?;
        assert_eq!(log.check(rig, &pair)?, 3, "round {round}");
        before.check(rig, &pair)?;
    }
    Ok(())
}

/// A refusal of an earlier datagram fails the next send on a connected socket.
fn pending_refusal(rig: &Rig) -> Outcome {
    let pair = pair(rig, COUNTED)?;
    let nobody = rig.nobody(Family::V4)?;
    pair.sender.connect(nobody)?;
    let (mut sent, mut failed) = (Vec::new(), 0);
    for id in 0..20 {
        let before = pair.sender.now();
        match pair.sender.send(b"refused", Some(TransmitId(id))) {
            Ok(()) => {
                rig.pass(std::time::Duration::from_millis(1));
                sent.push((id, before, pair.sender.now())); // just before the next one
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
                failed += 1;
            }
        }
    }
    assert!(!sent.is_empty(), "{failed} of 20 failed");
    assert_eq!(Log(sent.clone()).check(rig, &pair)?, sent.len());
    Ok(())
}

/// Hardware timestamps are asked for where there are none, so each id that was counted can still get
/// one, as far as anybody knows. An id that is not counted ends as lost by a reset.
fn quarantine(rig: &Rig) -> Outcome {
    let sending = COUNTED
        .source(Source::Hardware)
        .transmit_deadline(wirestamp::Span::from_milliseconds(10));
    let pair = pair(rig, sending)?;
    let mut ids = 0..;
    let mut sent = || -> Outcome<Option<u32>> {
        let id = ids.next().expect("enough ids");
        match pair.sender.send(b"refused", Some(TransmitId(id))) {
            Ok(()) => Ok(Some(id)),
            Err(error) if error.kind() == ErrorKind::Unreachable => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    pair.sender.connect(rig.nobody(Family::V4)?)?;
    let failed = rig.until(|| sent().is_ok_and(|id| id.is_none()));
    assert!(failed, "no refusal came");
    for (seconds, reason) in [
        (0, MissingReason::Reset),
        (3, MissingReason::Reset),
        (2, MissingReason::NeverGenerated),
    ] {
        rig.pass(std::time::Duration::from_secs(seconds));
        let id = loop {
            if let Some(id) = sent()? {
                break id;
            }
        };
        assert_eq!(
            outcome_of(&pair.sender, id)?,
            TransmitOutcome::Missing(reason),
            "{seconds} s later"
        );
    }
    Ok(())
}

/// Sends that fail as `kind` between sends that go; each timestamp is still its own id's.
fn ambiguous(
    rig: &Rig,
    pair: &Pair,
    kind: ErrorKind,
    mut fail: impl FnMut(bool) -> Outcome,
) -> Outcome {
    let mut timestamped = 0;
    for round in 0..6 {
        let mut log = Log::default();
        log.send(rig, pair, 10 * round)?;
        fail(true)?;
        let (mut sent, mut failed) = (Vec::new(), 0);
        for id in 10 * round + 1..10 * round + 5 {
            if let Err(error) = pair
                .sender
                .send_to(&[0; 1_000], pair.to, Some(TransmitId(id)))
            {
                assert_eq!(error.kind(), kind, "{error}");
                assert_eq!(
                    ask(&pair.sender, id)?,
                    TransmitAnswer::Unknown,
                    "as if it had never begun"
                );
                failed += 1;
            } else {
                sent.push(id);
            }
        }
        assert!(failed > 0, "nothing failed in round {round}");
        for id in sent {
            outcome_of(&pair.sender, id)?;
        }
        fail(false)?;
        log.send(rig, pair, 10 * round + 5)?;
        log.send(rig, pair, 10 * round + 6)?;
        timestamped += log.check(rig, pair)?;
    }
    assert!(
        timestamped >= 6,
        "the count never came into step again: {timestamped}"
    );
    assert_eq!(pair.sender.counters().pending, 0);
    Ok(())
}

fn full_queue(rig: &Rig, sending: Timestamping) -> Outcome {
    let veth = rig.network();
    // ENOBUFS is told only to sockets that ask for errors
    let pair = pair(rig, sending.icmp_errors())?;
    veth.shape(SMALL_QUEUE).map_err(Stop::Lacking)?;
    ambiguous(rig, &pair, ErrorKind::Busy, |fail| {
        let discipline = if fail { SMALL_QUEUE } else { "pfifo" };
        Ok(veth.shape(discipline)?)
    })
}

fn firewall(rig: &Rig, sending: Timestamping) -> Outcome {
    let nft = |rules: &str| {
        let output = Command::new("nft").args(rules.split_whitespace()).output();
        let output = output.map_err(|error| format!("nft can't be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("nft {rules}: {}", said.trim()))
        }
    };
    let base = "add chain ip conformance out { type filter hook output priority 0 ; }";
    nft("add table ip conformance")
        .and_then(|()| nft(base))
        .map_err(Stop::Lacking)?;
    let pair = pair(rig, sending)?;
    ambiguous(rig, &pair, ErrorKind::NotPermitted, |fail| {
        let rules = if fail {
            "add rule ip conformance out udp length > 500 drop"
        } else {
            "flush chain ip conformance out"
        };
        Ok(nft(rules)?)
    })
}

/// The queue takes all, and lets 250 datagrams a second go: what is sent at once fills the socket's
/// buffer, also on a slow machine. There is room for all timestamps, and time for them.
fn full_send_buffer(rig: &Rig, sending: Timestamping) -> Outcome {
    let pair = pair(
        rig,
        sending
            .transmit(512)
            .transmit_deadline(wirestamp::Span::from_seconds(10)),
    )?;
    rig.network()
        .shape("tbf rate 2mbit burst 1600 limit 10000000")
        .map_err(Stop::Lacking)?;
    // A kernel that carries ids never miscounts. Of an older one the count may be in doubt once the
    // buffer was full: what is sent then is not timestamped until the timestamps under way have come.
    let in_doubt = rig
        .near_socket(Family::V4)?
        .configure(CARRIED)?
        .timestamping
        .identification
        == Identification::Counter;
    let (payload, mut next) = ([0; 1_000], 0);
    for _ in 0..3 {
        let one = |id: u32| Outgoing::new(&payload).to(pair.to).id(TransmitId(id));
        let batch: Vec<_> = (next..next + 400).map(one).collect();
        let before = pair.sender.now();
        let mut sent = pair.sender.send_batch(&batch)?;
        let certain = next + sent as u32;
        loop {
            assert!(sent < batch.len(), "the buffer was never full");
            match pair.sender.send_batch(&batch[sent..])? {
                0 => break,
                more => sent += more,
            }
        }
        let mut last = before;
        for id in next..next + sent as u32 {
            let outcome = outcome_of(&pair.sender, id)?;
            if in_doubt
                && id >= certain
                && outcome == TransmitOutcome::Missing(MissingReason::Reset)
            {
                continue;
            }
            let TransmitOutcome::Timestamped(timestamps) = outcome else {
                panic!("{id}: {outcome:?}")
            };
            let timestamp = timestamps.software.expect("a software timestamp");
            assert!(
                timestamp.at.value + timestamp.at.bound >= last,
                "the timestamp of {id} is another's: {timestamp:?}"
            );
            last = timestamp.at.value;
        }
        next += sent as u32;
        assert_eq!(
            ask(&pair.sender, next)?,
            TransmitAnswer::Unknown,
            "as if it had never begun"
        );
    }
    assert_eq!(pair.sender.counters().stray, 0);
    assert!(in_doubt || pair.sender.counters().missing_in_all() == 0);
    Ok(())
}

fn refused_at_random(rig: &Rig) -> Outcome {
    let pair = pair(rig, COUNTED)?;
    let (mut log, mut failed) = (Log::default(), 0);
    for id in 0..600 {
        match log.send(rig, &pair, id) {
            Ok(()) => {}
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::NotPermitted | ErrorKind::Busy),
                    "{error}"
                );
                assert_eq!(
                    pair.sender.transmit_timestamp(TransmitId(id))?,
                    TransmitAnswer::Unknown
                );
                failed += 1;
            }
        }
        if id % 100 == 99 {
            assert!(log.check(rig, &pair)? > 50, "most are timestamped");
            log = Log::default();
        }
    }
    assert!(failed > 0, "the preset refuses some sends");
    Ok(())
}

fn both_sources(rig: &Rig) -> Outcome {
    for source in [Source::Both, Source::HardwareElseSoftware] {
        let pair = pair(
            rig,
            COUNTED
                .source(source)
                .transmit_deadline(wirestamp::Span::from_milliseconds(5)),
        )?;
        for id in [5, 3, 8] {
            let before = pair.sender.now();
            pair.send(id)?;
            let outcome = outcome_of(&pair.sender, id)?;
            if rig.swallows_timestamps()
                && outcome == TransmitOutcome::Missing(MissingReason::NeverGenerated)
            {
                continue;
            }
            let TransmitOutcome::Timestamped(timestamps) = outcome else {
                panic!("{id}: {outcome:?}")
            };
            check_own(
                rig,
                id,
                &timestamps.software.expect("a software timestamp"),
                before,
                pair.sender.now(),
            );
        }
    }
    Ok(())
}
