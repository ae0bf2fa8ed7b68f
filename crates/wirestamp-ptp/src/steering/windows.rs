//! The steering of Windows' real-time clock. NIC clocks cannot be steered on Windows.

use super::SteeredClock;
use crate::configuration::Clock;
use wirestamp::{Error, ErrorKind, Interface, Result, Span};
use wirestamp_sys::utc::RealTimeClock;

/// Opens the clock, unless a service that steers it is running.
pub(super) fn open(interface: &Interface, which: Clock) -> Result<Box<dyn SteeredClock>> {
    if which == Clock::Nic {
        let cause = "NICs' clocks run freely on Windows";
        return Err(Error::new(
            ErrorKind::NotSupported,
            "steer the clock",
            interface.name(),
            cause,
        )
        .with_remedy("steer the system clock, or only measure"));
    }
    Ok(Box::new(RealTimeClock::open()?))
}

impl SteeredClock for RealTimeClock {
    fn now(&self) -> Result<i64> {
        Ok(Self::now(self).nanoseconds())
    }

    fn step(&mut self, by: Span) -> Result<()> {
        Self::step(self, by)
    }

    fn set_rate(&mut self, ppm: f64) -> Result<()> {
        Self::set_rate(self, ppm)
    }

    fn rate(&self) -> Result<f64> {
        Self::rate(self)
    }

    fn rate_step(&self) -> f64 {
        Self::rate_step(self)
    }
}
