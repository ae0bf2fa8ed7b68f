//! Owns the system's two clocks: the performance counter as the steady one, and the civil one.
//! Not the adapters' clocks.

use super::call;
use std::sync::OnceLock;
use wirestamp_core::time::{Frequency, Span, SystemTime, WallReading, WallTime};

/// From 1601 to 1970, in the 100 ns of a FILETIME.
const FILETIME_OF_1970: i64 = 116_444_736_000_000_000;

/// The rate of the performance counter: constant since boot, asked once, never assumed.
pub(super) fn rate() -> Frequency {
    static RATE: OnceLock<Frequency> = OnceLock::new();
    // It can't fail on any Windows since XP; a rate of 0 would be no clock at all.
    *RATE.get_or_init(|| {
        Frequency::from_hertz(call::counter_frequency()).unwrap_or(Frequency::GIGAHERTZ)
    })
}

/// Where a value of the performance counter lies on the steady clock. Exact for any rate.
pub(super) fn place(ticks: u64) -> SystemTime {
    SystemTime::from_nanoseconds(0) + rate().span_of(ticks.cast_signed())
}

/// What one tick is worth: how far off a software stamp can be.
pub(super) fn tick() -> Span {
    let nanoseconds = 1_000_000_000u64.div_ceil(rate().hertz());
    Span::from_nanoseconds(nanoseconds.into())
}

/// Reads the performance counter.
pub(super) fn now() -> SystemTime {
    place(call::counter())
}

fn wall_now() -> WallTime {
    WallTime::from_nanoseconds((call::system_time() - FILETIME_OF_1970).saturating_mul(100))
}

/// Reads both: the civil clock between two readings of the steady one.
fn wall() -> WallReading {
    let before = now();
    let wall = wall_now();
    WallReading {
        before,
        wall,
        after: now(),
    }
}

/// The closest of several [`wall`] readings.
pub(super) fn close_wall() -> WallReading {
    let width = |reading: &WallReading| reading.after - reading.before;
    let readings = std::array::from_fn::<_, 8, _>(|_| wall());
    readings.into_iter().min_by_key(width).unwrap_or_else(wall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime as StandardTime, UNIX_EPOCH};

    #[test]
    fn the_civil_clock_is_that_of_the_standard_library() {
        let reading = close_wall();
        let standard = StandardTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let difference = WallTime::from_nanoseconds(0) + Span::from(standard) - reading.wall;
        assert!(difference.abs() < Span::from_seconds(5), "{difference:?}");
        assert!(reading.after >= reading.before);
    }

    #[test]
    fn the_steady_clock_does_not_run_backwards_and_its_tick_is_no_zero() {
        let readings: Vec<_> = (0..1_000).map(|_| now()).collect();
        assert!(readings.is_sorted());
        assert!(
            tick() > Span::ZERO && tick() <= Span::from_microseconds(2),
            "{:?}",
            tick()
        );
        assert_eq!(place(0), SystemTime::from_nanoseconds(0));
    }
}
