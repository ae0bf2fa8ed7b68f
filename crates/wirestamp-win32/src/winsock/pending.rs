//! Overlapped receives that wait for a datagram: served in order, cancelled, aborted. Receives nothing itself.
//!
//! A socket with waiting receives has one thread that serves them. It ends once a datagram has come that nobody waits
//! for any more, or the socket is closed.

use crate::abi::codes::{WSA_OPERATION_ABORTED, WSAEWOULDBLOCK};
use crate::winsock::overlapped::Operation;
use crate::winsock::socket::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// A receive that waits: how it is tried, and where its result goes.
pub(crate) struct Waiting {
    pub(crate) operation: Operation,
    /// Receives, if a datagram is there; returns the error (0: none; `WSAEWOULDBLOCK`: it waits on) and the bytes.
    pub(crate) receive: Box<dyn FnMut() -> (i32, usize) + Send>,
    /// The thread that asked for it.
    thread: ThreadId,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Waiting").field(&self.operation).finish()
    }
}

impl Waiting {
    /// A receive of this thread.
    pub(crate) fn new(
        operation: Operation,
        receive: impl FnMut() -> (i32, usize) + Send + 'static,
    ) -> Self {
        Self {
            operation,
            receive: Box::new(receive),
            thread: thread::current().id(),
        }
    }
}

/// Which receives are cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    windows,
    allow(dead_code, reason = "Windows cancels by functions of its own")
)]
pub(crate) enum Which {
    All,
    /// That of the structure at this address.
    At(usize),
    /// Those that this thread asked for.
    OfThread(ThreadId),
}

/// The waiting receives of a socket.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<Line>);

#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    /// A thread serves them.
    served: bool,
    closed: bool,
}

impl Pending {
    /// Whether receives wait: a new one comes after them.
    pub(crate) fn is_any(&self) -> bool {
        !lock(&self.0).waiting.is_empty()
    }

    /// Adds a receive; `true` if a thread must be started that [`serve`](Self::serve)s.
    ///
    /// # Errors
    /// The receive itself, if the socket was closed.
    pub(crate) fn add(&self, waiting: Waiting) -> Result<bool, Waiting> {
        let mut line = lock(&self.0);
        if line.closed {
            return Err(waiting);
        }
        line.waiting.push_back(waiting);
        Ok(!std::mem::replace(&mut line.served, true))
    }

    /// No thread can be had to serve the operations that wait. Takes `own` back, whose caller gets the error as the return
    /// value of its call, and completes the others, whose callers wait, with the error `code`.
    /// Returns whether `own` still waited: if not, it is complete, and no longer ours to touch.
    pub(crate) fn give_up(&self, own: &Operation, code: i32) -> bool {
        let mut line = lock(&self.0);
        line.served = false;
        let waiting = std::mem::take(&mut line.waiting);
        drop(line);
        let mut found = false;
        for other in waiting {
            if other.operation.is_at(own.address()) {
                found = true;
            } else {
                other.operation.complete(code, 0);
            }
        }
        found
    }

    /// Completes what waits, one after the other; `wait` returns once a datagram may be there, with the error of the
    /// wait. An operation is tried under the lock: nobody cancels it meanwhile.
    pub(crate) fn serve(&self, wait: impl Fn() -> Result<(), i32>) {
        let mut waited = Ok(());
        loop {
            let mut line = lock(&self.0);
            let Some(next) = line.waiting.front_mut() else {
                line.served = false;
                return;
            };
            let (code, bytes) = match waited {
                Ok(()) => (next.receive)(),
                Err(code) => (code, 0),
            };
            if code != WSAEWOULDBLOCK {
                let done = line.waiting.pop_front();
                drop(line);
                if let Some(done) = done {
                    done.operation.complete(code, bytes);
                }
                waited = Ok(());
                continue;
            }
            drop(line);
            waited = wait();
        }
    }

    /// Completes with `WSA_OPERATION_ABORTED` what waits and is meant; returns how many these were.
    pub(crate) fn cancel(&self, which: Which) -> usize {
        let mut line = lock(&self.0);
        let is_meant = |waiting: &Waiting| match which {
            Which::All => true,
            Which::At(address) => waiting.operation.is_at(address),
            Which::OfThread(thread) => waiting.thread == thread,
        };
        let (meant, others) = std::mem::take(&mut line.waiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(is_meant);
        line.waiting = others;
        drop(line);
        for waiting in &meant {
            waiting.operation.complete(WSA_OPERATION_ABORTED, 0);
        }
        meant.len()
    }

    /// The socket is closed: nothing is added any more, and what waits is aborted.
    pub(crate) fn abort(&self) {
        lock(&self.0).closed = true;
        self.cancel(Which::All);
    }
}
