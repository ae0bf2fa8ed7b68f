//! Fetching the outcomes of transmit IDs, each of which resolves once.

use crate::pair::{LONG, Pair, ideal_but, is_timestamped, pass, simulation};
use std::time::Duration;
use wirestamp::timestamp::{LateTimestamp, Notice, TransmitCounters};
use wirestamp::{
    ErrorKind, MissingReason, Span, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome,
    TransmitRecord,
};

fn lost(reason: MissingReason) -> TransmitAnswer {
    TransmitAnswer::Resolved(TransmitOutcome::Missing(reason))
}

fn adds_up(counters: &TransmitCounters) -> bool {
    counters.sent == counters.pending + counters.timestamped + counters.missing_in_all()
}

fn timestamping(pair: &Pair, capacity: u16) {
    pair.sender
        .configure(Timestamping::OFF.transmit(capacity))
        .expect("granted");
}

#[test]
fn not_enabled_unknown_pending_and_ended_are_different_answers() {
    let simulation = ideal_but("[nic.faults]\nlate = 1.0\nlate_from = \"1ms\"\nlate_to = \"1ms\"");
    let pair = Pair::over_the_cable(&simulation);
    let ask = |id| {
        pair.sender
            .transmit_timestamp(TransmitId(id))
            .expect("an answer")
    };
    assert_eq!(ask(1), TransmitAnswer::NotEnabled);
    timestamping(&pair, 8);
    assert_eq!(ask(1), TransmitAnswer::Unknown, "never sent");
    pair.send(1);
    assert_eq!(ask(1), TransmitAnswer::Pending);
    pass(simulation.world(), Duration::from_millis(2));
    assert!(matches!(
        ask(1),
        TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
    ));
    assert_eq!(ask(1), TransmitAnswer::Unknown, "fetching removes");
}

#[test]
fn a_timestamp_is_right_and_within_its_bound() {
    let simulation = simulation("i225");
    let pair = Pair::over_the_cable(&simulation);
    timestamping(&pair, 8);
    pair.send(3);
    let TransmitOutcome::Timestamped(timestamps) = pair.wait_for(3) else {
        panic!("lost")
    };
    let timestamp = timestamps
        .software
        .expect("software timestamps are the default");
    let truth = simulation
        .world()
        .truth()
        .datagram_with_id(TransmitId(3))
        .expect("sent");
    assert!(timestamp.at.contains(truth.transmit_software_at));
}

#[test]
fn a_timestamp_that_waits_unfetched_beyond_the_deadline_is_still_a_timestamp() {
    let simulation = simulation("i225");
    let pair = Pair::over_the_cable(&simulation);
    pair.sender
        .configure(
            Timestamping::OFF
                .transmit(8)
                .transmit_deadline(Span::from_milliseconds(5)),
        )
        .expect("granted");
    pair.send(1);
    pair.send(2);
    pass(simulation.world(), Duration::from_secs(1));
    let mut records = [TransmitRecord::EMPTY; 8];
    assert!(matches!(
        pair.sender
            .transmit_timestamp(TransmitId(1))
            .expect("an answer"),
        TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
    ));
    assert_eq!(
        pair.sender.counters().missing_in_all(),
        0,
        "counting does not end them either"
    );
    assert_eq!(
        pair.sender
            .transmit_timestamps(&mut records)
            .expect("fetched"),
        1
    );
    assert!(is_timestamped(records[0].outcome));
}

#[test]
fn a_wait_for_an_id_that_has_ended_asks_the_system_nothing() {
    let simulation = simulation("i225");
    let pair = Pair::over_the_cable(&simulation);
    timestamping(&pair, 8);
    (1..=3).for_each(|id| pair.send(id));
    pass(simulation.world(), Duration::from_secs(1));
    assert!(is_timestamped(pair.wait_for(1)));
    let (earlier, before) = (pair.sender.now(), pair.sender.now());
    assert!(is_timestamped(pair.wait_for(2)), "it came with the first");
    let unknown = pair.sender.wait_transmit_timestamp(TransmitId(2), LONG);
    assert_eq!(unknown.expect("an answer"), TransmitAnswer::Unknown);
    assert_eq!(
        pair.sender.now() - before,
        before - earlier,
        "a look at the queue takes more time than one at the clock"
    );
}

#[test]
fn timestamps_that_find_the_buffer_full_are_lost_and_the_oldest_kept() {
    for (capacity, kept) in [(2, 2), (0, 0), (u16::MAX, 5)] {
        let simulation = simulation("ideal");
        let pair = Pair::over_the_cable(&simulation);
        timestamping(&pair, capacity);
        for id in 0..5 {
            pair.send(id);
        }
        pass(simulation.world(), Duration::from_millis(10));
        for id in 0..5 {
            let answer = pair
                .sender
                .transmit_timestamp(TransmitId(id))
                .expect("an answer");
            assert_eq!(
                id >= kept,
                answer == lost(MissingReason::BufferFull),
                "capacity {capacity}, id {id}: {answer:?}"
            );
        }
        let counters = pair.sender.counters();
        assert_eq!(
            counters.missing_for(MissingReason::BufferFull),
            u64::from(5 - kept)
        );
        assert!(adds_up(&counters));
    }
}

#[test]
fn timestamps_of_value_zero_and_timestamps_that_never_come_are_never_generated() {
    for preset in ["tx-zero", "tx-never"] {
        let pair = Pair::over_the_cable(&simulation(preset));
        timestamping(&pair, 8);
        pair.send(9);
        assert_eq!(
            pair.wait_for(9),
            TransmitOutcome::Missing(MissingReason::NeverGenerated),
            "{preset}"
        );
    }
}

#[test]
fn late_timestamps_are_offered_as_late_and_every_id_ends_once() {
    const COUNT: u32 = 300;
    let simulation = simulation("tx-late");
    let pair = Pair::over_the_cable(&simulation);
    let deadline = Span::from_milliseconds(20);
    pair.sender
        .configure(Timestamping::OFF.transmit(1024).transmit_deadline(deadline))
        .expect("granted");
    let mut outcomes = [None; COUNT as usize];
    let mut records = [TransmitRecord::EMPTY; 64];
    for id in 0..COUNT {
        pair.send(id);
    }
    loop {
        let count = pair
            .sender
            .wait_transmit_timestamps(&mut records, LONG)
            .expect("fetched");
        for record in &records[..count] {
            let place = &mut outcomes[record.id.0 as usize];
            assert_eq!(*place, None, "{record:?} ended twice");
            *place = Some(record.outcome);
        }
        if pair.sender.counters().pending == 0 && count == 0 {
            break;
        }
        if outcomes.iter().all(Option::is_some) {
            break;
        }
    }
    pass(simulation.world(), Duration::from_secs(3));
    let mut late = [LateTimestamp::EMPTY; 512];
    let count = pair.sender.late_timestamps(&mut late).expect("fetched");
    assert!(count > 50, "about 47 % are late: {count}");
    for LateTimestamp { id, timestamps, .. } in &late[..count] {
        let outcome = outcomes[id.0 as usize].expect("it was sent");
        assert!(!is_timestamped(outcome), "id {id} was timestamped and late");
        let truth = simulation
            .world()
            .truth()
            .datagram_with_id(*id)
            .expect("sent");
        let timestamp = timestamps.software.expect("a timestamp");
        assert!(
            timestamp.at.contains(truth.transmit_software_at),
            "it is that datagram's"
        );
    }
    let counters = pair.sender.counters();
    assert!(
        adds_up(&counters) && counters.sent == u64::from(COUNT) && counters.pending == 0,
        "{counters:?}"
    );
}

#[test]
fn a_reset_ends_what_is_awaited_and_nothing_else() {
    let simulation =
        ideal_but("[nic.faults]\nlate = 1.0\nlate_from = \"10ms\"\nlate_to = \"10ms\"");
    let pair = Pair::over_the_cable(&simulation);
    timestamping(&pair, 8);
    pair.send(1);
    pass(simulation.world(), Duration::from_millis(20));
    pair.send(2);
    pair.sender.reset_timestamps();
    assert!(is_timestamped(pair.wait_for(1)), "its timestamp had come");
    assert_eq!(
        pair.wait_for(2),
        TransmitOutcome::Missing(MissingReason::Reset)
    );
}

#[test]
fn what_a_configuration_omits_is_off() {
    let pair = Pair::over_the_cable(&simulation("tx-never"));
    timestamping(&pair, 8);
    pair.send(1);
    let granted = pair
        .sender
        .configure(Timestamping::OFF.receive())
        .expect("granted");
    assert_eq!(granted.timestamping.transmit, None);
    let ask = |id| {
        pair.sender
            .transmit_timestamp(TransmitId(id))
            .expect("an answer")
    };
    assert_eq!(ask(1), lost(MissingReason::Reset));
    assert_eq!(ask(1), TransmitAnswer::NotEnabled);
}

#[test]
fn a_closed_socket_ends_its_ids_and_lets_outcomes_be_fetched() {
    let simulation =
        ideal_but("[nic.faults]\nlate = 1.0\nlate_from = \"10ms\"\nlate_to = \"10ms\"");
    let pair = Pair::over_the_cable(&simulation);
    timestamping(&pair, 8);
    pair.send(1);
    pass(simulation.world(), Duration::from_millis(20));
    pair.send(2);
    pair.sender.close();
    pair.sender.close();
    assert!(is_timestamped(pair.wait_for(1)), "its timestamp had come");
    assert_eq!(
        pair.wait_for(2),
        TransmitOutcome::Missing(MissingReason::SocketClosed)
    );
    let closed = |error: wirestamp::Error| error.kind() == ErrorKind::Closed;
    assert!(closed(
        pair.sender
            .send_to(b"x", pair.to, Some(TransmitId(3)))
            .expect_err("closed")
    ));
    assert!(closed(
        pair.sender
            .send_to(b"x", pair.to, None)
            .expect_err("closed")
    ));
    assert!(closed(
        pair.sender.receive(&mut [0; 8], LONG).expect_err("closed")
    ));
    assert!(closed(
        pair.sender
            .wait_transmit_timestamps(&mut [TransmitRecord::EMPTY], LONG)
            .expect_err("closed")
    ));
    assert!(adds_up(&pair.sender.counters()));
}

#[test]
fn an_icmp_error_is_a_notice_and_no_timestamp() {
    let simulation = simulation("ideal");
    let pair = Pair::over_the_cable(&simulation);
    pair.sender
        .configure(Timestamping::OFF.transmit(8).icmp_errors())
        .expect("granted");
    let mut nobody = pair.to;
    nobody.set_port(9);
    pair.sender
        .send_to(b"to nobody", nobody, Some(TransmitId(1)))
        .expect("sent");
    pass(simulation.world(), Duration::from_millis(10));
    let mut notices = [Notice::Other { origin: 0, code: 0 }; 4];
    assert_eq!(pair.sender.notices(&mut notices).expect("fetched"), 1);
    assert!(
        matches!(notices[0], Notice::Icmp(error) if error.destination == Some(nobody)),
        "{:?}",
        notices[0]
    );
    assert!(is_timestamped(pair.wait_for(1)), "it left all the same");
}
