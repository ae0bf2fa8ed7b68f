//! What futures need of a socket: noticing that somebody else collected, and letting
//! virtual time pass. Knows no runtime.

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

/// How far virtual time runs before other tasks get their turn.
const SLICE: Span = Span::from_milliseconds(1);

impl<T: Supported> Socket<T> {
    /// Counts the times that ids ended; read it before looking, wait for it to change after.
    pub(crate) fn changes(&self) -> u64 {
        self.transmit.lock().changes
    }

    /// Waits until ids have ended since `seen` was read, or the socket was closed.
    pub(crate) fn changed(&self, seen: u64) -> Changed<'_, T> {
        Changed {
            socket: self,
            seen,
            _pinned: PhantomPinned,
        }
    }

    /// When `id` ends by time; `None` unless it is awaited.
    pub(crate) fn deadline_of(&self, id: TransmitId) -> Option<MonotonicTime> {
        self.transmit.lock().matcher.deadline_of(id)
    }

    /// When the oldest awaited id ends by time.
    pub(crate) fn next_deadline(&self) -> Option<MonotonicTime> {
        self.transmit.lock().matcher.next_deadline()
    }

    /// Whether time is virtual here, so that waiting is what makes it pass.
    pub(crate) fn is_simulated(&self) -> bool {
        self.host.is_simulated()
    }

    /// Lets a little virtual time pass, less if `interest` can be served before.
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

/// Waits until ids have ended. Dropping it takes its waker back: a task that no longer waits is
/// neither woken nor kept.
#[derive(Debug)]
pub(crate) struct Changed<'a, T: Supported> {
    socket: &'a Socket<T>,
    seen: u64,
    /// Its address distinguishes its waker from others.
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
        drop(waker); // it may be the last that keeps its task, which may hold anything
    }
}
