//! Owns what the threads and tasks of one socket share about its transmit stamps. Waits for
//! nothing.

use crate::host::Host;
use crate::observed::Observer;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use wirestamp_core::capability::Direction;
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::{LossReason, Matcher, Notice, StampSink, Stamps, TransmitId};
use wirestamp_core::time::SystemTime;

/// Stamps of a socket, and the threads and tasks that wait for them.
#[derive(Debug, Default)]
pub(super) struct Transmit {
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) matcher: Matcher,
    pub(super) enabled: bool,
    pub(super) closed: bool,
    /// How many stamps the system's queue may be trusted with: half of what it holds.
    pub(super) part: usize,
    /// Whether a thread waits in the backend, and until when.
    pub(super) inside: Option<SystemTime>,
    /// The nearest time that one of the other waiting threads needs.
    pub(super) nearest: SystemTime,
    /// How many threads wait on the condition variable.
    pub(super) waiting: usize,
    /// Counts the times that ids ended; tasks compare it.
    pub(super) changes: u64,
    /// The tasks to wake when ids end.
    pub(super) wakers: Vec<Waker>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            matcher: Matcher::new(),
            enabled: false,
            closed: false,
            part: usize::MAX,
            inside: None,
            nearest: SystemTime::MAX,
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
}

impl State {
    /// When the oldest awaited id ends by time.
    pub(super) fn next_deadline(&self) -> Option<SystemTime> {
        self.matcher.deadline_of(self.matcher.next_awaited(None)?)
    }

    /// Takes over what was granted; `None`: all is off.
    pub(super) fn configured(&mut self, granted: Option<&Granted>, now: SystemTime) {
        let off = Timestamping::OFF;
        let timestamping = granted.map_or(&off, |granted| &granted.timestamping);
        self.matcher.configure(timestamping, now);
        self.enabled = timestamping.transmit.is_some();
        let queue = granted.and_then(|granted| granted.system_queue);
        self.part = queue.map_or(usize::MAX, |queue| (queue as usize / 2).max(1));
    }
}

/// A matcher that also notes what was observed.
pub(super) struct Observing<'a> {
    pub(super) matcher: &'a mut Matcher,
    pub(super) observer: &'a Observer,
    pub(super) host: &'a Host,
    pub(super) leaves_by: Option<InterfaceIndex>,
}

impl StampSink for Observing<'_> {
    fn stamped(&mut self, id: TransmitId, stamps: Stamps) {
        let interface = self.leaves_by.or_else(|| stamps.hardware.and_then(|stamp| stamp.interface));
        self.observer.note(&self.host.observed, Direction::Transmit, interface, &stamps);
        self.matcher.stamped(id, stamps);
    }

    fn lost(&mut self, id: TransmitId, reason: LossReason) {
        self.matcher.lost(id, reason);
    }

    fn overflowed(&mut self) {
        self.matcher.overflowed();
    }

    fn notice(&mut self, notice: Notice) {
        self.matcher.notice(notice);
    }

    fn next_awaited(&self, previous: Option<TransmitId>) -> Option<TransmitId> {
        self.matcher.next_awaited(previous)
    }
}
