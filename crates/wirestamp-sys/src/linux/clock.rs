//! The system's two clocks: monotonic and UTC. Not the NICs' clocks.

use super::call;
use std::fs;
use std::io;
use wirestamp_core::time::{
    Adjusted, Bounded, MonotonicTime, Span, UtcCrossTimestamp, UtcModel, UtcTime,
};

/// How often to ask for the exact difference: a tick or a step may come in between, hardly ever
/// twice. If there is no exact difference, readings replace it.
const ATTEMPTS: usize = 8;

/// A reading of three clocks that nothing has interrupted.
const CLOSE: Span = Span::from_nanoseconds(100);

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

/// How far this process's monotonic clock is ahead of the kernel's, which programs in the kernel read: they differ in a time
/// namespace (time_namespaces(7)). No process leaves its own.
///
/// # Errors
/// If the kernel has time namespaces and does not say which offset this process's has.
pub(super) fn namespace_offset() -> io::Result<Span> {
    const NAMESPACES: &str = "/proc/self/ns";
    let namespace = |name: &str| fs::read_link(format!("{NAMESPACES}/{name}"));
    let own = match namespace("time") {
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::exists(NAMESPACES)? => {
            return Ok(Span::ZERO); // before Linux 5.6 there is one
        }
        own => own?,
    };
    let unknown = || io::Error::other("the offset of this process's time namespace is not known");
    if own != namespace("time_for_children")? {
        return Err(unknown()); // the offsets that the kernel shows are those of its children
    }
    offset_in(&fs::read_to_string("/proc/self/timens_offsets")?).ok_or_else(unknown)
}

/// The monotonic clock's line of `timens_offsets`: seconds, which may be negative, and nanoseconds.
fn offset_in(text: &str) -> Option<Span> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("monotonic"))?;
    let mut fields = line.split_whitespace();
    let seconds: i64 = fields.next()?.parse().ok()?;
    let nanoseconds: i64 = fields.next()?.parse().ok()?;
    Some(Span::from_seconds(seconds) + Span::from_nanoseconds(nanoseconds.into()))
}

/// The closest of several [`utc`] readings: for a start.
pub(super) fn close_wall() -> UtcCrossTimestamp {
    let width = |reading: &UtcCrossTimestamp| reading.after - reading.before;
    let readings = std::array::from_fn::<_, 8, _>(|_| utc());
    readings.into_iter().min_by_key(width).unwrap_or_else(utc)
}

/// How far adjustments have moved the monotonic clock: the first close reading, or the closest of several.
pub(super) fn adjusted() -> Adjusted {
    let mut closest = adjusted_once();
    for _ in 1..4 {
        if closest.by.bound <= CLOSE {
            break;
        }
        let again = adjusted_once();
        if again.by.bound < closest.by.bound {
            closest = again;
        }
    }
    closest
}

/// The clock that nobody adjusts, between two readings of the monotonic clock. Each shows its last nanosecond.
fn adjusted_once() -> Adjusted {
    let before = now();
    let raw = read(libc::CLOCK_MONOTONIC_RAW);
    let after = now();
    let half = Span::from_nanoseconds((after - before).nanoseconds() / 2);
    let by = Span::from_nanoseconds(i128::from((before + half).nanoseconds()) - i128::from(raw));
    // it was read somewhere in between, and a slew goes on until `after`
    let slewed = Adjusted::most_within(after - before);
    let unsure = (after - before) - half + slewed + Span::from_nanoseconds(1);
    Adjusted {
        at: after,
        by: Bounded::new(by, unsure),
    }
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

    /// The monotonic clock without its adjustments shows what CLOCK_MONOTONIC_RAW shows.
    #[test]
    fn what_was_moved_leads_back_to_the_clock_that_nobody_adjusts() {
        let before = read(libc::CLOCK_MONOTONIC_RAW);
        let reading = adjusted();
        let after = read(libc::CLOCK_MONOTONIC_RAW);
        // the two clocks differ by less than a tenth of what passed meanwhile
        let unsure = reading.by.bound.nanoseconds() + i128::from(after - before) / 10;
        let raw = i128::from(reading.at.nanoseconds()) - reading.by.value.nanoseconds();
        let possible = i128::from(before) - unsure..=i128::from(after) + unsure;
        assert!(
            possible.contains(&raw),
            "{raw} of {possible:?}: {reading:?}"
        );
    }

    /// Whoever adjusts this host's clock does so by 500 ppm at most, or chronyd slews it.
    #[test]
    fn what_adjustments_have_moved_is_known_to_a_reading() {
        let first = adjusted();
        std::thread::sleep(Duration::from_millis(20));
        let later = adjusted();
        let passed = later.at - first.at;
        let moved = later.by.value - first.by.value;
        let most = Span::from_nanoseconds(passed.nanoseconds() / 10);
        let unsure = first.by.bound + later.by.bound;
        assert!(moved.abs() <= most + unsure, "{moved} in {passed}");
        assert!(first.by.bound < Span::from_milliseconds(1), "{first:?}");
    }

    /// The ticks of this kernel show the same difference as its clocks.
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

    /// Two of the texts are the kernel's own, of `unshare -T --monotonic 86400` and of the initial namespace.
    #[test]
    fn the_offset_of_a_time_namespace_is_read() {
        let at = |seconds, nanoseconds| {
            Some(Span::from_seconds(seconds) + Span::from_nanoseconds(nanoseconds))
        };
        for (text, expected) in [
            (
                "monotonic           0         0\nboottime            0         0\n",
                at(0, 0),
            ),
            (
                "monotonic       86400         0\nboottime            0         0\n",
                at(86_400, 0),
            ),
            (
                "boottime 7 0\nmonotonic -5 250000000\n",
                at(-5, 250_000_000),
            ),
            ("boottime 7 0\n", None),
            ("monotonic 7\n", None),
            ("monotonic x 0\n", None),
            ("", None),
        ] {
            assert_eq!(offset_in(text), expected, "{text}");
        }
        assert!(namespace_offset().is_ok());
    }

    #[test]
    fn a_past_deadline_is_no_wait_and_the_last_instant_no_limit() {
        let past = timeout(MonotonicTime::from_nanoseconds(0)).expect("a limit");
        assert_eq!((past.tv_sec, past.tv_nsec), (0, 0));
        assert!(timeout(MonotonicTime::MAX).is_none());
    }
}
