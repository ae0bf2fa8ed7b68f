//! Row 7: waiting for timestamps with a deadline, in threads and as futures, at no cost.

use super::Behaviour;
use crate::exchange::{PATIENCE, ask, outcome_of, timestamps_of};
use crate::rig::{DELAYED, Family, Need, Pair, Rig, cpu_time};
use crate::{Outcome, Stop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::socket::Identification;
use wirestamp::tokio::AsyncUdpSocket;
use wirestamp::{
    MissingReason, Source, Span, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome,
    TransmitRecord,
};

/// 200 years: so long that virtual time does not pass for it alone.
const FOR_EVER: Duration = Duration::from_secs(200 * 366 * 86_400);

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        7,
        "a-wait-ends-when-the-timestamp-comes",
        ends_when_it_comes,
    )
    .needs(&[Need::DelayedTimestamps])
    .toml(DELAYED),
    Behaviour::new(
        7,
        "a-wait-ends-at-its-deadline-and-the-id-stays-pending",
        ends_at_deadline,
    ),
    Behaviour::new(
        7,
        "an-id-ends-by-its-own-deadline-however-long-the-wait",
        own_deadline,
    ),
    Behaviour::new(7, "what-is-known-already-is-not-waited-for", known_already),
    Behaviour::new(
        7,
        "a-wait-for-any-timestamp-ends-with-the-first",
        first_of_any,
    )
    .needs(&[Need::DelayedTimestamps])
    .toml(DELAYED),
    Behaviour::new(
        7,
        "threads-that-wait-for-different-ids-each-get-theirs",
        several_threads,
    )
    .toml(DELAYED),
    Behaviour::new(
        7,
        "a-timestamp-that-another-thread-collects-wakes-the-one-that-waits",
        collected_by_another,
    )
    .needs(&[Need::DelayedTimestamps])
    .toml(DELAYED),
    Behaviour::new(
        7,
        "a-short-wait-is-not-held-up-by-a-long-one",
        short_beside_long,
    ),
    Behaviour::new(
        7,
        "an-id-that-is-sent-meanwhile-ends-the-wait-for-any",
        sent_meanwhile,
    ),
    Behaviour::new(
        7,
        "an-id-that-is-sent-without-a-timestamp-ends-the-wait-at-once",
        sent_without,
    )
    .needs(&[Need::RealTime])
    .also(&[Need::Linux]),
    Behaviour::new(7, "what-was-observed-shortens-the-wait", learns).needs(&[Need::Link]),
    Behaviour::new(7, "a-wait-costs-no-busy-loop", no_busy_loop)
        .needs(&[Need::RealTime, Need::ProcessorTime]),
    Behaviour::new(
        7,
        "as-a-future-it-ends-when-the-timestamp-comes",
        future_ends,
    )
    .needs(&[Need::DelayedTimestamps])
    .toml(DELAYED),
    Behaviour::new(
        7,
        "tasks-that-wait-for-different-things-each-get-theirs",
        several_tasks,
    ),
    Behaviour::new(7, "a-dropped-future-loses-nothing", dropped_future)
        .needs(&[Need::DelayedTimestamps])
        .toml(DELAYED),
    Behaviour::new(7, "a-future-costs-no-busy-loop", future_costs_no_busy_loop)
        .needs(&[Need::RealTime, Need::ProcessorTime]),
];

/// Hardware timestamps are asked for where there are none: ids stay pending.
fn silent(deadline: Span) -> Timestamping {
    Timestamping::OFF
        .transmit(64)
        .source(Source::Hardware)
        .transmit_deadline(deadline)
}

fn ends_when_it_comes(rig: &Rig) -> Outcome {
    let (pair, _guard) = rig.delayed_pair(Timestamping::OFF.transmit(8))?;
    pair.send(1)?;
    assert_eq!(ask(&pair.sender, 1)?, TransmitAnswer::Pending);
    assert!(!timestamps_of(&pair.sender, 1)?.is_none());
    Ok(())
}

fn ends_at_deadline(rig: &Rig) -> Outcome {
    const TIMEOUT: Duration = Duration::from_millis(20);
    let pair = rig.pair(
        Family::V4,
        silent(Span::from_seconds(100)),
        Timestamping::OFF,
    )?;
    pair.send(1)?;
    let before = pair.sender.now();
    assert_eq!(
        pair.sender
            .wait_transmit_timestamp(TransmitId(1), TIMEOUT)?,
        TransmitAnswer::Pending
    );
    assert!(
        pair.sender.now() - before >= Span::from(TIMEOUT),
        "not before its time"
    );
    assert_eq!(
        pair.sender
            .wait_transmit_timestamps(&mut [TransmitRecord::EMPTY], TIMEOUT)?,
        0
    );
    assert_eq!(pair.sender.receive(&mut [0; 8], TIMEOUT)?, None);
    assert_eq!(pair.sender.counters().pending, 1);
    Ok(())
}

fn own_deadline(rig: &Rig) -> Outcome {
    let deadline = Span::from_milliseconds(40);
    let pair = rig.pair(Family::V4, silent(deadline), Timestamping::OFF)?;
    let before = pair.sender.now();
    pair.send(1)?;
    let answer = pair
        .sender
        .wait_transmit_timestamp(TransmitId(1), FOR_EVER)?;
    assert_eq!(
        answer,
        TransmitAnswer::Resolved(TransmitOutcome::Missing(MissingReason::NeverGenerated))
    );
    assert!(
        pair.sender.now() - before >= deadline,
        "not before its time"
    );
    Ok(())
}

fn known_already(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    assert_eq!(
        pair.sender
            .wait_transmit_timestamp(TransmitId(1), FOR_EVER)?,
        TransmitAnswer::Unknown
    );
    assert_eq!(
        pair.receiver
            .wait_transmit_timestamp(TransmitId(1), FOR_EVER)?,
        TransmitAnswer::NotEnabled
    );
    assert_eq!(pair.sender.wait_transmit_timestamps(&mut [], FOR_EVER)?, 0);
    pair.exchange(1)?;
    assert_eq!(
        pair.sender
            .wait_transmit_timestamp(TransmitId(1), FOR_EVER)?,
        TransmitAnswer::Unknown,
        "fetched"
    );
    Ok(())
}

fn first_of_any(rig: &Rig) -> Outcome {
    let (pair, _guard) = rig.delayed_pair(Timestamping::OFF.transmit(8))?;
    pair.send(4)?;
    pair.send(5)?;
    let mut records = [TransmitRecord::EMPTY; 8];
    let mut ids = Vec::new();
    while ids.len() < 2 {
        let count = pair
            .sender
            .wait_transmit_timestamps(&mut records, PATIENCE)?;
        assert!(count > 0, "only {ids:?} ended");
        for record in &records[..count] {
            assert!(
                matches!(record.outcome, TransmitOutcome::Timestamped(_)),
                "{record:?}"
            );
            ids.push(record.id.0);
        }
    }
    assert_eq!(ids, [4, 5]);
    Ok(())
}

fn several_threads(rig: &Rig) -> Outcome {
    let (pair, _guard) = match rig {
        Rig::Loopback(_) | Rig::Model(_) => (rig.timestamping_pair()?, None),
        _ => rig.delayed_pair(
            Timestamping::OFF
                .transmit(8)
                .transmit_deadline(Span::from_seconds(10)),
        )?,
    };
    for id in 0..4 {
        pair.send(id)?;
    }
    let pair = &pair;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let waiting: Vec<_> = (0..4)
            .rev()
            .map(|id| scope.spawn(move || timestamps_of(&pair.sender, id)))
            .collect();
        waiting
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    for outcome in outcomes {
        assert!(!outcome?.is_none());
    }
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.timestamped, counters.pending),
        (4, 0),
        "{counters:?}"
    );
    Ok(())
}

fn collected_by_another(rig: &Rig) -> Outcome {
    // no deadline would wake the one that waits
    let (pair, _guard) =
        rig.delayed_pair(Timestamping::OFF.transmit(8).transmit_deadline(FOR_EVER))?;
    pair.send(1)?;
    let over = AtomicBool::new(false);
    let answer = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let answer = pair.sender.wait_transmit_timestamp(TransmitId(1), FOR_EVER);
            over.store(true, Ordering::SeqCst);
            answer
        });
        while !over.load(Ordering::SeqCst) {
            pair.sender.counters(); // collects
            thread::yield_now();
        }
        waiting.join().expect("no panic")
    })?;
    assert!(
        matches!(
            answer,
            TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
        ),
        "{answer:?}"
    );
    Ok(())
}

fn short_beside_long(rig: &Rig) -> Outcome {
    let pair = rig.pair(Family::V4, silent(FOR_EVER.into()), Timestamping::OFF)?;
    pair.send(1)?;
    pair.send(2)?;
    thread::scope(|scope| {
        let long = scope.spawn(|| pair.sender.wait_transmit_timestamp(TransmitId(1), FOR_EVER));
        thread::sleep(Duration::from_millis(30)); // so that it waits already, nearly always
        let short = pair
            .sender
            .wait_transmit_timestamp(TransmitId(2), Duration::from_millis(20));
        assert_eq!(short, Ok(TransmitAnswer::Pending));
        pair.sender.close();
        let answer = long.join().expect("no panic");
        assert_eq!(
            answer,
            Ok(TransmitAnswer::Resolved(TransmitOutcome::Missing(
                MissingReason::SocketClosed
            )))
        );
    });
    Ok(())
}

fn sent_meanwhile(rig: &Rig) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        silent(Span::from_milliseconds(20)),
        Timestamping::OFF,
    )?;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut records = [TransmitRecord::EMPTY; 2];
            pair.sender
                .wait_transmit_timestamps(&mut records, FOR_EVER)
                .map(|count| (count, records[0].id))
        });
        thread::sleep(Duration::from_millis(30)); // so that it waits already, nearly always
        pair.send(5)?;
        assert_eq!(waiting.join().expect("no panic"), Ok((1, TransmitId(5))));
        Ok(())
    })
}

/// While the kernel's count is not known, a datagram is sent without a timestamp, and its id ends then.
fn sent_without(rig: &Rig) -> Outcome {
    const DEADLINE: Duration = Duration::from_secs(3);
    let sending = silent(DEADLINE.into()).identification(Identification::Counter);
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    pair.sender.connect(rig.nobody(Family::V4)?)?;
    let refused = |id: u32| pair.sender.send(b"refused", Some(TransmitId(id))).is_err();
    let mut ids = 0..;
    assert!(
        rig.until(|| ids.next().is_some_and(refused)),
        "no refusal came"
    );
    assert!(
        pair.sender.counters().pending > 0,
        "whose deadline comes first"
    );
    pair.sender.connect(pair.to)?;
    while pair
        .sender
        .send(b"no error is pending after this", None)
        .is_err()
    {}
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut records = [TransmitRecord::EMPTY; 2];
            pair.sender
                .wait_transmit_timestamps(&mut records, FOR_EVER)
                .map(|count| (count, records[0]))
        });
        thread::sleep(Duration::from_millis(30)); // so that it waits already, nearly always
        let began = Instant::now();
        let id = TransmitId(ids.start);
        pair.sender.send(b"x", Some(id))?;
        let record = TransmitRecord::new(id, TransmitOutcome::Missing(MissingReason::Reset));
        assert_eq!(waiting.join().expect("no panic"), Ok((1, record)));
        assert!(began.elapsed() < DEADLINE / 2, "it ended by its deadline");
        Ok(())
    })
}

fn learns(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..40 {
        pair.exchange(id)?;
    }
    rig.set_link(false)?;
    let mut last = None;
    let mut ids = 100..;
    let mut send_one = || -> Outcome<_> {
        let before = pair.sender.now();
        let id = ids.next().expect("enough ids");
        pair.send(id)?;
        Ok((outcome_of(&pair.sender, id)?, pair.sender.now() - before))
    };
    // timestamps come until the interface has heard that its carrier is gone
    assert!(rig.until(|| {
        last = Some(send_one());
        !matches!(last, Some(Ok((TransmitOutcome::Timestamped(_), _))))
    }));
    let (outcome, waited) = last.expect("just sent")?;
    assert_eq!(outcome, TransmitOutcome::Missing(MissingReason::Deadline));
    assert!(
        waited >= Span::from_milliseconds(1),
        "a timestamp has some time: {waited}"
    );
    if rig.is_simulated() {
        assert!(
            waited <= Span::from_milliseconds(20),
            "200 ms before anything was observed: {waited}"
        );
    }
    Ok(())
}

/// Checks that this thread mostly slept while it did something.
fn mostly_sleeps<T>(act: impl FnOnce() -> T) -> Outcome<T> {
    let read = || {
        cpu_time()
            .ok_or_else(|| Stop::lacking("this system does not tell a thread's processor time"))
    };
    let (started, before) = (Instant::now(), read()?);
    let done = act();
    let (elapsed, used) = (started.elapsed(), read()? - before);
    assert!(
        used < elapsed / 4,
        "{used:?} of processor time in {elapsed:?}"
    );
    Ok(done)
}

fn no_busy_loop(rig: &Rig) -> Outcome {
    const LONG: Duration = Duration::from_millis(300);
    let pair = rig.pair(
        Family::V4,
        silent(Span::from_seconds(100)),
        Timestamping::OFF,
    )?;
    pair.send(1)?;
    pair.receive()?;
    mostly_sleeps(|| pair.sender.wait_transmit_timestamp(TransmitId(1), LONG))??;
    mostly_sleeps(|| pair.receiver.receive(&mut [0; 8], LONG))??;
    // a timestamp that nobody fetches must not keep ending the wait for a datagram
    let pair = rig.timestamping_pair()?;
    pair.send(2)?;
    mostly_sleeps(|| pair.sender.receive(&mut [0; 8], LONG))??;
    // nor a refusal that nobody asked for
    let nobody = rig.nobody(Family::V4)?;
    pair.sender.send_to(b"x", nobody, Some(TransmitId(3)))?;
    mostly_sleeps(|| {
        pair.sender
            .wait_transmit_timestamps(&mut [], LONG)
            .and(pair.sender.receive(&mut [0; 8], LONG))
            .ok()
    })?;
    Ok(())
}

/// Runs a future on this thread, which is where the rig is.
pub(super) fn block_on<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|error| format!("no runtime: {error}"))?
        .block_on(future)
}

fn future_ends(rig: &Rig) -> Outcome {
    let (Pair { sender, to, .. }, _guard) = rig.delayed_pair(Timestamping::OFF.transmit(8))?;
    block_on(async {
        let sender = AsyncUdpSocket::new(sender)?;
        for id in (0..10).map(TransmitId) {
            sender.send_to(b"x", to, Some(id)).await?;
            if sender.socket().transmit_timestamp(id)? != TransmitAnswer::Pending {
                continue; // this machine was held up for longer than the timestamp
            }
            let answer = sender.transmit_timestamp(id).await?;
            assert!(
                matches!(
                    answer,
                    TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
                ),
                "{answer:?}"
            );
            assert_eq!(
                sender.transmit_timestamp(id).await?,
                TransmitAnswer::Unknown
            );
            return Ok(());
        }
        panic!("no timestamp was ever pending");
    })
}

fn several_tasks(rig: &Rig) -> Outcome {
    let Pair {
        sender,
        receiver,
        to,
    } = rig.timestamping_pair()?;
    block_on(async {
        let (sender, receiver) = (AsyncUdpSocket::new(sender)?, AsyncUdpSocket::new(receiver)?);
        let sending = async {
            for id in 0..20 {
                sender.send_to(b"task", to, Some(TransmitId(id))).await?;
            }
            Outcome::Ok(())
        };
        let collecting = async {
            let (mut records, mut count) = ([TransmitRecord::EMPTY; 4], 0);
            while count < 20 {
                count += sender.transmit_timestamps(&mut records).await?;
            }
            assert_eq!(count, 20);
            Outcome::Ok(())
        };
        let receiving = async {
            let mut buffer = [0; 8];
            for _ in 0..20 {
                assert!(
                    receiver
                        .receive(&mut buffer)
                        .await?
                        .timestamps
                        .software
                        .is_some()
                );
            }
            Outcome::Ok(())
        };
        tokio::try_join!(sending, collecting, receiving).map(|_| ())
    })
}

fn dropped_future(rig: &Rig) -> Outcome {
    let (Pair { sender, to, .. }, _guard) = rig.delayed_pair(Timestamping::OFF.transmit(8))?;
    block_on(async {
        let sender = AsyncUdpSocket::new(sender)?;
        sender.send_to(b"x", to, Some(TransmitId(1))).await?;
        {
            let waiting = std::pin::pin!(sender.transmit_timestamp(TransmitId(1)));
            let now = tokio::select! {
                biased;
                answer = waiting => Some(answer?),
                () = std::future::ready(()) => None,
            };
            assert_eq!(now, None);
        }
        let answer = sender.transmit_timestamp(TransmitId(1)).await?;
        assert!(
            matches!(
                answer,
                TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
            ),
            "{answer:?}"
        );
        Ok(())
    })
}

/// tokio-rs/tokio#5550: after the first timestamp a socket is writable for ever, and a task that
/// waits on that spins.
fn future_costs_no_busy_loop(rig: &Rig) -> Outcome {
    const LONG: Duration = Duration::from_millis(300);
    let Pair { sender, to, .. } = rig.timestamping_pair()?;
    mostly_sleeps(|| {
        block_on(async {
            let sender = AsyncUdpSocket::new(sender)?;
            sender.send_to(b"x", to, Some(TransmitId(1))).await?;
            sender.transmit_timestamp(TransmitId(1)).await?;
            sender.send_to(b"x", to, Some(TransmitId(2))).await?;
            let mut buffer = [0; 8];
            let received = tokio::time::timeout(LONG, sender.receive(&mut buffer)).await;
            assert!(received.is_err(), "nobody sends: {received:?}");
            let mut records = [TransmitRecord::EMPTY; 2];
            assert_eq!(sender.transmit_timestamps(&mut records).await?, 1);
            let ended = tokio::time::timeout(LONG, sender.transmit_timestamps(&mut records)).await;
            assert!(ended.is_err(), "nothing is awaited: {ended:?}");
            Ok(())
        })
    })?
}
