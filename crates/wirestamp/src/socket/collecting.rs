//! Collecting: what the system has of transmit timestamps gets into the matcher, and those who wait
//! for it are woken.

use super::Socket;
use super::state::{Collecting, Look, State};
use crate::inner::Supported;
use std::sync::MutexGuard;
use wirestamp_core::Result;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::capability::Direction;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Arrival, TransmitTracker};

/// So often the system is read in one collection: a sender on another thread could keep its queue
/// full for ever.
const MOST_READS: usize = 1 << 10;

impl<T: Supported> Socket<T> {
    /// Empties the system's queue into the matcher.
    pub(crate) fn collect(&self) -> Result<()> {
        self.collected().map(drop)
    }

    /// The same, if ids are awaited: their timestamps would end every wait at once.
    pub(crate) fn collect_if_waiting(&self) -> Result<()> {
        let awaited = self.transmit.lock().matcher.awaited();
        if awaited == 0 { Ok(()) } else { self.collect() }
    }

    /// The same; returns the time from before and the matcher as it is after.
    pub(super) fn collected(&self) -> Result<(MonotonicTime, MutexGuard<'_, State>)> {
        let mut look = self.transmit.lock().look();
        look.now = self.now();
        Ok((look.now, self.collected_since(look)?))
    }

    /// The same for who has looked already.
    pub(super) fn collected_since(&self, look: Look) -> Result<MutexGuard<'_, State>> {
        self.collected_in_turn(&mut self.transmit.turn_to_collect(), look)
    }

    /// The same for who has the turn and keeps it.
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
            _ => Ok(state), // close has collected the last
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
                // by the chunk: the first entry was not it, and many may lie before it
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

    /// What was read goes into the matcher. Waiting threads are woken before it is unlocked.
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

    /// The matcher after collecting what can be collected: an unreadable queue is reported to
    /// whoever asks for timestamps.
    pub(super) fn collected_if_possible(&self) -> MutexGuard<'_, State> {
        self.collected()
            .map_or_else(|_| self.transmit.lock(), |(_, state)| state)
    }

    /// Wakes everybody who waits, because ids have ended.
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
