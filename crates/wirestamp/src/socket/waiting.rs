//! Owns waiting for transmit stamps in several threads and tasks at once.
//! Gives no answers: its callers ask the matcher.
//!
//! One thread at a time waits in the backend, until the nearest time that anybody needs; the
//! others sleep on a condition variable. Whoever collects something wakes them all. So a
//! stamp that one thread collects for another is never overlooked, and virtual time passes as
//! long as anybody waits.

use super::UdpSocket;
use super::state::State;
use std::ops::ControlFlow;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use wirestamp_core::Result;
use wirestamp_core::backend::{DatagramSocket, Interest};
use wirestamp_core::stamp::TransmitId;
use wirestamp_core::time::{Span, SystemTime};

impl UdpSocket {
    /// Collects and asks `question` until it has an answer or `timeout` has passed. While it
    /// has none, `question` tells when time alone may give one.
    pub(super) fn wait_for<T>(
        &self,
        timeout: Duration,
        mut question: impl FnMut(&mut State, SystemTime) -> ControlFlow<T, Option<SystemTime>>,
    ) -> Result<Option<T>> {
        let mut until = None;
        loop {
            let (now, mut state) = self.collected()?;
            let until = *until.get_or_insert_with(|| now + Span::from(timeout));
            let next = match question(&mut state, now) {
                ControlFlow::Break(answer) => return Ok(Some(answer)),
                ControlFlow::Continue(next) => next.map_or(until, |next| next.min(until)),
            };
            if now >= until {
                return Ok(None);
            }
            if state.inside.is_some() {
                self.wait_outside(state, next);
            } else {
                self.wait_inside(state, next)?;
            }
        }
    }

    /// Another thread waits in the backend: sleep until it comes out or something has ended.
    fn wait_outside(&self, mut state: MutexGuard<'_, State>, until: SystemTime) {
        self.hurry(&mut state, until);
        state.waiting += 1;
        let mut state = self.transmit.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
    }

    fn wait_inside(&self, mut state: MutexGuard<'_, State>, until: SystemTime) -> Result<()> {
        let until = until.min(state.nearest);
        state.inside = Some(until);
        drop(state);
        let waited = self.socket.wait(Interest::Stamps, until);
        let mut state = self.transmit.lock();
        state.inside = None;
        if self.now() >= state.nearest {
            state.nearest = SystemTime::MAX; // those concerned wake up now and say again what they need
        }
        if state.waiting > 0 {
            self.transmit.changed.notify_all();
        }
        waited.map(drop)
    }

    /// Has the thread in the backend come out by `until`.
    fn hurry(&self, state: &mut State, until: SystemTime) {
        if state.inside.is_some_and(|inside| until < inside) {
            state.nearest = state.nearest.min(until);
            state.inside = Some(until); // asked once is enough
            self.socket.wake();
        }
    }

    /// A new id may end before the thread in the backend expects anything to.
    pub(super) fn shorten_wait(&self, state: &mut State, id: TransmitId) {
        if state.inside.is_some()
            && let Some(deadline) = state.matcher.deadline_of(id)
        {
            self.hurry(state, deadline);
        }
    }
}
