//! The state of a socket's transmit timestamps, shared by its threads and tasks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Matcher, TransmitId, TransmitTracker};

/// The transmit timestamps of a socket, and the threads and tasks that wait for them.
///
/// A collection holds `collecting` from before the read until the last timestamp is delivered, so
/// that no other thread concludes in between that none came. It holds `state` only to deliver, so
/// that senders do not wait for the system call. Lock order: `collecting`, then `state`.
#[derive(Debug)]
pub(super) struct Transmit {
    collecting: Mutex<Collecting>,
    /// Whether a send needs the tracker, and therefore holds `collecting`.
    tracks_sends: AtomicBool,
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

/// A snapshot of the unresolved IDs before the error queue is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// The number of unresolved IDs.
    pub(super) awaited: usize,
    /// The time of the snapshot: an ID that was overdue at this time and still has no timestamp is
    /// missing.
    pub(super) now: MonotonicTime,
}

/// The state of a collection.
#[derive(Debug)]
pub(super) struct Collecting {
    pub(super) tracker: TransmitTracker,
    /// A buffer for the IDs to ask for, on systems that are asked for each ID.
    pub(super) ids: Vec<TransmitId>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) matcher: Matcher,
    pub(super) enabled: bool,
    pub(super) closed: bool,
    /// The number of IDs whose timestamps are left in the error queue at most: half its capacity.
    pub(super) part: usize,
    /// The most entries in the error queue for one ID.
    entries: u32,
    /// The end of the wait of the thread that waits in the backend; `None` if there is none.
    pub(super) inside: Option<MonotonicTime>,
    /// The earliest time that another waiting thread needs.
    pub(super) nearest: MonotonicTime,
    /// The number of threads that wait on the condition variable.
    pub(super) waiting: usize,
    /// Counts the times that IDs resolved, so that tasks notice changes.
    pub(super) changes: u64,
    /// The tasks to wake when IDs resolve, each with the address of the waiting future.
    pub(super) wakers: Vec<(usize, Waker)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            matcher: Matcher::new(),
            enabled: false,
            closed: false,
            part: usize::MAX,
            entries: 1,
            inside: None,
            nearest: MonotonicTime::MAX,
            waiting: 0,
            changes: 0,
            wakers: Vec::new(),
        }
    }
}

impl Transmit {
    pub(super) fn new(tracker: TransmitTracker) -> Self {
        Self {
            collecting: Mutex::new(Collecting {
                tracker,
                ids: Vec::new(),
            }),
            tracks_sends: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks `collecting`. Must not be called while `state` is locked.
    #[inline]
    pub(super) fn turn_to_collect(&self) -> MutexGuard<'_, Collecting> {
        self.collecting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a send needs the tracker.
    pub(super) fn tracks_sends(&self) -> bool {
        self.tracks_sends.load(Ordering::Acquire)
    }

    /// Notes a send that used the tracker. Sends stop using it once a former owner's timestamps can
    /// no longer arrive and its entries have been taken.
    pub(super) fn sent_with(&self, tracker: &TransmitTracker) {
        if !tracker.is_needed_to_send() && !tracker.holds_any() {
            self.tracks_sends.store(false, Ordering::Release);
        }
    }

    /// Applies the granted configuration; `None` switches everything off.
    pub(super) fn configured(
        &self,
        state: &mut State,
        granted: Option<&Granted>,
        tracker: &TransmitTracker,
        now: MonotonicTime,
    ) {
        let transmits = granted.is_some_and(|granted| granted.timestamping.transmit.is_some());
        self.tracks_sends
            .store(transmits && tracker.is_needed_to_send(), Ordering::Release);
        state.configured(granted, now);
    }
}

impl State {
    /// Returns a snapshot without reading the clock, as of the latest time that the matcher knows.
    pub(super) fn look(&self) -> Look {
        Look {
            awaited: self.matcher.awaited(),
            now: self.matcher.latest(),
        }
    }

    /// Applies the granted configuration; `None` switches everything off.
    fn configured(&mut self, granted: Option<&Granted>, now: MonotonicTime) {
        let off = Timestamping::OFF;
        let timestamping = granted.map_or(&off, |granted| &granted.timestamping);
        self.matcher.configure(timestamping, now);
        self.enabled = timestamping.transmit.is_some();
        let queue = granted.and_then(|granted| granted.system_queue);
        self.entries = timestamping.entries_per_id();
        self.part = usize::MAX;
        if let Some(queue) = queue {
            self.has_room_for(queue);
        }
    }

    /// Takes into account that the error queue now holds `room` entries.
    pub(super) fn has_room_for(&mut self, room: u32) {
        self.part = (room / 2 / self.entries).max(1) as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::configuration::Source;
    use wirestamp_core::time::{Span, UtcCrossTimestamp, UtcModel, UtcTime};
    use wirestamp_core::timestamp::{Arrival, CounterMap, Notice, Placement};

    #[test]
    fn sends_have_the_tracker_until_nothing_of_a_former_owner_can_come() {
        let adopted_at = MonotonicTime::from_nanoseconds(5);
        let reading = UtcCrossTimestamp {
            before: adopted_at,
            utc: UtcTime::from_nanoseconds(0),
            after: adopted_at,
        };
        let tick = Span::from_nanoseconds(1);
        let placement = Placement::new(UtcModel::new(reading), tick);
        let transmit = Transmit::new(TransmitTracker::new(placement));
        let tracker = &mut transmit.turn_to_collect().tracker;
        let configure = |tracker: &TransmitTracker, wanted| {
            let granted = Granted::new(wanted, None);
            let state = &mut transmit.lock();
            transmit.configured(state, Some(&granted), tracker, adopted_at);
            transmit.tracks_sends()
        };
        let transmits = Timestamping::new().transmit(8);
        assert!(!configure(tracker, transmits));
        tracker.adopt(adopted_at);
        assert!(!configure(tracker, Timestamping::new().receive()));
        assert!(configure(tracker, transmits));
        transmit.sent_with(tracker);
        assert!(transmit.tracks_sends());
        assert!(tracker.end_quarantine(adopted_at + CounterMap::QUARANTINE));
        let notice = Notice::ZeroCopy { first: 1, last: 2 };
        tracker.arrived(Arrival::Notice(notice));
        transmit.sent_with(tracker);
        assert!(transmit.tracks_sends(), "no wait would tell of the notice");
        let mut taken = 0;
        tracker.take(|_| taken += 1);
        assert_eq!(taken, 1);
        transmit.sent_with(tracker);
        assert!(!transmit.tracks_sends());
    }

    #[test]
    fn half_the_error_queue_is_used_as_large_as_it_is_now() {
        let mut state = State::default();
        let mut configure = |wanted: Timestamping| {
            let granted = Granted::new(wanted.transmit(8), Some(120));
            state.configured(Some(&granted), MonotonicTime::from_nanoseconds(0));
            state.part
        };
        let both = Timestamping::new().source(Source::Both);
        assert_eq!(configure(both.queueing()), 20);
        assert_eq!(configure(both), 30);
        assert_eq!(configure(Timestamping::new()), 60);
        for (room, part) in [(5, 2), (64, 32), (1, 1)] {
            state.has_room_for(room);
            assert_eq!(state.part, part, "of {room}");
        }
    }
}
