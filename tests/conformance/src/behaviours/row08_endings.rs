//! Row 8: every id ends exactly once, for a reason that is told and counted.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, ask, loss_of, outcome_of, timestamps_of};
use crate::refusal::refused_with_remedy;
use crate::rig::{DELAYED, Family, Need, Pair, Rig};
use std::collections::BTreeMap;
use std::time::Duration;
use wirestamp::timestamp::LateTimestamp;
use wirestamp::{
    ErrorKind, MissingReason, Source, Span, Timestamping, Timestamps, TransmitAnswer, TransmitId,
    TransmitOutcome, TransmitRecord, UdpSocket,
};

const DUPLICATED: &str = r#"
preset = "ideal"
[nic.faults]
duplicated = 1.0
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(8, "lost-because-none-was-generated", never_generated),
    Behaviour::new(8, "lost-because-none-came-though-others-do", deadline).needs(&[Need::Link]),
    Behaviour::new(8, "lost-by-a-reset", reset),
    Behaviour::new(8, "lost-by-a-new-configuration", reconfigured),
    Behaviour::new(8, "lost-because-the-socket-was-closed", closed),
    Behaviour::new(8, "lost-because-the-buffer-was-full", buffer_full),
    Behaviour::new(8, "a-timestamp-of-zero-ends-the-id-at-once", zero)
        .needs(&[Need::Simulation])
        .preset("tx-zero"),
    Behaviour::new(
        8,
        "advertised-timestamps-that-never-come-end-every-id",
        never,
    )
    .needs(&[Need::Simulation])
    .preset("tx-never"),
    Behaviour::new(8, "a-late-timestamp-is-offered-as-late", late)
        .needs(&[Need::DelayedTimestamps])
        .toml(DELAYED),
    Behaviour::new(
        8,
        "a-late-timestamp-that-comes-before-anybody-asked-is-late-too",
        late_before_asked,
    )
    .needs(&[Need::DelayedTimestamps])
    .toml(DELAYED),
    Behaviour::new(
        8,
        "a-late-timestamp-is-never-given-to-another-datagram",
        late_never_to_another,
    )
    .needs(&[Need::Simulation])
    .preset("tx-late"),
    Behaviour::new(8, "a-timestamp-that-comes-twice-counts-once", twice)
        .needs(&[Need::Simulation])
        .toml(DUPLICATED)
        .also(&[Need::Linux]),
    Behaviour::new(8, "every-id-ends-exactly-once", exactly_once).preset("tx-late"),
    Behaviour::new(
        8,
        "asking-for-one-id-does-not-end-another-whose-timestamp-waits",
        asking_ends_no_other,
    ),
    Behaviour::new(
        8,
        "outcomes-that-nobody-fetches-are-counted-and-memory-is-bounded",
        forgotten,
    ),
];

/// Always, at every moment.
#[track_caller]
fn check_balance(socket: &UdpSocket) {
    let counters = socket.counters();
    assert_eq!(
        counters.sent,
        counters.pending + counters.timestamped + counters.missing_in_all(),
        "{counters:?}"
    );
}

/// A pair whose ids stay pending: hardware timestamps are asked for where there are none.
fn silent(rig: &Rig, deadline: Span) -> Outcome<Pair> {
    let sending = Timestamping::OFF
        .transmit(64)
        .source(Source::Hardware)
        .transmit_deadline(deadline);
    rig.pair(Family::V4, sending, Timestamping::OFF)
}

fn check_lost(pair: &Pair, ids: &[u32], reason: MissingReason) -> Outcome {
    check_balance(&pair.sender);
    assert_eq!(
        pair.sender.counters().missing_for(reason),
        ids.len() as u64,
        "{:?}",
        pair.sender.counters()
    );
    for id in ids {
        assert_eq!(loss_of(&pair.sender, *id)?, reason);
        assert_eq!(
            ask(&pair.sender, *id)?,
            TransmitAnswer::Unknown,
            "told once"
        );
    }
    check_balance(&pair.sender);
    Ok(())
}

fn never_generated(rig: &Rig) -> Outcome {
    let pair = silent(rig, Span::from_milliseconds(10))?;
    pair.send(1)?;
    check_balance(&pair.sender);
    rig.pass(Duration::from_millis(20));
    check_lost(&pair, &[1], MissingReason::NeverGenerated)
}

/// The carrier is gone, the send succeeds all the same, and no timestamp comes.
fn deadline(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(64)
        .transmit_deadline(Span::from_milliseconds(30));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF.receive())?;
    pair.exchange(0)?;
    let mut ids = 1..;
    let mut is_timestamped = || -> Outcome<bool> {
        let id = ids.next().expect("enough ids");
        pair.send(id)?;
        Ok(match outcome_of(&pair.sender, id)? {
            TransmitOutcome::Timestamped(_) => true,
            TransmitOutcome::Missing(MissingReason::Deadline) => false,
            TransmitOutcome::Missing(reason) => panic!("lost, but: {reason}"),
        })
    };
    // an interface hears of its carrier a moment later
    rig.set_link(false)?;
    assert!(
        rig.until(|| is_timestamped().is_ok_and(|timestamped| !timestamped)),
        "timestamps without a carrier"
    );
    assert!(!is_timestamped()?);
    assert!(pair.sender.counters().missing_for(MissingReason::Deadline) >= 2);
    check_balance(&pair.sender);
    rig.set_link(true)?;
    assert!(
        rig.until(|| is_timestamped().is_ok_and(|timestamped| timestamped)),
        "timestamps come back"
    );
    check_balance(&pair.sender);
    Ok(())
}

fn reset(rig: &Rig) -> Outcome {
    let pair = silent(rig, Span::from_seconds(100))?;
    pair.send(1)?;
    pair.send(2)?;
    assert_eq!(pair.sender.counters().pending, 2);
    pair.sender.reset_timestamps();
    check_lost(&pair, &[1, 2], MissingReason::Reset)
}

fn reconfigured(rig: &Rig) -> Outcome {
    let pair = silent(rig, Span::from_seconds(100))?;
    pair.send(1)?;
    pair.sender.configure(Timestamping::OFF.transmit(8))?;
    check_lost(&pair, &[1], MissingReason::Reset)?;
    pair.send(2)?;
    timestamps_of(&pair.sender, 2)?;
    pair.sender.configure(Timestamping::OFF)?;
    assert_eq!(ask(&pair.sender, 2)?, TransmitAnswer::NotEnabled);
    Ok(())
}

fn closed(rig: &Rig) -> Outcome {
    let pair = silent(rig, Span::from_seconds(100))?;
    pair.send(1)?;
    pair.sender.close();
    check_lost(&pair, &[1], MissingReason::SocketClosed)
}

fn buffer_full(rig: &Rig) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(2),
        Timestamping::OFF.receive(),
    )?;
    for id in 1..=4 {
        pair.send(id)?;
        pair.receive()?;
    }
    assert_eq!(pair.sender.counters().timestamped, 2);
    check_lost(&pair, &[3, 4], MissingReason::BufferFull)
}

fn zero(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(8)
        .transmit_deadline(Span::from_seconds(100));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let before = pair.sender.now();
    pair.send(1)?;
    assert_eq!(loss_of(&pair.sender, 1)?, MissingReason::NeverGenerated);
    assert!(
        pair.sender.now() - before < Span::from_seconds(1),
        "it is certain before the deadline"
    );
    check_balance(&pair.sender);
    Ok(())
}

fn never(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..10 {
        pair.send(id)?;
    }
    for id in 0..10 {
        assert_eq!(loss_of(&pair.sender, id)?, MissingReason::NeverGenerated);
    }
    check_balance(&pair.sender);
    Ok(())
}

fn late(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(8)
        .transmit_deadline(Span::from_milliseconds(1));
    let (pair, _guard) = rig.delayed_pair(sending)?;
    pair.send(1)?;
    assert_eq!(loss_of(&pair.sender, 1)?, MissingReason::NeverGenerated);
    // its timestamp could still come: nobody else may have the id
    refused_with_remedy(
        pair.sender.send_to(b"x", pair.to, Some(TransmitId(1))),
        ErrorKind::InvalidInput,
    );
    let mut late = [LateTimestamp::EMPTY; 4];
    let mut count = 0;
    assert!(rig.until(|| {
        count = pair
            .sender
            .late_timestamps(&mut late)
            .expect("the queue is readable");
        count > 0
    }));
    assert_eq!((count, late[0].id), (1, TransmitId(1)));
    assert!(!late[0].timestamps.is_none());
    assert_eq!(
        ask(&pair.sender, 1)?,
        TransmitAnswer::Unknown,
        "it has ended as lost"
    );
    let counters = pair.sender.counters();
    assert_eq!(
        (
            counters.late,
            counters.timestamped,
            counters.missing_in_all()
        ),
        (1, 0, 1)
    );
    pair.send(1)?; // now the id is free
    check_balance(&pair.sender);
    Ok(())
}

fn late_before_asked(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(8)
        .transmit_deadline(Span::from_milliseconds(1));
    let (pair, _guard) = rig.delayed_pair(sending)?;
    pair.send(1)?;
    rig.pass(Duration::from_millis(5));
    assert_eq!(pair.sender.counters().missing_in_all(), 1);
    let mut late = [LateTimestamp::EMPTY; 4];
    assert!(rig.until(|| {
        pair.sender
            .late_timestamps(&mut late)
            .expect("the queue is readable")
            == 1
    }));
    assert_eq!(late[0].id, TransmitId(1));
    assert_eq!(
        loss_of(&pair.sender, 1)?,
        MissingReason::NeverGenerated,
        "lost it stays"
    );
    check_balance(&pair.sender);
    Ok(())
}

fn late_never_to_another(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(1_000)
        .transmit_deadline(Span::from_milliseconds(5));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let truth = rig.host();
    let check = |id: TransmitId, timestamps: &Timestamps| {
        let truly = truth
            .datagram_with_id(id)
            .map(|datagram| datagram.transmit_software_at);
        let timestamp = timestamps.software.expect("a software timestamp");
        assert!(
            truth.is_true(timestamp.at.value, truly),
            "the timestamp of {id}: {timestamp:?}, truly {truly:?}"
        );
    };
    let mut late = [LateTimestamp::EMPTY; 64];
    let (mut timestamped, mut offered) = (0, 0);
    for id in 0..600 {
        pair.send(id)?;
        if let TransmitOutcome::Timestamped(timestamps) = outcome_of(&pair.sender, id)? {
            check(TransmitId(id), &timestamps);
            timestamped += 1;
        }
        let count = pair.sender.late_timestamps(&mut late)?;
        late[..count]
            .iter()
            .for_each(|late| check(late.id, &late.timestamps));
        offered += count;
    }
    assert!(
        timestamped > 100 && offered > 100,
        "{timestamped} in time, {offered} late"
    );
    check_balance(&pair.sender);
    Ok(())
}

fn twice(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..10 {
        pair.exchange(id)?;
    }
    rig.pass(Duration::from_millis(100));
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.timestamped, counters.duplicate),
        (10, 10),
        "{counters:?}"
    );
    check_balance(&pair.sender);
    Ok(())
}

fn exactly_once(rig: &Rig) -> Outcome {
    const COUNT: u32 = 400;
    let sending = Timestamping::OFF
        .transmit(300)
        .transmit_deadline(Span::from_milliseconds(20));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let mut ended = BTreeMap::new();
    let mut records = [TransmitRecord::EMPTY; 16];
    for id in 0..COUNT {
        pair.send(id)?;
        pair.receive()?;
        if id % 50 == 0 {
            let count = pair.sender.transmit_timestamps(&mut records)?;
            records[..count]
                .iter()
                .for_each(|record| *ended.entry(record.id.0).or_insert(0) += 1);
            check_balance(&pair.sender);
        }
    }
    while pair.sender.counters().pending > 0 || ended.len() < COUNT as usize {
        let count = pair
            .sender
            .wait_transmit_timestamps(&mut records, PATIENCE)?;
        assert!(count > 0, "only {} of {COUNT} ended", ended.len());
        records[..count]
            .iter()
            .for_each(|record| *ended.entry(record.id.0).or_insert(0) += 1);
        check_balance(&pair.sender);
    }
    assert!(ended.values().all(|times| *times == 1), "{ended:?}");
    assert_eq!(pair.sender.transmit_timestamps(&mut records)?, 0);
    assert_eq!(pair.sender.counters().sent, u64::from(COUNT));
    Ok(())
}

/// Nobody has collected the timestamp of 1 when 2 is asked for, long after the deadline of 1.
fn asking_ends_no_other(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(8)
        .transmit_deadline(Span::from_milliseconds(20));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    for id in [1, 2, 3] {
        pair.send(id)?;
        timestamps_of(&pair.sender, id)?;
    }
    pair.send(1)?;
    pair.receive()?;
    rig.pass(Duration::from_millis(50));
    assert_eq!(
        ask(&pair.sender, 2)?,
        TransmitAnswer::Unknown,
        "told already"
    );
    assert!(matches!(
        ask(&pair.sender, 1)?,
        TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
    ));
    check_balance(&pair.sender);
    Ok(())
}

fn forgotten(rig: &Rig) -> Outcome {
    const COUNT: u32 = 5_000;
    let pair = rig.pair(Family::V4, Timestamping::OFF.transmit(0), Timestamping::OFF)?;
    for id in 0..COUNT {
        pair.send(id)?;
    }
    assert!(rig.until(|| pair.sender.counters().pending == 0));
    let counters = pair.sender.counters();
    assert_eq!(counters.missing_in_all(), u64::from(COUNT), "{counters:?}");
    assert!(counters.forgotten > 0, "{counters:?}");
    let mut records = vec![TransmitRecord::EMPTY; COUNT as usize];
    let told = pair.sender.transmit_timestamps(&mut records)? as u64;
    assert_eq!(told + counters.forgotten, u64::from(COUNT));
    assert_eq!(
        records[told as usize - 1].id,
        TransmitId(COUNT - 1),
        "the newest are remembered"
    );
    check_balance(&pair.sender);
    Ok(())
}
