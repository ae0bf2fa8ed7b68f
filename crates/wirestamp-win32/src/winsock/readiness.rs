//! Whether a call on a socket would be served, now or later.
//!
//! For the system, transmit timestamps and errors that wait make a socket ready for everything. Here they do not:
//! timestamps go into the buffer, also those that come after they were switched off, and an error waits for the next call,
//! which returns it.

use crate::abi::codes::{WSAECONNRESET, WSAEINVAL};
use crate::adapter::wire::Wire;
use crate::system::clock;
use crate::winsock::failure::{code, of_errno};
use crate::winsock::socket::{Socket, lock};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use wirestamp_core::backend::{Interest, Readiness};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Arrival, Notice};

/// So often timestamps are taken that come while one call looks. More than that, and it says what the system says.
const MOST_LOOKS: usize = 100;

/// The error of an earlier datagram, which the next call returns. The kernel has forgotten it, so that polls do not show it:
/// while there is one, the socket is kept awake.
#[derive(Debug, Default)]
pub(super) struct EarlierError {
    /// 0: none.
    code: AtomicI32,
    /// Held while the code and what follows from it are changed.
    changing: Mutex<()>,
}

impl EarlierError {
    fn is_any(&self) -> bool {
        self.code.load(Ordering::Acquire) != 0
    }

    /// Forgets the error if it is one of `which`.
    ///
    /// # Errors
    /// That error.
    fn remove(&self, wire: &Wire, which: impl FnOnce(i32) -> bool) -> Result<(), i32> {
        let _changing = lock(&self.changing);
        match self.code.load(Ordering::Acquire) {
            0 => Ok(()),
            error if !which(error) => Ok(()),
            error => {
                self.code.store(0, Ordering::Release);
                wire.keep_awake(false);
                Err(error)
            }
        }
    }

    /// Takes an error out of what the queue of timestamps gave.
    pub(super) fn note(&self, wire: &Wire, arrival: &Arrival, silent_resets: &AtomicBool) {
        let Arrival::Notice(Notice::Other { code, .. }) = *arrival else {
            return;
        };
        let error = of_errno(code);
        let _changing = lock(&self.changing);
        if error != WSAECONNRESET || !silent_resets.load(Ordering::Acquire) {
            self.code.store(error, Ordering::Release);
            wire.keep_awake(true);
        }
    }
}

impl Socket {
    /// Takes the error of an earlier datagram.
    ///
    /// # Errors
    /// That error.
    pub(super) fn take_earlier_error(&self) -> Result<(), i32> {
        match self.wire() {
            Some(wire) if self.earlier_error.is_any() => self.earlier_error.remove(wire, |_| true),
            _ => Ok(()), // nearly always, and without a lock
        }
    }

    /// Switches `SIO_UDP_CONNRESET` off or on. Whether a reset is reported must not depend on who has looked meanwhile, so
    /// this takes the kernel's error first: one that came while resets were silent is dropped, and once they are silent
    /// none is left to report.
    ///
    /// # Errors
    /// The Winsock error; nothing has changed then.
    pub(super) fn silence_resets(&self, silent: bool) -> Result<(), i32> {
        let Some(wire) = self.wire() else {
            self.silent_resets.store(silent, Ordering::Release);
            return Ok(());
        };
        for _ in 0..MOST_LOOKS {
            // a wait to receive would not ask the kernel while datagrams are held here
            let seen = wire.wait(Interest::Send, MonotonicTime::MIN);
            if !seen.map_err(|error| code(&error))?.timestamps {
                break;
            }
            self.drain()?;
        }
        self.silent_resets.store(silent, Ordering::Release);
        if silent {
            let is_reset = |error| error == WSAECONNRESET;
            let _forgotten = self.earlier_error.remove(wire, is_reset);
        }
        Ok(())
    }

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
