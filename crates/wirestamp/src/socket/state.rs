//! What the threads and tasks of one socket share about its transmit timestamps. Waits for
//! nothing.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Matcher, TimestampSink};

/// Timestamps of a socket, and the threads and tasks that wait for them.
///
/// Who collects holds `collecting` from before it asks the system until the last timestamp is
/// delivered: another thread's "nothing came" would be wrong while one is in hand. It holds
/// `state` only while it delivers, so whoever sends does not wait for the system. Never taken in
/// the other order.
#[derive(Debug, Default)]
pub(super) struct Transmit {
    collecting: Mutex<()>,
    state: Mutex<State>,
    pub(super) changed: Condvar,
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
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to collect. Not to be asked for while the state is locked.
    pub(super) fn turn_to_collect(&self) -> MutexGuard<'_, ()> {
        self.collecting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// When the oldest awaited id ends by time.
    pub(super) fn next_deadline(&self) -> Option<MonotonicTime> {
        self.matcher.deadline_of(self.matcher.next_awaited(None)?)
    }

    /// Takes over what was granted; `None`: all is off.
    pub(super) fn configured(&mut self, granted: Option<&Granted>, now: MonotonicTime) {
        let off = Timestamping::OFF;
        let timestamping = granted.map_or(&off, |granted| &granted.timestamping);
        self.matcher.configure(timestamping, now);
        self.enabled = timestamping.transmit.is_some();
        let queue = granted.and_then(|granted| granted.system_queue);
        self.part = queue.map_or(usize::MAX, |queue| (queue as usize / 2).max(1));
    }
}
