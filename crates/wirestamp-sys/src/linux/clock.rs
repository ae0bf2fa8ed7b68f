//! The system's two clocks: monotonic and UTC. Not the NICs' clocks.

use super::call;
use wirestamp_core::time::{MonotonicTime, Span, UtcCrossTimestamp, UtcModel, UtcTime};

/// How often the exact difference is asked for: a tick may pass in between, or a step, and hardly
/// ever twice. Where it is never told, readings have to do.
const ATTEMPTS: usize = 8;

/// Reads `CLOCK_MONOTONIC`.
pub(super) fn now() -> MonotonicTime {
    MonotonicTime::from_nanoseconds(read(libc::CLOCK_MONOTONIC))
}

/// Reads both: the real-time clock between two readings of the monotonic clock.
pub(super) fn utc() -> UtcCrossTimestamp {
    let before = now();
    let utc = UtcTime::from_nanoseconds(read(libc::CLOCK_REALTIME));
    UtcCrossTimestamp {
        before,
        utc,
        after: now(),
    }
}

/// The closest of several [`utc`] readings: for a start.
pub(super) fn close_wall() -> UtcCrossTimestamp {
    let width = |reading: &UtcCrossTimestamp| reading.after - reading.before;
    let readings = std::array::from_fn::<_, 8, _>(|_| utc());
    readings.into_iter().min_by_key(width).unwrap_or_else(utc)
}

/// How far the real-time clock is ahead of the monotonic clock, from their values at the last tick of
/// the kernel: exact, and a third of the cost of [`utc`]. Wrong by a tick if one passes between the
/// two readings; a step shows at once.
pub(super) fn difference() -> i64 {
    let (utc, monotonic) = (
        read(libc::CLOCK_REALTIME_COARSE),
        read(libc::CLOCK_MONOTONIC_COARSE),
    );
    utc - monotonic
}

/// The same where no tick passed, and where the clocks themselves, as in `reading`, don't deny it.
fn difference_beside(reading: UtcCrossTimestamp) -> Option<i64> {
    let utc = read(libc::CLOCK_REALTIME_COARSE);
    let monotonic = read(libc::CLOCK_MONOTONIC_COARSE);
    let again = read(libc::CLOCK_REALTIME_COARSE);
    let (difference, seen) = (utc - monotonic, reading.utc.nanoseconds());
    let possible = seen - reading.after.nanoseconds() - 1..=seen - reading.before.nanoseconds() + 1;
    (utc == again && possible.contains(&difference)).then_some(difference)
}

fn read(clock: libc::clockid_t) -> i64 {
    let (seconds, nanoseconds) = call::clock(clock);
    seconds * 1_000_000_000 + nanoseconds
}

/// Takes in what the clocks say now, as exactly as they say it; returns the size of the step if
/// the real-time clock was stepped since the last time.
pub(super) fn observe(offset: &mut UtcModel) -> Option<Span> {
    let mut reading = utc();
    for _ in 0..ATTEMPTS {
        if let Some(difference) = difference_beside(reading) {
            return offset.observe_exactly(difference, reading.after, now());
        }
        reading = utc();
    }
    offset.observe(reading)
}

/// The offset of the two clocks now, as closely as it can be known.
pub(super) fn offset() -> UtcModel {
    let mut offset = UtcModel::new(close_wall());
    observe(&mut offset);
    offset
}

/// `until` as a timeout for ppoll(2); `None` for "for ever".
pub(super) fn timeout(until: MonotonicTime) -> Option<libc::timespec> {
    if until == MonotonicTime::MAX {
        return None;
    }
    let left = (until - now()).to_duration();
    Some(libc::timespec {
        // by conversion, because its type differs from system to system; 68 years are for ever
        tv_sec: left.as_secs().try_into().unwrap_or(i32::MAX.into()),
        tv_nsec: left.subsec_nanos().into(),
    })
}

/// What somebody knows who asked two hours ago, and again after the real-time clock was set back by one.
#[cfg(test)]
pub(super) fn an_hour_back() -> UtcModel {
    let (reading, hours) = (utc(), Span::from_seconds(7_200));
    let (before, after) = (reading.before - hours, reading.after - hours);
    let utc = UtcTime::from_nanoseconds(reading.utc.nanoseconds() - 3_600_000_000_000);
    let mut offset = UtcModel::new(UtcCrossTimestamp { before, utc, after });
    assert!(observe(&mut offset).is_some(), "{offset:?}");
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_real_time_clock_keeps_its_offset_to_the_monotonic_clock() {
        let mut offset = UtcModel::new(close_wall());
        for _ in 0..1_000 {
            assert_eq!(offset.observe(utc()), None);
        }
        assert!(
            offset.bound().nanoseconds() < 1_000_000,
            "{:?}",
            offset.bound()
        );
    }

    /// The ticks of this kernel tell the same as its clocks do.
    #[test]
    fn the_difference_at_a_tick_is_exact() {
        let offset = offset();
        assert!(
            offset.bound() <= Span::from_nanoseconds(1),
            "{:?}",
            offset.bound()
        );
        let unchanged = (0..100).filter(|_| {
            std::thread::sleep(Duration::from_micros(300));
            offset.is_unchanged(difference())
        });
        assert!(
            unchanged.count() > 50,
            "a tick may pass in between, but not each time"
        );
    }

    #[test]
    fn a_past_deadline_is_no_wait_and_the_last_instant_no_limit() {
        let past = timeout(MonotonicTime::from_nanoseconds(0)).expect("a limit");
        assert_eq!((past.tv_sec, past.tv_nsec), (0, 0));
        assert!(timeout(MonotonicTime::MAX).is_none());
    }
}
