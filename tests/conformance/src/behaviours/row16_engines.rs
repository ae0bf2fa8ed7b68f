//! The rest of row 16: sockets under load, by calls and through rings, which do the same.
//! Where the system has no rings, that is told, and the behaviours are shown by calls.

use super::Behaviour;
use crate::exchange::PATIENCE;
use crate::rig::{Family, Need, Pair, Rig, Seen};
use crate::{Outcome, Stop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use wirestamp::socket::{Engine, Granted, IoUringState};
use wirestamp::{
    Incoming, MonotonicTime, Outgoing, Span, Timestamping, TransmitId, TransmitOutcome,
    TransmitRecord, UdpSocket,
};

/// For datagrams of an Ethernet frame.
pub(super) const RING: Engine = Engine::Ring { longest: 1_472 };
const ENGINES: [Engine; 2] = [Engine::Calls, RING];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(16, "whether-there-is-a-ring-is-told-and-why-not", is_told),
    Behaviour::new(
        16,
        "what-a-ring-took-from-the-socket-arrives-after-it-was-given-up",
        given_up,
    )
    .needs(&[Need::Lossless]),
    Behaviour::new(16, "a-wait-ends-at-once-while-a-ring-holds-datagrams", held)
        .needs(&[Need::Lossless]),
    Behaviour::new(
        16,
        "a-datagram-longer-than-the-ring-takes-is-cut-and-marked",
        too_long,
    )
    .needs(&[Need::Native]),
    Behaviour::new(
        16,
        "a-receive-that-waits-lets-more-datagrams-gather",
        gathers,
    )
    .needs(&[Need::RealTime]),
    Behaviour::new(
        16,
        "three-threads-send-receive-and-collect-at-once",
        at_once,
    )
    .needs(&[Need::RealTime, Need::Lossless]),
];

fn is_told(rig: &Rig) -> Outcome {
    let socket = rig.near_socket(Family::V4)?;
    let both = Timestamping::OFF.receive().transmit(16);
    let states = |granted: Granted| [granted.receive_ring, granted.transmit_ring];
    assert_eq!(
        states(socket.configure(both.engine(Engine::Calls))?),
        [IoUringState::NotAsked; 2]
    );
    for state in states(socket.configure(both.engine(RING))?) {
        match state {
            IoUringState::InForce => assert!(!rig.is_simulated(), "the simulator has no rings"),
            IoUringState::Refused(refusal) => {
                assert!(refusal.to_string().len() > 10, "{refusal:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

fn payload(number: usize) -> [u8; 8] {
    number.to_be_bytes()
}

/// Sends so many numbered datagrams.
fn send_numbered(pair: &Pair, count: usize) -> Outcome {
    (0..count).try_for_each(|number| Ok(pair.sender.send_to(&payload(number), pair.to, None)?))
}

/// Receives into `room` places; the numbers that came.
fn receive_some(socket: &UdpSocket, room: usize) -> Outcome<Vec<usize>> {
    let mut storage = vec![0; room * 32];
    let mut batch: Vec<_> = storage.chunks_mut(32).map(Incoming::new).collect();
    let count = socket.receive_batch(&mut batch, socket.now() + Span::from(PATIENCE))?;
    let number = |incoming: &Incoming<'_>| {
        assert!(
            incoming.received.timestamps.software.is_some(),
            "{:?}",
            incoming.received
        );
        usize::from_be_bytes(incoming.payload().try_into().expect("eight bytes"))
    };
    Ok(batch[..count].iter().map(number).collect())
}

/// A pair whose receiver has a ring that is in use, after the first ten of `count` datagrams.
fn half_received(rig: &Rig, count: usize) -> Outcome<(Pair, Vec<usize>)> {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF,
        Timestamping::OFF.receive().engine(RING),
    )?;
    let mut received = Vec::new();
    for round in 0..2 {
        // the first round shows that there is load
        let wanted = if round == 0 { count } else { 10 };
        received.clear();
        send_numbered(&pair, count)?;
        while received.len() < wanted {
            let room = (wanted - received.len()).min(64);
            received.extend(receive_some(&pair.receiver, room)?);
        }
    }
    Ok((pair, received))
}

fn given_up(rig: &Rig) -> Outcome {
    const COUNT: usize = 100;
    let (pair, mut received) = half_received(rig, COUNT)?;
    pair.receiver
        .configure(Timestamping::OFF.receive().engine(Engine::Calls))?;
    while received.len() < COUNT {
        received.extend(receive_some(&pair.receiver, 64)?);
    }
    assert_eq!(
        received,
        (0..COUNT).collect::<Vec<_>>(),
        "each once, in order"
    );
    Ok(())
}

fn held(rig: &Rig) -> Outcome {
    let (pair, received) = half_received(rig, 40)?;
    let mut next = received.len();
    while next < 40 {
        UdpSocket::wait_any(&[&pair.receiver], MonotonicTime::MAX)?; // for ever, if they were forgotten
        let mut buffer = [0; 8];
        let one = pair.receiver.receive(&mut buffer, Duration::ZERO)?;
        assert!(one.is_some(), "the wait ended, and nothing was there");
        assert_eq!(buffer, payload(next));
        next += 1;
    }
    Ok(())
}

fn too_long(rig: &Rig) -> Outcome {
    let short = Timestamping::OFF
        .receive()
        .engine(Engine::Ring { longest: 200 });
    let pair = rig.pair(Family::V4, Timestamping::OFF, short)?;
    if let IoUringState::Refused(refusal) = pair.receiver.configure(short)?.receive_ring {
        return Err(Stop::lacking(refusal.to_string()));
    }
    let mut storage = vec![0; 64 * 2_000];
    let mut seen = 0;
    for _ in 0..3 {
        (0..40).try_for_each(|_| pair.sender.send_to(&[7; 1_400], pair.to, None))?;
        let mut left = 40;
        while left > 0 {
            let mut batch: Vec<_> = storage.chunks_mut(2_000).map(Incoming::new).collect();
            let count = pair
                .receiver
                .receive_batch(&mut batch, pair.receiver.now() + Span::from(PATIENCE))?;
            assert!(count > 0, "{left} did not come");
            left -= count;
            for incoming in &batch[..count] {
                let received = incoming.received;
                assert_eq!(received.truncated, received.length < 1_400, "{received:?}");
                assert!(
                    received.length >= 200 && received.timestamps.software.is_some(),
                    "{received:?}"
                );
                seen += usize::from(received.truncated);
            }
        }
    }
    assert!(seen > 0, "none came through the ring");
    assert_eq!(pair.receiver.receive_counters().truncated, seen as u64);
    Ok(())
}

/// Ten datagrams and one waking up, where each would be one.
fn gathers(rig: &Rig) -> Outcome {
    for engine in ENGINES {
        let gathering = Timestamping::OFF
            .receive()
            .gather(Span::from_milliseconds(500))
            .engine(engine);
        let pair = rig.pair(Family::V4, Timestamping::OFF, gathering)?;
        let receiver = Seen::this()
            .map_err(|error| Stop::Failed(format!("this thread is not told: {error}")))?;
        thread::scope(|scope| -> Outcome {
            let sender = scope.spawn(|| {
                receiver.until_it_waits();
                send_numbered(&pair, 10)
            });
            let received = receive_some(&pair.receiver, 64)?;
            sender.join().expect("no panic")?;
            assert!(received.len() > 1, "{received:?}");
            Ok(())
        })?;
    }
    Ok(())
}

fn at_once(rig: &Rig) -> Outcome {
    for engine in ENGINES {
        let sending = Timestamping::OFF.transmit(256).engine(engine);
        let pair = rig.pair(
            Family::V4,
            sending,
            Timestamping::OFF.receive().engine(engine),
        )?;
        three_threads(&pair)?;
        let counters = pair.sender.counters();
        assert_eq!(
            (counters.timestamped, counters.missing_in_all()),
            (u64::from(IDS), 0),
            "{counters:?}"
        );
        assert_eq!(
            (counters.stray, counters.duplicate, counters.late),
            (0, 0, 0),
            "{counters:?}"
        );
    }
    Ok(())
}

const IDS: u32 = 2_000;
/// As many as receive buffers hold.
const UNDER_WAY: usize = 64;

fn three_threads(pair: &Pair) -> Outcome {
    let (received, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| -> Outcome {
        let receiver = scope.spawn(|| -> Outcome {
            while received.load(Ordering::Acquire) < IDS as usize {
                let numbers = receive_some(&pair.receiver, 32)?;
                assert!(
                    !numbers.is_empty(),
                    "{} came",
                    received.load(Ordering::Acquire)
                );
                let before = received.fetch_add(numbers.len(), Ordering::AcqRel);
                assert_eq!(
                    numbers,
                    (before..before + numbers.len()).collect::<Vec<_>>(),
                    "in order"
                );
            }
            Ok(())
        });
        let collector = scope.spawn(|| -> Outcome {
            let (mut seen, mut records) = (vec![false; IDS as usize], [TransmitRecord::EMPTY; 64]);
            while ended.load(Ordering::Acquire) < IDS as usize {
                let count = pair
                    .sender
                    .wait_transmit_timestamps(&mut records, PATIENCE)?;
                assert!(count > 0, "{} ended", ended.load(Ordering::Acquire));
                for record in &records[..count] {
                    assert!(
                        matches!(record.outcome, TransmitOutcome::Timestamped(_)),
                        "{record:?}"
                    );
                    assert!(
                        !std::mem::replace(&mut seen[record.id.0 as usize], true),
                        "{record:?} again"
                    );
                }
                ended.fetch_add(count, Ordering::AcqRel);
            }
            Ok(())
        });
        let mut sent = 0;
        while sent < IDS {
            let slowest = received
                .load(Ordering::Acquire)
                .min(ended.load(Ordering::Acquire));
            let end = IDS.min((slowest + UNDER_WAY) as u32).min(sent + 16);
            let payloads: Vec<_> = (sent..end).map(|number| payload(number as usize)).collect();
            let batch: Vec<_> = payloads
                .iter()
                .zip(sent..)
                .map(|(payload, id)| Outgoing::new(payload).to(pair.to).id(TransmitId(id)))
                .collect();
            sent += pair.sender.send_batch(&batch)? as u32;
            if receiver.is_finished() || collector.is_finished() {
                break;
            }
            thread::yield_now();
        }
        receiver.join().expect("no panic")?;
        collector.join().expect("no panic")
    })
}
