//! The clocks of the system whose packets are captured: this system's, or a simulation's.

use std::time::Duration;
use wirestamp::{Interface, MonotonicTime};

/// The clock of the system, or of the simulation, that an interface belongs to.
#[derive(Debug, Clone)]
pub(super) struct Clock(Interface);

impl Clock {
    pub(super) fn of(interface: &Interface) -> Self {
        Self(interface.clone())
    }

    pub(super) fn now(&self) -> MonotonicTime {
        self.0.utc_cross_timestamp().after
    }

    /// How long ago `begun` was.
    pub(super) fn since(&self, begun: MonotonicTime) -> Duration {
        (self.now() - begun).to_duration()
    }

    /// UTC as the real-time clock shows it, in nanoseconds.
    pub(super) fn since_1970(&self) -> u64 {
        let utc = self.0.utc_cross_timestamp().utc;
        u64::try_from(utc.nanoseconds()).unwrap_or_default()
    }
}
