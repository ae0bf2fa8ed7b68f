//! Overlapped operations: how one is completed, and receives that wait for a datagram.
//! Receives nothing itself.
//!
//! A socket with waiting receives has one thread that serves them in order; it ends with the
//! last of them.

use crate::abi::codes::{WSA_IO_INCOMPLETE, WSAEFAULT};
use crate::abi::numbers::STATUS_PENDING;
use crate::abi::winsock::Overlapped;
use crate::memory;
use crate::system::object;
use crate::winsock::socket::lock;
use crate::winsock::status::{of_status, status_of};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The caller's `OVERLAPPED`, which he keeps until the operation is complete. Aligned, so that
/// its status can be read and written by two threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation(*mut Overlapped);
// SAFETY: shared by contract of the interface; its status is an atomic.
unsafe impl Send for Operation {}

impl Operation {
    /// # Safety
    /// `at` is null or points to an `OVERLAPPED` that stays until the operation is complete.
    pub(crate) unsafe fn new(at: *mut Overlapped) -> Result<Option<Self>, i32> {
        match () {
            () if at.is_null() => Ok(None),
            () if !at.is_aligned() => Err(WSAEFAULT),
            () => Ok(Some(Self(at))),
        }
    }

    fn status(&self) -> &AtomicUsize {
        // SAFETY: `new`'s promise: the structure is there.
        let place = unsafe { &raw mut (*self.0).internal };
        // SAFETY: aligned, in the caller's structure, and written as an atomic only.
        unsafe { AtomicUsize::from_ptr(place) }
    }

    fn bytes(&self) -> &AtomicUsize {
        // SAFETY: `new`'s promise: the structure is there.
        let place = unsafe { &raw mut (*self.0).internal_high };
        // SAFETY: aligned, in the caller's structure, and written as an atomic only.
        unsafe { AtomicUsize::from_ptr(place) }
    }

    fn event(&self) -> crate::abi::winsock::Handle {
        // SAFETY: `new`'s promise: the structure is there.
        let place = unsafe { &raw const (*self.0).event };
        // SAFETY: the same; the caller leaves it alone while the operation runs.
        let event = unsafe { memory::read(place) };
        // The lowest bit asks for no completion packet, of which there are none here.
        event.map_or(std::ptr::null_mut(), |event| {
            event.map_addr(|address| address & !1)
        })
    }

    /// The operation begins: it is not complete.
    pub(crate) fn begin(&self) {
        self.bytes().store(0, Ordering::Relaxed);
        self.status().store(STATUS_PENDING, Ordering::Release);
        object::clear(self.event());
    }

    /// It is complete: the status first, then the event. A caller that polls the status may free the
    /// structure as soon as the status is there, so nothing in it is read or written after that.
    pub(crate) fn complete(&self, code: i32, bytes: usize) {
        let event = self.event();
        self.publish(code, bytes);
        object::signal(event);
    }

    /// It failed at once: the event is not set.
    pub(crate) fn fail(&self, code: i32) {
        self.publish(code, 0);
    }

    /// From here on the structure is the caller's again.
    fn publish(&self, code: i32, bytes: usize) {
        self.bytes().store(bytes, Ordering::Relaxed);
        self.status().store(status_of(code), Ordering::Release);
    }

    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }

    /// How it ended: bytes and error.
    ///
    /// # Errors
    /// `WSA_IO_INCOMPLETE` while it has not, unless `wait`.
    pub(crate) fn result(&self, wait: bool) -> Result<(usize, i32), i32> {
        loop {
            match self.status().load(Ordering::Acquire) {
                STATUS_PENDING if !wait => return Err(WSA_IO_INCOMPLETE),
                STATUS_PENDING => {
                    // Without an event there is only looking again.
                    if !object::wait(self.event()) {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
                status => return Ok((self.bytes().load(Ordering::Acquire), of_status(status))),
            }
        }
    }
}

/// A receive that waits: how it is tried, and where its result goes.
pub(crate) struct Waiting {
    pub(crate) operation: Operation,
    /// Receives, as long as it takes; returns the error (0: none) and the bytes.
    pub(crate) receive: Box<dyn FnMut() -> (i32, usize) + Send>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Waiting").field(&self.operation).finish()
    }
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
        let line = lock(&self.0);
        line.served || !line.waiting.is_empty()
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
            if other.operation.is(own) {
                found = true;
            } else {
                other.operation.complete(code, 0);
            }
        }
        found
    }

    /// Completes what waits, one after the other.
    pub(crate) fn serve(&self) {
        loop {
            let mut line = lock(&self.0);
            let Some(mut next) = line.waiting.pop_front() else {
                line.served = false;
                return;
            };
            drop(line);
            let (code, bytes) = (next.receive)();
            next.operation.complete(code, bytes);
        }
    }

    /// The socket is closed: nothing is added any more, and what waits is aborted.
    pub(crate) fn abort(&self) {
        let mut line = lock(&self.0);
        line.closed = true;
        let waiting = std::mem::take(&mut line.waiting);
        drop(line);
        for waiting in waiting {
            waiting
                .operation
                .complete(crate::abi::codes::WSA_OPERATION_ABORTED, 0);
        }
    }
}

// on Windows, events are the system's
#[cfg(all(test, not(windows)))]
mod tests;
