//! Owns what one thread has learnt and others read, without waiting for one another. Takes no
//! readings.

use arc_swap::{ArcSwap, Guard};
use std::sync::Arc;
use wirestamp_core::correlate::{Correlation, Estimate, Published, Refusal};
use wirestamp_core::stamp::HardwareStamp;
use wirestamp_core::time::System;

/// The current correlation, for any number of readers.
pub(super) struct Model {
    /// Converts most stamps.
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

    /// By one thread at a time.
    pub(super) fn publish(&self, correlation: &Correlation) {
        self.newest.publish(correlation);
        self.whole.store(Arc::new(correlation.clone()));
    }

    pub(super) fn whole(&self) -> Guard<Arc<Correlation>> {
        self.whole.load()
    }

    #[inline]
    pub(super) fn to_system(&self, stamp: &HardwareStamp) -> Result<Estimate<System>, Refusal> {
        match self.newest.to_system(stamp) {
            Some(estimate) => Ok(estimate),
            None => self.whole().to_system(stamp),
        }
    }
}
