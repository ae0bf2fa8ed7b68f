//! Whether a call on a socket would be served, now or later.
//!
//! For the system, transmit timestamps and errors that wait make a socket ready for everything. Here they do not:
//! timestamps go into the buffer, also those that come after they were switched off, and an error waits for the next call,
//! which returns it.

use crate::abi::codes::{WSAECONNRESET, WSAEINVAL};
use crate::system::clock;
use crate::winsock::failure::{code, of_errno};
use crate::winsock::socket::Socket;
use std::sync::atomic::{AtomicI32, Ordering};
use wirestamp_core::backend::{Interest, Readiness};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Arrival, Notice};

/// So often timestamps are taken that come while one call looks. More than that, and it says what the system says.
const MOST_LOOKS: usize = 100;

/// The error of an earlier datagram, which the next call returns; 0: none.
#[derive(Debug, Default)]
pub(super) struct EarlierError(AtomicI32);

impl EarlierError {
    fn is_any(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    pub(super) fn take(&self) -> Result<(), i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()), // nearly always, and without a write
            _ => match self.0.swap(0, Ordering::AcqRel) {
                0 => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Takes an error out of what the queue of timestamps gave.
    pub(super) fn note(&self, arrival: &Arrival, silent_resets: bool) {
        let Arrival::Notice(Notice::Other { code, .. }) = *arrival else {
            return;
        };
        let error = of_errno(code);
        if error != WSAECONNRESET || !silent_resets {
            self.0.store(error, Ordering::Release);
        }
    }
}

impl Socket {
    /// What can be done at once. Takes no datagram: another thread may receive now.
    ///
    /// # Errors
    /// The Winsock error.
    pub(super) fn ready_for(&self, interest: Interest) -> Result<Readiness, i32> {
        let wire = self.wire().ok_or(WSAEINVAL)?;
        let mut looks = 0;
        loop {
            let wait = wire.wait(interest, MonotonicTime::MIN);
            let mut ready = wait.map_err(|error| code(&error))?;
            if ready.closed || self.earlier_error.is_any() {
                (ready.receive, ready.send) = (!ready.closed, !ready.closed);
                return Ok(ready);
            }
            looks += 1;
            if !ready.timestamps || looks == MOST_LOOKS {
                return Ok(ready);
            }
            self.drain()?;
        }
    }

    /// Waits until `interest` can be served or its call would return an error, the socket is closed, or `until` has
    /// passed.
    ///
    /// # Errors
    /// The Winsock error.
    pub(super) fn wait_for(
        &self,
        interest: Interest,
        until: MonotonicTime,
    ) -> Result<Readiness, i32> {
        let wire = self.wire().ok_or(WSAEINVAL)?;
        loop {
            if self.earlier_error.is_any() {
                return self.ready_for(interest);
            }
            let mut ready = wire.wait(interest, until).map_err(|error| code(&error))?;
            if ready.timestamps && !ready.closed {
                ready = self.ready_for(interest)?;
            }
            let is_served = match interest {
                Interest::Send => ready.send,
                _ => ready.receive,
            };
            if is_served || ready.closed || clock::now() >= until {
                return Ok(ready);
            }
        }
    }
}

// The kernel's queue is needed.
#[cfg(all(test, target_os = "linux"))]
mod tests;
