use super::*;
use crate::configuration::Identification;
use crate::time::{HardwareTicks, Span, UtcCrossTimestamp, UtcModel, UtcTime};
use crate::timestamp::{HardwareTimestamp, KernelTime, Notice};

const COUNTED: Timestamping = Timestamping::OFF
    .transmit(8)
    .identification(Identification::Counter);
const NOTICE: Arrival = Arrival::Notice(Notice::ZeroCopy { first: 1, last: 2 });

fn at(nanoseconds: i64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(nanoseconds)
}

fn tracker(in_force: Timestamping, rules: Option<CountRules>) -> TransmitTracker {
    let reading = UtcCrossTimestamp {
        before: at(0),
        utc: UtcTime::from_nanoseconds(0),
        after: at(0),
    };
    let mut tracker = TransmitTracker::new(Placement::new(
        UtcModel::new(reading),
        Span::from_nanoseconds(1),
    ));
    tracker.configure(&in_force, rules);
    tracker
}

fn software(time: i64) -> RawTimestamps {
    RawTimestamps {
        software: Some(KernelTime::Monotonic(at(time))),
        hardware: None,
    }
}

fn hardware(ticks: u64) -> RawTimestamps {
    let timestamp = HardwareTimestamp {
        ticks: HardwareTicks::new(ticks),
        interface: None,
        read_at: at(0),
    };
    RawTimestamps {
        software: None,
        hardware: Some(timestamp),
    }
}

/// The datagram that the arrival belongs to.
fn owner(arrival: Option<Arrival>) -> Option<u32> {
    match arrival? {
        Arrival::Timestamped(id, _) | Arrival::Lost(id, _) => Some(id.0),
        other => panic!("{other:?}"),
    }
}

/// The meaning of the timestamp; nothing else may be held.
fn read(tracker: &mut TransmitTracker, number: u32, raw: RawTimestamps) -> Option<Arrival> {
    tracker.read(number, raw, Clocks::Read(at(9)));
    let arrivals = all(tracker);
    assert!(arrivals.len() <= 1, "{arrivals:?}");
    arrivals.first().copied()
}

fn all(tracker: &mut TransmitTracker) -> Vec<Arrival> {
    let mut taken = Vec::new();
    tracker.take(|arrival| taken.push(*arrival));
    taken
}

#[test]
fn a_carried_number_is_the_id_each_time_it_comes() {
    let mut tracker = tracker(Timestamping::OFF.transmit(8), None);
    assert_eq!(tracker.count_state(), None);
    tracker.sent(TransmitId(7), true, at(1));
    for _ in 0..2 {
        assert_eq!(owner(read(&mut tracker, 7, software(2))), Some(7));
    }
    assert!(!tracker.holds_any());
}

#[test]
fn of_two_timestamps_of_one_packet_both_are_its_own_and_of_one_the_count_is_told_once() {
    for (source, owners) in [
        (Source::Both, [Some(70), Some(70)]),
        (Source::HardwareElseSoftware, [Some(70), None]),
    ] {
        let mut tracker = tracker(COUNTED.source(source), Some(CountRules::FIXED));
        tracker.sent(TransmitId(70), true, at(1));
        assert_eq!(
            [software(2), hardware(3)].map(|raw| owner(read(&mut tracker, 0, raw))),
            owners,
            "{source:?}"
        );
    }
}

#[test]
fn a_software_timestamp_that_only_counts_is_nobodys_and_one_of_zero_ends_its_id() {
    for (rules, expected) in [
        (CountRules::UNKNOWN, None),
        (
            CountRules::FIXED,
            Some(Arrival::Lost(TransmitId(5), MissingReason::NeverGenerated)),
        ),
    ] {
        let mut tracker = tracker(COUNTED.source(Source::Hardware), Some(rules));
        tracker.sent(TransmitId(5), true, at(1));
        assert_eq!(read(&mut tracker, 0, RawTimestamps::default()), expected);
    }
}

#[test]
fn what_is_sent_while_the_count_is_unsure_ends_and_what_was_read_ahead_is_kept_in_order() {
    let mut tracker = tracker(COUNTED, Some(CountRules::FIXED));
    tracker.sent(TransmitId(1), true, at(1));
    tracker.sent(TransmitId(2), true, at(1));
    tracker.failed(SendFailure::Other);
    assert_eq!(tracker.count_state(), Some(CounterState::Unsure));
    tracker.read(0, software(2), Clocks::Read(at(9)));
    tracker.arrived(NOTICE);
    assert!(
        !tracker.may_restart(at(3)) && !tracker.restart(at(3)),
        "the second can still come"
    );
    tracker.sent(TransmitId(3), false, at(3));
    tracker.read(1, software(4), Clocks::Read(at(9)));
    assert!(tracker.may_restart(at(5)) && tracker.restart(at(5)));
    let arrivals = all(&mut tracker);
    assert_eq!(
        [arrivals[1], arrivals[2]],
        [NOTICE, Arrival::Lost(TransmitId(3), MissingReason::Reset)]
    );
    assert_eq!(
        [arrivals[0], arrivals[3]].map(|arrival| owner(Some(arrival))),
        [Some(1), Some(2)]
    );
    tracker.sent(TransmitId(4), true, at(6));
    assert_eq!(owner(read(&mut tracker, 0, software(7))), Some(4));
}

#[test]
fn ids_that_are_given_up_get_nothing_and_notices_stay() {
    let mut tracker = tracker(COUNTED, Some(CountRules::FIXED));
    tracker.sent(TransmitId(1), true, at(1));
    tracker.arrived(Arrival::Lost(TransmitId(9), MissingReason::Reset));
    tracker.arrived(NOTICE);
    tracker.arrived(Arrival::Overflowed);
    tracker.give_up();
    assert_eq!(all(&mut tracker), [NOTICE]);
    assert!(!tracker.restarts_count(true) && tracker.restarts_count(false));
    tracker.configure(&COUNTED, Some(CountRules::FIXED));
    tracker.sent(TransmitId(2), true, at(2));
    assert_eq!(
        owner(read(&mut tracker, 0, software(3))),
        None,
        "the count goes on: this is the first's"
    );
    assert_eq!(owner(read(&mut tracker, 1, software(3))), Some(2));
}

#[test]
fn a_count_that_was_not_needed_for_a_while_restarts_only_when_nothing_of_it_can_come() {
    let mut tracker = tracker(COUNTED, Some(CountRules::FIXED));
    tracker.sent(TransmitId(1), true, at(1));
    tracker.configure(&Timestamping::OFF, None);
    assert!(tracker.restarts_count(true));
    tracker.configure(&COUNTED, Some(CountRules::FIXED));
    assert_eq!(tracker.count_state(), Some(CounterState::Unsure));
    assert!(!tracker.may_restart(at(2)));
    assert_eq!(read(&mut tracker, 0, software(3)), None);
    assert!(tracker.may_restart(at(4)));
}

#[test]
fn a_buffer_without_room_for_one_more_timestamp_was_full() {
    let mut tracker = tracker(Timestamping::OFF.transmit(8), None);
    for (used, just_read, overflowed) in [
        (0, 8, false),
        (0, 9, true),
        (899, 0, false),
        (900, 0, true),
        (u32::MAX, 1, true),
    ] {
        let (size, charge) = (1_000, 100);
        tracker.buffer_seen(ReceiveBuffer { used, size, charge }, just_read);
        let expected: &[Arrival] = if overflowed {
            &[Arrival::Overflowed]
        } else {
            &[]
        };
        assert_eq!(all(&mut tracker), expected, "{used} used, {just_read} read");
    }
}

#[test]
fn what_is_held_is_bounded_and_that_something_is_missing_is_told() {
    let mut tracker = tracker(COUNTED, Some(CountRules::FIXED));
    (0..MOST_HELD + 5).for_each(|_| tracker.arrived(NOTICE));
    let held = all(&mut tracker);
    assert_eq!(
        (held.len(), held.last()),
        (MOST_HELD, Some(&Arrival::Overflowed))
    );
}

#[test]
fn what_comes_for_a_former_owner_is_nobodys_until_the_quarantine_is_over() {
    let quarantine = CounterMap::QUARANTINE;
    let number_7 = |tracker: &mut TransmitTracker| owner(read(tracker, 7, software(1)));
    for (was_timestamping, waits) in [(false, true), (true, false)] {
        let mut adopted = tracker(Timestamping::OFF.transmit(8), None);
        adopted.adopt(at(0));
        if waits {
            assert_eq!(number_7(&mut adopted), None);
        }
        adopted.adopted(was_timestamping);
        assert!(adopted.is_quarantined() && adopted.is_needed_to_send());
        assert!(!adopted.end_quarantine(at(0) + quarantine - Span::from_nanoseconds(1)));
        assert_eq!(number_7(&mut adopted), None);
        assert!(adopted.end_quarantine(at(0) + quarantine));
        assert_eq!(number_7(&mut adopted), Some(7));
        assert!(!adopted.is_needed_to_send());
        adopted.configure(&COUNTED, Some(CountRules::FIXED));
        assert!(adopted.is_needed_to_send());
    }
    let mut unused = tracker(Timestamping::OFF.transmit(8), None);
    unused.adopt(at(0));
    unused.adopted(false);
    assert!(!unused.is_quarantined());
    assert_eq!(number_7(&mut unused), Some(7));
}

#[test]
fn a_turn_that_is_ended_late_or_never_leaves_the_count_unknown_for_the_quarantine() {
    let over = at(10) + CounterMap::QUARANTINE;
    let counted = || tracker(COUNTED, Some(CountRules::FIXED));

    let mut told = counted();
    for id in 1..3 {
        told.end_forgotten_turn(at(10));
        let turn = told.begin_turn();
        assert!(told.end_turn(turn, at(10)));
        told.sent(TransmitId(id), true, at(10));
    }
    assert_eq!(told.count_state(), Some(CounterState::InStep));

    let mut forgotten = counted();
    let turn = forgotten.begin_turn();
    forgotten.end_forgotten_turn(at(10));
    assert_eq!(forgotten.count_state(), Some(CounterState::Unsure));
    assert!(
        !forgotten.may_restart(over - Span::from_nanoseconds(1)) && forgotten.may_restart(over)
    );
    assert!(forgotten.restart(over));
    assert!(
        !forgotten.end_turn(turn, over),
        "another's turn, or nobody's"
    );
    assert_eq!(forgotten.count_state(), Some(CounterState::Unsure));
    assert!(!forgotten.may_restart(over));
}

/// The datagram that the time in the queue belongs to; nothing else may be held.
fn read_queued(tracker: &mut TransmitTracker, number: u32) -> Option<u32> {
    let software = KernelTime::Monotonic(at(2));
    tracker.read_queued(number, software, Clocks::Read(at(9)));
    match all(tracker)[..] {
        [] => None,
        [Arrival::Queued(id, queued)] if queued.at.value == at(2) => Some(id.0),
        ref others => panic!("{others:?}"),
    }
}

#[test]
fn a_time_in_the_queue_leaves_the_count_for_the_transmit_timestamp() {
    for source in [Source::Software, Source::Both] {
        let wanted = COUNTED.queueing().source(source);
        let mut tracker = tracker(wanted, Some(CountRules::FIXED));
        tracker.sent(TransmitId(70), true, at(1));
        let layers = [0, 0, 1].map(|number| read_queued(&mut tracker, number));
        assert_eq!(layers, [Some(70), Some(70), None], "{source:?}");
        assert_eq!(owner(read(&mut tracker, 0, software(3))), Some(70));
    }
    let mut carried = tracker(Timestamping::OFF.transmit(8).queueing(), None);
    assert_eq!(read_queued(&mut carried, 7), Some(7));
}

#[test]
fn a_software_timestamp_that_only_counts_is_nobodys_though_it_is_reported_for_the_queue() {
    let wanted = COUNTED.queueing().source(Source::Hardware);
    let mut tracker = tracker(wanted, Some(CountRules::UNKNOWN));
    tracker.sent(TransmitId(5), true, at(1));
    assert_eq!(read_queued(&mut tracker, 0), Some(5));
    assert_eq!(read(&mut tracker, 0, software(3)), None);
    assert_eq!(owner(read(&mut tracker, 0, hardware(4))), Some(5));
}

#[test]
fn a_former_owners_time_in_the_queue_is_nobodys_and_shows_that_the_owner_was_timestamping() {
    let mut tracker = tracker(Timestamping::OFF.transmit(8).queueing(), None);
    tracker.adopt(at(0));
    assert_eq!(read_queued(&mut tracker, 7), None);
    tracker.adopted(false);
    assert!(tracker.is_quarantined());
}
