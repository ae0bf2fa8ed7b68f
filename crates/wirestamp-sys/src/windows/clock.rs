//! The system's two clocks: the performance counter as the monotonic clock, and the real-time clock.
//! Not the adapters' clocks.

use super::call;
use std::sync::OnceLock;
use wirestamp_core::time::{
    Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp, UtcTime,
};

/// From 1601 to 1970, in the 100 ns of a FILETIME.
const FILETIME_OF_1970: i64 = 116_444_736_000_000_000;

/// What the real-time clock counts in.
const FILETIME_TICK: Span = Span::from_nanoseconds(100);
/// Windows' time service slews the real-time clock by no more than this against the performance counter, in parts per
/// million; more is a step.
const MOST_SLEW: u32 = 1_000;

/// How the real-time clock may run against the performance counter.
pub(super) fn real_time_clock() -> RealTimeClock {
    RealTimeClock {
        slew_parts_per_million: MOST_SLEW,
        tick: tick().max(FILETIME_TICK),
    }
}

/// The rate of the performance counter: constant since boot, asked once, never assumed.
pub(super) fn rate() -> Frequency {
    static RATE: OnceLock<Frequency> = OnceLock::new();
    // It can't fail on any Windows since XP; a rate of 0 would be no clock at all.
    *RATE.get_or_init(|| {
        Frequency::from_hertz(call::counter_frequency()).unwrap_or(Frequency::GIGAHERTZ)
    })
}

/// Where a value of the performance counter lies on the monotonic clock. Exact for any rate.
pub(super) fn place(ticks: u64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(0) + rate().span_of(ticks as i64)
}

/// What one tick is worth: how far off a software timestamp can be.
pub(super) fn tick() -> Span {
    let nanoseconds = 1_000_000_000u64.div_ceil(rate().hertz());
    Span::from_nanoseconds(nanoseconds.into())
}

/// Reads the performance counter.
pub(super) fn now() -> MonotonicTime {
    place(call::counter())
}

fn utc_now() -> UtcTime {
    UtcTime::from_nanoseconds((call::system_time() - FILETIME_OF_1970).saturating_mul(100))
}

/// Reads both: the real-time clock between two readings of the monotonic clock.
fn utc() -> UtcCrossTimestamp {
    let before = now();
    let utc = utc_now();
    UtcCrossTimestamp {
        before,
        utc,
        after: now(),
    }
}

/// The closest of several [`utc`] readings.
pub(super) fn close_wall() -> UtcCrossTimestamp {
    let width = |reading: &UtcCrossTimestamp| reading.after - reading.before;
    let readings = std::array::from_fn::<_, 8, _>(|_| utc());
    readings.into_iter().min_by_key(width).unwrap_or_else(utc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime as StandardTime, UNIX_EPOCH};

    #[test]
    fn the_real_time_clock_is_that_of_the_standard_library() {
        let reading = close_wall();
        let standard = StandardTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let difference = UtcTime::from_nanoseconds(0) + Span::from(standard) - reading.utc;
        assert!(difference.abs() < Span::from_seconds(5), "{difference:?}");
        assert!(reading.after >= reading.before);
    }

    #[test]
    fn the_monotonic_clock_does_not_run_backwards_and_its_tick_is_not_zero() {
        let readings: Vec<_> = (0..1_000).map(|_| now()).collect();
        assert!(readings.is_sorted());
        assert!(
            tick() > Span::ZERO && tick() <= Span::from_microseconds(2),
            "{:?}",
            tick()
        );
        assert_eq!(place(0), MonotonicTime::from_nanoseconds(0));
    }
}
