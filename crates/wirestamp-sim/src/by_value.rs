//! Decides by value which clock made a timestamp, where the NIC's driver does not report its settings. The policy is the
//! Windows backend's.

use crate::scenario::Platform;
use crate::state::State;
use crate::timestamps::KernelTimestamps;
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::{ClockWitness, KernelTime, clock_by_value};

impl State {
    /// Returns the timestamps whose clock is known to a program.
    pub(crate) fn decided(&mut self, place: usize, raw: KernelTimestamps) -> KernelTimestamps {
        if self.platform != Platform::Windows || self.nics[place].settings.active_code == 0 {
            return raw;
        }
        let now = self.clocks.system(self.now);
        let witness = self.witness(place, now);
        let frequency = self.clocks.frequency();
        let is = |count: i64, wanted: TimestampSource| {
            let as_counter = MonotonicTime::from_nanoseconds(0) + frequency.span_of(count);
            let as_ticks = HardwareTicks::new(count as u64);
            clock_by_value(as_counter, as_ticks, witness.as_ref(), now) == Some(wanted)
        };
        let counted = |at: MonotonicTime| {
            frequency
                .ticks_in(at - MonotonicTime::from_nanoseconds(0))
                .unwrap_or(0)
        };
        KernelTimestamps {
            software: raw.software.filter(|time| match time {
                KernelTime::Monotonic(at) => is(counted(*at), TimestampSource::Software),
                KernelTime::Utc(_) => true,
            }),
            hardware: raw
                .hardware
                .filter(|(ticks, _)| is(ticks.raw() as i64, TimestampSource::Hardware)),
        }
    }

    /// A cross timestamp, where the driver takes them.
    fn witness(&mut self, place: usize, now: MonotonicTime) -> Option<ClockWitness> {
        let at = self.now;
        let nic = &mut self.nics[place];
        if nic.settings.cross.code != 0 {
            return None;
        }
        let frequency = nic.supported(Platform::Windows).nominal_frequency?;
        let cross = CrossTimestamp::new(now, nic.ticks(at)?, now, CrossMethod::Driver).ok()?;
        Some(ClockWitness::new(&cross, frequency))
    }
}
