//! Overlapped operations: how one is completed. Those that wait for a datagram are in `pending`.

use crate::abi::codes::{WSA_IO_INCOMPLETE, WSAEFAULT, WSAENOTSOCK};
use crate::abi::numbers::STATUS_PENDING;
use crate::abi::winsock::{Handle, Overlapped};
use crate::memory;
use crate::system::object;
use crate::system::port::{Association, Packet};
use crate::winsock::status::status_of;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The completion port of a socket, once it is associated with one.
pub(crate) type PortOfSocket = Arc<OnceLock<Association>>;

/// The caller's `OVERLAPPED`, which he keeps until the operation is complete. Aligned, so that
/// its status can be read and written by two threads.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    at: *mut Overlapped,
    /// Where its completion is queued.
    port: PortOfSocket,
}
// SAFETY: shared by contract of the interface; its status is an atomic.
unsafe impl Send for Operation {}

impl Operation {
    /// # Safety
    /// `at` is null or points to an `OVERLAPPED` that stays until the operation is complete.
    pub(crate) unsafe fn new(at: *mut Overlapped) -> Result<Option<Self>, i32> {
        match () {
            () if at.is_null() => Ok(None),
            () if !at.is_aligned() => Err(WSAEFAULT),
            () => Ok(Some(Self {
                at,
                port: PortOfSocket::default(),
            })),
        }
    }

    /// Whether its completion can be reported as the caller wants it.
    ///
    /// # Errors
    /// `WSAENOTSOCK` for an event that is none, as Windows calls every wrong handle.
    pub(crate) fn check_event(&self) -> Result<(), i32> {
        let event = self.notice().0;
        if event.is_null() || object::is_event(event) {
            Ok(())
        } else {
            Err(WSAENOTSOCK)
        }
    }

    /// The same operation, of a socket whose completions go to `port`.
    pub(crate) fn through(mut self, port: &PortOfSocket) -> Self {
        self.port = Arc::clone(port);
        self
    }

    fn status(&self) -> &AtomicUsize {
        // SAFETY: `new`'s promise: the structure is there.
        let place = unsafe { &raw mut (*self.at).internal };
        // SAFETY: aligned, in the caller's structure, and written as an atomic only.
        unsafe { AtomicUsize::from_ptr(place) }
    }

    fn bytes(&self) -> &AtomicUsize {
        // SAFETY: `new`'s promise: the structure is there.
        let place = unsafe { &raw mut (*self.at).internal_high };
        // SAFETY: aligned, in the caller's structure, and written as an atomic only.
        unsafe { AtomicUsize::from_ptr(place) }
    }

    /// The caller's event, and whether a completion packet is wanted: the lowest bit of the event asks for none.
    fn notice(&self) -> (Handle, bool) {
        // SAFETY: `new`'s promise: the structure is there.
        let place = unsafe { &raw const (*self.at).event };
        // SAFETY: the same; the caller leaves it alone while the operation runs.
        let event = unsafe { memory::read(place) };
        event.map_or((std::ptr::null_mut(), true), |event| {
            let plain = event.map_addr(|address| address & !1);
            (plain, event.addr() & 1 == 0)
        })
    }

    /// The operation begins: it is not complete.
    pub(crate) fn begin(&self) {
        self.bytes().store(0, Ordering::Relaxed);
        self.status().store(STATUS_PENDING, Ordering::Release);
        object::clear(self.notice().0);
    }

    /// It is complete: the status first, then the event and the completion port. A caller that polls the status may free
    /// the structure as soon as the status is there, so nothing in it is read or written after that.
    pub(crate) fn complete(&self, code: i32, bytes: usize) {
        let (event, wants_packet) = self.notice();
        self.publish(code, bytes);
        object::signal(event);
        if let Some(port) = self.port.get().filter(|_| wants_packet) {
            port.post(Packet {
                key: port.key(),
                overlapped: self.at.addr(),
                status: status_of(code),
                bytes: bytes as u32,
            });
        }
    }

    /// It failed at once: the event is not set, and nothing is queued.
    pub(crate) fn fail(&self, code: i32) {
        self.publish(code, 0);
    }

    /// From here on the structure is the caller's again.
    fn publish(&self, code: i32, bytes: usize) {
        self.bytes().store(bytes, Ordering::Relaxed);
        self.status().store(status_of(code), Ordering::Release);
    }

    /// Whether it is the operation of the structure at this address.
    pub(super) fn is_at(&self, address: usize) -> bool {
        self.at.addr() == address
    }

    pub(super) fn address(&self) -> usize {
        self.at.addr()
    }

    /// Whether it has not ended.
    pub(crate) fn is_pending(&self) -> bool {
        self.status().load(Ordering::Acquire) == STATUS_PENDING
    }

    /// Whether it has an event to wait for.
    #[cfg(not(windows))]
    pub(crate) fn has_event(&self) -> bool {
        !self.notice().0.is_null()
    }

    /// How it ended: bytes and status.
    ///
    /// # Errors
    /// `WSA_IO_INCOMPLETE` while it has not, unless `wait`.
    pub(crate) fn result(&self, wait: bool) -> Result<(usize, usize), i32> {
        loop {
            match self.status().load(Ordering::Acquire) {
                STATUS_PENDING if !wait => return Err(WSA_IO_INCOMPLETE),
                STATUS_PENDING => {
                    // Without an event, or with one that another operation has set, there is only looking again.
                    if !object::wait(self.notice().0) || self.is_pending() {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
                status => return Ok((self.bytes().load(Ordering::Acquire), status)),
            }
        }
    }
}

// on Windows, events are the system's
#[cfg(all(test, not(windows)))]
mod tests;
