//! Owns nothing of its own: wirestamp's correlation behind the benches' trait.

use super::{Converted, Estimator, Rate};
use crate::world::Shape;
use wirestamp_core::correlate::Correlation;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::HardwareStamp;
use wirestamp_core::time::Frequency;

pub(super) struct Ours(Correlation);

impl Ours {
    pub(super) fn new(shape: &Shape) -> Self {
        let interface = InterfaceIndex::new(1).expect("1 is not 0");
        let stated = shape.counter.stated.then_some(shape.counter.hertz);
        Self(Correlation::new(interface, stated.and_then(Frequency::from_hertz)))
    }
}

impl Estimator for Ours {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        for reading in readings {
            let _ = self.0.push(reading);
        }
    }

    fn convert(&self, stamp: &HardwareStamp) -> Option<Converted> {
        let estimate = self.0.to_system(stamp).ok()?;
        let bound = estimate.bound.nanoseconds() as f64;
        Some(Converted { whole: estimate.at, fraction: 0.0, bound: Some(bound) })
    }

    fn rate(&self) -> Option<Rate> {
        let rate = self.0.rate()?;
        Some(Rate { hertz: rate.hertz, bound_parts_per_billion: rate.bound_parts_per_billion })
    }
}
