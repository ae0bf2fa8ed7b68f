//! The capacity of a matcher, and the records that remain when it changes.

use super::*;

/// Room for 2 · 1000 + 2048 IDs, and then for 2 + 2048.
#[test]
fn a_smaller_matcher_forgets_the_oldest_lost_ids_and_counts_them() {
    let mut matcher = matcher(1_000, Source::Software);
    begin(&mut matcher, 0..3_000, 1);
    (0..10).for_each(|id| matcher.lost(TransmitId(id), MissingReason::ClockStepped));
    assert_eq!(
        matcher.fetch(TransmitId(5), at(2)),
        lost(MissingReason::ClockStepped)
    );
    matcher.timestamped(TransmitId(2_999), &software(2));
    matcher.configure(&Timestamping::OFF.transmit(1), at(3));
    // one timestamped, 2989 lost at the end: 940 too many; no room for the nine lost before
    assert_eq!(matcher.counters().forgotten, 940 + 9);
    for id in [0, 5, 9, 10, 949] {
        assert_eq!(
            matcher.fetch(TransmitId(id), at(3)),
            TransmitAnswer::Unknown
        );
    }
    for id in [950, 951, 2_998] {
        assert_eq!(
            matcher.fetch(TransmitId(id), at(3)),
            lost(MissingReason::Reset)
        );
    }
    assert_eq!(
        matcher.fetch(TransmitId(2_999), at(3)),
        timestamped(software(2))
    );
    // the same capacity again: nothing moves
    matcher.configure(&Timestamping::OFF.transmit(1), at(3));
    assert_eq!(matcher.counters().forgotten, 949);
}

fn tell(matcher: &mut Matcher, ids: core::ops::Range<u32>) {
    for id in ids {
        begin(matcher, [id], 1);
        matcher.timestamped(TransmitId(id), &software(2 + i64::from(id)));
        assert_eq!(
            matcher.fetch(TransmitId(id), at(2)),
            timestamped(software(2 + i64::from(id)))
        );
    }
}

/// Reported IDs for which another timestamp arrives: 8192 are remembered, then 4096.
#[test]
fn a_smaller_matcher_remembers_the_newest_told_ids() {
    let mut matcher = matcher(2_000, Source::Software);
    tell(&mut matcher, 0..6_000);
    matcher.configure(&Timestamping::OFF.transmit(1), at(3));
    for id in 0..6_000 {
        matcher.timestamped(TransmitId(id), &software(2 + i64::from(id)));
    }
    let counters = matcher.counters();
    assert_eq!((counters.duplicate, counters.stray), (4_096, 1_904));
}

#[test]
fn a_larger_matcher_remembers_all_told_ids() {
    let mut matcher = matcher(4, Source::Software);
    tell(&mut matcher, 0..100);
    matcher.configure(&Timestamping::OFF.transmit(3_000), at(3));
    for id in 0..101 {
        matcher.timestamped(TransmitId(id), &software(2 + i64::from(id)));
    }
    let counters = matcher.counters();
    assert_eq!((counters.duplicate, counters.stray), (100, 1));
}

/// A reported ID is used again: earlier timestamps do not belong to the new use, also after a
/// change of the capacity.
#[test]
fn the_timestamp_of_a_told_id_is_never_that_of_its_next_use() {
    for capacity in [4, 3_000] {
        let mut matcher = matcher(4, Source::Software);
        tell(&mut matcher, 0..50);
        matcher.configure(&Timestamping::OFF.transmit(capacity), at(0));
        for id in [0, 1, 17, 49] {
            let (own, other) = (software(2 + i64::from(id)), software(1_000));
            begin(&mut matcher, [id], 1);
            matcher.timestamped(TransmitId(id), &own);
            assert_eq!(
                matcher.fetch(TransmitId(id), at(2)),
                TransmitAnswer::Pending,
                "{id}"
            );
            matcher.timestamped(TransmitId(id), &other);
            assert_eq!(matcher.fetch(TransmitId(id), at(2)), timestamped(other));
        }
        assert_eq!(matcher.counters().duplicate, 4);
    }
}

/// Each kind of outcome alone is returned in a batch.
#[test]
fn a_batch_has_what_ended_in_any_way() {
    let mut matcher = matcher(4, Source::Software);
    begin(&mut matcher, [1], 1);
    matcher.lost(TransmitId(1), MissingReason::ClockStepped);
    assert_eq!(batch(&mut matcher, 2).len(), 1);
    begin(&mut matcher, [2], 2);
    assert_eq!(batch(&mut matcher, 102).len(), 1);
    begin(&mut matcher, [3, 4], 102);
    matcher.timestamped(TransmitId(4), &software(103));
    assert_eq!(batch(&mut matcher, 103).len(), 1);
    let counters = matcher.counters();
    assert_eq!((counters.pending, counters.late_dropped), (1, 0));
}

/// 300 timestamps arrive after their IDs have ended, and none is taken: 256 are kept.
#[test]
fn what_is_awaited_and_what_came_too_late_is_counted() {
    let mut matcher = matcher(400, Source::Software);
    begin(&mut matcher, 0..310, 1);
    assert_eq!(matcher.counters().pending, 310);
    matcher.expire(at(101));
    begin(&mut matcher, 1_000..1_003, 102);
    (0..300).for_each(|id| matcher.timestamped(TransmitId(id), &software(102)));
    let counters = matcher.counters();
    assert_eq!((counters.pending, counters.late), (3, 300));
    assert_eq!(counters.late_dropped, 44);
}

/// Room for 2 · 1000 + 2048 IDs, of which 1000 are timestamped and stay: 3048 of the others.
#[test]
fn timestamps_that_wait_take_room() {
    let mut matcher = matcher(1_000, Source::Software);
    begin(&mut matcher, 0..1_000, 1);
    for id in 0..1_000 {
        matcher.timestamped(TransmitId(id), &software(2));
    }
    begin(&mut matcher, 1_000..4_048, 3);
    assert_eq!((matcher.waiting(), matcher.awaited()), (1_000, 3_048));
    for id in 4_048..6_000 {
        _ = matcher.begin(TransmitId(id), at(4));
        assert_eq!(matcher.waiting(), 1_000);
        assert!(matcher.awaited() <= 3_048, "{id}");
    }
}
