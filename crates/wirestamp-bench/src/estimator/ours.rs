//! Wirestamp's correlation behind the benches' trait. It gets the settings that a program knows: how finely the system
//! clock counts, and that timestamps are fetched at once.

use super::{Converted, Estimator, Rate};
use crate::world::Shape;
use wirestamp_core::correlate::Correlation;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime, Span};
use wirestamp_core::timestamp::HardwareTimestamp;

pub(super) struct Ours(Correlation);

/// The worlds' timestamps are fetched within microseconds.
const LONGEST_WAIT: Span = Span::from_milliseconds(10);

impl Ours {
    pub(super) fn new(shape: &Shape) -> Self {
        let interface = InterfaceIndex::new(1).expect("1 is not 0");
        let stated = shape.counter.stated.then_some(shape.counter.hertz);
        let correlation = Correlation::new(interface, stated.and_then(Frequency::from_hertz));
        let system = u64::try_from(1_000_000_000 / shape.quantum)
            .ok()
            .and_then(Frequency::from_hertz);
        let correlation = correlation.with_system_frequency(system.unwrap_or(Frequency::GIGAHERTZ));
        Self(correlation.with_longest_wait(LONGEST_WAIT))
    }
}

impl Estimator for Ours {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        for reading in readings {
            let _ = self.0.push(reading);
        }
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let estimate = self.0.to_monotonic_fine(timestamp).ok()?;
        let bound = estimate.bound_picoseconds as f64 / 1e3;
        Some(Converted {
            whole: estimate.at,
            fraction: f64::from(estimate.picoseconds) / 1e3,
            bound: Some(bound),
        })
    }

    fn rate(&self) -> Option<Rate> {
        let rate = self.0.frequency()?;
        Some(Rate {
            hertz: rate.hertz,
            error_bound_parts_per_billion: rate.error_bound_parts_per_billion,
        })
    }

    /// In whole nanoseconds, as programs do it.
    fn convert_all(&self, timestamps: &[HardwareTimestamp]) -> i64 {
        let converted = timestamps
            .iter()
            .filter_map(|timestamp| self.0.to_monotonic(timestamp).ok());
        converted.fold(0, |sum, estimate| {
            sum.wrapping_add(estimate.at.value.nanoseconds())
                .wrapping_add(estimate.at.bound.saturating_nanoseconds())
        })
    }

    fn convert_slice(
        &self,
        ticks: &[HardwareTicks],
        read_at: MonotonicTime,
        into: &mut [MonotonicTime],
    ) -> bool {
        self.0.to_monotonic_slice(ticks, read_at, into).is_ok()
    }
}
