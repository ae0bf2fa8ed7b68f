//! Sending and getting the outcome in one call.

use crate::pair::{LONG, Pair, is_timestamped, pass, simulation};
use std::time::Duration;
use wirestamp::timestamp::LateTimestamp;
use wirestamp::{
    ErrorKind, HardwareRequest, MissingReason, Source, Span, Timestamping, TransmitId,
    TransmitOutcome, TransmitRecord,
};

const SOON: Duration = Duration::from_millis(5);

fn pair(preset: &str, timestamping: Timestamping) -> Pair {
    let pair = Pair::over_the_cable(&simulation(preset));
    pair.sender.configure(timestamping).expect("granted");
    pair
}

#[test]
fn a_datagram_and_its_timestamps_in_one_call() {
    let pair = pair("ideal", Timestamping::OFF.transmit(8));
    // the library skips IDs that the caller uses
    pair.send(1 << 31);
    let before = pair.sender.now();
    for _ in 0..100 {
        let outcome = pair
            .sender
            .send_to_timestamped(b"timestamped", pair.to, LONG)
            .expect("sent");
        let TransmitOutcome::Timestamped(timestamps) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(timestamps.software.expect("by the kernel").at.value >= before);
    }
    assert!(is_timestamped(pair.wait_for(1 << 31)));
    pair.sender.connect(pair.to).expect("a peer");
    let outcome = pair.sender.send_timestamped(b"timestamped", LONG);
    assert!(is_timestamped(outcome.expect("sent")));
    // nothing is left for a call that fetches the outcomes of all IDs
    let mut records = [TransmitRecord::EMPTY; 8];
    assert_eq!(pair.sender.transmit_timestamps(&mut records), Ok(0));
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.sent, counters.timestamped, counters.pending),
        (102, 102, 0)
    );
}

#[test]
fn at_the_deadline_the_id_ends_with_the_reason() {
    let patient = Timestamping::OFF
        .transmit(8)
        .transmit_deadline(Span::from_seconds(3_600));
    let pair = pair("tx-never", patient);
    let begun = pair.sender.now();
    let outcome = pair.sender.send_to_timestamped(b"x", pair.to, SOON);
    let never = TransmitOutcome::Missing(MissingReason::NeverGenerated);
    assert_eq!(outcome, Ok(never));
    let waited = pair.sender.now() - begun;
    assert!(
        waited >= SOON.into() && waited < (10 * SOON).into(),
        "{waited}"
    );
    let counters = pair.sender.counters();
    assert_eq!(counters.pending, 0);
    assert_eq!(counters.missing_for(MissingReason::NeverGenerated), 1);
    assert_eq!(counters.missing_in_all(), 1);
}

#[test]
fn what_comes_after_the_deadline_is_late_and_nobody_elses() {
    let simulation = simulation("i225");
    let nic = simulation.interface("sim0").expect("a NIC");
    let _on = nic
        .enable_hardware(HardwareRequest::AllPackets)
        .expect("granted");
    let pair = Pair::over_the_cable(&simulation);
    pair.sender
        .configure(Timestamping::OFF.transmit(8).source(Source::Hardware))
        .expect("granted");
    let outcome = pair
        .sender
        .send_to_timestamped(b"x", pair.to, Duration::ZERO)
        .expect("sent");
    let missing = matches!(outcome, TransmitOutcome::Missing(_));
    assert!(missing, "{outcome:?}");
    pass(simulation.world(), Duration::from_secs(2));
    let mut late = [LateTimestamp::EMPTY; 4];
    assert_eq!(pair.sender.late_timestamps(&mut late), Ok(1));
    assert!(late[0].id >= TransmitId(1 << 31), "{:?}", late[0].id);
    assert!(!late[0].timestamps.is_none());
}

#[test]
fn without_transmit_timestamps_nothing_is_sent() {
    let pair = pair("ideal", Timestamping::OFF.receive());
    let error = pair
        .sender
        .send_to_timestamped(b"x", pair.to, LONG)
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let received = pair.receiver.receive(&mut [0; 8], SOON);
    assert_eq!(received, Ok(None));

    pair.sender
        .configure(Timestamping::OFF.transmit(8))
        .expect("granted");
    pair.sender.close();
    let error = pair
        .sender
        .send_to_timestamped(b"x", pair.to, LONG)
        .expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
}

#[test]
fn threads_have_their_own() {
    let Some(pair) = Pair::on_loopback() else {
        return;
    };
    pair.sender
        .configure(Timestamping::OFF.transmit(256))
        .expect("granted");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let outcome = pair.sender.send_to_timestamped(b"x", pair.to, LONG);
                    assert!(is_timestamped(outcome.expect("sent")));
                }
            });
        }
    });
    assert_eq!(pair.sender.counters().timestamped, 100);
}

#[cfg(feature = "tokio")]
#[test]
fn a_future_that_is_dropped_leaves_no_id_behind() {
    use wirestamp::tokio::AsyncUdpSocket;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for pair in [
            Some(Pair::over_the_cable(&simulation("ideal"))),
            Pair::on_loopback(),
        ]
        .into_iter()
        .flatten()
        {
            pair.sender
                .configure(Timestamping::OFF.transmit(8))
                .expect("granted");
            let socket = AsyncUdpSocket::new(pair.sender).expect("registered");
            let sent = socket.send_to_timestamped(b"x", pair.to, LONG).await;
            assert!(is_timestamped(sent.expect("sent")));
        }
        let pair = pair("tx-never", Timestamping::OFF.transmit(8));
        let socket = AsyncUdpSocket::new(pair.sender).expect("registered");
        let outcome = socket.send_to_timestamped(b"x", pair.to, SOON).await;
        let never = TransmitOutcome::Missing(MissingReason::NeverGenerated);
        assert_eq!(outcome, Ok(never));
        {
            let mut sent = std::pin::pin!(socket.send_to_timestamped(b"x", pair.to, LONG));
            let waker = std::task::Waker::noop();
            let mut context = std::task::Context::from_waker(waker);
            assert!(sent.as_mut().poll(&mut context).is_pending());
            assert_eq!(socket.socket().counters().pending, 1);
        }
        assert_eq!(socket.socket().counters().pending, 0);
    });
}
