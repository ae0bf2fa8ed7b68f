//! Single steps by hand; then a delayed reader, and steps of all sizes.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

const OFFSET: i64 = 1_700_000_000_000_000_000;

fn reading(at: i64, offset: i64, width: i64) -> UtcCrossTimestamp {
    UtcCrossTimestamp {
        before: MonotonicTime::from_nanoseconds(at),
        utc: UtcTime::from_nanoseconds(at + width / 3 + offset),
        after: MonotonicTime::from_nanoseconds(at + width),
    }
}

fn timestamp(at: i64, offset: i64) -> UtcTime {
    UtcTime::from_nanoseconds(at + offset)
}

#[test]
fn readings_narrow_the_bound_and_hold_the_truth() {
    let mut offset = UtcModel::new(reading(1_000, OFFSET, 900));
    assert!(offset.bound() > Span::from_nanoseconds(400));
    assert_eq!(offset.observe(reading(5_000, OFFSET, 30)), None);
    assert_eq!(
        offset.observe(reading(9_000, OFFSET, 50_000)),
        None,
        "a preempted reading harms nothing"
    );
    assert!(offset.bound() <= Span::from_nanoseconds(16));
    let ResolvedUtc::At { at, bound, stepped } = offset.resolve(
        timestamp(7_000, OFFSET),
        MonotonicTime::from_nanoseconds(70_000),
    ) else {
        panic!("not resolved")
    };
    assert!((at - MonotonicTime::from_nanoseconds(7_000)).abs() <= bound);
    assert!(!stepped);
}

#[test]
fn a_timestamp_from_before_a_step_is_placed_with_the_older_offset() {
    for step in [100_000_000_000, -100_000_000_000] {
        let mut offset = UtcModel::new(reading(1_000, OFFSET, 30));
        offset.observe(reading(1_000_000, OFFSET, 30));
        let seen = offset
            .observe(reading(2_000_000, OFFSET + step, 30))
            .expect("a step");
        assert!((seen.nanoseconds() - i128::from(step)).abs() < 40);
        let read_at = MonotonicTime::from_nanoseconds(2_000_100);
        let resolved = offset.resolve(timestamp(900_000, OFFSET), read_at);
        let ResolvedUtc::At {
            at, stepped: true, ..
        } = resolved
        else {
            panic!("{resolved:?}")
        };
        assert!(
            (at - MonotonicTime::from_nanoseconds(900_000)).abs() <= Span::from_nanoseconds(16)
        );
    }
}

#[test]
fn a_timestamp_that_fits_both_sides_of_a_small_step_is_not_guessed() {
    let mut offset = UtcModel::new(reading(1_000, OFFSET, 30));
    offset
        .observe(reading(2_000_000, OFFSET + 5_000, 30))
        .expect("a step");
    // made between the last reading before the step and the first one after it
    let resolved = offset.resolve(
        timestamp(1_000_000, OFFSET),
        MonotonicTime::from_nanoseconds(2_000_100),
    );
    assert_eq!(resolved, ResolvedUtc::Stepped);
}

#[test]
fn after_a_step_back_timestamps_are_placed_at_once() {
    let (seconds, back) = (|count: i64| count * 1_000_000_000, -3_600);
    let mut offset = UtcModel::new(reading(seconds(10_000), OFFSET, 30));
    let place = |offset: &UtcModel, at: i64| {
        let resolved = offset.resolve(
            timestamp(at, OFFSET + seconds(back)),
            MonotonicTime::from_nanoseconds(at + 50),
        );
        matches!(resolved, ResolvedUtc::At { stepped: false, .. })
    };
    // stepped before its first timestamp: no timestamp is older than the offset
    let mut young = offset.clone();
    young
        .observe(reading(seconds(10_001), OFFSET + seconds(back), 30))
        .expect("a step");
    assert!(place(&young, seconds(10_001)));
    // stepped later: the clock showed the same UTC an hour before
    offset.observe(reading(seconds(20_000), OFFSET, 30));
    offset
        .observe(reading(seconds(20_010), OFFSET + seconds(back), 30))
        .expect("a step");
    assert!(!place(&offset, seconds(20_009)), "an hour ago, or now?");
    offset.emptied(MonotonicTime::from_nanoseconds(seconds(20_010)));
    assert!(place(&offset, seconds(20_010)) && place(&offset, seconds(20_011)));
    // and in the end the step is history
    let (difference, at) = (
        OFFSET + seconds(back),
        MonotonicTime::from_nanoseconds(seconds(20_010)),
    );
    assert_eq!(offset.observe_exactly(difference, at, at), None);
    assert!(
        !offset.is_unchanged(difference),
        "timestamps from before may still come"
    );
    offset.emptied(MonotonicTime::from_nanoseconds(seconds(20_012)));
    assert!(offset.is_unchanged(difference));
}

#[test]
fn an_exact_difference_is_as_good_as_it_says_until_a_step() {
    let mut offset = UtcModel::new(reading(1_000, OFFSET, 900));
    let at = MonotonicTime::from_nanoseconds;
    assert!(!offset.is_unchanged(OFFSET), "not known exactly yet");
    assert_eq!(offset.observe_exactly(OFFSET, at(4_000), at(4_050)), None);
    assert_eq!(offset.bound(), Span::from_nanoseconds(1));
    assert!(offset.is_unchanged(OFFSET) && !offset.is_unchanged(OFFSET + 2));
    assert_eq!(offset.place(timestamp(5_000, OFFSET)), at(5_000));
    // less than a reading can show, and more than the bound allows for
    assert_eq!(
        offset.observe_exactly(OFFSET - 2, at(9_000), at(9_050)),
        Some(Span::from_nanoseconds(-2))
    );
    assert!(
        !offset.is_unchanged(OFFSET - 2),
        "older timestamps may still come"
    );
}

/// An offset known to a nanosecond, from readings at 10 s.
fn exact() -> UtcModel {
    let offset = UtcModel::new(reading(10_000_000_000, OFFSET, 0));
    assert_eq!(offset.bound(), Span::from_nanoseconds(1));
    offset
}

/// Rounding widens a reading without a width to two nanoseconds, and a reading of one nanosecond to
/// three.
#[test]
fn only_a_reading_without_a_width_is_exact() {
    assert!(exact().is_unchanged(OFFSET));
    let wide = UtcModel::new(reading(1_000, OFFSET, 1));
    assert!(!wide.is_unchanged(OFFSET));
    assert_eq!(wide.bound(), Span::from_nanoseconds(2));
    let at = MonotonicTime::from_nanoseconds(5);
    assert_eq!(exact().to_utc(at), timestamp(5, OFFSET));
    assert_eq!(exact().place(timestamp(5, OFFSET)), at);
}

#[test]
fn a_timestamp_is_made_before_it_is_read_and_at_most_a_second_before_it_was_queued() {
    let offset = exact();
    let read_at = MonotonicTime::from_nanoseconds(11_000_000_000);
    let placed = |at| {
        let resolved = offset.resolve(timestamp(at, OFFSET), read_at);
        let expected = resolved_at(at);
        assert!(resolved == expected || resolved == ResolvedUtc::Stepped);
        resolved == expected
    };
    // the bound of 1 ns is added for the timestamp
    assert!(placed(11_000_000_001) && !placed(11_000_000_002));
    assert!(placed(8_999_999_999) && !placed(8_999_999_998));
}

fn resolved_at(at: i64) -> ResolvedUtc {
    ResolvedUtc::At {
        at: MonotonicTime::from_nanoseconds(at),
        bound: Span::from_nanoseconds(1),
        stepped: false,
    }
}

/// A step at 20 s does not affect timestamps that entered their queue a second later.
#[test]
fn a_step_is_history_a_second_later() {
    let (mut offset, at) = (exact(), MonotonicTime::from_nanoseconds);
    let changed = OFFSET + 5_000;
    let step = offset.observe_exactly(changed, at(20_000_000_000), at(20_000_000_000));
    assert_eq!(step, Some(Span::from_nanoseconds(5_000)));
    offset.emptied(at(21_000_000_000));
    assert!(!offset.is_unchanged(changed));
    offset.emptied(at(21_000_000_001));
    assert!(offset.is_unchanged(changed));
    offset.emptied(at(0));
    assert!(offset.is_unchanged(changed), "never goes back");
}

/// Two readings allow offsets of -21 to 11 ns, and of 12 ns and more; the step is from middle to
/// middle.
#[test]
fn readings_that_touch_show_no_step() {
    let first = UtcCrossTimestamp {
        before: MonotonicTime::from_nanoseconds(0),
        utc: UtcTime::from_nanoseconds(10),
        after: MonotonicTime::from_nanoseconds(30),
    };
    let later = |more: i64| UtcCrossTimestamp {
        before: MonotonicTime::from_nanoseconds(1_000),
        utc: UtcTime::from_nanoseconds(1_042 + more),
        after: MonotonicTime::from_nanoseconds(1_030),
    };
    let mut offset = UtcModel::new(first);
    assert_eq!(offset.bound(), Span::from_nanoseconds(16));
    assert_eq!(offset.clone().observe(later(0)), None);
    let step = offset.observe(later(1));
    assert_eq!(step, Some(Span::from_nanoseconds(33)));
}

/// A step by `by` at `stepped_at`, with a reader that is delayed for two seconds and reads the
/// clocks at `read_at`, exactly or not; in nanoseconds since its start.
#[derive(Debug, Clone, Copy)]
struct HeldUp {
    by: i64,
    stepped_at: i64,
    read_at: i64,
    exact: bool,
}

impl HeldUp {
    const BEGUN: i64 = 10_000_000_000;
    const LASTS: i64 = 2_000_000_000;

    fn offset_at(&self, when: i64) -> i64 {
        if when < self.stepped_at {
            OFFSET
        } else {
            OFFSET + self.by
        }
    }

    fn read(&self) -> UtcModel {
        let at = |when: i64| MonotonicTime::from_nanoseconds(Self::BEGUN + when);
        let mut offset = UtcModel::new(reading(1_000, OFFSET, 30));
        let early = MonotonicTime::from_nanoseconds(1_100);
        assert_eq!(offset.observe_exactly(OFFSET, early, early), None);
        let (before, after, read) = (at(0), at(Self::LASTS), self.offset_at(self.read_at));
        if self.exact {
            offset.observe_exactly(read, before, after);
        } else {
            offset.observe(UtcCrossTimestamp {
                before,
                utc: timestamp(Self::BEGUN + self.read_at, read),
                after,
            });
        }
        // a step that is too late for this reading is known after the next one
        offset.observe_exactly(
            self.offset_at(Self::LASTS),
            at(Self::LASTS + 100),
            at(Self::LASTS + 150),
        );
        offset
    }

    /// Returns the number of timestamps that could be placed, all of them correctly.
    fn check(&self) -> usize {
        let (offset, now) = (
            self.read(),
            MonotonicTime::from_nanoseconds(Self::BEGUN + Self::LASTS + 100),
        );
        let placed = (-1_000..=2_000).step_by(125).filter(|milliseconds| {
            let made = milliseconds * 1_000_000;
            let resolved = offset.resolve(timestamp(Self::BEGUN + made, self.offset_at(made)), now);
            let ResolvedUtc::At { at, bound, .. } = resolved else {
                return false;
            };
            let error = (at - MonotonicTime::from_nanoseconds(Self::BEGUN + made)).abs();
            assert!(
                error <= bound,
                "{error} off, bound {bound}, made at {made}: {self:?}"
            );
            true
        });
        placed.count()
    }
}

#[test]
fn a_step_while_the_clocks_are_read_places_no_timestamp_wrongly() {
    let quarters = || (0..=8).map(|quarter| quarter * 250_000_000);
    let mut placed = 0;
    for by in [
        -3_600_000_000_000,
        -500_000_000,
        -4_000,
        4_000,
        500_000_000,
        3_600_000_000_000,
    ] {
        for (stepped_at, read_at) in
            quarters().flat_map(|step| quarters().map(move |read| (step, read)))
        {
            for exact in [false, true] {
                placed += HeldUp {
                    by,
                    stepped_at,
                    read_at,
                    exact,
                }
                .check();
            }
        }
    }
    assert!(placed > 6_000, "only {placed} were placed");
}

#[test]
fn more_steps_than_are_remembered_place_no_timestamp_wrongly() {
    let seconds = |count: i64| count * 1_000_000_000;
    let mut offset = UtcModel::new(reading(seconds(1), OFFSET, 30));
    let offset_at = |number: i64| OFFSET + seconds(10 * number);
    for number in 0..2 * SEGMENTS as i64 {
        offset.observe(reading(seconds(100 + number), offset_at(number), 30));
    }
    let read_at = MonotonicTime::from_nanoseconds(seconds(120));
    let placed = (0..2 * SEGMENTS as i64).filter(|number| {
        let made = seconds(100 + number) + 500;
        let resolved = offset.resolve(timestamp(made, offset_at(*number)), read_at);
        let ResolvedUtc::At { at, bound, .. } = resolved else {
            return false;
        };
        assert!(
            (at - MonotonicTime::from_nanoseconds(made)).abs() <= bound,
            "{number}: {resolved:?}"
        );
        true
    });
    assert_eq!(placed.count(), SEGMENTS, "those that are remembered");
}

/// Steps of all sizes, at most one between two readings of a reader with arbitrary delays.
fn rounds() -> impl Strategy<Value = Vec<(i64, i64, [i64; 4])>> {
    let step = prop_oneof![
        -2i64..3,
        -2i64..3,
        -50i64..50,
        -2_000_000_000i64..2_000_000_000,
        -10_000_000_000_000i64..10_000_000_000_000
    ];
    let pause = || prop_oneof![0i64..100, 0i64..3_000_000_000];
    prop::collection::vec(
        (step, 0i64..1_000, [pause(), pause(), pause(), pause()]),
        1..12,
    )
}

proptest! {
    #[test]
    fn no_timestamp_is_placed_wrongly_however_long_the_reader_is_held_up(rounds in rounds(), empties: bool) {
        let at = MonotonicTime::from_nanoseconds;
        let (mut last_read, mut free, mut utc) = (20_000_000_000_000, 20_000_000_000_000, OFFSET);
        let mut offset = UtcModel::new(reading(last_read, utc, 30));
        offset.observe_exactly(utc, at(last_read), at(last_read));
        let mut waiting: Vec<(i64, i64)> = Vec::new();
        for (step, share, [idle, before, within, after]) in rounds {
            // the reader continues: after a while it reads the queue, then the clocks
            let queue_read = free + idle;
            let (earliest, read) = (queue_read + before, queue_read + before + within);
            free = read + after;
            // the real-time clock is stepped after the last reading, and timestamps are made
            // throughout
            let stepped = last_read + (read - last_read) * share / 1_000;
            let utc_at = |when: i64| if when < stepped { utc } else { utc + step };
            let times = (0..16).map(|part| last_read + (read - last_read) * part / 16);
            waiting.extend(times.map(|made| (made, utc_at(made))));
            offset.observe_exactly(utc_at(read), at(earliest), at(free));
            let (in_queue, later): (Vec<_>, _) = waiting.into_iter().partition(|(made, _)| *made <= queue_read);
            waiting = later;
            for (made, utc) in in_queue {
                let resolved = offset.resolve(timestamp(made, utc), at(queue_read));
                if let ResolvedUtc::At { at: placed, bound, .. } = resolved {
                    prop_assert!((placed - at(made)).abs() <= bound, "{resolved:?} and not {made}: {offset:?}");
                }
            }
            if empties {
                offset.emptied(at(queue_read));
            }
            (last_read, utc) = (read, utc + step);
        }
    }
}

#[test]
fn a_timestamp_from_the_future_is_not_believed() {
    let offset = UtcModel::new(reading(1_000, OFFSET, 30));
    let resolved = offset.resolve(
        timestamp(10_000_000, OFFSET),
        MonotonicTime::from_nanoseconds(5_000),
    );
    assert_eq!(resolved, ResolvedUtc::Stepped);
}

/// A step of 1000 s at 10 s; both readings took no time, so that a timestamp is known to a nanosecond.
#[test]
fn a_timestamp_beside_a_step_is_placed_up_to_the_last_nanosecond() {
    let second = 1_000_000_000;
    let mut model = UtcModel::new(reading(0, 0, 0));
    assert!(
        model
            .observe(reading(10 * second, 1_000 * second, 0))
            .is_some()
    );
    let resolve = |utc: i64| {
        model.resolve(
            timestamp(utc, 0),
            MonotonicTime::from_nanoseconds(11 * second),
        )
    };
    let placed = |at: i64, stepped| ResolvedUtc::At {
        at: MonotonicTime::from_nanoseconds(at),
        bound: Span::from_nanoseconds(1),
        stepped,
    };
    // the old offset was last seen at 0 s, the new one first at 10 s
    assert_eq!(resolve(10 * second + 1), placed(10 * second + 1, true));
    assert_eq!(resolve(10 * second + 2), ResolvedUtc::Stepped);
    assert_eq!(resolve(1_000 * second - 1), placed(-1, false));
    assert_eq!(resolve(1_000 * second - 2), ResolvedUtc::Stepped);
}
