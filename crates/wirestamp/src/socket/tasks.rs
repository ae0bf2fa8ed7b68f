//! Support for futures, independent of the runtime: notification of collections by other tasks, and
//! virtual time.

use super::Socket;
use crate::inner::Supported;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};
use wirestamp_core::Result;
use wirestamp_core::backend::{DatagramSocket, Interest};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// How far virtual time advances before other tasks run.
const SLICE: Span = Span::from_milliseconds(1);

impl<T: Supported> Socket<T> {
    /// Counts the times that IDs resolved. Read it before looking for outcomes, and wait for a
    /// change afterwards.
    pub(crate) fn changes(&self) -> u64 {
        self.transmit.lock().changes
    }

    /// Waits until IDs have resolved since `seen` was read, or the socket was closed.
    pub(crate) fn changed(&self, seen: u64) -> Changed<'_, T> {
        Changed {
            socket: self,
            seen,
            _pinned: PhantomPinned,
        }
    }

    /// Returns the deadline of `id`; `None` if it is not unresolved.
    pub(crate) fn deadline_of(&self, id: TransmitId) -> Option<MonotonicTime> {
        self.transmit.lock().matcher.deadline_of(id)
    }

    /// Returns the deadline of the oldest unresolved ID.
    pub(crate) fn next_deadline(&self) -> Option<MonotonicTime> {
        self.transmit.lock().matcher.next_deadline()
    }

    /// Returns whether time is virtual, so that it passes only during waits.
    pub(crate) fn is_simulated(&self) -> bool {
        self.host.is_simulated()
    }

    /// Advances virtual time by up to 1 ms, less if `interest` is ready before.
    pub(crate) fn pass_virtual_time(
        &self,
        interest: Interest,
        until: Option<MonotonicTime>,
    ) -> Result<()> {
        let slice = self.now() + SLICE;
        let readiness = self
            .socket
            .wait(interest, until.map_or(slice, |until| until.min(slice)))?;
        if readiness.timestamps {
            self.collect()
        } else {
            Ok(())
        }
    }
}

/// A future that waits until IDs have resolved. Dropping it removes its waker, so that a task that
/// no longer waits is neither woken nor kept alive.
#[derive(Debug)]
pub(crate) struct Changed<'a, T: Supported> {
    socket: &'a Socket<T>,
    seen: u64,
    /// Pinned, because its address identifies its waker.
    _pinned: PhantomPinned,
}

impl<T: Supported> Changed<'_, T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T: Supported> Future for Changed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.socket.transmit.lock();
        if state.changes != self.seen {
            return Poll::Ready(());
        }
        let address = self.address();
        match state.wakers.iter_mut().find(|(known, _)| *known == address) {
            Some((_, waker)) => waker.clone_from(context.waker()),
            None => state.wakers.push((address, context.waker().clone())),
        }
        Poll::Pending
    }
}

impl<T: Supported> Drop for Changed<'_, T> {
    fn drop(&mut self) {
        let (mut state, address) = (self.socket.transmit.lock(), self.address());
        let place = state.wakers.iter().position(|(known, _)| *known == address);
        let waker = place.map(|place| state.wakers.swap_remove(place));
        drop(state);
        drop(waker); // outside the lock: it may be the last reference to its task, whose drop runs arbitrary code
    }
}
