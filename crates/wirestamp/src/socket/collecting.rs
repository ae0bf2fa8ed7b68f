//! Collection of transmit timestamps: moves them from the error queue into the matcher and wakes
//! the waiting threads and tasks.

use super::Socket;
use super::state::{Collecting, Look, State};
use crate::inner::Supported;
use std::sync::MutexGuard;
use wirestamp_core::Result;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::capability::Direction;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Arrival, TransmitTracker};

/// The most reads in one collection: a sender on another thread could keep the queue full forever.
const MOST_READS: usize = 1 << 10;

impl<T: Supported> Socket<T> {
    /// Empties the error queue into the matcher.
    pub(crate) fn collect(&self) -> Result<()> {
        self.collected().map(drop)
    }

    /// Collects if IDs are awaited: otherwise their timestamps would end every wait at once.
    pub(crate) fn collect_if_waiting(&self) -> Result<()> {
        let awaited = self.transmit.lock().matcher.awaited();
        if awaited == 0 { Ok(()) } else { self.collect() }
    }

    /// Collects, and returns the time from before and the matcher from after.
    pub(super) fn collected(&self) -> Result<(MonotonicTime, MutexGuard<'_, State>)> {
        let mut look = self.transmit.lock().look();
        look.now = self.now();
        Ok((look.now, self.collected_since(look)?))
    }

    /// Collects for a caller that already has a [`Look`].
    pub(super) fn collected_since(&self, look: Look) -> Result<MutexGuard<'_, State>> {
        self.collected_in_turn(&mut self.transmit.turn_to_collect(), look)
    }

    /// Collects for a caller that already holds the collecting lock and keeps it.
    pub(super) fn collected_in_turn(
        &self,
        turn: &mut Collecting,
        look: Look,
    ) -> Result<MutexGuard<'_, State>> {
        let (result, mut state) = if self.socket.is_asked_by_id() {
            self.ask_for_each(turn, look.now)
        } else {
            self.read_queue(&mut turn.tracker, look)
        };
        let awaited = state.matcher.awaited();
        if awaited > 0 {
            state.matcher.expire(look.now);
            if state.matcher.awaited() < awaited {
                self.announce(&mut state);
            }
        }
        match result {
            Err(error) if !state.closed => Err(error),
            _ => Ok(state), // `close` has collected the last timestamps
        }
    }

    fn read_queue(
        &self,
        tracker: &mut TransmitTracker,
        Look { mut awaited, now }: Look,
    ) -> (Result<()>, MutexGuard<'_, State>) {
        for _ in 1..MOST_READS {
            let read = self.socket.read_transmit_timestamps(tracker, awaited);
            let state = self.deliver(tracker, now);
            let left = state.matcher.awaited();
            match read {
                Ok(true) if left == 0 && awaited == 0 => {}
                // read a chunk: the first entry was another one, and many may come before the
                // awaited one
                Ok(true) if left > 0 => awaited = left.max(2),
                other => return (other.map(drop), state),
            }
        }
        (Ok(()), self.transmit.lock())
    }

    fn ask_for_each(
        &self,
        Collecting { tracker, ids }: &mut Collecting,
        now: MonotonicTime,
    ) -> (Result<()>, MutexGuard<'_, State>) {
        ids.clear();
        ids.extend(self.transmit.lock().matcher.open_ids());
        let asked = self.socket.ask_for_timestamps(tracker, ids);
        (asked, self.deliver(tracker, now))
    }

    /// Moves the tracker's entries into the matcher. Wakes waiting threads before it is unlocked.
    fn deliver(&self, tracker: &mut TransmitTracker, now: MonotonicTime) -> MutexGuard<'_, State> {
        let mut state = self.transmit.lock();
        state.matcher.advance(now);
        let awaited = state.matcher.awaited();
        tracker.take(|arrival| {
            if let Arrival::Timestamped(_, timestamps) = arrival {
                let interface = self.leaves_by.or_else(|| {
                    timestamps
                        .hardware
                        .and_then(|timestamp| timestamp.interface)
                });
                self.observer.note(
                    &self.host.observed,
                    Direction::Transmit,
                    interface,
                    timestamps,
                );
            }
            state.matcher.arrived(arrival);
        });
        if state.matcher.awaited() < awaited {
            self.announce(&mut state);
        }
        state
    }

    /// Returns the matcher after an attempt to collect. A read error is ignored here; calls that
    /// fetch timestamps report it.
    pub(super) fn collected_if_possible(&self) -> MutexGuard<'_, State> {
        self.collected()
            .map_or_else(|_| self.transmit.lock(), |(_, state)| state)
    }

    /// Wakes all waiting threads and tasks, because IDs have resolved.
    pub(super) fn announce(&self, state: &mut State) {
        state.changes += 1;
        if state.waiting > 0 {
            self.transmit.changed.notify_all();
        }
        if state.inside.is_some() {
            self.socket.wake();
        }
        if !state.wakers.is_empty() {
            state.wakers.drain(..).for_each(|(_, waker)| waker.wake());
        }
    }
}
