//! Waits until a correlator can convert: it needs some cross timestamps first, at the start and
//! after each restart of the clock.

use super::{Correlator, Shared};
use crate::deadline::Deadline;
use std::sync::{Condvar, Mutex, PoisonError};
use wirestamp_core::backend::Backend;
use wirestamp_core::correlate::{ClockGeneration, ConversionError};
use wirestamp_core::time::MonotonicTime;
#[cfg(feature = "tokio")]
use wirestamp_core::time::Span;
use wirestamp_core::{Error, ErrorKind, Result};

/// How far virtual time advances before other tasks run.
#[cfg(feature = "tokio")]
const SLICE: Span = Span::from_milliseconds(1);

/// Wakes waiting threads and tasks after each batch, successful or not.
#[derive(Default)]
pub(super) struct Attempts {
    count: Mutex<u64>,
    another: Condvar,
    #[cfg(feature = "tokio")]
    notify: tokio::sync::Notify,
}

impl Attempts {
    pub(super) fn tell(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.another.notify_all();
        #[cfg(feature = "tokio")]
        self.notify.notify_waiters();
    }

    fn count(&self) -> u64 {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Correlator {
    /// Waits until timestamps can be converted, at most until `deadline`, and returns the current
    /// clock generation. Returns at once if they already can.
    ///
    /// With the default options this takes about 10 ms after the start and after each restart of
    /// the NIC's clock.
    ///
    /// # Errors
    /// The error of the last batch if it failed: `NoSuchDevice` if the NIC is gone, `NotPermitted`,
    /// `NotSupported`, `Busy`, `Io`. `Busy` with the remedy to wait longer if there are too few
    /// cross timestamps yet.
    ///
    /// ```
    /// # #[cfg(feature = "sim")]
    /// # fn main() -> wirestamp::Result<()> {
    /// use std::time::Duration;
    /// use wirestamp::{CorrelatorOptions, Interface};
    ///
    /// let nic = Interface::find("sim0")?;
    /// let correlator = nic.correlator(CorrelatorOptions::default())?;
    /// correlator.wait_until_ready(Duration::from_secs(1))?;
    /// assert!(correlator.to_hardware(nic.bind((nic.description().addresses[0].address, 0).into())?.now()).is_ok());
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "sim"))]
    /// # fn main() {}
    /// ```
    pub fn wait_until_ready(&self, deadline: impl Into<Deadline>) -> Result<ClockGeneration> {
        let shared = &self.shared;
        let until = deadline.into().resolve(|| shared.host.now());
        loop {
            let seen = shared.attempts.count();
            let now = shared.host.now();
            match shared.readiness(now) {
                Ok(generation) => return Ok(generation),
                Err(why) if now >= until => return Err(shared.not_ready(why)),
                Err(_) if shared.host.pass_virtual_time(until) => {}
                Err(_) => shared.attempts.wait(seen, until, now),
            }
        }
    }

    /// Waits like [`wait_until_ready`](Self::wait_until_ready), as a future on tokio.
    ///
    /// # Errors
    /// As [`wait_until_ready`](Self::wait_until_ready).
    ///
    /// # Panics
    /// Outside a tokio runtime, or if its timer is disabled.
    #[cfg(feature = "tokio")]
    pub async fn until_ready(&self, deadline: impl Into<Deadline>) -> Result<ClockGeneration> {
        let shared = &self.shared;
        let until = deadline.into().resolve(|| shared.host.now());
        loop {
            let another = shared.attempts.notify.notified();
            let now = shared.host.now();
            match shared.readiness(now) {
                Ok(generation) => return Ok(generation),
                Err(why) if now >= until => return Err(shared.not_ready(why)),
                Err(_) if shared.host.pass_virtual_time(until.min(now + SLICE)) => {
                    tokio::task::yield_now().await; // other tasks may cause the next event
                }
                Err(_) => {
                    let left = (until - now).to_duration();
                    let _ = tokio::time::timeout(left, another).await;
                }
            }
        }
    }
}

impl Attempts {
    fn wait(&self, seen: u64, until: MonotonicTime, now: MonotonicTime) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let left = (until - now).to_duration();
        let waited = self
            .another
            .wait_timeout_while(count, left, |count| *count == seen);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Shared {
    fn readiness(&self, now: MonotonicTime) -> Result<ClockGeneration, ConversionError> {
        self.model.whole().readiness(now)
    }

    fn not_ready(&self, why: ConversionError) -> Error {
        let reading = self.reading();
        if let Some(error) = &reading.last_error {
            return error.clone();
        }
        Error::new(
            ErrorKind::Busy,
            "wait for the correlator",
            &reading.interface.name,
            why.to_string(),
        )
        .with_remedy("wait longer, or shorten CorrelatorOptions::burst_gap")
    }
}
