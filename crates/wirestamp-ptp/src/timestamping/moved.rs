//! Detection of changes to the timestamping clock since an instant: it is read, and compared with
//! its earlier course.

use super::{JITTER, NicClock, Relation, SLEW, TimestampClock};
use crate::sockets::PortSocket;
use wirestamp::time::{RealTimeClock, UtcCrossTimestamp};
use wirestamp::{Bounded, Correlator, MonotonicTime, Span, UtcTime};

/// An instant on the timestamping clock and on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    /// The clock's own time in nanoseconds,
    pub(crate) at: i64,
    /// and its largest error beyond the clock's resolution.
    pub(crate) unsure: i64,
    pub(crate) on_monotonic: Bounded<MonotonicTime>,
}

impl Anchor {
    /// The time on the monotonic clock, and its error bound in nanoseconds.
    fn began(&self) -> (MonotonicTime, i64) {
        let Bounded { value, bound } = self.on_monotonic;
        (value, bound.saturating_nanoseconds())
    }
}

impl TimestampClock {
    /// Returns the largest change of the clock since then that a reading now cannot exclude, in
    /// nanoseconds. `None` if it was stepped, was replaced, or cannot be read.
    ///
    /// A clock that this program steers is assumed not to be changed slightly by others; a reading
    /// shows whether it was restarted.
    pub(crate) fn moved_since(&self, then: &Anchor, socket: &PortSocket) -> Option<i64> {
        match self {
            Self::System(_) => {
                let clock = socket.real_time_clock();
                real_time_clock_moved(then, &socket.utc_cross_timestamp(), clock)
            }
            Self::Nic(clock) => clock.moved_since(then),
        }
    }
}

/// Compares the difference of the real-time and the monotonic clock, which is constant (Linux) or
/// slewed slightly (Windows). A change within what the readings leave open may be a step as well.
fn real_time_clock_moved(
    then: &Anchor,
    now: &UtcCrossTimestamp,
    clock: RealTimeClock,
) -> Option<i64> {
    let half = Span::from_nanoseconds((now.after - now.before).nanoseconds() / 2 + 1);
    let elapsed = Bounded::new(now.before + half, half) - then.on_monotonic;
    let unsure = Span::from_nanoseconds(then.unsure.into());
    let shown = Bounded::new(now.utc - UtcTime::from_nanoseconds(then.at), unsure);
    clock.slewed_in(shown, elapsed)?;
    let change = (shown.value - elapsed.value).abs() + elapsed.bound + unsure;
    Some(change.saturating_nanoseconds())
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
        let now = self.nanoseconds(reading.hardware().raw());
        let shown = now.saturating_sub(then.at);
        let slewed = (elapsed.saturating_abs() as f64 * SLEW) as i64;
        let Relation::Correlated(host, _) = &self.relation else {
            return moved(shown, elapsed, unsure.saturating_add(half), 2 * slewed).map(|_| 0);
        };
        // the current one, which is learnt again after a change
        let correlator = host.correlator()?;
        let frequency = correlator.frequency()?;
        let middle = before + Span::from_nanoseconds(half.into());
        let apart = self.apart_from(correlator, (middle, now), half)?;
        let rate = frequency.hertz / self.frequency.hertz() as f64 - 1.0;
        let ran = elapsed.saturating_add((elapsed as f64 * rate).round() as i64);
        let drifted = elapsed.saturating_abs() as f64 * frequency.error_bound_parts_per_billion;
        let unsure = unsure
            .saturating_add(half)
            .saturating_add((drifted * 1e-9).ceil() as i64);
        // its frequency may have differed in the meantime
        moved(shown, ran, unsure, slewed).map(|moved| moved.saturating_add(apart))
    }

    /// Returns how far the clock that showed `shown` then may be from the correlator's clock, in
    /// nanoseconds: the interface may have another clock without a notification, which the
    /// correlator checks with each batch. `None` if it is farther than possible for the same clock.
    fn apart_from(
        &self,
        correlator: &Correlator,
        (then, shown): (MonotonicTime, i64),
        half: i64,
    ) -> Option<i64> {
        let there = correlator.to_hardware(then).ok()?;
        let apart = self.nanoseconds(there.ticks.raw()).saturating_sub(shown);
        let unsure = self.nanoseconds(there.bound).saturating_add(half);
        let is_one = apart.saturating_abs() <= unsure.saturating_add(JITTER);
        is_one.then(|| apart.saturating_abs().saturating_add(unsure))
    }
}

/// Returns the possible change of a clock that advanced by `shown` instead of `ran` nanoseconds,
/// with the uncertainty `unsure`; `None` if that is more than readings or a slew explain.
fn moved(shown: i64, ran: i64, unsure: i64, slewed: i64) -> Option<i64> {
    let difference = shown.saturating_sub(ran).saturating_abs();
    let explained = unsure.saturating_add(slewed).saturating_add(JITTER);
    (difference <= explained).then(|| difference.saturating_add(unsure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use wirestamp::time::Frequency;
    use wirestamp::{CorrelatorOptions, HardwareRequest, HostClock, Simulation};

    /// A handle of a clock reads that clock even if the interface has another one; the correlator
    /// follows the interface.
    #[test]
    fn a_clock_that_the_correlator_left_says_nothing_of_the_one_behind_the_interface() {
        let [same, other] = moved_by_clocks_apart(5_000_000);
        assert!(same.is_some_and(|moved| moved < 1_000), "{same:?}");
        assert_eq!(other, None);
    }

    /// A second clock that another program keeps close to the first looks like the first: the bound
    /// includes their difference.
    #[test]
    fn how_far_two_clocks_that_look_like_one_are_apart_is_in_the_bound() {
        let [same, other] = moved_by_clocks_apart(800);
        assert!(same.is_some_and(|moved| moved < 800), "{same:?}");
        assert!(other.is_some_and(|moved| moved >= 800), "{other:?}");
    }

    /// The largest possible movement of the clock of sim0, and of sim1's clock that is this much
    /// ahead, while the correlator follows sim0.
    fn moved_by_clocks_apart(nanoseconds: u32) -> [Option<i64>; 2] {
        let text = format!(
            "preset = \"ideal\"\n[[event]]\nat = \"1us\"\naction = \"step_hardware\"\nnic = \"sim1\"\nticks = {nanoseconds}\n"
        );
        let simulation = Simulation::from_toml(&text, 7).expect("a scenario");
        let [near, far] = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
        let clock = |read: &wirestamp::Interface| {
            let correlator = near.correlator(CorrelatorOptions::default());
            let host = HostClock::hardware(Arc::new(correlator.expect("it has a clock")));
            let reader = Box::new(read.hardware_clock().expect("it has a clock"));
            NicClock {
                relation: Relation::Correlated(host, reader),
                frequency: Frequency::GIGAHERTZ,
                generation: 0,
                guards: Vec::new(),
                request: HardwareRequest::Ptp,
            }
        };
        [&near, &far].map(|read| {
            let clock = clock(read);
            simulation.world().advance(Span::from_seconds(5));
            let reading = read.hardware_clock().expect("there").cross_timestamp();
            let reading = reading.expect("read");
            let then = Anchor {
                at: clock.nanoseconds(reading.hardware().raw()),
                unsure: 0,
                on_monotonic: Bounded::exact(reading.monotonic_before()),
            };
            simulation.world().advance(Span::from_seconds(2));
            clock.moved_since(&then)
        })
    }

    /// In a second, a slew of Windows' clock explains as much; Linux slews both clocks alike.
    #[test]
    fn a_step_of_the_real_time_clock_is_what_the_host_cannot_slew_it_by() {
        let monotonic = MonotonicTime::from_nanoseconds;
        let then = |unsure| Anchor {
            at: 5_000,
            unsure,
            on_monotonic: Bounded::new(monotonic(0), Span::from_nanoseconds(40)),
        };
        let moved = |by: i64, unsure, clock| {
            let now = UtcCrossTimestamp {
                before: monotonic(1_000_000_000),
                utc: UtcTime::from_nanoseconds(1_000_005_050 + by),
                after: monotonic(1_000_000_098),
            };
            real_time_clock_moved(&then(unsure), &now, clock)
        };
        for by in [0, 60, -60] {
            assert_eq!(moved(by, 0, RealTimeClock::LINUX), Some(by.abs() + 90));
        }
        let stepped = 500_000;
        assert_eq!(moved(stepped, 0, RealTimeClock::LINUX), None);
        assert_eq!(moved(stepped, 0, RealTimeClock::ANY), Some(stepped + 90));
        let unsure = 3 * stepped;
        assert_eq!(moved(4 * stepped, 0, RealTimeClock::ANY), None);
        let possible = 4 * stepped + unsure + 90;
        assert_eq!(
            moved(4 * stepped, unsure, RealTimeClock::ANY),
            Some(possible)
        );
    }

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
