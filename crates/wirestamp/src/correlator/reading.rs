//! Readings of a NIC's clock: taken, pushed into the correlation, and what becomes of the clock if they fail.

use super::CorrelatorOptions;
use super::confirmed::Begun;
use crate::find;
use crate::host::Host;
use crate::inner::Clock;
use crate::sampling::Sampling;
use std::time::Duration;
use wirestamp_core::backend::{Backend as _, HardwareClock as _};
use wirestamp_core::correlate::Correlation;
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::Span;
use wirestamp_core::{Error, ErrorKind, Result};

/// What the job needs and reports.
pub(super) struct Reading {
    pub(super) correlation: Correlation,
    pub(super) interface: InterfaceDescription,
    pub(super) clock: Option<Clock>,
    pub(super) burst_left: u32,
    /// `None`: the period is fixed.
    pub(super) plan: Option<Sampling>,
    pub(super) taken: u64,
    pub(super) reading_time: Span,
    /// Whether a job was started that has not run yet.
    pub(super) due: bool,
    pub(super) batch: Vec<CrossTimestamp>,
    pub(super) begun: Begun,
    pub(super) failures: u64,
    pub(super) last_error: Option<Error>,
    pub(super) method: Option<CrossMethod>,
}

impl Reading {
    /// Fills the batch with at least one reading.
    pub(super) fn take(&mut self, host: &Host, count: usize) -> Result<()> {
        if self.clock.is_none() {
            self.reopen(host)?;
        }
        let Some(clock) = self.clock.as_mut() else {
            return Err(self.none_valid());
        };
        self.batch.clear();
        clock.cross_timestamps(count, &mut self.batch)?;
        if self.batch.is_empty() {
            Err(self.none_valid())
        } else {
            Ok(())
        }
    }

    fn none_valid(&self) -> Error {
        Error::new(
            ErrorKind::Io,
            "read the hardware clock",
            &self.interface.name,
            "every reading was invalid",
        )
    }

    /// The NIC may have come back under another number, with another clock.
    fn reopen(&mut self, host: &Host) -> Result<()> {
        let found = find::again(host, &self.interface)?.ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchDevice,
                "open the hardware clock",
                &self.interface.name,
                "the interface is gone",
            )
        })?;
        self.clock = Some(host.open_clock(&found)?);
        self.interface = found;
        Ok(())
    }

    /// How many readings the next batch should have.
    pub(super) fn wanted(&self, options: &CorrelatorOptions) -> usize {
        let plan = self.plan.as_ref();
        plan.map_or(options.readings_per_batch, Sampling::readings)
    }

    /// Takes the batch of the job in.
    pub(super) fn succeeded(&mut self) {
        self.burst_left = self.burst_left.saturating_sub(1);
        self.push();
    }

    /// Takes the batch in.
    pub(super) fn push(&mut self) {
        self.method = self.batch.first().map(CrossTimestamp::method);
        self.last_error = None;
        if let Some(first) = self.batch.first() {
            self.begun.note(first.monotonic_before());
        }
        if self.correlation.interface() != self.interface.index {
            // bound again under a new number: timestamps carry the new one from now on
            self.correlation.renumber(self.interface.index);
        }
        for reading in &self.batch {
            let _ = self.correlation.push(reading);
        }
    }

    /// Accounts for the batch, which took so long, and forgets it. Returns when the next one is due by the plan.
    pub(super) fn charge(&mut self, took: Span, wanted: Option<Duration>) -> Option<Span> {
        let next = self.plan.as_mut().map(|plan| {
            plan.next(&self.batch, took, &self.correlation, wanted)
                .into()
        });
        self.taken += self.batch.len() as u64;
        self.reading_time += took;
        self.batch.clear();
        next
    }

    pub(super) fn failed(&mut self, error: Error) {
        self.failures += 1;
        if error.kind() != ErrorKind::Busy {
            self.clock = None; // opened anew at the next attempt
        }
        self.last_error = Some(error);
    }
}
