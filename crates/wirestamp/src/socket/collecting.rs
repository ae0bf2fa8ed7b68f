//! Collecting: what the system has of transmit timestamps gets into the matcher, and those who
//! wait for it are told. Asks for no outcome.

use super::UdpSocket;
use super::state::State;
use std::sync::MutexGuard;
use wirestamp_core::Result;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::capability::Direction;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{MissingReason, Notice, TimestampSink, Timestamps, TransmitId};

impl UdpSocket {
    /// Empties the system's queue into the matcher.
    pub(crate) fn collect(&self) -> Result<()> {
        self.collected().map(drop)
    }

    /// The same; returns the time from before (an id that was overdue *then* has no timestamp) and the
    /// matcher as it is after.
    pub(super) fn collected(&self) -> Result<(MonotonicTime, MutexGuard<'_, State>)> {
        let _turn = self.transmit.turn_to_collect();
        self.collected_in_turn()
    }

    /// The same for who has the turn and keeps it.
    pub(super) fn collected_in_turn(&self) -> Result<(MonotonicTime, MutexGuard<'_, State>)> {
        let (now, state) = (self.now(), self.transmit.lock());
        if state.closed {
            return Ok((now, state)); // close has collected the last
        }
        let mut delivery = Delivery {
            socket: self,
            now,
            held: None,
        };
        delivery.hold(state);
        let collected = self.socket.collect(&mut delivery);
        let mut state = delivery.finish();
        let awaited = state.matcher.awaited();
        state.matcher.expire(now);
        if state.matcher.awaited() < awaited {
            self.announce(&mut state);
        }
        collected.map(|_| (now, state))
    }

    /// The matcher after collecting what can be collected: an unreadable queue is reported to
    /// whoever asks for timestamps.
    pub(super) fn collected_if_possible(&self) -> MutexGuard<'_, State> {
        self.collected()
            .map_or_else(|_| self.transmit.lock(), |(_, state)| state)
    }

    /// Tells everybody who waits that ids have ended.
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

/// The matcher while timestamps come in: locked from the first of them until the system is asked again.
struct Delivery<'a> {
    socket: &'a UdpSocket,
    now: MonotonicTime,
    held: Option<Held<'a>>,
}

struct Held<'a> {
    state: MutexGuard<'a, State>,
    /// How many ids were awaited when it was locked.
    awaited: usize,
}

impl<'a> Delivery<'a> {
    fn hold(&mut self, mut state: MutexGuard<'a, State>) -> &mut State {
        state.matcher.advance(self.now);
        let awaited = state.matcher.awaited();
        &mut self.held.insert(Held { state, awaited }).state
    }

    fn state(&mut self) -> &mut State {
        match self.held {
            Some(_) => {}
            None => {
                self.hold(self.socket.transmit.lock());
            }
        }
        &mut self
            .held
            .as_mut()
            .unwrap_or_else(|| unreachable!("locked just now"))
            .state
    }

    /// Those who wait are told before it is unlocked.
    fn finish(mut self) -> MutexGuard<'a, State> {
        match self.held.take() {
            None => self.socket.transmit.lock(),
            Some(held) => held.told(self.socket),
        }
    }
}

impl<'a> Held<'a> {
    fn told(mut self, socket: &UdpSocket) -> MutexGuard<'a, State> {
        if self.state.matcher.awaited() < self.awaited {
            socket.announce(&mut self.state);
        }
        self.state
    }
}

impl TimestampSink for Delivery<'_> {
    fn timestamped(&mut self, id: TransmitId, timestamps: Timestamps) {
        let socket = self.socket;
        let interface = socket.leaves_by.or_else(|| {
            timestamps
                .hardware
                .and_then(|timestamp| timestamp.interface)
        });
        socket.observer.note(
            &socket.host.observed,
            Direction::Transmit,
            interface,
            &timestamps,
        );
        self.state().matcher.timestamped(id, timestamps);
    }

    fn lost(&mut self, id: TransmitId, reason: MissingReason) {
        self.state().matcher.lost(id, reason);
    }

    fn overflowed(&mut self) {
        self.state().matcher.overflowed();
    }

    fn notice(&mut self, notice: Notice) {
        self.state().matcher.notice(notice);
    }

    fn next_awaited(&self, previous: Option<TransmitId>) -> Option<TransmitId> {
        match &self.held {
            Some(held) => held.state.matcher.next_awaited(previous),
            None => self.socket.transmit.lock().matcher.next_awaited(previous),
        }
    }

    fn awaited(&self) -> usize {
        match &self.held {
            Some(held) => held.state.matcher.awaited(),
            None => self.socket.transmit.lock().matcher.awaited(),
        }
    }

    fn flush(&mut self) {
        if let Some(held) = self.held.take() {
            drop(held.told(self.socket));
        }
    }
}
