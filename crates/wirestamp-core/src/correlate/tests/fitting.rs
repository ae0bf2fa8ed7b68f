//! Fits of cross timestamps, computed by hand from the formulas of `docs/error-bound.md`:
//! intervals, frequencies and the best estimate.

use super::super::fit::{Fit, STATED};
use super::super::interval::Interval;
use super::super::limits::Limits;
use super::super::reading::Reading;
use super::by_hand::{CONVERTED, WANDER, bound, fit, reading, told};
use super::*;

fn limits() -> Limits {
    Limits::of(&Assumptions::USUAL)
}

#[track_caller]
fn near(found: Interval, low: f64, high: f64) {
    let off = (found.low - low).abs().max((found.high - high).abs());
    assert!(off < 0.1, "{found:?} {low} {high}");
}

/// The end of a cross timestamp of unknown width follows from the next one, extrapolated back at
/// the slowest frequency.
#[test]
fn the_next_reading_tells_how_late_one_was_at_most() {
    let wide = Reading {
        told: false,
        ..reading(1e9, 1e6)
    };
    let mut fit = Fit::new(1.0, STATED, &wide, 8, limits());
    // a millisecond later the system clock had gained 300 ns
    let narrow = |fit: &mut Fit, until: f64| {
        fit.narrow(HardwareTicks::new(1_001_000_000), at(1_001_000_300), until)
            .expect("no contradiction");
    };
    narrow(&mut fit, 5_000.0);
    let carried = 4.004 + 300.0 + 1e-3 * 1e6;
    near(fit.knots.newest().allowed, -told(1e6), 5_000.0 + carried);
    for says_nothing in [6_000.0, -2e6] {
        narrow(&mut fit, says_nothing);
        near(fit.knots.newest().allowed, -told(1e6), 5_000.0 + carried);
    }
    let batch = |fit: &Fit| fit.learning.as_ref().expect("open").told;
    near(batch(&fit), -told(1e6), 5_000.0 + carried);
    fit.learning.as_mut().expect("open").told = Interval::new(3_000.0, 3_100.0);
    narrow(&mut fit, 4_000.0);
    near(fit.knots.newest().allowed, -told(1e6), 4_000.0 + carried);
    near(batch(&fit), 3_000.0, 3_100.0);
    // a contradiction to the batch is left for the next cross timestamp
    narrow(&mut fit, 1_500.0);
    near(fit.knots.newest().allowed, -told(1e6), 4_000.0 + carried);
}

/// For a batch of unknown widths the mean of the middles is used, extrapolated back at the best
/// frequency.
#[test]
fn the_middles_of_a_batch_are_carried_back_to_its_first() {
    let untold = |ticks: u64, time: i64, centre: f64| Reading {
        ticks: HardwareTicks::new(ticks),
        middle: at(time),
        bracket: Interval::around_zero(1e5),
        centre,
        told: false,
        step: 1.0,
    };
    let rates = Interval::new(0.5e-3, 1.5e-3);
    let first = untold(1_000_000_000, 1_000_000_000, 20.0);
    let mut fit = Fit::new(1.0, rates, &first, 8, limits());
    let second = untold(1_000_900_000, 1_000_900_800, 50.0);
    fit.add(&second).expect("no contradiction");
    let learning = fit.learning.as_ref().expect("open");
    // 20, and 50 + 800 of 900 ns
    assert!((learning.middles + 30.0).abs() < 1e-3, "{learning:?}");
    assert!((learning.readings - 2.0).abs() < 1e-9);
    // the mean, within the limits of the first one
    assert!((fit.knots.newest().centre() + 15.0).abs() < 1.0);
}

/// The third cross timestamp shows the width of the second one, and the system clock gained 200 ns
/// before it.
#[test]
fn a_reading_narrows_the_one_before_it() {
    let mut fit = fit(&[(1e9, 500.0)]);
    let second = Reading {
        bracket: Interval::new(-2e4, 1e5),
        ..reading(11e9, 0.0)
    };
    fit.add(&second).expect("no contradiction");
    near(fit.knots.newest().allowed, -told(2e4), told(1e5));
    let third = Reading {
        middle: at(21_000_000_200),
        ..reading(21e9, 700.0)
    };
    fit.add(&third).expect("no contradiction");
    let half = told(500.0);
    let (slowest, fastest) = ((500.0 + 8.0 + 500.0) / 20e9, (900.0 + 8.0 + 500.0) / 20e9);
    let changed = WANDER * 20e9 / 2.0;
    let wandered = WANDER * 1e20 / 2.0;
    near(
        fit.knots.all()[1].allowed,
        -half - (fastest + changed) * 10e9 - wandered,
        half + 400.0 + (slowest + changed) * 10e9 + wandered,
    );
}

/// Before the first cross timestamp the frequency is known as well as at the last one, apart from
/// its change since.
#[test]
fn later_readings_tell_the_rate_before_a_wide_one() {
    let mut fit = fit(&[(21e9, 1e6), (31e9, 500.0), (41e9, 500.0)]);
    let newest = 2.0 * told(500.0) / 10e9 + WANDER * 10e9 / 2.0;
    let rate = newest + WANDER * 20e9;
    let before = told(1e6) + CONVERTED + WANDER * 1e20 / 2.0;
    bound(&fit, 11e9, before + rate * 10e9);
    // unless there was a change between
    fit.close(true);
    let found = fit.convert(HardwareTicks::new(11_000_000_000));
    let off = found.expect("known").bound as f64 - (before + (rate + 1e-3) * 10e9);
    assert!((0.0..2.0).contains(&off), "{off}");
}

/// A timestamp months away from the cross timestamps, of clocks configured without wander: a float
/// holds its distance only to a nanosecond or two.
#[test]
fn a_distance_too_large_for_a_float_widens_the_bound() {
    let steady = Limits::of(&Assumptions {
        wander_per_second: 0.0,
        ..Assumptions::USUAL
    });
    let mut fit = Fit::new(1.0, STATED, &reading(2e16, 5.0), 8, steady);
    fit.add(&reading(2e16 + 80e9, 5.0))
        .expect("no contradiction");
    let rate = 2.0 * told(5.0) / 80e9;
    let rounding = 1e16 * 4.0 * f64::EPSILON;
    assert!(rounding > 8.0);
    let found = fit.convert(HardwareTicks::new(10_000_000_000_000_000));
    let off = found.expect("known").bound as f64 - (told(5.0) + CONVERTED + rate * 1e16 + rounding);
    assert!(off.abs() < 3.0, "{off}");
}

/// Before the first cross timestamp an offset is negative: it is rounded down to the nanosecond,
/// and the rest is in picoseconds.
#[test]
fn a_fine_time_before_the_first_reading_is_that_of_the_line() {
    let first = Reading {
        ticks: HardwareTicks::new(1_000_000_000),
        ..reading(1e9, 5.0)
    };
    let mut fit = Fit::new(1.0, STATED, &first, 8, limits());
    let second = Reading {
        middle: at(11_000_002_500),
        ..reading(11e9, 5.0)
    };
    fit.add(&second).expect("within the stated frequency");
    // 0.25 ns more per millisecond
    for (before, picoseconds) in [
        (1_000_000, 1_000_000_250i64),
        (2_000_000, 2_000_000_500),
        (3_000_000, 3_000_000_750),
        (4_000_000, 4_000_001_000),
    ] {
        let ticks = HardwareTicks::new(1_000_000_000 - before);
        let fine = fit.convert_fine(ticks).expect("known");
        let expected = 1_000_000_000_000 - i128::from(picoseconds);
        let off = fine.total_picoseconds() - expected;
        assert!(off.abs() <= 60, "{fine:?} {expected}");
        assert!(fine.picoseconds < 1_000);
    }
}

/// Two wide cross timestamps whose middles suggest that time ran backwards: at least half the
/// frequency is assumed.
#[test]
fn time_goes_on_from_one_instant_to_the_next() {
    let wide = |ticks: u64, centre: f64| Reading {
        ticks: HardwareTicks::new(ticks),
        middle: at(ticks as i64),
        bracket: Interval::new(centre - 1e7, centre + 1e7),
        centre,
        told: true,
        step: 1.0,
    };
    let mut fit = Fit::new(1.0, STATED, &wide(1_000_000_000, 5e6), 8, limits());
    fit.add(&wide(1_002_000_000, -5e6))
        .expect("no contradiction");
    let [first, second] = [1_000_000_000, 1_002_000_000]
        .map(|ticks| fit.convert(HardwareTicks::new(ticks)).expect("known").at);
    assert!((first - at(1_005_000_000)).abs() < Span::from_microseconds(1));
    let gone = (second - first - Span::from_milliseconds(1)).abs();
    assert!(gone <= Span::from_nanoseconds(2), "{first:?} {second:?}");
}
