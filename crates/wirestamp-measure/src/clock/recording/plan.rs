//! Plans when a recording takes a batch and with how many readings, as a correlator does.

use crate::recorded::Batch;
use std::time::Duration;
use wirestamp::correlator::{Burst, Correlation, GenerationCause, Sampling};
use wirestamp::events::BATCH_GAP;
use wirestamp::{
    CorrelatorOptions, CrossTimestamp, Error, ErrorKind, Interface, MonotonicTime, Result, Span,
};

/// Batches at the end are so far apart at least, so that each is one of its own, and at most.
const SHORTEST: Duration = Duration::from_nanos(2 * BATCH_GAP.saturating_nanoseconds() as u64);
const LONGEST: Duration = Duration::from_secs(2);
/// A clock that cannot be read is read again after so long at most.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) struct Plan {
    options: CorrelatorOptions,
    sampling: Option<Sampling>,
    burst: Burst,
    /// From the last batch to the next one.
    gap: Duration,
    /// When the last batch ended.
    ended: MonotonicTime,
    /// The correlation that the plan watches: how fast its bound grows.
    correlation: Correlation,
}

impl Plan {
    pub(super) fn new(options: CorrelatorOptions, interface: &Interface) -> Result<Self> {
        if let Some(fault) = options.fault() {
            let (kind, name) = (ErrorKind::InvalidInput, interface.name());
            return Err(Error::new(kind, "record", name, fault));
        }
        let nominal = interface
            .supported()
            .ok()
            .and_then(|supported| supported.nominal_frequency);
        Ok(Self {
            options,
            sampling: Sampling::new(&options),
            burst: Burst::new(options.burst, options.burst_gap),
            gap: options.period,
            ended: MonotonicTime::MIN,
            correlation: Correlation::new(interface.index(), nominal)
                .with_assumptions(&options.assumptions),
        })
    }

    /// How often the clock is read for a batch.
    pub(super) fn readings(&self) -> usize {
        self.sampling
            .as_ref()
            .map_or(self.options.readings_per_batch, Sampling::readings)
    }

    /// After how long the batch after this one is due.
    pub(super) fn next(&mut self, batch: &Batch<'_>) -> Duration {
        if batch.is_another {
            self.burst.restart();
            let interface = self.correlation.interface();
            self.correlation.replace_clock(interface, batch.nominal);
        }
        let last = batch.readings.last();
        self.ended = last.map_or(self.ended, CrossTimestamp::monotonic_after);
        self.gap = self.planned(batch.readings);
        self.gap
    }

    /// When the last batch ended.
    pub(super) fn ended(&self) -> MonotonicTime {
        self.ended
    }

    /// After how long another batch beside these says more: a part of the time between them, as the library's own.
    pub(super) fn pause(&self) -> Duration {
        (self.gap / 4).clamp(SHORTEST, LONGEST)
    }

    fn planned(&mut self, batch: &[CrossTimestamp]) -> Duration {
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else {
            return self.options.period;
        };
        for reading in batch {
            let _ = self.correlation.push(reading);
        }
        let ended = last.monotonic_after();
        let took: Span = ended - first.monotonic_before();
        let (planned, can_afford) = match &mut self.sampling {
            Some(plan) => {
                let planned = plan.next(batch, took, &self.correlation);
                (planned, plan.can_afford_a_burst())
            }
            None => (self.options.period, true),
        };
        self.burst
            .next(&self.correlation, ended, can_afford, planned)
    }

    /// After how long the next attempt is due.
    pub(super) fn after_failure(&mut self) -> Duration {
        self.burst.failed(self.options.period.min(AGAIN))
    }

    /// The NIC may have been restarted.
    pub(super) fn restart(&mut self) {
        self.burst.restart();
        self.correlation.restart(GenerationCause::Notification);
    }
}
