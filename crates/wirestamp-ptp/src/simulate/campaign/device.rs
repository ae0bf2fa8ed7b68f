//! The simulated clock device that the program steers.

use crate::steering::SteeredClock;
use std::cell::Cell;
use std::rc::Rc;
use wirestamp::sim::ClockDevice;
use wirestamp::{Result, Span};

/// The timeReceiver's clock.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) device: ClockDevice,
    /// Whether the program was killed, after which its commands are ignored.
    pub(super) killed: Rc<Cell<bool>>,
    /// The adjustment in ppm that it still shows although the hardware has lost it.
    pub(super) shown: Rc<Cell<Option<f64>>>,
}

impl SteeredClock for Device {
    fn now(&self) -> Result<i64> {
        self.device.now().map(|ticks| ticks.raw() as i64)
    }

    fn step(&mut self, by: Span) -> Result<()> {
        if self.killed.get() {
            Ok(())
        } else {
            self.device.step(by)
        }
    }

    fn set_rate(&mut self, ppm: f64) -> Result<()> {
        if self.killed.get() {
            return Ok(());
        }
        self.device.adjust_frequency(ppm * 1e3)?;
        self.shown.set(None);
        Ok(())
    }

    fn rate(&self) -> Result<f64> {
        let really = self.device.frequency()? / 1e3;
        Ok(self.shown.get().unwrap_or(really))
    }

    fn rate_step(&self) -> f64 {
        // rounding to the nearest step, and rounding by this interface
        self.device.resolution_ppb() / 2e3 + 1e-6
    }

    fn max_frequency_adjustment(&self) -> f64 {
        self.device
            .largest_adjustment_ppb()
            .map_or(500.0, |ppb| f64::from(ppb) / 1e3)
    }
}
