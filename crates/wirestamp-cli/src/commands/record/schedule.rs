//! When `record` reads and how often in one batch: a fixed interval, or the library's plan.
//! Reads nothing.

use crate::arguments;
use std::time::Duration;
use wirestamp::events::BATCH_GAP;
use wirestamp::{
    Correlation, CorrelatorOptions, CrossTimestamp, Error, ErrorKind, GenerationCause, Interface,
    Sampling, Span,
};

/// Batches at the end are so far apart at least, so that each is one of its own, and at most.
const SHORTEST: Duration = Duration::from_nanos(2 * BATCH_GAP.saturating_nanoseconds() as u64);
const LONGEST: Duration = Duration::from_secs(2);

pub(super) struct Schedule {
    options: CorrelatorOptions,
    plan: Option<Sampling>,
    burst_left: u32,
    /// From the last batch to the next one.
    gap: Duration,
    /// What the plan looks at: how fast the bound grows.
    correlation: Correlation,
}

impl Schedule {
    pub(super) fn new(arguments: &arguments::Record, interface: &Interface) -> Result<Self, Error> {
        let wrong = match arguments.interval {
            Some(interval) if interval.is_zero() => Some("an interval of nothing"),
            None if arguments.budget.is_zero() => Some("a budget of nothing"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "record",
                interface.name(),
                wrong,
            ));
        }
        let adaptive = CorrelatorOptions {
            budget: Some(arguments.budget),
            ..CorrelatorOptions::default()
        };
        let fixed = |period| CorrelatorOptions {
            period,
            burst: 0,
            ..CorrelatorOptions::FIXED
        };
        let options = arguments.interval.map_or(adaptive, fixed);
        let options = CorrelatorOptions {
            readings_per_batch: arguments.readings as usize,
            ..options
        };
        let nominal = interface
            .supported()
            .ok()
            .and_then(|supported| supported.nominal_frequency);
        let correlation = Correlation::new(interface.index(), nominal);
        Ok(Self {
            options,
            plan: Sampling::new(&options),
            burst_left: options.burst,
            gap: options.period,
            correlation,
        })
    }

    pub(super) fn readings(&self) -> usize {
        self.plan
            .as_ref()
            .map_or(self.options.readings_per_batch, Sampling::readings)
    }

    /// After how long the batch after this one is due.
    pub(super) fn next(&mut self, batch: &[CrossTimestamp]) -> Duration {
        self.gap = self.planned(batch);
        self.gap
    }

    /// After how long another batch beside these says more: a part of the time between them, as the library's own.
    pub(super) fn pause(&self) -> Duration {
        (self.gap / 4).clamp(SHORTEST, LONGEST)
    }

    fn planned(&mut self, batch: &[CrossTimestamp]) -> Duration {
        let (Some(plan), Some(first), Some(last)) = (&mut self.plan, batch.first(), batch.last())
        else {
            return self.options.period;
        };
        for reading in batch {
            let _ = self.correlation.push(reading);
        }
        self.burst_left = self.burst_left.saturating_sub(1);
        let wanted = (self.burst_left > 0).then_some(self.options.burst_gap);
        let took: Span = last.monotonic_after() - first.monotonic_before();
        plan.next(batch, took, &self.correlation, wanted)
    }

    pub(super) fn after_failure(&self) -> Duration {
        self.options.period.min(Duration::from_secs(1))
    }

    /// The clock is another.
    pub(super) fn replace_clock(&mut self) {
        self.burst_left = self.options.burst;
        let (interface, nominal) = (self.correlation.interface(), self.correlation.nominal());
        self.correlation.replace_clock(interface, nominal);
    }

    /// The NIC may have been restarted.
    pub(super) fn restart(&mut self) {
        self.burst_left = self.options.burst;
        self.correlation.restart(GenerationCause::Notification);
    }
}
