//! The published correlation: one thread writes it, others convert with it without locks.

use arc_swap::{ArcSwap, Guard};
use std::sync::Arc;
use wirestamp_core::correlate::{ConversionError, Correlation, Estimate, Published};
use wirestamp_core::time::Monotonic;
use wirestamp_core::timestamp::HardwareTimestamp;

/// The current correlation, shared with any number of readers.
pub(super) struct Model {
    /// Converts most timestamps.
    newest: Published,
    /// Converts the others.
    whole: ArcSwap<Correlation>,
}

impl Model {
    pub(super) fn new(correlation: &Correlation) -> Self {
        let model = Self {
            newest: Published::new(),
            whole: ArcSwap::from_pointee(correlation.clone()),
        };
        model.newest.publish(correlation);
        model
    }

    /// Publishes a new state. Called by one thread at a time.
    pub(super) fn publish(&self, correlation: &Correlation) {
        self.newest.publish(correlation);
        self.whole.store(Arc::new(correlation.clone()));
    }

    pub(super) fn whole(&self) -> Guard<Arc<Correlation>> {
        self.whole.load()
    }

    #[inline]
    pub(super) fn to_monotonic(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<Estimate<Monotonic>, ConversionError> {
        match self.newest.to_monotonic(timestamp) {
            Some(estimate) => Ok(estimate),
            None => self.whole().to_monotonic(timestamp),
        }
    }
}
