//! A NIC's counter: its oscillator's error, steps, restarts and wrap, and their
//! whole history, because the truth is asked for afterwards. Reads no time: it is an argument.

use crate::chance::Chance;
use crate::scenario;
use std::num::Wrapping;
use wirestamp_core::time::{Frequency, HardwareTicks};

/// Fractional bits of a tick: the rate's error is below 10⁻¹⁴ for any frequency allowed.
const FRACTION: u32 = 56;
/// The counter with its fraction.
const PHASE: u128 = (1 << (64 + FRACTION)) - 1;
/// Frequency errors are kept in parts per 10¹⁵.
pub(crate) const PER_PPB: i64 = 1_000_000;
const WHOLE: i128 = 1_000_000_000_000_000;
/// The frequency changes this often.
const WANDER: i64 = 100_000_000;
/// sqrt(0.1): the share of a second's wander that falls to one change.
const SHARE: f64 = 0.316_227_766_016_837_9;
/// Seven hours of a wandering clock; older history is forgotten.
const HISTORY: usize = 1 << 18;

/// From `at` on the counter moves evenly.
#[derive(Debug, Clone, Copy)]
struct Segment {
    at: i64,
    /// The counter at `at`, fraction included.
    phase: u128,
    /// Ticks per nanosecond, in units of the fraction.
    rate: u128,
}

/// A free-running counter.
#[derive(Debug)]
pub(crate) struct Counter {
    segments: Vec<Segment>,
    chance: Chance,
    hertz: u64,
    step: u64,
    /// How often the shown value is renewed, in hertz; 0: at each tick.
    renewals: u64,
    /// Constant part of the frequency's error, and the part that wanders.
    error: i64,
    wandered: i64,
    wander: i64,
    swing: i64,
    swing_period: i64,
    /// A program's frequency adjustment.
    adjustment: i64,
    /// By how much the system clock, whose time is true time here, runs faster than by itself.
    system: i64,
    /// How far programs had moved the counter until `moved_at`, in nanoseconds / 10¹⁵.
    moved: i128,
    moved_at: i64,
    started: i64,
    next_change: i64,
}

impl Counter {
    pub(crate) fn new(clock: &scenario::Clock, now: i64, chance: Chance) -> Self {
        let mut counter = Self {
            segments: Vec::new(),
            chance,
            hertz: clock.hertz,
            step: u64::from(clock.step),
            renewals: clock.renewal_hertz,
            error: i64::from(clock.frequency_error_ppb) * PER_PPB,
            wandered: 0,
            wander: (clock.wander_ppb * SHARE * PER_PPB as f64) as i64,
            swing: (clock.swing_ppb * PER_PPB as f64) as i64,
            swing_period: clock.swing_period.nanoseconds(),
            adjustment: 0,
            system: 0,
            moved: 0,
            moved_at: now,
            started: now,
            next_change: i64::MAX,
        };
        if counter.wander > 0 || counter.swing > 0 {
            counter.next_change = now + WANDER;
        }
        counter.begin(now, u128::from(clock.start as u64) << FRACTION);
        counter
    }

    pub(crate) fn nominal(&self) -> Option<Frequency> {
        Frequency::from_hertz(self.hertz)
    }

    /// Returns the counter's value at `at`. `None` before its remembered history.
    pub(crate) fn read(&mut self, at: i64) -> Option<HardwareTicks> {
        self.extend(at);
        let after = self.segments.partition_point(|segment| segment.at <= at);
        let phase = self.segments.get(after.checked_sub(1)?)?.phase_at(at);
        let ticks = self.renewed(phase);
        Some(HardwareTicks::new(ticks - ticks % self.step))
    }

    /// The ticks at the last renewal of the shown value.
    fn renewed(&self, phase: u128) -> u64 {
        const COARSE: u32 = 24; // bits of the fraction that fit beside the renewals
        if self.renewals == 0 {
            return (phase >> FRACTION) as u64;
        }
        let (hertz, renewals) = (u128::from(self.hertz), u128::from(self.renewals));
        let count = (phase >> (FRACTION - COARSE)) * renewals / (hertz << COARSE);
        (count * hertz / renewals) as u64
    }

    /// The latest instant up to `now` at which the counter began to show `ticks`, to the
    /// nanosecond.
    pub(crate) fn when(&mut self, ticks: HardwareTicks, now: i64) -> Option<i64> {
        self.extend(now);
        let mut end = now;
        for segment in self.segments.iter().rev() {
            if let Some(at) = segment.when(ticks, end) {
                return Some(at);
            }
            end = end.min(segment.at - 1);
        }
        None
    }

    /// Somebody adds to the counter.
    pub(crate) fn step_by(&mut self, now: i64, ticks: i64) {
        let phase = Wrapping(self.phase(now)) + Wrapping((i128::from(ticks) as u128) << FRACTION);
        self.begin(now, phase.0);
        let nanoseconds = i128::from(ticks) * 1_000_000_000 / i128::from(self.hertz);
        self.moved += nanoseconds * WHOLE;
    }

    /// A program adjusts the frequency, by parts per 10¹⁵.
    pub(crate) fn adjust(&mut self, now: i64, adjustment: i64) {
        let phase = self.phase(now);
        self.moved += self.moved_since(now);
        self.moved_at = now;
        self.adjustment = adjustment;
        self.begin(now, phase);
    }

    /// The system clock is slewed: it runs faster than by itself by so many parts per 10¹⁵ from now on, so
    /// this counter runs slower against it.
    pub(crate) fn slew_system(&mut self, now: i64, by: i64) {
        let phase = self.phase(now);
        self.system = by;
        self.begin(now, phase);
    }

    /// Returns the frequency adjustment, in parts per 10¹⁵.
    pub(crate) fn adjustment(&self) -> i64 {
        self.adjustment
    }

    /// How far steps and adjustments have moved it from where it would be by itself, in nanoseconds.
    pub(crate) fn moved(&self, now: i64) -> i64 {
        i64::try_from((self.moved + self.moved_since(now)) / WHOLE).unwrap_or(i64::MAX)
    }

    fn moved_since(&self, now: i64) -> i128 {
        i128::from(now - self.moved_at) * i128::from(self.adjustment)
    }

    /// The counter starts anew.
    pub(crate) fn restart(&mut self, now: i64, from: u64) {
        self.extend(now);
        self.begin(now, u128::from(from) << FRACTION);
    }

    /// The oscillator's constant error changes.
    pub(crate) fn change_rate(&mut self, now: i64, ppb: i32) {
        let phase = self.phase(now);
        self.error = i64::from(ppb) * PER_PPB;
        self.begin(now, phase);
    }

    fn phase(&mut self, now: i64) -> u128 {
        self.extend(now);
        self.segments
            .last()
            .map_or(0, |segment| segment.phase_at(now))
    }

    fn begin(&mut self, at: i64, phase: u128) {
        if self.segments.len() >= HISTORY {
            self.segments.drain(..HISTORY / 2);
        }
        let rate = self.rate(at);
        self.segments.push(Segment {
            at,
            phase: phase & PHASE,
            rate,
        });
    }

    /// Lets the oscillator wander up to `at`, on a grid of its own: observing changes nothing.
    fn extend(&mut self, at: i64) {
        while self.next_change <= at {
            let change = self.next_change;
            let phase = self
                .segments
                .last()
                .map_or(0, |segment| segment.phase_at(change));
            if self.wander > 0 {
                self.wandered += self.chance.normal(self.wander);
            }
            self.begin(change, phase);
            self.next_change = change.saturating_add(WANDER);
        }
    }

    fn rate(&self, at: i64) -> u128 {
        let nominal = (i128::from(self.hertz) << FRACTION) / 1_000_000_000;
        let own =
            i128::from(self.error) + i128::from(self.wandered) + i128::from(self.swing_at(at));
        let error = own + i128::from(self.adjustment);
        // an oscillator that wandered off for years stops rather than run backwards
        let rate = (nominal + nominal * error / WHOLE).max(0);
        (rate * WHOLE / (WHOLE + i128::from(self.system))) as u128
    }

    /// A triangle between plus and minus `swing`, rising from 0 at the start.
    fn swing_at(&self, at: i64) -> i64 {
        if self.swing == 0 {
            return 0;
        }
        let period = i128::from(self.swing_period);
        let place = i128::from(at - self.started + self.swing_period / 4).rem_euclid(period);
        let rising = place.min(period - place); // 0..=period/2
        (i128::from(self.swing) * (4 * rising - period) / period) as i64
    }
}

impl Segment {
    fn phase_at(&self, at: i64) -> u128 {
        let moved = u128::from((at - self.at).unsigned_abs()) * self.rate;
        (self.phase + moved) & PHASE
    }

    /// When within `self.at..=end` the counter began to show `ticks`.
    fn when(&self, ticks: HardwareTicks, end: i64) -> Option<i64> {
        let wanted = u128::from(ticks.raw()) << FRACTION;
        let missing = (wanted.wrapping_sub(self.phase)) & PHASE;
        // shown already when the segment began
        if PHASE - missing < (1 << FRACTION) {
            return (self.at <= end).then_some(self.at);
        }
        let after = i64::try_from(missing.div_ceil(self.rate.max(1))).ok()?;
        self.at.checked_add(after).filter(|at| *at <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_000_000_000_000;

    fn counter(change: impl FnOnce(&mut scenario::Clock)) -> Counter {
        let mut clock = scenario::Clock {
            frequency_error_ppb: 0,
            wander_ppb: 0.0,
            start: 0,
            ..Default::default()
        };
        change(&mut clock);
        Counter::new(&clock, START, Chance::new(1, 0))
    }

    fn raw(counter: &mut Counter, at: i64) -> u64 {
        counter.read(START + at).expect("within history").raw()
    }

    #[test]
    fn counts_at_its_frequency_and_error() {
        let mut clock = counter(|clock| clock.hertz = 156_250_000);
        assert_eq!(raw(&mut clock, 1_000_000_000), 156_250_000);
        let mut fast = counter(|clock| clock.frequency_error_ppb = 1_000);
        assert_eq!(
            raw(&mut fast, 1_000_000_000),
            1_000_001_000 - 1,
            "rounded down"
        );
        assert_eq!(fast.read(START - 1), None);
    }

    #[test]
    fn moves_in_steps_and_wraps() {
        let mut coarse = counter(|clock| clock.step = 8);
        assert_eq!(
            (
                raw(&mut coarse, 7),
                raw(&mut coarse, 8),
                raw(&mut coarse, 17)
            ),
            (0, 8, 16)
        );
        let mut wrapping = counter(|clock| clock.start = -5);
        assert_eq!(
            (
                raw(&mut wrapping, 4),
                raw(&mut wrapping, 5),
                raw(&mut wrapping, 9)
            ),
            (u64::MAX, 0, 4)
        );
    }

    #[test]
    fn a_value_that_is_seldom_renewed_moves_unevenly() {
        let mut uneven = counter(|clock| clock.renewal_hertz = 156_250_000); // each 6.4 ns
        let shown: Vec<u64> = (0..33).map(|at| raw(&mut uneven, at)).collect();
        let mut values = shown.clone();
        values.dedup();
        assert_eq!(values, [0, 6, 12, 19, 25, 32]);
        assert!(
            shown
                .iter()
                .zip(0..)
                .all(|(shown, at)| (0..8).contains(&(at - shown))),
            "{shown:?}"
        );
    }

    #[test]
    fn beside_a_slewed_system_clock_it_runs_at_another_rate() {
        let mut clock = counter(|_| ());
        clock.slew_system(START + 1_000_000_000, 500_000 * PER_PPB);
        assert_eq!(raw(&mut clock, 2_000_000_000), 1_999_500_249);
        clock.slew_system(START + 2_000_000_000, 0);
        assert_eq!(raw(&mut clock, 3_000_000_000), 2_999_500_249);
        assert_eq!(clock.moved(START + 3_000_000_000), 0, "nobody moved it");
    }

    #[test]
    fn the_way_back_is_exact() {
        let mut clock = counter(|clock| {
            (clock.hertz, clock.frequency_error_ppb, clock.wander_ppb) = (24_000_000, -54_321, 5.0);
        });
        let now = START + 10_000_000_000;
        for at in (0..10_000_000_000).step_by(123_456_789) {
            let ticks = clock.read(START + at).expect("within history");
            let began = clock.when(ticks, now).expect("was shown");
            assert!(
                (0..42).contains(&(START + at - began)),
                "a tick lasts 42 ns: {}",
                START + at - began
            );
            assert_eq!(clock.read(began), Some(ticks));
            assert_ne!(clock.read(began - 1), Some(ticks));
        }
    }

    #[test]
    fn steps_restarts_and_rate_changes_take_effect_at_once() {
        let mut clock = counter(|_| ());
        clock.step_by(START + 1_000, -500);
        assert_eq!(
            (
                raw(&mut clock, 999),
                raw(&mut clock, 1_000),
                raw(&mut clock, 1_010)
            ),
            (999, 500, 510)
        );
        clock.restart(START + 2_000, 7);
        assert_eq!((raw(&mut clock, 2_000), raw(&mut clock, 1_999)), (7, 1_499));
        clock.change_rate(START + 3_000, 100_000_000);
        assert_eq!(raw(&mut clock, 4_001), 7 + 1_000 + 1_101);
        let shown_twice = HardwareTicks::new(600);
        assert_eq!(
            clock.when(shown_twice, START + 4_000),
            Some(START + 2_593),
            "the latest counts"
        );
        assert_eq!(clock.when(shown_twice, START + 1_999), Some(START + 1_100));
    }

    #[test]
    fn what_programs_did_is_told_apart_from_the_oscillator() {
        let clock = |change: fn(&mut Counter)| {
            let mut clock =
                counter(|clock| (clock.frequency_error_ppb, clock.wander_ppb) = (7_000, 3.0));
            change(&mut clock);
            clock
        };
        let mut free = clock(|_| ());
        let mut adjusted = clock(|clock| {
            clock.adjust(START + 1_000_000_000, 500_000 * PER_PPB);
            clock.step_by(START + 1_500_000_000, -300);
            clock.adjust(START + 3_000_000_000, -1_000 * PER_PPB);
        });
        assert_eq!(adjusted.adjustment(), -1_000 * PER_PPB);
        let (at, moved) = (5_000_000_000, 1_000_000 - 300 - 2_000);
        assert_eq!(adjusted.moved(START + at), moved);
        let apart = raw(&mut adjusted, at) as i64 - raw(&mut free, at) as i64;
        assert!(apart.abs_diff(moved) <= 1, "{apart}");
    }

    #[test]
    fn observing_does_not_disturb_the_wander() {
        let wandering = || counter(|clock| clock.wander_ppb = 10.0);
        let (mut watched, mut alone) = (wandering(), wandering());
        for at in (0..5_000_000_000).step_by(1_000_003) {
            raw(&mut watched, at);
        }
        assert_eq!(
            raw(&mut watched, 5_000_000_000),
            raw(&mut alone, 5_000_000_000)
        );
        assert_ne!(raw(&mut alone, 5_000_000_000), 5_000_000_000);
    }

    #[test]
    fn the_swing_returns_to_where_it_began() {
        let mut clock = counter(|clock| {
            (clock.swing_ppb, clock.swing_period) = (1_000.0, scenario::Positive::from_seconds(4));
        });
        let error = |clock: &mut Counter, at: i64| raw(clock, at) as i64 - at;
        let half = error(&mut clock, 2_000_000_000);
        assert!(
            (900..1_100).contains(&half),
            "half a period at +500 ppb on average: {half}"
        );
        let whole = error(&mut clock, 4_000_000_000);
        assert!((-60..60).contains(&whole), "{whole}");
    }
}
