//! Whether somebody moved the clock that timestamps since an instant: it is read, and held against how it ran before.

use super::{JITTER, NicClock, Relation, SLEW, SystemClock, TimestampClock};
use wirestamp::{Bounded, MonotonicTime, UdpSocket, UtcCrossTimestamp};

/// An instant of the clock that timestamps, on the monotonic clock as well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    /// In nanoseconds of the clock itself.
    pub(crate) at: i64,
    pub(crate) on_monotonic: Bounded<MonotonicTime>,
}

impl Anchor {
    /// On the monotonic clock, and its error bound in nanoseconds.
    fn began(&self) -> (MonotonicTime, i64) {
        let Bounded { value, bound } = self.on_monotonic;
        (value, bound.saturating_nanoseconds())
    }
}

impl TimestampClock {
    /// By how much the clock may have been moved since then beside what it runs by itself, in nanoseconds: what a reading
    /// of now cannot exclude. `None`: it was stepped, is another one, or cannot be read.
    ///
    /// A clock that we steer is nobody else's to move by little: a reading shows whether it was restarted.
    pub(crate) fn moved_since(&self, then: &Anchor, socket: &UdpSocket) -> Option<i64> {
        match self {
            Self::System(clock) => clock.moved_since(then, &socket.utc_cross_timestamp()),
            Self::Nic(clock) => clock.moved_since(then),
        }
    }
}

impl SystemClock {
    /// The distance between real-time and monotonic clock is the same as then (Linux), or was slewed a little (Windows).
    fn moved_since(&self, then: &Anchor, now: &UtcCrossTimestamp) -> Option<i64> {
        let (began, unsure) = then.began();
        let half = (now.after - now.before).saturating_nanoseconds() / 2 + 1;
        let elapsed = (now.before - began)
            .saturating_nanoseconds()
            .saturating_add(half);
        let shown = now.utc.nanoseconds().saturating_sub(then.at);
        let slewed = (elapsed.saturating_abs() as f64 * SLEW) as i64;
        moved(shown, elapsed, unsure.saturating_add(half), slewed)
    }
}

impl NicClock {
    fn moved_since(&self, then: &Anchor) -> Option<i64> {
        let (Relation::Read(reader) | Relation::Correlated(_, reader)) = &self.relation;
        let (began, unsure) = then.began();
        let reading = reader.cross_timestamp().ok()?;
        let (before, after) = (reading.monotonic_before(), reading.monotonic_after());
        let half = (after - before).saturating_nanoseconds() / 2 + 1;
        let elapsed = (before - began)
            .saturating_nanoseconds()
            .saturating_add(half);
        let shown = self.nanoseconds(reading.hardware().raw());
        let shown = shown.saturating_sub(then.at);
        let slewed = (elapsed.saturating_abs() as f64 * SLEW) as i64;
        let Relation::Correlated(host, _) = &self.relation else {
            return moved(shown, elapsed, unsure.saturating_add(half), 2 * slewed).map(|_| 0);
        };
        // that of now: after a change it is learnt anew
        let frequency = host.correlator()?.frequency()?;
        let rate = frequency.hertz / self.frequency.hertz() as f64 - 1.0;
        let ran = elapsed.saturating_add((elapsed as f64 * rate).round() as i64);
        let drifted = elapsed.saturating_abs() as f64 * frequency.error_bound_parts_per_billion;
        let unsure = unsure
            .saturating_add(half)
            .saturating_add((drifted * 1e-9).ceil() as i64);
        // its frequency may have been another meanwhile
        moved(shown, ran, unsure, slewed)
    }
}

/// By how much a clock may have been moved that showed `shown` nanoseconds more where `ran` were due, known to `unsure`;
/// `None`: more than readings or a slew explain.
fn moved(shown: i64, ran: i64, unsure: i64, slewed: i64) -> Option<i64> {
    let difference = shown.saturating_sub(ran).saturating_abs();
    let explained = unsure.saturating_add(slewed).saturating_add(JITTER);
    (difference <= explained).then(|| difference.saturating_add(unsure))
}

#[cfg(test)]
mod tests {
    use super::moved;

    #[test]
    fn a_move_within_the_readings_is_part_of_the_bound_and_a_larger_one_makes_it_unknown() {
        assert_eq!(moved(5_000, 5_000, 40, 0), Some(40));
        assert_eq!(moved(5_900, 5_000, 40, 0), Some(940));
        assert_eq!(moved(4_100, 5_000, 40, 0), Some(940));
        assert_eq!(moved(6_041, 5_000, 40, 0), None);
        assert_eq!(moved(6_041, 5_000, 40, 100), Some(1_081));
        assert_eq!(moved(i64::MAX, i64::MIN, 40, 0), None);
    }
}
