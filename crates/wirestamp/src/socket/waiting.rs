//! Waiting for transmit timestamps in several threads and tasks at once.
//!
//! One thread at a time waits in the backend, until the earliest time that any thread needs; the
//! others sleep on a condition variable. A thread that collects entries wakes all of them. A
//! timestamp that one thread collects for another is therefore never missed, and virtual time
//! passes as long as any thread waits.

use super::Socket;
use super::state::{Look, State};
use crate::deadline::Deadline;
use crate::inner::Supported;
use std::ops::ControlFlow;
use std::sync::{MutexGuard, PoisonError};
use wirestamp_core::Result;
use wirestamp_core::backend::{DatagramSocket, Interest, Readiness};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::TransmitId;

impl<T: Supported> Socket<T> {
    /// Collects and calls `question` until it has an answer or `deadline` has passed. Without an
    /// answer, `question` returns the time at which an ID's deadline may give one.
    ///
    /// If a timestamp is already available, the clock is not read: the first `look` is as of the
    /// latest known time. IDs that became overdue since are checked in a second round.
    pub(super) fn wait_for<A>(
        &self,
        deadline: Deadline,
        mut look: Look,
        mut question: impl FnMut(&mut State, MonotonicTime) -> ControlFlow<A, Option<MonotonicTime>>,
    ) -> Result<Option<A>> {
        let mut until = None;
        loop {
            let mut state = self.collected_since(look)?;
            let next = match question(&mut state, look.now) {
                ControlFlow::Break(answer) => return Ok(Some(answer)),
                ControlFlow::Continue(next) => next,
            };
            look.awaited = state.matcher.awaited();
            if until.is_none() {
                look.now = self.now();
                until = Some(deadline.resolve(|| look.now));
                if next.is_some_and(|next| next <= look.now) {
                    continue;
                }
            }
            let until = until.unwrap_or(look.now);
            if look.now >= until {
                return Ok(None);
            }
            self.wait_until(state, next.map_or(until, |next| next.min(until)))?;
            if look.awaited == 0 {
                look = self.transmit.lock().look(); // IDs sent in the meantime
            }
            look.now = self.now();
        }
    }

    fn wait_until(&self, state: MutexGuard<'_, State>, until: MonotonicTime) -> Result<()> {
        if state.inside.is_some() {
            self.wait_outside(state, until);
            return Ok(());
        }
        self.wait_inside(state, until, |until| {
            self.socket.wait(Interest::Timestamps, until)
        })
    }

    /// Sleeps until the thread that waits in the backend returns or IDs have resolved.
    fn wait_outside(&self, mut state: MutexGuard<'_, State>, until: MonotonicTime) {
        self.hurry(&mut state, until);
        state.waiting += 1;
        let mut state = self
            .transmit
            .changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
    }

    fn wait_inside(
        &self,
        mut state: MutexGuard<'_, State>,
        until: MonotonicTime,
        wait: impl FnOnce(MonotonicTime) -> Result<Readiness>,
    ) -> Result<()> {
        let until = until.min(state.nearest);
        state.inside = Some(until);
        drop(state);
        let _inside = Inside(self);
        wait(until).map(drop)
    }

    /// Makes the thread in the backend return by `until`.
    fn hurry(&self, state: &mut State, until: MonotonicTime) {
        if state.inside.is_some_and(|inside| until < inside) {
            state.nearest = state.nearest.min(until);
            state.inside = Some(until); // one wake-up is enough
            self.socket.wake();
        }
    }

    /// Shortens the wait in the backend if a new ID's deadline is earlier.
    pub(super) fn shorten_wait(&self, state: &mut State, id: TransmitId) {
        if state.inside.is_some() {
            if let Some(deadline) = state.matcher.deadline_of(id) {
                self.hurry(state, deadline);
            }
        }
    }
}

/// A guard of the thread that waits in the backend. Dropping it, also in a panic, releases the
/// other threads.
struct Inside<'a, T: Supported>(&'a Socket<T>);

impl<T: Supported> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        let transmit = &self.0.transmit;
        let mut state = transmit.lock();
        state.inside = None;
        if state.nearest < MonotonicTime::MAX && self.0.now() >= state.nearest {
            state.nearest = MonotonicTime::MAX; // the threads concerned wake up now and request their times again
        }
        if state.waiting > 0 {
            transmit.changed.notify_all();
        }
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    use super::*;
    use crate::Simulation;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;
    use wirestamp_core::configuration::Timestamping;
    use wirestamp_core::time::Span;
    use wirestamp_core::timestamp::TransmitAnswer;

    #[test]
    fn a_panic_in_the_thread_inside_keeps_nobody_outside_waiting() {
        let simulation = Simulation::preset("tx-never", 1).expect("a preset");
        let interface = simulation.interface("sim0").expect("a NIC");
        let address = interface.description().addresses[0].address;
        let socket = interface.bind((address, 0).into()).expect("a free port");
        socket
            .configure(
                Timestamping::new()
                    .transmit(4)
                    .transmit_deadline(Span::from_seconds(3_600)),
            )
            .expect("granted");
        socket
            .send_to(b"timestamped", (address, 9), Some(TransmitId(1)))
            .expect("sent");

        let (answered, answer) = mpsc::channel();
        let shared = std::sync::Arc::new(socket);
        let outside = std::sync::Arc::clone(&shared);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let state = shared.transmit.lock();
            shared.wait_inside(state, MonotonicTime::MAX, |_| {
                thread::spawn(move || {
                    answered.send(
                        outside.wait_transmit_timestamp(TransmitId(1), Duration::from_millis(1)),
                    )
                });
                while shared.transmit.lock().waiting == 0 {
                    thread::yield_now();
                }
                panic!("in the backend")
            })
        }));
        assert!(panicked.is_err());
        let answer = answer
            .recv_timeout(Duration::from_secs(30))
            .expect("it comes out");
        assert_eq!(answer.expect("an answer"), TransmitAnswer::Pending);
    }
}
