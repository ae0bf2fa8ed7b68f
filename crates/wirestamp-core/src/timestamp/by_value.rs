//! Detection of a raw timestamp's clock by its value, for drivers that do not report the clock.
//!
//! On Windows a timestamp is a value of the performance counter or of the NIC's clock, depending on
//! the active configuration. Some drivers make timestamps but fail the query of that configuration
//! (`ERROR_BAD_DRIVER`, 2001).

use crate::capability::TimestampSource;
use crate::cross::CrossTimestamp;
use crate::time::{Frequency, HardwareTicks, MonotonicTime, Span};

/// The longest time from a packet to the reading of its timestamp; two clocks rarely agree this
/// closely.
const NEAR: Span = Span::from_seconds(1);
/// The longest use of a witness, so that its error stays well below [`NEAR`]: 1,000 ppm over 100 s
/// are 100 ms.
const WITNESS_HOLDS: Span = Span::from_seconds(100);

/// A cross timestamp that relates the NIC's clock to the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockWitness {
    at: MonotonicTime,
    ticks: HardwareTicks,
    frequency: Frequency,
}

impl ClockWitness {
    /// Creates a witness from a cross timestamp and the nominal frequency of the NIC's clock.
    pub fn new(cross: &CrossTimestamp, frequency: Frequency) -> Self {
        Self {
            at: cross.monotonic_before(),
            ticks: cross.hardware(),
            frequency,
        }
    }

    /// Returns whether it is too old to be used at `now`.
    pub fn is_stale(&self, now: MonotonicTime) -> bool {
        (now - self.at).abs() > WITNESS_HOLDS
    }

    /// Returns the time at which the NIC's clock shows `ticks`.
    fn when(&self, ticks: HardwareTicks) -> MonotonicTime {
        self.at + self.frequency.span_of(ticks.since(self.ticks))
    }
}

/// Returns the clock of a raw timestamp that was read at `now`; `None` if its value is ambiguous.
///
/// `as_counter` is the value interpreted as the performance counter, `as_ticks` as the NIC's clock.
/// The clock whose interpretation is within a second of now made the timestamp. If both are, the
/// result is `None`, because the wrong choice would give a plausible but wrong time.
pub fn clock_by_value(
    as_counter: MonotonicTime,
    as_ticks: HardwareTicks,
    witness: Option<&ClockWitness>,
    now: MonotonicTime,
) -> Option<TimestampSource> {
    let near = |at: MonotonicTime| (at - now).abs() <= NEAR;
    let witness = witness.filter(|witness| !witness.is_stale(now));
    let of_nic = witness.is_some_and(|witness| near(witness.when(as_ticks)));
    match (near(as_counter), of_nic) {
        (true, false) => Some(TimestampSource::Software),
        (false, true) => Some(TimestampSource::Hardware),
        (true, true) | (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross::CrossMethod;

    const NOW: MonotonicTime = MonotonicTime::from_nanoseconds(3_600_000_000_000);

    /// A NIC whose clock of 125 MHz shows `ticks` ten seconds before now.
    fn witness(ticks: u64) -> ClockWitness {
        let at = NOW - Span::from_seconds(10);
        let cross = CrossTimestamp::new(at, HardwareTicks::new(ticks), at, CrossMethod::Driver);
        let frequency = Frequency::from_hertz(125_000_000).expect("not zero");
        ClockWitness::new(&cross.expect("valid"), frequency)
    }

    fn decide(
        counter: Span,
        ticks: u64,
        witness: Option<&ClockWitness>,
    ) -> Option<TimestampSource> {
        clock_by_value(NOW + counter, HardwareTicks::new(ticks), witness, NOW)
    }

    #[test]
    fn a_count_within_a_second_of_the_performance_counter_is_its() {
        let software = Some(TimestampSource::Software);
        let far = witness(u64::MAX / 2);
        assert_eq!(decide(-Span::from_milliseconds(3), 5, None), software);
        assert_eq!(
            decide(-Span::from_milliseconds(999), 5, Some(&far)),
            software
        );
        assert_eq!(decide(-Span::from_milliseconds(1_001), 5, None), None);
        assert_eq!(decide(Span::from_milliseconds(1_001), 5, Some(&far)), None);
    }

    #[test]
    fn another_count_is_the_nics_if_a_cross_timestamp_fits() {
        let away = Span::from_seconds(5_000);
        let start = 7_000_000_000;
        let now = start + 10 * 125_000_000;
        let hardware = Some(TimestampSource::Hardware);
        assert_eq!(decide(away, now - 1_000, Some(&witness(start))), hardware);
        assert_eq!(decide(away, now - 126_000_000, Some(&witness(start))), None);
        assert_eq!(decide(away, now - 1_000, None), None);
    }

    #[test]
    fn a_count_that_fits_both_clocks_is_of_neither() {
        let start = 7_000_000_000;
        let now = start + 10 * 125_000_000;
        let fits_both = decide(-Span::from_milliseconds(1), now, Some(&witness(start)));
        assert_eq!(fits_both, None);
    }

    #[test]
    fn an_old_cross_timestamp_says_nothing() {
        let witness = witness(1_000);
        let later = NOW + Span::from_seconds(91);
        assert!(!witness.is_stale(NOW) && witness.is_stale(later));
        let ticks = HardwareTicks::new(1_000 + 101 * 125_000_000);
        let far = later + Span::from_seconds(9_000);
        assert_eq!(clock_by_value(far, ticks, Some(&witness), later), None);
    }
}
