//! What the threads and tasks of one socket share about its transmit timestamps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Matcher, TransmitId, TransmitTracker};

/// Transmit timestamps of a socket, and the threads and tasks that wait for them.
///
/// Who collects holds `collecting` from before the system is asked until the last timestamp is
/// delivered: another thread's "nothing came" would be wrong while one is in hand. `state` is held
/// only to deliver, so whoever sends does not wait for the system. Never taken in the other order.
#[derive(Debug)]
pub(super) struct Transmit {
    collecting: Mutex<Collecting>,
    /// Whether a send needs the tracker: then who sends holds `collecting` meanwhile.
    tracks_sends: AtomicBool,
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

/// What is known of the awaited ids before the system is asked for their timestamps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// How many there are.
    pub(super) awaited: usize,
    /// A time from before: an id that was overdue *then* and has no timestamp gets none.
    pub(super) now: MonotonicTime,
}

/// What belongs to the one who collects.
#[derive(Debug)]
pub(super) struct Collecting {
    pub(super) tracker: TransmitTracker,
    /// Room for the ids to ask for, where the system is asked for each.
    pub(super) ids: Vec<TransmitId>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) matcher: Matcher,
    pub(super) enabled: bool,
    pub(super) closed: bool,
    /// How many timestamps the system's queue may be trusted with: half of what it holds.
    pub(super) part: usize,
    /// Whether a thread waits in the backend, and until when.
    pub(super) inside: Option<MonotonicTime>,
    /// The nearest time that one of the other waiting threads needs.
    pub(super) nearest: MonotonicTime,
    /// How many threads wait on the condition variable.
    pub(super) waiting: usize,
    /// Counts the times that ids ended; tasks compare it.
    pub(super) changes: u64,
    /// The tasks to wake when ids end, each with the address of the future that waits.
    pub(super) wakers: Vec<(usize, Waker)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            matcher: Matcher::new(),
            enabled: false,
            closed: false,
            part: usize::MAX,
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

    /// The right to collect. Not to be asked for while the state is locked.
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

    /// Something was sent with the tracker. Once a former owner's timestamps can't come any more, and
    /// what it read ahead was taken, sends go without it.
    pub(super) fn sent_with(&self, tracker: &TransmitTracker) {
        if !tracker.is_needed_to_send() && !tracker.holds_any() {
            self.tracks_sends.store(false, Ordering::Release);
        }
    }

    /// Takes over what was granted; `None`: all is off.
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
    /// A look without a reading of the clock, as of the latest time that anybody told.
    pub(super) fn look(&self) -> Look {
        Look {
            awaited: self.matcher.awaited(),
            now: self.matcher.latest(),
        }
    }

    /// Takes over what was granted; `None`: all is off.
    fn configured(&mut self, granted: Option<&Granted>, now: MonotonicTime) {
        let off = Timestamping::OFF;
        let timestamping = granted.map_or(&off, |granted| &granted.timestamping);
        self.matcher.configure(timestamping, now);
        self.enabled = timestamping.transmit.is_some();
        let queue = granted.and_then(|granted| granted.system_queue);
        // an id has an entry more if its time in the queue is asked for
        let entries = 1 + usize::from(timestamping.queueing);
        self.part = queue.map_or(usize::MAX, |queue| (queue as usize / 2 / entries).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
