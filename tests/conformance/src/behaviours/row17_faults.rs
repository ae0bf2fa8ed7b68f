//! The second half of "bad input and faults": what happens under a socket that is in
//! use. Nothing panics, nothing hangs, and every id still ends.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, ask, outcome_of};
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Family, Need, Pair, Rig};
use std::thread;
use std::time::Duration;
use wirestamp::tokio::AsyncUdpSocket;
use wirestamp::{
    ErrorKind, MissingReason, Source, Span, Timestamping, TransmitAnswer, TransmitId,
    TransmitOutcome, TransmitRecord, UdpSocket,
};

/// 200 years: so long that virtual time does not pass for it alone.
const FOR_EVER: Duration = Duration::from_secs(200 * 366 * 86_400);
/// Long enough for another thread to be inside a wait, nearly always; if not, it still ends.
const A_MOMENT: Duration = Duration::from_millis(30);

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(17, "an-unreachable-address", unreachable).needs(&[Need::Link]),
    Behaviour::new(17, "a-port-where-nobody-listens", nobody_listens),
    Behaviour::new(17, "an-interface-that-disappears-while-in-use", disappears)
        .needs(&[Need::Changes]),
    Behaviour::new(17, "an-interface-that-goes-down-while-in-use", goes_down)
        .needs(&[Need::OwnNetwork]),
    Behaviour::new(
        17,
        "closed-while-another-thread-waits-for-a-datagram",
        closed_while_receiving,
    ),
    Behaviour::new(
        17,
        "closed-while-another-thread-waits-for-a-timestamp",
        closed_while_awaiting,
    ),
    Behaviour::new(17, "closed-while-tasks-wait", closed_while_tasks_wait),
    Behaviour::new(17, "use-after-closing", use_after_closing),
    Behaviour::new(17, "closed-by-many-threads-at-once", closed_by_many),
    Behaviour::new(
        17,
        "configured-anew-while-another-thread-waits",
        configured_while_awaiting,
    ),
];

/// A pair whose ids stay pending, and whose near end listens too.
fn silent(rig: &Rig) -> Outcome<Pair> {
    let deadline = Span::from(FOR_EVER);
    let sending = Timestamping::OFF
        .receive()
        .transmit(64)
        .source(Source::Hardware)
        .transmit_deadline(deadline);
    rig.pair(Family::V4, sending, Timestamping::OFF.receive())
}

fn unreachable(rig: &Rig) -> Outcome {
    let nowhere = "203.0.113.9:9";
    let near = rig.near()?;
    let own = (Family::V4.address_of(&near)?, 0).into();
    // bound to an interface, Linux takes any address for a neighbour's
    let sender = if rig.is_simulated() {
        near.bind(own)?
    } else {
        UdpSocket::bind(own)?
    };
    sender.configure(Timestamping::OFF.transmit(4))?;
    let error = refused_with_remedy(
        sender.send_to(b"x", nowhere, Some(TransmitId(1))),
        ErrorKind::Unreachable,
    );
    assert!(error.code().is_some(), "{error:?}");
    refused(sender.connect(nowhere), ErrorKind::Unreachable);
    assert_eq!(
        ask(&sender, 1)?,
        TransmitAnswer::Unknown,
        "as if it had never begun"
    );
    Ok(())
}

fn nobody_listens(rig: &Rig) -> Outcome {
    let nobody = rig.nobody(Family::V4)?;
    let pair = rig.timestamping_pair()?;
    pair.sender.send_to(b"x", nobody, Some(TransmitId(1)))?;
    assert!(
        matches!(
            outcome_of(&pair.sender, 1)?,
            TransmitOutcome::Timestamped(_)
        ),
        "it was sent"
    );
    pair.exchange(2)?.check_software();
    Ok(())
}

fn disappears(rig: &Rig) -> Outcome {
    let pair = silent(rig)?;
    let near = rig.near()?;
    pair.send(1)?;
    pair.receive()?;
    thread::scope(|scope| -> Outcome {
        let waiting = scope.spawn(|| {
            pair.sender
                .wait_transmit_timestamp(TransmitId(1), Duration::from_secs(1))
        });
        rig.remove_near()?;
        let answer = waiting.join().expect("no panic")?;
        assert!(
            !matches!(
                answer,
                TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
            ),
            "{answer:?}"
        );
        Ok(())
    })?;
    let error = pair
        .sender
        .send_to(b"x", pair.to, Some(TransmitId(2)))
        .expect_err("there is no way out");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::NoSuchDevice | ErrorKind::Unreachable
        ),
        "{error:?}"
    );
    assert_eq!(
        pair.sender
            .receive(&mut [0; 8], Duration::from_millis(20))
            .ok()
            .flatten(),
        None
    );
    refused(near.supported(), ErrorKind::NoSuchDevice);
    refused(near.active(), ErrorKind::NoSuchDevice);
    refused(
        near.bind((Family::V4.unspecified(), 0).into()),
        ErrorKind::NoSuchDevice,
    );
    refused_with_remedy(near.clone().refresh(), ErrorKind::NoSuchDevice);
    pair.sender.close();
    let counters = pair.sender.counters();
    assert_eq!((counters.sent, counters.pending), (1, 0), "{counters:?}");
    Ok(())
}

fn goes_down(rig: &Rig) -> Outcome {
    let pair = silent(rig)?;
    pair.send(1)?;
    rig.network().near("link set % down")?;
    let error = pair
        .sender
        .send_to(b"x", pair.to, Some(TransmitId(2)))
        .expect_err("there is no way out");
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error:?}");
    rig.network().near("link set % up")?;
    let sent = || pair.sender.send_to(b"x", pair.to, None).is_ok();
    assert!(rig.until(sent), "it does not come back");
    Ok(())
}

/// Closes the pair's sender while `wait` runs on another thread; returns what that ended with.
fn closing<T: Send>(pair: &Pair, wait: impl FnOnce(&UdpSocket) -> T + Send) -> T {
    thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(&pair.sender));
        thread::sleep(A_MOMENT);
        pair.sender.close();
        waiting.join().expect("no panic")
    })
}

fn closed_while_receiving(rig: &Rig) -> Outcome {
    let pair = silent(rig)?;
    refused(
        closing(&pair, |sender| sender.receive(&mut [0; 8], FOR_EVER)),
        ErrorKind::Closed,
    );
    let batches = silent(rig)?;
    let until = batches.sender.now() + Span::from(FOR_EVER);
    refused(
        closing(&batches, |sender| {
            sender.receive_batch(&mut [wirestamp::Incoming::new(&mut [0; 8])], until)
        }),
        ErrorKind::Closed,
    );
    Ok(())
}

fn closed_while_awaiting(rig: &Rig) -> Outcome {
    let pair = silent(rig)?;
    pair.send(1)?;
    pair.send(2)?;
    let lost = TransmitOutcome::Missing(MissingReason::SocketClosed);
    let answer = closing(&pair, |sender| {
        sender.wait_transmit_timestamp(TransmitId(1), FOR_EVER)
    })?;
    assert_eq!(answer, TransmitAnswer::Resolved(lost));
    let mut records = [TransmitRecord::EMPTY; 4];
    assert_eq!(
        pair.sender
            .wait_transmit_timestamps(&mut records, FOR_EVER)?,
        1,
        "the other can still be fetched"
    );
    assert_eq!(records[0], TransmitRecord::new(TransmitId(2), lost));
    refused(
        pair.sender.wait_transmit_timestamps(&mut records, FOR_EVER),
        ErrorKind::Closed,
    );
    let idle = silent(rig)?;
    let ended = closing(&idle, |sender| {
        sender.wait_transmit_timestamps(&mut [TransmitRecord::EMPTY], FOR_EVER)
    });
    refused(ended, ErrorKind::Closed);
    Ok(())
}

fn closed_while_tasks_wait(rig: &Rig) -> Outcome {
    let Pair { sender, to, .. } = silent(rig)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|error| format!("no runtime: {error}"))?
        .block_on(async {
            let sender = AsyncUdpSocket::new(sender)?;
            sender.send_to(b"x", to, Some(TransmitId(1))).await?;
            let mut buffer = [0; 8];
            let closing = async {
                tokio::task::yield_now().await;
                sender.socket().close();
            };
            let (answer, received, ()) = tokio::join!(
                sender.transmit_timestamp(TransmitId(1)),
                sender.receive(&mut buffer),
                closing
            );
            assert_eq!(
                answer?,
                TransmitAnswer::Resolved(TransmitOutcome::Missing(MissingReason::SocketClosed))
            );
            refused(received, ErrorKind::Closed);
            Ok(())
        })
}

fn use_after_closing(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.send(1)?;
    pair.receive()?;
    pair.sender.counters();
    assert!(!pair.sender.is_closed());
    pair.sender.close();
    pair.sender.close();
    assert!(pair.sender.is_closed());
    refused(pair.sender.send_to(b"x", pair.to, None), ErrorKind::Closed);
    refused(
        pair.sender.send_to(b"x", pair.to, Some(TransmitId(2))),
        ErrorKind::Closed,
    );
    refused(
        pair.sender.receive(&mut [0; 8], FOR_EVER),
        ErrorKind::Closed,
    );
    refused(pair.sender.configure(Timestamping::OFF), ErrorKind::Closed);
    refused(pair.sender.connect(pair.to), ErrorKind::Closed);
    assert!(
        matches!(
            outcome_of(&pair.sender, 1)?,
            TransmitOutcome::Timestamped(_)
        ),
        "what came before can be fetched"
    );
    assert_eq!(ask(&pair.sender, 1)?, TransmitAnswer::Unknown);
    Ok(())
}

fn closed_by_many(rig: &Rig) -> Outcome {
    let pair = silent(rig)?;
    for id in 0..20 {
        pair.send(id)?;
    }
    thread::scope(|scope| {
        for id in 0..4 {
            let sender = &pair.sender;
            scope.spawn(move || sender.wait_transmit_timestamp(TransmitId(id), FOR_EVER));
            scope.spawn(move || sender.receive(&mut [0; 8], FOR_EVER).err());
        }
        thread::sleep(A_MOMENT);
        for _ in 0..4 {
            scope.spawn(|| pair.sender.close());
        }
    });
    let counters = pair.sender.counters();
    assert_eq!(
        counters.missing_for(MissingReason::SocketClosed),
        20,
        "{counters:?}"
    );
    Ok(())
}

fn configured_while_awaiting(rig: &Rig) -> Outcome {
    let pair = silent(rig)?;
    pair.send(1)?;
    let answer = thread::scope(|scope| {
        let waiting = scope.spawn(|| pair.sender.wait_transmit_timestamp(TransmitId(1), FOR_EVER));
        thread::sleep(A_MOMENT);
        let configured = pair.sender.configure(Timestamping::OFF.transmit(4));
        waiting
            .join()
            .expect("no panic")
            .and_then(|answer| configured.map(|_| answer))
    })?;
    assert_eq!(
        answer,
        TransmitAnswer::Resolved(TransmitOutcome::Missing(MissingReason::Reset))
    );
    pair.send(2)?;
    assert!(matches!(
        pair.sender
            .wait_transmit_timestamp(TransmitId(2), PATIENCE)?,
        TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
    ));
    Ok(())
}
