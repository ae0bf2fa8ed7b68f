//! Error bounds computed by hand from the formulas of `docs/error-bound.md`, for clocks of equal
//! frequency: each term is included exactly as often as it should be.

use super::super::fit::{Fit, STATED};
use super::super::interval::Interval;
use super::super::limits::Limits;
use super::super::reading::Reading;
use super::*;

/// W: 3·10⁻⁸ per second of either clock, here per nanosecond.
pub(super) const WANDER: f64 = 3e-17 * 1.0031;
/// Half a tick of 8 ns, plus the rounding to nanoseconds.
pub(super) const CONVERTED: f64 = 4.0 + 0.51;

/// A cross timestamp at `time` in both clocks, with an error of at most `half`.
pub(super) fn reading(time: f64, half: f64) -> Reading {
    Reading {
        ticks: HardwareTicks::new(time as u64),
        middle: at(time as i64),
        bracket: Interval::around_zero(half),
        centre: 0.0,
        told: true,
        step: 1.0,
    }
}

/// Cross timestamps at these times with these brackets, of a counter of 8 ns.
pub(super) fn fit(readings: &[(f64, f64)]) -> Fit {
    let limits = Limits::of(&Assumptions::USUAL);
    let (time, half) = readings[0];
    let mut fit = Fit::new(1.0, STATED, &reading(time, half), 8, limits);
    for (time, half) in &readings[1..] {
        fit.add(&reading(*time, *half)).expect("no contradiction");
    }
    fit
}

/// A bracket around the middle of a tick is half a tick wider, at the limit of a stated frequency.
pub(super) fn told(half: f64) -> f64 {
    half + 4.0 * 1.001
}

#[track_caller]
pub(super) fn bound(fit: &Fit, time: f64, expected: f64) {
    let found = fit.convert(HardwareTicks::new(time as u64)).expect("known");
    assert_eq!(found.at, at(time as i64), "clocks that run alike");
    let off = found.bound as f64 - expected;
    assert!((-0.01..1.01).contains(&off), "{} {expected}", found.bound);
}

#[test]
fn after_one_reading_the_stated_frequency_is_off_by_a_thousandth() {
    let fit = fit(&[(1e9, 500.0)]);
    let start = told(500.0) + 4.0 * 1.001 + 0.51;
    for distance in [0.0f64, 1e6, 1e9, 1e10] {
        let wandered = WANDER * distance * distance / 2.0;
        bound(&fit, 1e9 + distance, start + 1e-3 * distance + wandered);
    }
}

/// Two cross timestamps 10 s apart: the frequency's error is the spread that they leave, plus the
/// change since.
#[test]
fn after_two_readings_their_distance_limits_the_frequency() {
    let fit = fit(&[(1e9, 500.0), (11e9, 1_000.0)]);
    let rate = (told(500.0) + told(1_000.0)) / 10e9 + WANDER * 10e9 / 2.0;
    for distance in [0.0, 2e9, 10e9] {
        let beyond = rate * distance + WANDER * distance * distance / 2.0;
        bound(&fit, 11e9 + distance, told(1_000.0) + CONVERTED + beyond);
        // the frequency at the first cross timestamp is known as well as at the last
        if distance > 0.0 {
            bound(
                &fit,
                1e9 - distance / 10.0,
                told(500.0) + CONVERTED + beyond_first(rate, distance / 10.0),
            );
        }
    }
    // between them the line leaves the chord by W·d²/8
    for part in [0.25, 0.5, 0.75] {
        let ends = told(500.0) * (1.0 - part) + told(1_000.0) * part;
        bound(
            &fit,
            1e9 + part * 10e9,
            ends + WANDER * 1e20 / 8.0 + CONVERTED,
        );
    }
}

fn beyond_first(rate: f64, distance: f64) -> f64 {
    rate * distance + WANDER * distance * distance / 2.0
}

/// The bound of a time in ticks: the bound of the ticks at the slowest counter, plus a tick of
/// rounding in each direction.
#[test]
fn a_time_is_converted_to_ticks_as_ticks_are_to_a_time() {
    let fit = fit(&[(1e9, 500.0), (11e9, 1_000.0)]);
    for time in [1e9, 6e9, 11e9, 15e9, 30e9] {
        let there = fit.convert(HardwareTicks::new(time as u64)).expect("known");
        let (ticks, bound) = fit.invert(at(time as i64)).expect("known");
        assert_eq!(ticks, HardwareTicks::new(time as u64));
        let expected = there.bound as f64 / (1.0 - 2e-3) + 2.0;
        assert!(
            (bound as f64 - expected).abs() <= 0.51,
            "{bound} {expected}"
        );
    }
}

/// One change at an unknown time between two cross timestamps: no farther from the chord than the
/// extrapolation of the cross timestamps before or after it misses the other end.
#[test]
fn where_the_frequency_may_have_changed_the_neighbours_limit_it() {
    let mut fit = fit(&[(1e9, 500.0), (11e9, 500.0), (31e9, 500.0)]);
    fit.close(true);
    let half = told(500.0);
    let change = |width: f64, other: f64| {
        let carried = width / other;
        let unsure = 2.0 * half + 2.0 * half * carried;
        unsure + WANDER * width * (width + other) / 2.0 + WANDER * width * width / 8.0
    };
    bound(&fit, 6e9, half + change(10e9, 20e9) + CONVERTED);
    bound(&fit, 21e9, half + change(20e9, 10e9) + CONVERTED);
}

/// Only two cross timestamps: any change that an adjustment can make, for half the distance.
#[test]
fn where_nothing_limits_a_change_it_is_the_largest_there_is() {
    let mut fit = fit(&[(1e9, 500.0), (11e9, 500.0)]);
    fit.close(true);
    let change = 1e-3 * 10e9 / 2.0 + WANDER * 1e20 / 8.0;
    // rounded up to a shorter float
    let found = fit
        .convert(HardwareTicks::new(6_000_000_000))
        .expect("known");
    let expected = told(500.0) + change + CONVERTED;
    let off = found.bound as f64 - expected;
    assert!((0.0..10.0).contains(&off), "{} {expected}", found.bound);
}

/// For a chord over a cross timestamp that is no longer remembered, only the bend there counts.
#[test]
fn a_forgotten_reading_on_the_line_widens_nothing() {
    let readings: std::vec::Vec<_> = (0..14)
        .map(|n| (1e9 + 10e9 * f64::from(n), 500.0))
        .collect();
    let fit = fit(&readings);
    for n in 0..13 {
        for part in [0.25, 0.5] {
            let time = 1e9 + 10e9 * (f64::from(n) + part);
            bound(&fit, time, told(500.0) + WANDER * 1e20 / 8.0 + CONVERTED);
        }
    }
}

/// After one cross timestamp a counter of 1 GHz runs at 0.999 to 1.001 GHz.
#[test]
fn the_frequency_is_told_with_its_larger_side() {
    let counter = Counter::STEADY;
    let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
    _ = correlation.push(&counter.read(SECOND, 600, 600));
    let rate = correlation.frequency().expect("stated");
    assert!((rate.hertz - 1e9).abs() < 1e-3);
    let expected = (1.0 / 0.999 - 1.0) * 1e9;
    let off = rate.error_bound_parts_per_billion - expected;
    assert!((0.0..0.01).contains(&off), "{rate:?}");
}

/// To the picosecond, only 10 ps are added for rounding.
#[test]
fn a_fine_bound_is_the_same_without_the_rounding() {
    let fit = fit(&[(1e9, 500.0), (11e9, 1_000.0)]);
    for (time, expected, least) in [
        (11e9, told(1_000.0) + 4.0, -0.001),
        (
            6e9,
            (told(500.0) + told(1_000.0)) / 2.0 + WANDER * 1e20 / 8.0 + 4.0,
            0.0,
        ),
    ] {
        let fine = fit
            .convert_fine(HardwareTicks::new(time as u64))
            .expect("known");
        assert_eq!((fine.at, fine.picoseconds), (at(time as i64), 0));
        let off = fine.bound_picoseconds as f64 / 1e3 - expected - 0.01;
        // rounded up to the next picosecond; the newest line is drawn to one
        assert!(off > least && off < 0.003, "{fine:?} {expected}");
    }
}

/// A counter of 100 MHz that runs 100 ppm slow, 1 µs ahead in the middle of each bracket: each time
/// is on the line, and no bound is wider than for clocks of equal frequency.
#[test]
fn an_offset_and_a_frequency_widen_nothing() {
    on_a_line(1_000.0);
    on_a_line(-1_000.0);
}

/// The same line for any middle of the second bracket.
fn on_a_line(off: f64) {
    let reading = |ticks: u64, line: i64, centre: f64| Reading {
        ticks: HardwareTicks::new(ticks),
        middle: at(line - centre as i64),
        bracket: Interval::new(centre - 500.0, centre + 500.0),
        centre,
        told: true,
        step: 1.0,
    };
    let limits = Limits::of(&Assumptions::USUAL);
    let first = reading(100_000_000, 1_000_001_000, 1_000.0);
    let mut fit = Fit::new(10.0, STATED, &first, 1, limits);
    let second = reading(1_100_000_000, 11_001_001_000, off);
    fit.add(&second).expect("within the stated frequency");
    let told = 500.0 + 5.0 * 1.001;
    let rate = 2.0 * told / 10e9 + WANDER * 10e9 / 2.0;
    let before = rate * 1e9 + WANDER * 1e18 / 2.0;
    let between = WANDER * 1e20 / 8.0;
    for (ticks, time, more) in [
        (0, -99_000, before),
        (350_000_000, 3_500_251_000, between),
        (600_000_000, 6_000_501_000, between),
    ] {
        let found = fit.convert(HardwareTicks::new(ticks)).expect("known");
        assert!(
            (found.at - at(time)).abs() <= Span::from_nanoseconds(1),
            "{found:?} {time}"
        );
        let off = found.bound as f64 - (told + more + 5.0 + 0.51);
        assert!((-0.1..1.1).contains(&off), "{found:?} {off}");
        // and back, at ten nanoseconds per tick
        let inverse = fit.invert(at(time)).expect("known");
        let apart = inverse.0.since(HardwareTicks::new(ticks));
        assert!(apart.abs() <= 1, "{inverse:?} {ticks}");
        let expected = found.bound as f64 / (1.0 - 2e-3) / 10.0 + 2.0;
        let off = inverse.1 as f64 - expected;
        assert!((-0.6..1.6).contains(&off), "{inverse:?} {expected}");
    }
}

/// A counter of 3 GHz: two thirds of a nanosecond after the cross timestamp.
#[test]
fn picoseconds_are_rounded_to_the_nearest() {
    let limits = Limits::of(&Assumptions::USUAL);
    let fit = Fit::new(1.0 / 3.0, STATED, &reading(1e9, 500.0), 1, limits);
    for (ticks, picoseconds) in [(0, 0), (1, 333), (2, 667), (3, 0), (5, 667)] {
        let ticks = HardwareTicks::new(1_000_000_000 + ticks);
        let fine = fit.convert_fine(ticks).expect("known");
        assert_eq!(fine.picoseconds, picoseconds, "{fine:?}");
    }
}

/// A wander of 3·10⁻⁸/s adds up to one second in three hours.
#[test]
fn what_is_known_no_better_than_to_a_second_is_not_known() {
    let fit = fit(&[(1e15, 500.0), (1.00001e15, 500.0)]);
    for (seconds, known) in [(1.0, true), (6_000.0, true), (9_000.0, false)] {
        let ticks = HardwareTicks::new((1e15 - seconds * 1e9) as u64);
        assert_eq!(fit.convert(ticks).is_some(), known, "{seconds}");
        assert_eq!(fit.convert_fine(ticks).is_some(), known, "{seconds}");
    }
}
