//! Clocks: an interface's hardware clock with its cross timestamps, and the host's clocks that
//! packet timestamps are converted to.

pub use crate::host_clock::{HostClock, HostTime, TimestampPolicy};
pub use crate::synchronization::utc_error_bound;
pub use wirestamp_core::cross::{CrossInvalid, CrossMethod, CrossTimestamp};

use crate::inner::Clock;
use crate::interface::Interface;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use wirestamp_core::backend::{Backend, HardwareClock as _};
use wirestamp_core::cross::narrowest;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::Frequency;
use wirestamp_core::{Error, ErrorKind, Result};

/// The number of cross timestamps from which [`HardwareClock::cross_timestamp`] takes the
/// narrowest: the first is always the worst, and outliers come in runs.
const BATCH: usize = 9;

const OPERATION: &str = "take cross timestamps";

/// The hardware clock of an interface, open for reading.
///
/// It stays the clock that served the interface when it was opened. After a change of clock (a bond
/// fails over to another NIC), cross timestamps fail with `NoSuchDevice`: look the interface up
/// again and open its clock.
pub struct HardwareClock {
    interface: InterfaceDescription,
    clock: Mutex<Clock>,
}

/// Appends cross timestamps of `clock`, which was opened for `interface`, to `batch`. Afterwards it
/// checks that the interface still has this clock, and discards them if not.
///
/// # Errors
/// `NoSuchDevice` if the interface has another clock now, or the clock is gone; otherwise the error
/// of the cross timestamp.
pub(crate) fn read_behind(
    interface: &InterfaceDescription,
    clock: &mut Clock,
    count: usize,
    batch: &mut Vec<CrossTimestamp>,
) -> Result<()> {
    let already = batch.len();
    clock.cross_timestamps(count, batch)?;
    let behind = clock.behind(interface);
    if !matches!(behind, Ok(number) if number == interface.hardware_clock) {
        batch.truncate(already);
    }
    if behind? == interface.hardware_clock {
        return Ok(());
    }
    let cause = "another hardware clock is behind the interface now";
    let error = Error::new(ErrorKind::NoSuchDevice, OPERATION, &interface.name, cause);
    Err(error.with_remedy("look the interface up again and open its clock: Interface::refresh"))
}

impl HardwareClock {
    pub(crate) fn open(interface: &Interface) -> Result<Self> {
        let clock = interface.host().open_clock(interface.description())?;
        Ok(Self {
            interface: interface.description().clone(),
            clock: Mutex::new(clock),
        })
    }

    /// Returns the tick frequency of the monotonic clock that brackets each reading of this clock.
    pub fn system_frequency(&self) -> Frequency {
        self.clock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .system_frequency()
    }

    /// Takes `count` cross timestamps by the best method that works. Invalid ones (a zero, system
    /// times that run backwards) are left out, so there can be fewer.
    ///
    /// # Errors
    /// `InvalidInput` for a count of 0; `NotSupported` if no method works; `NoSuchDevice` if the
    /// NIC is gone or the interface has another clock now; `Busy`; `Io` if every cross timestamp
    /// was invalid.
    pub fn cross_timestamps(&self, count: usize) -> Result<Vec<CrossTimestamp>> {
        if count == 0 {
            let cause = "no reading was asked for";
            let error = Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                &self.interface.name,
                cause,
            );
            return Err(error.with_remedy("ask for at least one"));
        }
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut readings = Vec::new();
        let mut read = |count, readings: &mut Vec<_>| {
            read_behind(&self.interface, &mut clock, count, readings)
        };
        read(count, &mut readings)?;
        while readings.len() < count {
            // the system limits how many one call takes
            let before = readings.len();
            match read(count - before, &mut readings) {
                Ok(()) if readings.len() > before => {}
                Err(error) if error.kind() == ErrorKind::NoSuchDevice => return Err(error),
                _ => break,
            }
        }
        Ok(readings)
    }

    /// Takes one cross timestamp: the narrowest of a batch of 9.
    ///
    /// # Errors
    /// As [`cross_timestamps`](Self::cross_timestamps).
    pub fn cross_timestamp(&self) -> Result<CrossTimestamp> {
        let readings = self.cross_timestamps(BATCH)?;
        narrowest(&readings).copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Io,
                "take a cross timestamp",
                &self.interface.name,
                "every reading was invalid",
            )
        })
    }
}

impl fmt::Debug for HardwareClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HardwareClock")
            .field("interface", &self.interface.name)
            .finish_non_exhaustive()
    }
}
