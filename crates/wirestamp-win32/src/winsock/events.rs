//! The exported functions for the events of overlapped calls, and their results.
//!
//! Populated on: Linux. On Windows the system's own events are used.

use crate::abi::codes::{NO_ERROR, WSAEFAULT, WSAEINVAL};
use crate::abi::winsock::{Overlapped, SocketHandle};
use crate::memory;
use crate::system::last_error;
use crate::winsock::overlapped::Operation;
use crate::winsock::startup;
use crate::winsock::status::of_status;

#[cfg(not(windows))]
mod own;
#[cfg(not(windows))]
pub use own::{
    WSACloseEvent, WSACreateEvent, WSAResetEvent, WSASetEvent, WSAWaitForMultipleEvents,
};

export! {
    /// How an overlapped operation ended: bytes and flags. Returns `TRUE` if it succeeded.
    ///
    /// # Safety
    /// `overlapped` is null or that of an operation of this socket; the others are null or writable.
    fn WSAGetOverlappedResult(
        socket: SocketHandle,
        overlapped: *mut Overlapped,
        bytes: *mut u32,
        wait: i32,
        flags: *mut u32,
    ) -> i32 {
        let result = startup::find(socket).and_then(|_| {
            // SAFETY: the caller's promise.
            let operation = unsafe { Operation::new(overlapped) }?.ok_or(WSAEINVAL)?;
            let (count, status) = operation.result(wait != 0)?;
            let code = of_status(status);
            // SAFETY: the caller's promise.
            unsafe { memory::write(bytes, count as u32) }.ok_or(WSAEFAULT)?;
            // SAFETY: the caller's promise.
            unsafe { memory::write(flags, 0) }.ok_or(WSAEFAULT)?;
            if code == 0 { Ok(()) } else { Err(code) }
        });
        match result {
            Ok(()) => {
                last_error::set(NO_ERROR);
                1
            }
            Err(code) => {
                last_error::set(code.unsigned_abs());
                0
            }
        }
    }
}
