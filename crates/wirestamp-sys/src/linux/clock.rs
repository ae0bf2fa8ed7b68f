//! Owns the system's two clocks: steady and civil. Not the adapters' clocks.

use super::call;
use wirestamp_core::time::{SystemTime, WallReading, WallTime};

/// Reads `CLOCK_MONOTONIC`.
pub(super) fn now() -> SystemTime {
    let (seconds, nanoseconds) = call::clock(libc::CLOCK_MONOTONIC);
    SystemTime::from_nanoseconds(seconds * 1_000_000_000 + nanoseconds)
}

fn wall_now() -> WallTime {
    let (seconds, nanoseconds) = call::clock(libc::CLOCK_REALTIME);
    WallTime::from_nanoseconds(seconds * 1_000_000_000 + nanoseconds)
}

/// Reads both: the civil clock between two readings of the steady one.
pub(super) fn wall() -> WallReading {
    let before = now();
    let wall = wall_now();
    WallReading { before, wall, after: now() }
}

/// The closest of several [`wall`] readings: for a start.
pub(super) fn close_wall() -> WallReading {
    let width = |reading: &WallReading| reading.after - reading.before;
    let readings = std::array::from_fn::<_, 8, _>(|_| wall());
    readings.into_iter().min_by_key(width).unwrap_or_else(wall)
}

/// `until` as a timeout for ppoll(2); `None` for "for ever".
pub(super) fn timeout(until: SystemTime) -> Option<libc::timespec> {
    if until == SystemTime::MAX {
        return None;
    }
    let left = (until - now()).to_duration();
    let seconds = libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX);
    Some(libc::timespec { tv_sec: seconds, tv_nsec: left.subsec_nanos().into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::time::WallOffset;

    #[test]
    fn the_civil_clock_keeps_its_distance_to_the_steady_one() {
        let mut offset = WallOffset::new(close_wall());
        for _ in 0..1_000 {
            assert_eq!(offset.observe(wall()), None);
        }
        assert!(offset.bound().nanoseconds() < 1_000_000, "{:?}", offset.bound());
    }

    #[test]
    fn a_past_deadline_is_no_wait_and_the_last_instant_no_limit() {
        let past = timeout(SystemTime::from_nanoseconds(0)).expect("a limit");
        assert_eq!((past.tv_sec, past.tv_nsec), (0, 0));
        assert!(timeout(SystemTime::MAX).is_none());
    }
}
