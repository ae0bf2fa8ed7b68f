//! An open hardware clock, for those who want its readings themselves. Fits nothing:
//! that is the correlator.

use crate::inner::Clock;
use crate::interface::Interface;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use wirestamp_core::backend::{Backend, HardwareClock as _};
use wirestamp_core::cross::{CrossTimestamp, narrowest};
use wirestamp_core::time::Frequency;
use wirestamp_core::{Error, ErrorKind, Result};

/// How many readings [`HardwareClock::cross_timestamp`] chooses from: the first is always the
/// worst, and outliers come in runs.
const BATCH: usize = 9;

/// The hardware clock of an interface, open for reading.
pub struct HardwareClock {
    interface: String,
    clock: Mutex<Clock>,
}

impl HardwareClock {
    pub(crate) fn open(interface: &Interface) -> Result<Self> {
        let clock = interface.host().open_clock(interface.description())?;
        Ok(Self {
            interface: interface.name().to_owned(),
            clock: Mutex::new(clock),
        })
    }

    /// Returns how finely the system clock counts, which the readings bracket this one with.
    pub fn system_frequency(&self) -> Frequency {
        self.clock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .system_frequency()
    }

    /// Takes `count` readings by the best method that works. Readings that break the validity
    /// rules (a zero, system times that run backwards) are left out, so there can be fewer.
    ///
    /// # Errors
    /// `InvalidInput` for none; `NotSupported` if no method works; `NoSuchDevice` if the
    /// NIC is gone; `Busy`; `Io` if every reading was invalid.
    pub fn cross_timestamps(&self, count: usize) -> Result<Vec<CrossTimestamp>> {
        if count == 0 {
            let cause = "no reading was asked for";
            let error = Error::new(
                ErrorKind::InvalidInput,
                "take cross timestamps",
                &self.interface,
                cause,
            );
            return Err(error.with_remedy("ask for at least one"));
        }
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut readings = Vec::new();
        clock.cross_timestamps(count, &mut readings)?;
        while readings.len() < count {
            // one call takes as many as the system allows
            let before = readings.len();
            match clock.cross_timestamps(count - before, &mut readings) {
                Ok(()) if readings.len() > before => {}
                _ => break,
            }
        }
        Ok(readings)
    }

    /// Takes one reading: the narrowest of a batch.
    ///
    /// # Errors
    /// As [`cross_timestamps`](Self::cross_timestamps).
    pub fn cross_timestamp(&self) -> Result<CrossTimestamp> {
        let readings = self.cross_timestamps(BATCH)?;
        narrowest(&readings).copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Io,
                "take a cross timestamp",
                &self.interface,
                "every reading was invalid",
            )
        })
    }
}

impl fmt::Debug for HardwareClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HardwareClock")
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}
