//! Sending with transmit IDs: rejected IDs, and IDs whose send failed.

use crate::pair::{Pair, ideal_but, is_timestamped, simulation};
use std::net::SocketAddr;
use wirestamp::{ErrorKind, Outgoing, Span, Timestamping, TransmitAnswer, TransmitId};

const TOO_LONG: &[u8] = &[0; 70_000];

fn outgoing(payload: &[u8], to: SocketAddr, id: u32) -> Outgoing<'_> {
    Outgoing::new(payload).to(to).id(TransmitId(id))
}

fn timestamping(preset: &str) -> Pair {
    let pair = Pair::over_the_cable(&simulation(preset));
    pair.sender
        .configure(Timestamping::OFF.transmit(1024))
        .expect("granted");
    pair
}

#[test]
fn an_awaited_id_cannot_be_used_again_and_the_error_names_it() {
    let pair = timestamping("tx-never");
    pair.send(77);
    let error = pair
        .sender
        .send_to(b"again", pair.to, Some(TransmitId(77)))
        .expect_err("in use");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.operation().contains("77") && !error.remedy().is_empty(),
        "{error}"
    );
    assert_eq!(
        pair.sender.counters().sent,
        1,
        "the second was not sent under it"
    );
}

#[test]
fn the_id_of_a_failed_send_is_free_again() {
    let pair = timestamping("i225");
    let error = pair
        .sender
        .send_to(TOO_LONG, pair.to, Some(TransmitId(5)))
        .expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(pair.sender.counters().sent, 0);
    assert_eq!(
        pair.sender
            .transmit_timestamp(TransmitId(5))
            .expect("an answer"),
        TransmitAnswer::Unknown
    );
    pair.send(5);
    assert!(is_timestamped(pair.wait_for(5)));
}

#[test]
fn a_batch_that_stops_in_the_middle_frees_the_ids_of_the_rest() {
    let pair = timestamping("i225");
    let batch = [
        outgoing(b"one", pair.to, 1),
        outgoing(TOO_LONG, pair.to, 2),
        outgoing(b"three", pair.to, 3),
    ];
    assert_eq!(pair.sender.send_batch(&batch).expect("the first went"), 1);
    assert!(is_timestamped(pair.wait_for(1)));
    for id in [2, 3] {
        assert_eq!(
            pair.sender
                .transmit_timestamp(TransmitId(id))
                .expect("an answer"),
            TransmitAnswer::Unknown
        );
    }
    let error = pair.sender.send_batch(&batch[1..]).expect_err("met again");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(pair.sender.send_batch(&batch[2..]).expect("sent"), 1);
    assert!(is_timestamped(pair.wait_for(3)));
}

#[test]
fn a_batch_with_an_id_twice_sends_up_to_the_second() {
    let pair = timestamping("i225");
    let batch = [
        outgoing(b"one", pair.to, 1),
        outgoing(b"two", pair.to, 2),
        outgoing(b"one again", pair.to, 1),
    ];
    assert_eq!(pair.sender.send_batch(&batch).expect("two went"), 2);
    assert_eq!(pair.sender.counters().sent, 2);
    assert!(is_timestamped(pair.wait_for(1)) && is_timestamped(pair.wait_for(2)));
}

#[test]
fn without_timestamping_ids_are_ignored_and_the_datagram_goes() {
    let pair = Pair::over_the_cable(&simulation("i225"));
    let many: Vec<_> = (0..100)
        .map(|id| outgoing(b"without timestamp", pair.to, id))
        .collect();
    assert_eq!(pair.sender.send_batch(&many).expect("sent"), many.len());
    assert_eq!(
        pair.sender
            .transmit_timestamp(TransmitId(1))
            .expect("an answer"),
        TransmitAnswer::NotEnabled
    );
    let mut buffer = [0; 64];
    for _ in 0..many.len() {
        pair.receiver
            .receive(&mut buffer, crate::pair::LONG)
            .expect("received")
            .expect("all arrive");
    }
}

#[test]
fn too_many_awaited_ids_are_busy_and_none_is_forgotten() {
    let pair = timestamping("tx-never");
    let mut sent = 0;
    let error = loop {
        match pair.sender.send_to(b"x", pair.to, Some(TransmitId(sent))) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 1_000_000, "there is a limit");
    };
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(sent >= 1024, "at least the capacity can be under way");
    assert_eq!(pair.sender.counters().pending, u64::from(sent));
    assert!(!is_timestamped(pair.wait_for(0)), "time ends them");
    pair.send(sent);
}

#[test]
fn a_large_batch_never_overflows_a_small_system_queue() {
    let pair = Pair::over_the_cable(&ideal_but(
        "[host]\nreceive_buffer = 8192\nreceive_buffer_limit = 8192\n[nic.transmit]\ncollection = \"0ns\"",
    ));
    let granted = pair
        .sender
        .configure(Timestamping::OFF.transmit(4096))
        .expect("granted");
    assert!(
        granted.system_queue.is_some_and(|queue| queue < 20),
        "{granted:?}"
    );
    let batch: Vec<_> = (0..2_000).map(|id| outgoing(b"x", pair.to, id)).collect();
    assert_eq!(pair.sender.send_batch(&batch).expect("sent"), batch.len());
    for id in 0..2_000 {
        assert!(is_timestamped(pair.wait_for(id)), "id {id}");
    }
}

#[test]
fn a_deadline_counts_from_the_end_of_a_send_that_took_long() {
    // the send takes 20 ms, the timestamp 22 ms
    let slow = "[cost]\nsend = \"20ms\"\n[nic.faults]\nlate = 1.0\nlate_from = \"22ms\"\nlate_to = \"22ms\"";
    let pair = Pair::over_the_cable(&ideal_but(slow));
    let configuration = Timestamping::OFF
        .transmit(8)
        .transmit_deadline(Span::from_milliseconds(5));
    pair.sender.configure(configuration).expect("granted");
    pair.send(1);
    assert!(is_timestamped(pair.wait_for(1)));
}
