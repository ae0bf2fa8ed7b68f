//! The map from the kernel's count of timestamped datagrams to the caller's IDs, for kernels that
//! cannot carry IDs.
//!
//! The kernel counts the timestamped datagrams of a socket: 0, 1, 2, …, modulo 2³². The map is
//! valid as long as it is certain for every send whether it was counted. A failed send may have
//! been counted, depending on the kernel's [`CountRules`]. After such a failure the map is
//! [`Unsure`](CounterState::Unsure) until the caller restarts the kernel's count at 0.

use super::{CountRules, SendFailure, TransmitId};
use crate::time::{MonotonicTime, Span};
use alloc::boxed::Box;
use alloc::vec;

/// The number of sends to remember: more than the timestamps that any socket's queue can hold.
const REMEMBERED: usize = 1 << 16;

/// Whether the count of the next send is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CounterState {
    /// It is known.
    InStep,
    /// It is unknown: no timestamped datagram may be sent before a
    /// [`restart`](CounterMap::restart).
    Unsure,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    count: u32,
    /// `None` after [`CounterMap::abandon`].
    id: Option<TransmitId>,
    at: MonotonicTime,
}

/// A map from the kernel's counts to the caller's IDs.
///
/// A sender must hold a lock around the send *and* the call that reports it here. A collector must
/// read the queue first and take the lock afterwards. Otherwise a timestamp could be looked up
/// before its send was reported.
#[derive(Debug)]
pub struct CounterMap {
    /// Indexed by the low bits of the count.
    sent: Box<[Option<Sent>]>,
    next: u32,
    outstanding: usize,
    /// The time of the newest send that was displaced before its timestamp came.
    displaced: Option<MonotonicTime>,
    rules: CountRules,
    state: CounterState,
}

impl CounterMap {
    /// The longest time from a send to its timestamp; later none comes. The longest reported delay
    /// is about 1 s.
    pub const QUARANTINE: Span = Span::from_seconds(4);

    /// Creates a map that remembers the last 65,536 sends.
    pub fn new(rules: CountRules) -> Self {
        Self::with_room(REMEMBERED, rules)
    }

    /// Creates a map that remembers the last `sends`, rounded up to a power of two.
    pub fn with_room(sends: usize, rules: CountRules) -> Self {
        Self {
            sent: vec![None; sends.max(1).next_power_of_two()].into_boxed_slice(),
            next: 0,
            outstanding: 0,
            displaced: None,
            rules,
            state: CounterState::InStep,
        }
    }

    /// Returns whether a timestamped datagram may be sent.
    pub fn state(&self) -> CounterState {
        self.state
    }

    /// Returns the number of sends whose timestamp has not come yet.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Assigns the next count to a sent, timestamped datagram. Ignored while unsure.
    pub fn sent(&mut self, id: TransmitId, now: MonotonicTime) {
        if self.state == CounterState::Unsure {
            return;
        }
        let place = self.place(self.next);
        match self.sent[place].replace(Sent {
            count: self.next,
            id: Some(id),
            at: now,
        }) {
            Some(displaced) => self.displaced = self.displaced.max(Some(displaced.at)),
            None => self.outstanding += 1,
        }
        self.next = self.next.wrapping_add(1);
    }

    /// Notes a failed send of a datagram with an ID, which may have been counted.
    pub fn failed(&mut self, failure: SendFailure) {
        if !self.rules.leaves_count(failure) {
            self.state = CounterState::Unsure;
        }
    }

    /// Notes a datagram that may have been sent and counted: its timestamp can still come.
    pub fn lost(&mut self, now: MonotonicTime) {
        self.state = CounterState::Unsure;
        self.displaced = self.displaced.max(Some(now));
    }

    /// Forgets the IDs but remembers their counts, because their timestamps can still come and
    /// belong to no ID. For a socket that is configured again while its count continues.
    pub fn forget_ids(&mut self) {
        self.sent
            .iter_mut()
            .flatten()
            .for_each(|sent| sent.id = None);
    }

    /// Forgets the IDs if the count does not continue: it must [restart](Self::restart) before the
    /// next send.
    pub fn abandon(&mut self) {
        self.forget_ids();
        self.state = CounterState::Unsure;
    }

    /// Returns the ID for `count` without removing it, for the first of two timestamps of a packet.
    pub fn look_up(&self, count: u32) -> Option<TransmitId> {
        self.sent_as(count).and_then(|sent| sent.id)
    }

    /// Returns the ID for `count` and removes it. `None` for a count without a known send.
    pub fn take(&mut self, count: u32) -> Option<TransmitId> {
        let sent = self.sent_as(count)?;
        let place = self.place(count);
        self.sent[place] = None;
        self.outstanding -= 1;
        sent.id
    }

    fn sent_as(&self, count: u32) -> Option<Sent> {
        self.sent[self.place(count)].filter(|sent| sent.count == count)
    }

    /// Returns whether no timestamp of the old count can still come, so that the count may restart.
    /// Empty the kernel's queue into [`take`](Self::take) first.
    pub fn may_restart(&self, now: MonotonicTime) -> bool {
        let over = |sent: MonotonicTime| now - sent >= Self::QUARANTINE;
        self.displaced.is_none_or(over) && self.newest_outstanding().is_none_or(over)
    }

    /// Restarts after the kernel's count was restarted at 0 (`SOF_TIMESTAMPING_OPT_ID` off and on).
    /// Returns `false` without a change if it [may not](Self::may_restart) yet, because a timestamp
    /// of the old count would be mistaken for one of the new.
    #[must_use]
    pub fn restart(&mut self, now: MonotonicTime) -> bool {
        if !self.may_restart(now) {
            return false;
        }
        if self.outstanding > 0 {
            self.sent.fill(None);
        }
        (self.next, self.outstanding, self.displaced) = (0, 0, None);
        self.state = CounterState::InStep;
        true
    }

    fn place(&self, count: u32) -> usize {
        count as usize & (self.sent.len() - 1)
    }

    fn newest_outstanding(&self) -> Option<MonotonicTime> {
        if self.outstanding == 0 {
            return None;
        }
        let newest_first =
            (1..=self.sent.len() as u32).map(|back| self.place(self.next.wrapping_sub(back)));
        newest_first
            .filter_map(|place| self.sent[place])
            .map(|sent| sent.at)
            .next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const QUARANTINE: i64 = 4_000_000_000;

    fn at(nanoseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(nanoseconds)
    }

    fn with_rules(capacity: usize, rules: CountRules) -> CounterMap {
        CounterMap::with_room(capacity, rules)
    }

    fn map(capacity: usize) -> CounterMap {
        with_rules(capacity, CountRules::FIXED)
    }

    #[test]
    fn counts_belong_to_sends_in_order_and_are_told_once() {
        let mut map = map(4);
        for id in [70, 50, 60] {
            map.sent(TransmitId(id), at(1));
        }
        map.failed(SendFailure::NoRoom);
        map.sent(TransmitId(80), at(1));
        assert_eq!(map.take(2), Some(TransmitId(60)));
        assert_eq!(map.take(2), None);
        assert_eq!(map.take(0), Some(TransmitId(70)));
        assert_eq!(map.take(3), Some(TransmitId(80)));
        assert_eq!(map.take(7), None, "same place, another count");
        assert_eq!(map.outstanding(), 1);
    }

    #[test]
    fn counts_go_round() {
        let mut map = map(4);
        map.next = u32::MAX;
        map.sent(TransmitId(1), at(1));
        map.sent(TransmitId(2), at(1));
        assert_eq!(map.take(u32::MAX), Some(TransmitId(1)));
        assert_eq!(map.take(0), Some(TransmitId(2)));
    }

    #[test]
    fn a_restart_waits_for_what_can_still_come() {
        let mut map = map(4);
        map.sent(TransmitId(1), at(10));
        map.failed(SendFailure::Other);
        assert_eq!(map.state(), CounterState::Unsure);
        assert!(!map.restart(at(10 + QUARANTINE - 1)));
        assert_eq!(map.state(), CounterState::Unsure);
        map.sent(TransmitId(9), at(11)); // ignored
        assert_eq!(map.take(1), None);
        assert_eq!(
            map.take(0),
            Some(TransmitId(1)),
            "what was certain stays certain"
        );
        assert!(map.restart(at(11)), "nothing is outstanding");
        assert_eq!(map.state(), CounterState::InStep);
        map.sent(TransmitId(2), at(12));
        assert_eq!(map.take(0), Some(TransmitId(2)));
    }

    #[test]
    fn a_restart_also_waits_for_what_was_displaced() {
        let mut map = map(2);
        for count in 0..4 {
            map.sent(TransmitId(count), at(10));
        }
        assert_eq!(
            (map.take(2), map.take(3)),
            (Some(TransmitId(2)), Some(TransmitId(3)))
        );
        assert_eq!(map.outstanding(), 0);
        assert!(!map.may_restart(at(10 + QUARANTINE - 1)));
        assert!(map.may_restart(at(10 + QUARANTINE)));
    }

    #[test]
    fn a_full_buffer_and_a_long_datagram_count_on_a_kernel_that_is_not_known_to_be_good() {
        for failure in [
            SendFailure::NoRoom,
            SendFailure::TooLong,
            SendFailure::Other,
        ] {
            let mut map = with_rules(4, CountRules::UNKNOWN);
            map.sent(TransmitId(1), at(1));
            map.failed(failure);
            assert_eq!(map.state(), CounterState::Unsure, "{failure:?}");
            map.sent(TransmitId(2), at(1)); // ignored
            assert_eq!((map.take(1), map.take(2)), (None, None));
        }
    }

    #[test]
    fn where_the_count_goes_on_forgotten_ids_hold_up_nothing() {
        let mut map = map(4);
        map.sent(TransmitId(5), at(10));
        map.forget_ids();
        assert_eq!(map.state(), CounterState::InStep);
        map.sent(TransmitId(5), at(11));
        assert_eq!((map.take(0), map.take(1)), (None, Some(TransmitId(5))));
    }

    #[test]
    fn abandoned_sends_are_nobodys_and_hold_up_the_restart_until_they_are_accounted_for() {
        let mut map = map(4);
        map.sent(TransmitId(5), at(10));
        map.sent(TransmitId(6), at(11));
        map.abandon();
        assert_eq!((map.state(), map.outstanding()), (CounterState::Unsure, 2));
        assert!(
            !map.restart(at(12)),
            "a timestamp of count 0 can still come"
        );
        assert_eq!(
            (map.take(0), map.look_up(1)),
            (None, None),
            "whose ids are forgotten"
        );
        assert!(!map.restart(at(12)));
        assert_eq!(map.take(1), None);
        assert!(map.restart(at(12)), "nothing is under way");
        map.sent(TransmitId(9), at(13));
        assert_eq!(map.take(0), Some(TransmitId(9)));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Send,
        Fail(SendFailure),
        /// The n-th pending timestamp arrives, perhaps a second time.
        Timestamp {
            which: usize,
            twice: bool,
        },
        Pass(i64),
        Restart,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => Just(Step::Send),
            1 => prop::sample::select(vec![SendFailure::NoRoom, SendFailure::TooLong, SendFailure::NoDestination,
                SendFailure::Other]).prop_map(Step::Fail),
            4 => (0usize..8, any::<bool>()).prop_map(|(which, twice)| Step::Timestamp { which, twice }),
            2 => (0..QUARANTINE / 2).prop_map(Step::Pass),
            2 => Just(Step::Restart),
        ]
    }

    proptest! {
        /// A simulated kernel: it counts, and its timestamps take less time than the quarantine. An
        /// old kernel counts every datagram that became a packet; any kernel may count datagrams
        /// that failed later.
        #[test]
        fn a_count_is_never_taken_for_another_datagrams(
            old in any::<bool>(),
            built in prop::collection::vec(any::<bool>(), 200),
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let rules = if old { CountRules::UNKNOWN } else { CountRules::FIXED };
            let (mut map, mut now, mut kernel, mut next_id) = (with_rules(8, rules), 0, 0u32, 0u32);
            let mut built = built.into_iter();
            let mut under_way: Vec<(u32, TransmitId, i64)> = Vec::new();
            for step in steps {
                match step {
                    Step::Send if map.state() == CounterState::InStep => {
                        map.sent(TransmitId(next_id), at(now));
                        under_way.push((kernel, TransmitId(next_id), now));
                        kernel = kernel.wrapping_add(1);
                        next_id += 1;
                    }
                    Step::Fail(failure) if map.state() == CounterState::InStep => {
                        let counted = match failure {
                            SendFailure::NoDestination => false,
                            SendFailure::NoRoom | SendFailure::TooLong => old,
                            SendFailure::Other => built.next() == Some(true),
                        };
                        kernel = kernel.wrapping_add(u32::from(counted));
                        map.failed(failure);
                    }
                    Step::Send | Step::Fail(_) => {}
                    Step::Timestamp { which, twice } if which < under_way.len() => {
                        let (count, id, _) = under_way.remove(which);
                        let recent = kernel.wrapping_sub(count) <= 8 && map.state() == CounterState::InStep;
                        let taken = map.take(count);
                        prop_assert!(taken == Some(id) || (taken.is_none() && !recent), "{taken:?} for {id:?}");
                        prop_assert!(!twice || map.take(count).is_none());
                    }
                    Step::Timestamp { .. } => {}
                    Step::Pass(time) => {
                        now += time;
                        under_way.retain(|(_, _, sent)| now - sent < QUARANTINE);
                    }
                    Step::Restart => {
                        if map.restart(at(now)) {
                            prop_assert!(under_way.is_empty(), "a timestamp of the old count can still come");
                            kernel = 0;
                        }
                    }
                }
            }
        }
    }
}
