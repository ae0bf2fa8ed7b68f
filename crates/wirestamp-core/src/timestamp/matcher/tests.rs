mod queueing;
mod room;

use super::*;
use crate::time::{Bounded, HardwareTicks};
use crate::timestamp::{
    Arrival, HardwareTimestamp, SoftwareTimestamp, Timestamps, TransmitAnswer, TransmitOutcome,
    TransmitRecord,
};
use std::vec;
use std::vec::Vec;

const MILLISECOND: i64 = 1_000_000;

fn at(milliseconds: i64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(milliseconds * MILLISECOND)
}

fn software(milliseconds: i64) -> Timestamps {
    let timestamp = SoftwareTimestamp {
        at: Bounded::new(at(milliseconds), Span::from_nanoseconds(20)),
        utc: None,
        clock_stepped: false,
    };
    Timestamps {
        software: Some(timestamp),
        hardware: None,
    }
}

fn hardware(ticks: u64, read_at: i64) -> Timestamps {
    let timestamp = HardwareTimestamp {
        ticks: HardwareTicks::new(ticks),
        interface: None,
        read_at: at(read_at),
    };
    Timestamps {
        software: None,
        hardware: Some(timestamp),
    }
}

fn matcher(capacity: u16, source: Source) -> Matcher {
    let mut matcher = Matcher::new();
    let deadline = Span::from_milliseconds(100);
    matcher.configure(
        &Timestamping::OFF
            .transmit(capacity)
            .source(source)
            .transmit_deadline(deadline),
        at(0),
    );
    matcher
}

fn begin(matcher: &mut Matcher, ids: impl IntoIterator<Item = u32>, milliseconds: i64) {
    for id in ids {
        matcher
            .begin(TransmitId(id), at(milliseconds))
            .expect("not in use");
    }
}

fn ended(outcome: TransmitOutcome) -> TransmitAnswer {
    TransmitAnswer::Resolved(outcome)
}

fn lost(reason: MissingReason) -> TransmitAnswer {
    ended(TransmitOutcome::Missing(reason))
}

fn timestamped(timestamps: Timestamps) -> TransmitAnswer {
    ended(TransmitOutcome::Timestamped(timestamps))
}

fn batch(matcher: &mut Matcher, milliseconds: i64) -> Vec<TransmitRecord> {
    let mut out = vec![TransmitRecord::EMPTY; 64];
    let count = matcher.fetch_batch(at(milliseconds), &mut out);
    out.truncate(count);
    out
}

fn to_ask(matcher: &Matcher) -> Vec<u32> {
    matcher.open_ids().map(|id| id.0).collect()
}

#[test]
fn the_answers_differ() {
    let mut never = Matcher::new();
    assert_eq!(
        never.fetch(TransmitId(1), at(1)),
        TransmitAnswer::NotEnabled
    );
    assert_eq!(never.begin(TransmitId(1), at(1)), Err(Refused::NotEnabled));

    let mut matcher = matcher(4, Source::Software);
    assert_eq!(matcher.fetch(TransmitId(1), at(1)), TransmitAnswer::Unknown);
    begin(&mut matcher, [1, 2], 1);
    assert_eq!(matcher.fetch(TransmitId(1), at(2)), TransmitAnswer::Pending);
    matcher.timestamped(TransmitId(1), &software(2));
    assert_eq!(
        matcher.fetch(TransmitId(1), at(3)),
        timestamped(software(2))
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(3)),
        TransmitAnswer::Unknown,
        "told once"
    );
    assert_eq!(matcher.deadline_of(TransmitId(2)), Some(at(101)));
    assert_eq!(
        matcher.fetch(TransmitId(2), at(100)),
        TransmitAnswer::Pending
    );
    assert_eq!(
        matcher.fetch(TransmitId(2), at(101)),
        lost(MissingReason::Deadline)
    );
    assert_eq!(matcher.deadline_of(TransmitId(2)), None);
}

#[test]
fn the_deadline_of_a_slow_send_counts_from_its_end() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1], 0);
    matcher.sent(TransmitId(1), at(150));
    matcher.sent(TransmitId(9), at(150)); // never begun: nothing happens
    assert_eq!(matcher.deadline_of(TransmitId(1)), Some(at(250)));
    assert_eq!(
        matcher.fetch(TransmitId(1), at(249)),
        TransmitAnswer::Pending
    );
    matcher.timestamped(TransmitId(1), &software(100)); // made before the send returned
    assert_eq!(
        matcher.fetch(TransmitId(1), at(249)),
        timestamped(software(100))
    );
}

#[test]
fn an_id_whose_send_has_not_returned_is_not_overdue() {
    let mut matcher = matcher(4, Source::Software);
    for id in [1, 2] {
        matcher.begin_sending(TransmitId(id), at(0)).expect("free");
    }
    assert_eq!(
        matcher.fetch(TransmitId(1), at(5_000)),
        TransmitAnswer::Pending
    );
    assert_eq!(
        matcher.deadline_of(TransmitId(1)),
        Some(at(5_100)),
        "and a wait for it goes on"
    );
    matcher.timestamped(TransmitId(2), &software(3)); // another thread collects it before the send returns
    assert_eq!(
        matcher.fetch(TransmitId(2), at(5_000)),
        timestamped(software(3))
    );
    for id in [1, 2] {
        matcher.sent(TransmitId(id), at(6_000));
    }
    assert_eq!(
        matcher.fetch(TransmitId(1), at(6_099)),
        TransmitAnswer::Pending
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(6_100)),
        lost(MissingReason::Deadline)
    );
}

#[test]
fn silence_has_three_reasons() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1], 0);
    assert_eq!(
        matcher.fetch(TransmitId(1), at(100)),
        lost(MissingReason::NeverGenerated),
        "none was ever seen"
    );
    begin(&mut matcher, [2, 3], 200);
    matcher.timestamped(TransmitId(2), &software(201));
    assert_eq!(
        matcher.fetch(TransmitId(3), at(300)),
        lost(MissingReason::Deadline)
    );
    begin(&mut matcher, [4], 400);
    matcher.overflowed();
    begin(&mut matcher, [5], 400);
    assert_eq!(
        matcher.fetch(TransmitId(4), at(500)),
        lost(MissingReason::BufferFull)
    );
    assert_eq!(
        matcher.fetch(TransmitId(5), at(500)),
        lost(MissingReason::Deadline),
        "sent after the overflow"
    );
    assert!(
        matcher.observed(TimestampSource::Software) && !matcher.observed(TimestampSource::Hardware)
    );
}

#[test]
fn a_timestamp_that_finds_the_buffer_full_is_discarded() {
    for capacity in [0, 1, 3] {
        let mut matcher = matcher(capacity, Source::Software);
        begin(&mut matcher, 0..5, 1);
        (0..5).for_each(|id| matcher.timestamped(TransmitId(id), &software(2)));
        assert_eq!(matcher.waiting(), usize::from(capacity));
        for id in 0..5 {
            let expected = if id < u32::from(capacity) {
                timestamped(software(2))
            } else {
                lost(MissingReason::BufferFull)
            };
            assert_eq!(matcher.fetch(TransmitId(id), at(3)), expected);
        }
    }
}

#[test]
fn the_largest_capacity_is_really_there() {
    let mut matcher = matcher(u16::MAX, Source::Software);
    begin(&mut matcher, 0..65_536, 1);
    (0..65_536).for_each(|id| matcher.timestamped(TransmitId(id), &software(2)));
    assert_eq!(matcher.waiting(), 65_535);
    assert_eq!(matcher.counters().missing_for(MissingReason::BufferFull), 1);
    assert_eq!(
        matcher.fetch(TransmitId(65_535), at(3)),
        lost(MissingReason::BufferFull)
    );
    assert_eq!(
        matcher.fetch(TransmitId(65_534), at(3)),
        timestamped(software(2))
    );
}

#[test]
fn each_source_waits_for_its_own_timestamp() {
    let (soft, hard) = (software(2), hardware(77, 3));
    let both = Timestamps {
        software: soft.software,
        hardware: hard.hardware,
    };
    for (source, after_software, after_hardware) in [
        (Source::Software, timestamped(soft), TransmitAnswer::Unknown),
        (Source::Hardware, TransmitAnswer::Pending, timestamped(hard)),
        (
            Source::HardwareElseSoftware,
            timestamped(soft),
            TransmitAnswer::Unknown,
        ),
        (Source::Both, TransmitAnswer::Pending, timestamped(both)),
    ] {
        let mut matcher = matcher(4, source);
        begin(&mut matcher, [1], 1);
        matcher.timestamped(TransmitId(1), &soft);
        assert_eq!(
            matcher.fetch(TransmitId(1), at(4)),
            after_software,
            "{source:?}"
        );
        matcher.timestamped(TransmitId(1), &hard);
        assert_eq!(
            matcher.fetch(TransmitId(1), at(4)),
            after_hardware,
            "{source:?}"
        );
    }
}

#[test]
fn half_of_both_counts_as_timestamped_and_the_other_half_may_join_until_it_is_fetched() {
    let mut matcher = matcher(4, Source::Both);
    begin(&mut matcher, [1, 2], 1);
    matcher.timestamped(TransmitId(1), &software(2));
    matcher.timestamped(TransmitId(2), &software(2));
    assert_eq!(
        matcher.fetch(TransmitId(1), at(101)),
        timestamped(software(2))
    );
    matcher.timestamped(TransmitId(2), &hardware(7, 102));
    matcher.timestamped(TransmitId(1), &hardware(8, 102));
    let both = Timestamps {
        software: software(2).software,
        hardware: hardware(7, 102).hardware,
    };
    assert_eq!(matcher.fetch(TransmitId(2), at(103)), timestamped(both));
    let mut late = [LateTimestamp::EMPTY; 4];
    assert_eq!(matcher.late(&mut late), 1);
    assert_eq!(
        late[0],
        LateTimestamp {
            id: TransmitId(1),
            timestamps: hardware(8, 102)
        }
    );
}

/// One thread reads the queue, another one sends later, and the first continues: by then the
/// timestamp may be in the queue.
#[test]
fn an_id_ends_by_the_time_at_which_its_queue_was_read() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1], 1);
    begin(&mut matcher, [2], 500);
    matcher.expire(at(50));
    assert!(matcher.is_awaited(TransmitId(1)));
    matcher.timestamped(TransmitId(1), &software(2));
    assert_eq!(
        matcher.fetch(TransmitId(1), at(501)),
        timestamped(software(2))
    );
}

#[test]
fn a_late_timestamp_is_offered_as_late_and_never_given_to_the_next_use() {
    let mut matcher = matcher(4, Source::Hardware);
    begin(&mut matcher, [1], 1);
    matcher.expire(at(101));
    assert_eq!(
        matcher.begin(TransmitId(1), at(102)),
        Err(Refused::Duplicate),
        "its outcome was not fetched"
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(102)),
        lost(MissingReason::NeverGenerated)
    );
    assert_eq!(
        matcher.begin(TransmitId(1), at(103)),
        Err(Refused::Duplicate),
        "its timestamp may still come"
    );
    matcher.advance(at(110));
    matcher.timestamped(TransmitId(1), &hardware(55, 110));
    let mut late = [LateTimestamp::EMPTY; 4];
    assert_eq!(matcher.late(&mut late), 1);
    assert_eq!(late[0].timestamps, hardware(55, 110));
    begin(&mut matcher, [1], 120);
    matcher.timestamped(TransmitId(1), &hardware(55, 121)); // the same timestamp read again
    assert_eq!(
        matcher.fetch(TransmitId(1), at(122)),
        TransmitAnswer::Pending
    );
    assert_eq!(
        (matcher.counters().late, matcher.counters().duplicate),
        (1, 1)
    );
}

#[test]
fn an_abandoned_id_can_be_used_again_in_the_end() {
    let mut matcher = matcher(4, Source::Hardware);
    begin(&mut matcher, [1], 0);
    assert_eq!(
        matcher.fetch(TransmitId(1), at(100)),
        lost(MissingReason::NeverGenerated)
    );
    assert_eq!(
        matcher.begin(TransmitId(1), at(10_099)),
        Err(Refused::Duplicate)
    );
    assert_eq!(matcher.begin(TransmitId(1), at(10_100)), Ok(()));
}

#[test]
fn a_timestamp_older_than_the_id_is_of_an_earlier_use() {
    let mut matcher = matcher(4, Source::HardwareElseSoftware);
    begin(&mut matcher, [1], 10);
    matcher.timestamped(TransmitId(1), &software(9));
    matcher.timestamped(TransmitId(1), &hardware(5, 9));
    assert_eq!(
        matcher.fetch(TransmitId(1), at(11)),
        TransmitAnswer::Pending
    );
    assert_eq!(matcher.counters().duplicate, 2);
    // half a bound too early is within the error of the placed timestamp
    let mut close = software(10);
    close.software.as_mut().expect("software").at.value = at(10) - Span::from_nanoseconds(20);
    matcher.timestamped(TransmitId(1), &close);
    assert_eq!(matcher.fetch(TransmitId(1), at(11)), timestamped(close));
}

#[test]
fn a_failed_send_leaves_no_trace() {
    let mut matcher = matcher(4, Source::Software);
    let before = matcher.counters();
    begin(&mut matcher, [1], 1);
    matcher.cancel(TransmitId(1));
    assert_eq!(matcher.counters(), before);
    assert_eq!(matcher.fetch(TransmitId(1), at(2)), TransmitAnswer::Unknown);
    matcher.timestamped(TransmitId(1), &software(2));
    assert_eq!(matcher.counters().stray, 1);
    begin(&mut matcher, [1], 3);
    matcher.timestamped(TransmitId(1), &software(4));
    matcher.cancel(TransmitId(1));
    assert_eq!(
        (matcher.counters().sent, matcher.counters().timestamped),
        (0, 0),
        "even if a timestamp had come"
    );
}

#[test]
fn zero_timestamps_end_an_id_at_once() {
    let mut matcher = matcher(4, Source::Both);
    begin(&mut matcher, [1, 2], 1);
    matcher.lost(TransmitId(1), MissingReason::NeverGenerated);
    matcher.timestamped(TransmitId(2), &software(2));
    matcher.lost(TransmitId(2), MissingReason::NeverGenerated);
    matcher.lost(TransmitId(9), MissingReason::NeverGenerated);
    assert_eq!(
        matcher.fetch(TransmitId(1), at(2)),
        lost(MissingReason::NeverGenerated)
    );
    assert_eq!(
        matcher.fetch(TransmitId(2), at(2)),
        timestamped(software(2)),
        "the other half is there"
    );
    assert_eq!(
        matcher.begin(TransmitId(1), at(3)),
        Ok(()),
        "it is certain that nothing comes"
    );
}

#[test]
fn batches_come_in_the_order_of_ending() {
    let mut matcher = matcher(2, Source::Software);
    begin(&mut matcher, 1..=6, 1);
    matcher.timestamped(TransmitId(4), &software(2));
    matcher.lost(TransmitId(2), MissingReason::ClockStepped);
    matcher.timestamped(TransmitId(1), &software(2));
    matcher.timestamped(TransmitId(6), &software(2)); // finds the buffer full
    let ids: Vec<u32> = batch(&mut matcher, 101)
        .iter()
        .map(|record| record.id.0)
        .collect();
    assert_eq!(ids, [4, 2, 1, 6, 3, 5]);
    assert!(batch(&mut matcher, 101).is_empty());
}

#[test]
fn a_smaller_capacity_keeps_the_oldest_timestamps() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, 1..=4, 1);
    [3, 1, 4]
        .into_iter()
        .for_each(|id| matcher.timestamped(TransmitId(id), &software(2)));
    matcher.configure(&Timestamping::OFF.transmit(2), at(3));
    assert_eq!(
        matcher.fetch(TransmitId(2), at(3)),
        lost(MissingReason::Reset)
    );
    assert_eq!(
        matcher.fetch(TransmitId(3), at(3)),
        timestamped(software(2))
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(3)),
        timestamped(software(2))
    );
    assert_eq!(
        matcher.fetch(TransmitId(4), at(3)),
        lost(MissingReason::BufferFull)
    );
    let counters = matcher.counters();
    assert_eq!(
        (
            counters.sent,
            counters.timestamped,
            counters.missing_in_all(),
            counters.pending
        ),
        (4, 2, 2, 0)
    );
}

#[test]
fn off_still_tells_how_earlier_ids_ended() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1], 1);
    matcher.configure(&Timestamping::OFF, at(2));
    assert_eq!(
        matcher.begin(TransmitId(2), at(3)),
        Err(Refused::NotEnabled)
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(3)),
        lost(MissingReason::Reset)
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(3)),
        TransmitAnswer::NotEnabled
    );
}

#[test]
fn closing_ends_what_is_awaited_and_keeps_what_has_ended() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1, 2], 1);
    matcher.timestamped(TransmitId(1), &software(2));
    matcher.close(at(3));
    assert_eq!(matcher.begin(TransmitId(3), at(4)), Err(Refused::Closed));
    assert_eq!(
        matcher.fetch(TransmitId(1), at(4)),
        timestamped(software(2))
    );
    assert_eq!(
        matcher.fetch(TransmitId(2), at(4)),
        lost(MissingReason::SocketClosed)
    );
}

#[test]
fn what_is_lost_is_forgotten_before_what_is_awaited_is_refused() {
    let mut matcher = matcher(0, Source::Software);
    let room = SPARE as u32;
    begin(&mut matcher, 0..room, 1);
    assert_eq!(matcher.begin(TransmitId(room), at(1)), Err(Refused::Full));
    matcher.expire(at(101));
    begin(&mut matcher, [room], 102);
    assert_eq!(matcher.counters().forgotten, 1);
    assert_eq!(
        matcher.fetch(TransmitId(0), at(103)),
        TransmitAnswer::Unknown,
        "the oldest was forgotten"
    );
    assert_eq!(
        matcher.fetch(TransmitId(1), at(103)),
        lost(MissingReason::NeverGenerated)
    );
    begin(&mut matcher, [room + 1], 104);
    assert_eq!(matcher.counters().forgotten, 1, "what was told goes first");
}

#[test]
fn abandoned_ids_are_asked_after_the_awaited_ones_for_a_while() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1, 2, 3], 0);
    matcher.fetch(TransmitId(2), at(100));
    begin(&mut matcher, [8, 9], 150);
    assert_eq!(to_ask(&matcher), [8, 9, 3, 1, 2]);
    matcher.advance(at(10_100));
    assert_eq!(to_ask(&matcher), [8, 9], "nobody asks for ever");
}

#[test]
fn ids_that_left_the_way_are_asked_in_the_order_in_which_they_began() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, 1..=5, 0);
    matcher.timestamped(TransmitId(3), &software(1));
    assert_eq!(to_ask(&matcher), [1, 2, 4, 5]);
    matcher.timestamped(TransmitId(5), &software(1));
    assert_eq!(to_ask(&matcher), [1, 2, 4]);
}

#[test]
fn the_deadline_is_learnt_from_timestamps_even_from_late_ones() {
    let mut matcher = Matcher::new();
    matcher.configure(&Timestamping::OFF.transmit(64), at(0));
    begin(&mut matcher, 0..20, 0);
    assert_eq!(matcher.deadline(), Span::from_milliseconds(200));
    matcher.advance(at(1));
    (0..16).for_each(|id| matcher.timestamped(TransmitId(id), &software(0)));
    assert_eq!(matcher.deadline(), Span::from_milliseconds(10));
    assert_eq!(
        matcher.fetch(TransmitId(17), at(50)),
        lost(MissingReason::Deadline)
    );
    matcher.timestamped(TransmitId(17), &software(40));
    assert_eq!(matcher.deadline(), Span::from_milliseconds(400));
}

#[test]
fn notices_are_kept_apart_and_bounded() {
    let mut matcher = matcher(4, Source::Software);
    (0..300).for_each(|code| matcher.notice(Notice::Other { origin: 1, code }));
    let mut out = [Notice::Other { origin: 0, code: 0 }; 300];
    assert_eq!(matcher.take_notices(&mut out), 256);
    assert_eq!(
        out[0],
        Notice::Other {
            origin: 1,
            code: 44
        }
    );
    assert_eq!(matcher.notices_dropped(), 44);
}

/// In any order, with any number pending, also if IDs collide in the index.
#[test]
fn told_ids_are_remembered_as_long_as_there_is_room() {
    for (stride, remembered) in [(1, 4_096), (1 << 13, 4_096), (0x9E37_79B1, 4_096)] {
        let mut matcher = matcher(4, Source::Software);
        let id = |place: u32| place.wrapping_mul(stride);
        for place in 0..3 * remembered {
            begin(&mut matcher, [id(place)], 1);
            matcher.timestamped(TransmitId(id(place)), &software(2));
            assert_eq!(
                matcher.fetch(TransmitId(id(place)), at(2)),
                timestamped(software(2)),
                "{place} of {stride}"
            );
        }
        (0..3 * remembered)
            .for_each(|place| matcher.timestamped(TransmitId(id(place)), &software(2)));
        let counters = matcher.counters();
        assert_eq!(
            (counters.duplicate, counters.stray),
            (remembered.into(), 2 * u64::from(remembered)),
            "{stride}"
        );
    }
}

/// More IDs than the fast path has room for, timestamped in any order: each gets its own timestamp.
#[test]
fn ids_leave_the_usual_way_in_order() {
    let mut matcher = matcher(64, Source::Software);
    let own = |id: u32| software(1_000 + i64::from(id));
    for round in 0..4u32 {
        let ids = 100 * round..100 * round + 100;
        begin(&mut matcher, ids.clone(), 1);
        assert!(
            to_ask(&matcher).into_iter().take(100).eq(ids.clone()),
            "oldest first"
        );
        let shuffled = || ids.clone().map(|id| 100 * round + (id * 37 + 11) % 100);
        shuffled()
            .take(60)
            .for_each(|id| matcher.timestamped(TransmitId(id), &own(id)));
        let third = shuffled().nth(2).expect("100 of them");
        assert_eq!(
            matcher.fetch(TransmitId(third), at(2)),
            timestamped(own(third))
        );
        let told = batch(&mut matcher, 2);
        let expected: Vec<_> = shuffled().take(60).filter(|id| *id != third).collect();
        assert!(
            told.iter().map(|record| record.id.0).eq(expected),
            "in the order of ending"
        );
        assert!(
            told.iter()
                .all(|record| record.outcome == TransmitOutcome::Timestamped(own(record.id.0)))
        );
        matcher.reset(at(3));
        let mut lost: Vec<_> = shuffled().skip(60).collect();
        lost.sort_unstable();
        assert!(
            batch(&mut matcher, 3)
                .iter()
                .map(|record| record.id.0)
                .eq(lost),
            "in the order of sending"
        );
    }
    let counters = matcher.counters();
    assert_eq!(
        (
            counters.timestamped,
            counters.missing_in_all(),
            counters.duplicate,
            counters.stray
        ),
        (240, 160, 0, 0)
    );
}

/// An ID is awaited for the configured time, 100 ms, on the fast path and off it.
#[test]
fn each_awaited_id_has_its_deadline() {
    let mut matcher = matcher(8, Source::Software);
    assert_eq!(matcher.next_deadline(), None);
    for id in 0..3 {
        begin(&mut matcher, [id], 1 + i64::from(id));
    }
    assert_eq!(matcher.next_deadline(), Some(at(101)));
    // the one before it leaves the fast path, too
    matcher.arrived(&Arrival::Lost(TransmitId(1), MissingReason::ClockStepped));
    let deadlines = [0, 1, 2].map(|id| matcher.deadline_of(TransmitId(id)));
    assert_eq!(deadlines, [Some(at(101)), None, Some(at(103))]);
    let awaited = [0, 1, 2, 3].map(|id| matcher.is_awaited(TransmitId(id)));
    assert_eq!(awaited, [true, false, true, false]);
    matcher.arrived(&Arrival::Timestamped(TransmitId(0), software(4)));
    assert_eq!(
        matcher.fetch(TransmitId(0), at(5)),
        timestamped(software(4))
    );
    assert_eq!(matcher.next_deadline(), Some(at(103)));
}

/// With any kind of query, each ID has its own timestamp. An ID reported on the fast path is free.
#[test]
fn timestamps_are_fetched_in_any_order() {
    for order in [[2, 0, 1], [1, 2, 0], [2, 1, 0], [0, 1, 2]] {
        let mut matcher = matcher(8, Source::Software);
        begin(&mut matcher, 0..4, 1);
        for id in 0..3 {
            matcher.timestamped(TransmitId(id), &software(10 + i64::from(id)));
        }
        for id in order {
            assert!(!matcher.is_free(TransmitId(id)), "{order:?}");
            assert_eq!(
                matcher.fetch(TransmitId(id), at(20)),
                timestamped(software(10 + i64::from(id))),
                "{order:?}"
            );
        }
        let told = matcher.is_free(TransmitId(order[0]));
        assert!(told, "{order:?}");
        assert!(!matcher.is_free(TransmitId(3)), "still awaited");
        assert!(matcher.is_free(TransmitId(4)), "never begun");
    }
}

/// A hardware timestamp that was read before its ID began belongs to an earlier use; one read at
/// that instant is its own.
#[test]
fn a_timestamp_read_as_its_id_began_is_its_own() {
    for (read_at, own) in [(4, false), (5, true)] {
        let mut matcher = matcher(8, Source::Hardware);
        begin(&mut matcher, [1], 5);
        matcher.timestamped(TransmitId(1), &hardware(7, read_at));
        let answer = matcher.fetch(TransmitId(1), at(6));
        let expected = if own {
            timestamped(hardware(7, read_at))
        } else {
            TransmitAnswer::Pending
        };
        assert_eq!(answer, expected, "{read_at}");
    }
}
