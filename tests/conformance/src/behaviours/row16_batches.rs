//! Row 16: many packets per call, in the caller's buffers. That nothing is allocated for
//! them is shown in `tests/allocations.rs`.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, ask, timestamps_of};
use crate::refusal::refused;
use crate::rig::{Family, Need, Pair, Rig};
use std::time::Duration;
use wirestamp::{
    ErrorKind, Incoming, Outgoing, Span, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome,
    TransmitRecord,
};

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        16,
        "a-batch-arrives-whole-in-order-and-timestamped",
        whole_batch,
    )
    .needs(&[Need::Lossless]),
    Behaviour::new(
        16,
        "timestamps-are-fetched-in-batches-oldest-first",
        fetched_oldest_first,
    ),
    Behaviour::new(
        16,
        "timestamped-and-lost-are-fetched-in-the-order-in-which-they-ended",
        fetched_as_ended,
    ),
    Behaviour::new(16, "a-small-room-is-filled-and-the-rest-waits", small_room)
        .needs(&[Need::Lossless]),
    Behaviour::new(16, "ids-and-no-ids-mix-in-a-batch", mixed),
    Behaviour::new(16, "destinations-mix-in-a-batch", destinations),
    Behaviour::new(
        16,
        "a-batch-ends-at-the-datagram-that-can-not-be-sent",
        ends_at_error,
    ),
    Behaviour::new(16, "one-packet-calls-are-batches-of-one", batches_of_one),
    Behaviour::new(
        16,
        "an-empty-batch-does-nothing-and-waits-for-nothing",
        empty_batch,
    ),
];

const COUNT: usize = 150;

fn wide_pair(rig: &Rig) -> Outcome<Pair> {
    rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(1_000),
        Timestamping::OFF.receive().packet_information(),
    )
}

fn outgoing<'a>(pair: &Pair, payload: &'a [u8], id: u32) -> Outgoing<'a> {
    Outgoing::new(payload).to(pair.to).id(TransmitId(id))
}

/// Sends all of it, however many calls that takes.
fn send_all(pair: &Pair, batch: &[Outgoing<'_>]) -> Outcome {
    let mut sent = 0;
    while sent < batch.len() {
        sent += pair.sender.send_batch(&batch[sent..])?;
    }
    Ok(())
}

/// Receives `COUNT` datagrams in batches; returns their payloads.
fn receive_all(pair: &Pair) -> Outcome<Vec<Vec<u8>>> {
    let mut payloads = Vec::new();
    let mut storage = vec![0; 64 * 32];
    while payloads.len() < COUNT {
        let mut batch: Vec<_> = storage.chunks_mut(32).map(Incoming::new).collect();
        let count = pair
            .receiver
            .receive_batch(&mut batch, pair.receiver.now() + Span::from(PATIENCE))?;
        assert!(count > 0, "only {} of {COUNT} arrived", payloads.len());
        for incoming in &batch[..count] {
            assert!(
                incoming.received.timestamps.software.is_some(),
                "{:?}",
                incoming.received
            );
            payloads.push(incoming.payload().to_vec());
        }
    }
    Ok(payloads)
}

fn whole_batch(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    let payloads: Vec<[u8; 4]> = (0..COUNT as u32).map(u32::to_be_bytes).collect();
    let batch: Vec<_> = payloads
        .iter()
        .zip(1_000..)
        .map(|(payload, id)| outgoing(&pair, payload, id))
        .collect();
    send_all(&pair, &batch)?;
    assert_eq!(receive_all(&pair)?, payloads, "in order");
    for id in 0..COUNT as u32 {
        timestamps_of(&pair.sender, 1_000 + id)?;
    }
    Ok(())
}

fn fetched_oldest_first(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    let ids: Vec<u32> = (0..COUNT as u32).rev().collect();
    send_all(
        &pair,
        &ids.iter()
            .map(|id| outgoing(&pair, b"x", *id))
            .collect::<Vec<_>>(),
    )?;
    let (mut fetched, mut records) = (Vec::new(), [TransmitRecord::EMPTY; 64]);
    while fetched.len() < COUNT {
        let count = pair
            .sender
            .wait_transmit_timestamps(&mut records, PATIENCE)?;
        assert!(count > 0, "only {} ended", fetched.len());
        for record in &records[..count] {
            assert!(
                matches!(record.outcome, TransmitOutcome::Timestamped(_)),
                "{record:?}"
            );
            fetched.push(record.id.0);
        }
    }
    assert_eq!(fetched, ids, "in the order of sending");
    Ok(())
}

fn fetched_as_ended(rig: &Rig) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(2),
        Timestamping::OFF.receive(),
    )?;
    for id in [7, 5, 6, 4] {
        pair.send(id)?;
        pair.receive()?;
        pair.sender.counters(); // collects
    }
    let mut records = [TransmitRecord::EMPTY; 8];
    assert_eq!(pair.sender.transmit_timestamps(&mut records)?, 4);
    let fetched = records.map(|record| {
        (
            record.id.0,
            matches!(record.outcome, TransmitOutcome::Timestamped(_)),
        )
    });
    assert_eq!(fetched[..4], [(7, true), (5, true), (6, false), (4, false)]);
    Ok(())
}

fn small_room(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    for id in 0..5 {
        pair.send(id)?;
    }
    rig.pass(Duration::from_millis(5));
    let mut storage = [[0; 8]; 3];
    let mut batch: Vec<_> = storage
        .iter_mut()
        .map(|buffer| Incoming::new(buffer))
        .collect();
    assert_eq!(pair.receiver.try_receive_batch(&mut batch)?, 3);
    assert_eq!(pair.receiver.try_receive_batch(&mut batch)?, 2);
    assert_eq!(pair.receiver.try_receive_batch(&mut batch)?, 0);
    let mut records = [TransmitRecord::EMPTY; 3];
    assert_eq!(pair.sender.transmit_timestamps(&mut records)?, 3);
    assert_eq!(records.map(|record| record.id.0), [0, 1, 2]);
    assert_eq!(pair.sender.transmit_timestamps(&mut records)?, 2);
    assert_eq!(pair.sender.transmit_timestamps(&mut records)?, 0);
    Ok(())
}

fn mixed(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    let one = |id: Option<u32>| Outgoing::new(b"x").to(pair.to).id(id.map(TransmitId));
    send_all(&pair, &[None, Some(5), None, None, Some(3), None].map(one))?;
    for id in [5, 3] {
        timestamps_of(&pair.sender, id)?;
    }
    assert_eq!(pair.sender.counters().sent, 2);
    for _ in 0..6 {
        pair.receive()?;
    }
    Ok(())
}

fn destinations(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    let other = rig.far_socket(Family::V4)?;
    let elsewhere = other.local_address()?;
    let one = |(to, id)| Outgoing::new(b"x").to(to).id(TransmitId(id));
    send_all(
        &pair,
        &[(pair.to, 1), (elsewhere, 2), (pair.to, 3)].map(one),
    )?;
    pair.receive()?;
    pair.receive()?;
    assert!(other.receive(&mut [0; 8], PATIENCE)?.is_some());
    for id in 1..=3 {
        timestamps_of(&pair.sender, id)?;
    }
    Ok(())
}

fn ends_at_error(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    let too_long = vec![0; 65_508];
    let batch = [
        outgoing(&pair, b"a", 1),
        outgoing(&pair, b"b", 2),
        outgoing(&pair, &too_long, 3),
        outgoing(&pair, b"d", 4),
    ];
    assert_eq!(pair.sender.send_batch(&batch)?, 2, "those before it went");
    refused(pair.sender.send_batch(&batch[2..]), ErrorKind::InvalidInput);
    assert_eq!(
        [ask(&pair.sender, 3)?, ask(&pair.sender, 4)?],
        [TransmitAnswer::Unknown; 2]
    );
    assert_eq!(pair.sender.send_batch(&batch[3..])?, 1, "its id was free");
    for id in [1, 2, 4] {
        pair.receive()?;
        timestamps_of(&pair.sender, id)?;
    }
    assert_eq!(pair.sender.counters().sent, 3);
    // an id twice in one batch is one too many
    let twice = [outgoing(&pair, b"a", 7), outgoing(&pair, b"b", 7)];
    assert_eq!(pair.sender.send_batch(&twice)?, 1);
    refused(pair.sender.send_batch(&twice[1..]), ErrorKind::InvalidInput);
    Ok(())
}

fn batches_of_one(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    assert_eq!(pair.sender.send_batch(&[outgoing(&pair, b"one", 1)])?, 1);
    let single = pair.receive()?;
    pair.sender.send_to(b"one", pair.to, Some(TransmitId(2)))?;
    let mut buffer = [0; 8];
    let mut batch = [Incoming::new(&mut buffer)];
    let until = pair.receiver.now() + Span::from(PATIENCE);
    assert_eq!(pair.receiver.receive_batch(&mut batch, until)?, 1);
    assert_eq!(batch[0].payload(), b"one");
    let without_timestamp = |received: wirestamp::Received| {
        (
            received.length,
            received.source,
            received.destination,
            received.interface,
        )
    };
    assert_eq!(
        without_timestamp(batch[0].received),
        without_timestamp(single)
    );
    assert_eq!(single.destination, Some(pair.to.ip()));
    timestamps_of(&pair.sender, 1)?;
    let mut records = [TransmitRecord::EMPTY];
    assert_eq!(
        pair.sender
            .wait_transmit_timestamps(&mut records, PATIENCE)?,
        1
    );
    assert_eq!(records[0].id, TransmitId(2));
    Ok(())
}

fn empty_batch(rig: &Rig) -> Outcome {
    let pair = wide_pair(rig)?;
    assert_eq!(pair.sender.send_batch(&[])?, 0);
    let for_ever = pair.receiver.now() + Span::from_seconds(86_400);
    assert_eq!(pair.receiver.receive_batch(&mut [], for_ever)?, 0);
    assert_eq!(
        pair.sender
            .wait_transmit_timestamps(&mut [], Duration::from_secs(86_400))?,
        0
    );
    Ok(())
}
