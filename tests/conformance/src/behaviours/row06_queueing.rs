//! Row 6, the time in the queue: when a datagram entered the queueing discipline, beside its transmit timestamp.

use super::Behaviour;
use crate::exchange::{PATIENCE, is_between};
use crate::refusal::refused_with_remedy;
use crate::rig::{Family, Need, Network, Pair, Rig};
use crate::{Outcome, Stop};
use std::net::{Ipv4Addr, SocketAddr};
use wirestamp::interface::InterfaceState;
use wirestamp::socket::Identification;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    ErrorKind, Interface, MissingReason, Outgoing, Span, Timestamping, TransmitId, TransmitOutcome,
    TransmitRecord, UdpSocket,
};

const QUEUEING: Timestamping = Timestamping::OFF.transmit(64).queueing();
/// A megabit a second, and one datagram of [`PAYLOAD`] bytes at once: the next one waits for more than 10 ms.
const SLOW: &str = "tbf rate 1mbit burst 1600 limit 100000";
const PAYLOAD: usize = 1_400;
const WAITS: Span = Span::from_milliseconds(10);

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        6,
        "the-time-in-the-queue-begins-between-the-call-and-the-transmit-timestamp",
        between,
    )
    .also(&[Need::Linux]),
    Behaviour::new(6, "each-id-has-its-own-time-in-the-queue", |rig| {
        own(rig, QUEUEING)
    })
    .also(&[Need::Linux]),
    Behaviour::new(6, "each-counted-id-has-its-own-time-in-the-queue", |rig| {
        own(rig, QUEUEING.identification(Identification::Counter))
    })
    .also(&[Need::Linux]),
    Behaviour::new(6, "the-time-in-the-queue-is-off-unless-asked-for", off),
    Behaviour::new(
        6,
        "a-datagram-without-a-transmit-timestamp-tells-that-it-reached-the-queue",
        missing,
    )
    .needs(&[Need::Simulation])
    .preset("tx-never")
    .also(&[Need::Linux]),
    Behaviour::new(6, "a-frame-has-its-time-in-the-queue", frame).also(&[Need::Frames]),
    Behaviour::new(6, "a-full-queue-delays-from-the-queue-on", delayed)
        .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(6, "of-several-device-layers-the-first-queue-counts", layers)
        .needs(&[Need::Native, Need::OwnNetwork]),
    Behaviour::new(
        6,
        "the-time-in-the-queue-is-refused-where-there-is-none",
        refused,
    )
    .needs(&[Need::Windows]),
];

/// The records of so many ids, by id.
fn records_of(socket: &UdpSocket, count: usize) -> Outcome<Vec<TransmitRecord>> {
    let mut records = Vec::new();
    while records.len() < count {
        let mut some = [TransmitRecord::EMPTY; 64];
        let ended = socket.wait_transmit_timestamps(&mut some, PATIENCE)?;
        assert!(ended > 0, "{} of {count} ids ended", records.len());
        records.extend_from_slice(&some[..ended]);
    }
    records.sort_unstable_by_key(|record| record.id);
    Ok(records)
}

/// Its time in the queue and its software transmit timestamp.
#[track_caller]
fn both(record: &TransmitRecord) -> (SoftwareTimestamp, SoftwareTimestamp) {
    let TransmitOutcome::Timestamped(timestamps) = record.outcome else {
        panic!("{record:?}")
    };
    let transmitted = timestamps.software.expect("a software timestamp");
    (record.queued.expect("a time in the queue"), transmitted)
}

fn between(rig: &Rig) -> Outcome {
    for family in Family::BOTH {
        let pair = rig.pair(family, QUEUEING, Timestamping::OFF.receive())?;
        for id in 0..20 {
            let before = pair.sender.now();
            pair.send(id)?;
            let after = pair.sender.now();
            let (queued, transmitted) = both(&records_of(&pair.sender, 1)?[0]);
            is_between(&queued, before, after);
            is_between(&queued, before, transmitted.at.value + transmitted.at.bound);
            pair.receive()?;
        }
        let counters = pair.sender.counters();
        assert_eq!((counters.timestamped, counters.duplicate), (20, 0));
        assert_eq!((counters.late, counters.stray), (0, 0));
    }
    Ok(())
}

fn own(rig: &Rig, sending: Timestamping) -> Outcome {
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    for round in 0..20 {
        let mut calls = Vec::new();
        for id in [2 * round, 2 * round + 1] {
            calls.push(pair.sender.now());
            pair.send(id)?;
            pair.sender.send_to(b"without an id", pair.to, None)?;
        }
        calls.push(pair.sender.now());
        let records = records_of(&pair.sender, 2)?;
        for (record, calls) in records.iter().zip(calls.windows(2)) {
            is_between(&both(record).0, calls[0], calls[1]);
        }
    }
    batch(&pair)
}

/// Of a batch the times are in the order of its datagrams.
fn batch(pair: &Pair) -> Outcome {
    let one = |id| Outgoing::new(b"x").to(pair.to).id(TransmitId(id));
    let before = pair.sender.now();
    let mut last = before;
    assert_eq!(
        pair.sender
            .send_batch(&(100..140).map(one).collect::<Vec<_>>())?,
        40
    );
    let after = pair.sender.now();
    for (record, id) in records_of(&pair.sender, 40)?.iter().zip(100..) {
        let (queued, _) = both(record);
        assert_eq!(record.id, TransmitId(id));
        is_between(&queued, last - queued.at.bound, after);
        last = queued.at.value;
    }
    Ok(())
}

fn off(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.send(1)?;
    assert_eq!(records_of(&pair.sender, 1)?[0].queued, None);
    if pair.sender.configure(QUEUEING).is_err() {
        return Ok(()); // there is none here
    }
    pair.send(2)?;
    let granted = pair.sender.configure(Timestamping::OFF.transmit(64))?;
    assert!(!granted.timestamping.queueing);
    records_of(&pair.sender, 1)?;
    pair.send(3)?;
    assert_eq!(records_of(&pair.sender, 1)?[0].queued, None);
    Ok(())
}

fn missing(rig: &Rig) -> Outcome {
    let sending = QUEUEING.transmit_deadline(Span::from_milliseconds(50));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let before = pair.sender.now();
    pair.send(1)?;
    let after = pair.sender.now();
    let record = records_of(&pair.sender, 1)?[0];
    let reason = MissingReason::NeverGenerated;
    assert_eq!(record.outcome, TransmitOutcome::Missing(reason));
    is_between(&record.queued.expect("it left"), before, after);
    Ok(())
}

fn frame(rig: &Rig) -> Outcome {
    let frames = rig.frames(QUEUEING, Timestamping::OFF.receive())?;
    let before = frames.near.now();
    let id = Some(TransmitId(7));
    frames.near.send_to(&[0x5a; 100], frames.to, id)?;
    let after = frames.near.now();
    let mut records = [TransmitRecord::EMPTY; 2];
    let ended = frames
        .near
        .wait_transmit_timestamps(&mut records, PATIENCE)?;
    assert_eq!(ended, 1);
    is_between(&both(&records[0]).0, before, after);
    Ok(())
}

/// Three datagrams: the first leaves at once, each other waits for the one before.
fn send_three(socket: &UdpSocket, to: SocketAddr) -> Outcome<Vec<TransmitRecord>> {
    let before = socket.now();
    for id in 0..3 {
        socket.send_to(&[0; PAYLOAD], to, Some(TransmitId(id)))?;
    }
    let after = socket.now();
    let records = records_of(socket, 3)?;
    for record in &records {
        is_between(&both(record).0, before, after);
    }
    Ok(records)
}

#[track_caller]
fn wait_in_the_queue(records: &[TransmitRecord]) {
    let first = both(&records[0]).0.at.value;
    for (record, slots) in records.iter().zip(0_i128..) {
        let (queued, transmitted) = both(record);
        // of a slot, the time between two sends is not waited: on a busy machine that can be much of it
        let (left, waited) = (
            transmitted.at.value - first,
            transmitted.at.value - queued.at.value,
        );
        let least = Span::from_nanoseconds(WAITS.nanoseconds() * slots);
        assert!(left >= least, "id {} left after {left}", record.id);
        assert!(waited >= Span::ZERO, "id {} waited {waited}", record.id);
    }
}

fn delayed(rig: &Rig) -> Outcome {
    rig.network().shape(SLOW).map_err(Stop::Lacking)?;
    let pair = rig.pair(Family::V4, QUEUEING, Timestamping::OFF)?;
    wait_in_the_queue(&send_three(&pair.sender, pair.to)?);
    Ok(())
}

/// A bridge over the near interface, until it is dropped.
struct Bridge<'a>(&'a Network);

impl<'a> Bridge<'a> {
    fn over(network: &'a Network) -> Outcome<Self> {
        network
            .near("link add upper type bridge")
            .map_err(Stop::Lacking)?;
        let bridge = Self(network);
        for command in [
            "link set % master upper",
            "link set upper up",
            "addr add 10.78.0.1/24 dev upper",
            "neigh replace 10.78.0.2 lladdr 02:00:00:77:00:02 nud permanent dev upper",
        ] {
            network.near(command)?;
        }
        Ok(bridge)
    }
}

impl Drop for Bridge<'_> {
    fn drop(&mut self) {
        let _ = self.0.near("link del upper"); // its namespace may be gone with it
    }
}

/// The bridge's queue is the slow one: the entry into that of the device below comes after the wait.
fn layers(rig: &Rig) -> Outcome {
    let bridge = Bridge::over(rig.network())?;
    let is_up = |found: Interface| found.description().state == InterfaceState::Up;
    assert!(rig.until(|| Interface::find("upper").is_ok_and(is_up)));
    let shaped = bridge.0.shape_device("upper", SLOW);
    shaped.map_err(Stop::Lacking)?;
    let upper = Interface::find("upper")?;
    let socket = upper.bind((Ipv4Addr::new(10, 78, 0, 1), 0).into())?;
    socket.configure(QUEUEING)?;
    wait_in_the_queue(&send_three(&socket, ([10, 78, 0, 2], 9).into())?);
    Ok(())
}

fn refused(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    let error = refused_with_remedy(pair.sender.configure(QUEUEING), ErrorKind::NotSupported);
    assert!(error.remedy().contains("queueing"), "{error}");
    pair.sender.send_to(b"x", pair.to, None)?;
    Ok(())
}
