//! Takes batches of cross timestamps of a NIC's clock, feeds them to the correlation, and reopens
//! the clock after failures.

use super::CorrelatorOptions;
use super::confirmed::Begun;
use crate::clock::read_behind;
use crate::find;
use crate::host::Host;
use crate::inner::Clock;
use crate::sampling::Sampling;
use std::time::Duration;
use wirestamp_core::backend::Backend as _;
use wirestamp_core::correlate::{Burst, Correlation};
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{Frequency, MonotonicTime, Span};
use wirestamp_core::{Error, ErrorKind, Result};

/// The state of the background job.
pub(super) struct Reading {
    pub(super) correlation: Correlation,
    pub(super) interface: InterfaceDescription,
    pub(super) clock: Option<Clock>,
    pub(super) burst: Burst,
    /// `None`: the period is fixed.
    pub(super) plan: Option<Sampling>,
    pub(super) taken: u64,
    pub(super) reading_time: Span,
    /// Whether a job has been started and has not run yet.
    pub(super) due: bool,
    pub(super) batch: Vec<CrossTimestamp>,
    pub(super) begun: Begun,
    pub(super) failures: u64,
    pub(super) last_error: Option<Error>,
    pub(super) method: Option<CrossMethod>,
}

impl Reading {
    /// Fills the batch with at least one cross timestamp of the interface's current clock.
    pub(super) fn take(&mut self, host: &Host, count: usize) -> Result<()> {
        match self.take_once(host, count) {
            Err(error) if error.kind() == ErrorKind::NoSuchDevice => {
                self.lose_clock();
                self.take_once(host, count)
            }
            taken => taken,
        }
    }

    fn take_once(&mut self, host: &Host, count: usize) -> Result<()> {
        if self.clock.is_none() {
            self.reopen(host)?;
        }
        let Some(clock) = self.clock.as_mut() else {
            return Err(self.none_valid());
        };
        self.batch.clear();
        read_behind(&self.interface, clock, count, &mut self.batch)?;
        if self.batch.is_empty() {
            Err(self.none_valid())
        } else {
            Ok(())
        }
    }

    /// Forgets a clock that is gone or no longer serves the interface. The next one counts as
    /// another clock, whatever its number.
    fn lose_clock(&mut self) {
        self.clock = None;
        self.replaced(self.interface.index, self.correlation.nominal());
    }

    fn replaced(&mut self, interface: InterfaceIndex, nominal: Option<Frequency>) {
        self.burst.restart();
        self.correlation.replace_clock(interface, nominal);
    }

    fn none_valid(&self) -> Error {
        Error::new(
            ErrorKind::Io,
            "read the hardware clock",
            &self.interface.name,
            "every reading was invalid",
        )
    }

    /// Opens the clock again. The NIC may have come back under another number, with another clock.
    fn reopen(&mut self, host: &Host) -> Result<()> {
        let found = find::again(host, &self.interface)?.ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchDevice,
                "open the hardware clock",
                &self.interface.name,
                "the interface is gone",
            )
        })?;
        if (found.index, found.hardware_clock)
            != (self.interface.index, self.interface.hardware_clock)
        {
            self.replaced(found.index, nominal_frequency(host, &found));
        }
        self.clock = Some(host.open_clock(&found)?);
        if let Some(devices) = devices_of(host, &found) {
            self.correlation.set_devices(devices);
        }
        self.interface = found;
        Ok(())
    }

    /// The number of cross timestamps in the next batch.
    pub(super) fn wanted(&self, options: &CorrelatorOptions) -> usize {
        let plan = self.plan.as_ref();
        plan.map_or(options.readings_per_batch, Sampling::readings)
    }

    /// Notes that a batch of the periodic job, which ended at `ended`, took `took`. Returns when the
    /// next one is due.
    pub(super) fn next(
        &mut self,
        ended: MonotonicTime,
        took: Span,
        options: &CorrelatorOptions,
    ) -> Duration {
        let planned = self.charge(took).unwrap_or(options.period);
        let can_afford = self.can_afford();
        self.burst
            .next(&self.correlation, ended, can_afford, planned)
    }

    /// The same for a batch that was taken in addition. Returns whether the next one is due at once.
    pub(super) fn besides(&mut self, ended: MonotonicTime, took: Span) -> bool {
        self.charge(took);
        let can_afford = self.can_afford();
        self.burst.besides(&self.correlation, ended, can_afford)
    }

    fn can_afford(&self) -> bool {
        let plan = self.plan.as_ref();
        plan.is_none_or(Sampling::can_afford_a_burst)
    }

    /// Feeds the batch to the correlation. Returns when it ended.
    pub(super) fn push(&mut self) -> MonotonicTime {
        self.method = self.batch.first().map(CrossTimestamp::method);
        self.last_error = None;
        if let Some(first) = self.batch.first() {
            self.begun.note(first.monotonic_before());
        }
        for reading in &self.batch {
            let _ = self.correlation.push(reading);
        }
        let last = self.batch.last();
        last.map_or(MonotonicTime::MIN, CrossTimestamp::monotonic_after)
    }

    /// Charges the batch, which took `took`, to the budget and clears it. Returns when the next one
    /// is due by the plan.
    pub(super) fn charge(&mut self, took: Span) -> Option<Duration> {
        let plan = self.plan.as_mut();
        let next = plan.map(|plan| plan.next(&self.batch, took, &self.correlation));
        self.taken += self.batch.len() as u64;
        self.reading_time += took;
        self.batch.clear();
        next
    }

    pub(super) fn failed(&mut self, error: Error) {
        self.failures += 1;
        if error.kind() == ErrorKind::NoSuchDevice {
            self.lose_clock();
        } else if error.kind() != ErrorKind::Busy {
            self.clock = None; // the next attempt opens it again
        }
        self.last_error = Some(error);
    }
}

/// The clock's nominal frequency, if the driver reports it.
pub(super) fn nominal_frequency(
    host: &Host,
    interface: &InterfaceDescription,
) -> Option<Frequency> {
    let supported = host.supported(interface).ok()?;
    supported.nominal_frequency
}

/// The further interfaces that timestamps of this clock may name. `None` if they cannot be
/// determined.
pub(super) fn devices_of(
    host: &Host,
    interface: &InterfaceDescription,
) -> Option<Vec<InterfaceIndex>> {
    let path = host.path(interface).ok()?;
    // the NIC may have changed since the interface was looked up
    let is_same = |device: &InterfaceDescription| device.hardware_clock == interface.hardware_clock;
    let lower = path
        .iter()
        .skip(1)
        .filter(|_| path.last().is_some_and(is_same));
    Some(lower.map(|lower| lower.index).collect())
}
