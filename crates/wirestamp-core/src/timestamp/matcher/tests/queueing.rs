//! The time at which a datagram entered the queueing discipline is in the record of its ID,
//! whatever its outcome.

use super::*;

fn queueing(capacity: u16) -> Matcher {
    let mut matcher = Matcher::new();
    matcher.configure(&wanted(capacity), at(0));
    matcher
}

fn wanted(capacity: u16) -> Timestamping {
    let deadline = Span::from_milliseconds(100);
    let wanted = Timestamping::OFF.transmit(capacity).queueing();
    wanted.transmit_deadline(deadline)
}

fn queued(matcher: &mut Matcher, id: u32, milliseconds: i64) {
    matcher.queued(TransmitId(id), &time(milliseconds));
}

fn time(milliseconds: i64) -> SoftwareTimestamp {
    software(milliseconds).software.expect("one of software")
}

/// IDs and times in the queue, in milliseconds.
fn queue_times(records: &[TransmitRecord]) -> Vec<(u32, Option<i64>)> {
    let time = |record: &TransmitRecord| Some(record.queued?.at.value.nanoseconds() / MILLISECOND);
    let told = records.iter().map(|record| (record.id.0, time(record)));
    told.collect()
}

#[test]
fn the_time_in_the_queue_ends_no_id_and_comes_with_its_record() {
    let mut matcher = queueing(8);
    begin(&mut matcher, [1, 2, 3], 1);
    queued(&mut matcher, 1, 2);
    queued(&mut matcher, 2, 3);
    assert_eq!(matcher.awaited(), 3);
    assert_eq!(batch(&mut matcher, 4), []);
    assert!(!matcher.observed(TimestampSource::Software));
    for id in [1, 2, 3] {
        matcher.timestamped(TransmitId(id), &software(5));
    }
    let records = batch(&mut matcher, 6);
    let expected = [(1, Some(2)), (2, Some(3)), (3, None)];
    assert_eq!(queue_times(&records), expected);
    let outcome = TransmitOutcome::Timestamped(software(5));
    assert_eq!(records[0].outcome, outcome);
    let counters = matcher.counters();
    assert_eq!((counters.timestamped, counters.duplicate), (3, 0));
}

#[test]
fn of_several_layers_the_first_counts_in_whatever_order_they_come() {
    let mut matcher = queueing(8);
    begin(&mut matcher, [1, 2], 1);
    for (id, milliseconds) in [(1, 2), (1, 3), (2, 5), (2, 4), (2, 6)] {
        queued(&mut matcher, id, milliseconds);
    }
    for id in [1, 2] {
        matcher.timestamped(TransmitId(id), &software(7));
    }
    let records = batch(&mut matcher, 8);
    assert_eq!(queue_times(&records), [(1, Some(2)), (2, Some(4))]);
}

#[test]
fn an_id_without_a_transmit_timestamp_still_tells_that_it_reached_the_queue() {
    let mut matcher = queueing(8);
    begin(&mut matcher, [1, 2], 1);
    queued(&mut matcher, 1, 2);
    let records = batch(&mut matcher, 200);
    assert_eq!(queue_times(&records), [(1, Some(2)), (2, None)]);
    let missing = TransmitOutcome::Missing(MissingReason::NeverGenerated);
    assert_eq!(records[0].outcome, missing);
}

#[test]
fn ids_out_of_order_and_ids_that_left_the_way_keep_their_own_time() {
    let mut matcher = queueing(8);
    begin(&mut matcher, [1, 2, 3], 1);
    queued(&mut matcher, 1, 2);
    queued(&mut matcher, 3, 4);
    matcher.timestamped(TransmitId(3), &software(5));
    queued(&mut matcher, 2, 3); // both have left the fast path
    queued(&mut matcher, 1, 4);
    matcher.timestamped(TransmitId(2), &software(6));
    matcher.timestamped(TransmitId(1), &software(7));
    let records = batch(&mut matcher, 8);
    let expected = [(3, Some(4)), (2, Some(3)), (1, Some(2))];
    assert_eq!(queue_times(&records), expected);
}

#[test]
fn what_comes_after_the_end_or_from_an_earlier_use_is_nobodys() {
    let mut matcher = queueing(8);
    begin(&mut matcher, [1], 1);
    matcher.timestamped(TransmitId(1), &software(2));
    queued(&mut matcher, 1, 2);
    assert_eq!(queue_times(&batch(&mut matcher, 3)), [(1, None)]);
    begin(&mut matcher, [1], 4);
    queued(&mut matcher, 1, 2);
    queued(&mut matcher, 9, 4);
    matcher.timestamped(TransmitId(1), &software(5));
    assert_eq!(queue_times(&batch(&mut matcher, 6)), [(1, None)]);
    let counters = matcher.counters();
    let others = (counters.late, counters.duplicate, counters.stray);
    assert_eq!(others, (0, 0, 0));
}

#[test]
fn a_place_that_is_used_again_does_not_show_the_time_of_the_use_before() {
    let mut matcher = queueing(1);
    for round in 0..4 {
        let now = 10 * round + 1;
        begin(&mut matcher, [round as u32], now);
        if round % 2 == 0 {
            queued(&mut matcher, round as u32, now + 1);
        }
        matcher.timestamped(TransmitId(round as u32), &software(now + 2));
        let expected = (round % 2 == 0).then_some(now + 1);
        let records = batch(&mut matcher, now + 3);
        assert_eq!(queue_times(&records), [(round as u32, expected)]);
    }
}

#[test]
fn a_new_configuration_keeps_what_is_not_fetched_and_off_is_off() {
    let mut matcher = queueing(8);
    begin(&mut matcher, [1, 2], 1);
    queued(&mut matcher, 1, 2);
    queued(&mut matcher, 2, 3);
    matcher.timestamped(TransmitId(1), &software(4));
    matcher.configure(&Timestamping::OFF.transmit(16), at(5));
    begin(&mut matcher, [3], 6);
    queued(&mut matcher, 3, 7);
    matcher.timestamped(TransmitId(3), &software(8));
    let mut records = batch(&mut matcher, 9);
    records.sort_unstable_by_key(|record| record.id);
    let expected = [(1, Some(2)), (2, Some(3)), (3, None)];
    assert_eq!(queue_times(&records), expected);
}
