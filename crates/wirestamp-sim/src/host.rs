//! Owns the host's two clocks. True time is virtual time; the system clock shows it in ticks.

use crate::scenario::Host;
use wirestamp_core::stamp::SoftwareStamp;
use wirestamp_core::time::{Span, SystemTime, WallTime};

/// The steady and the civil clock.
#[derive(Debug)]
pub(crate) struct Clocks {
    tick: i64,
    /// Civil minus true time.
    offset: i64,
    /// How often the civil clock was stepped.
    steps: u32,
}

/// A software stamp as the kernel keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelStamp {
    at: SystemTime,
    wall: WallTime,
    steps: u32,
}

impl Clocks {
    pub(crate) fn new(host: &Host) -> Self {
        let civil = i64::from(host.civil_start_s) * 1_000_000_000;
        Self { tick: host.tick.nanoseconds(), offset: civil - host.start.nanoseconds(), steps: 0 }
    }

    /// What the steady clock shows at `true_time`.
    pub(crate) fn system(&self, true_time: i64) -> SystemTime {
        SystemTime::from_nanoseconds(true_time - true_time.rem_euclid(self.tick))
    }

    /// What the civil clock shows at `true_time`.
    pub(crate) fn wall(&self, true_time: i64) -> WallTime {
        let civil = true_time.saturating_add(self.offset);
        WallTime::from_nanoseconds(civil - civil.rem_euclid(self.tick))
    }

    pub(crate) fn step_civil(&mut self, by: i64) {
        self.offset = self.offset.saturating_add(by);
        self.steps += 1;
    }

    pub(crate) fn stamp(&self, true_time: i64) -> KernelStamp {
        KernelStamp { at: self.system(true_time), wall: self.wall(true_time), steps: self.steps }
    }

    /// A stamp as it looks when it is read.
    pub(crate) fn read(&self, stamp: KernelStamp) -> SoftwareStamp {
        SoftwareStamp {
            at: stamp.at,
            bound: Span::from_nanoseconds(i128::from(self.tick)),
            wall: Some(stamp.wall),
            clock_stepped: stamp.steps != self.steps,
        }
    }
}
