//! Fits of cross timestamps that contradict each other, and of others that agree, computed by hand.

use super::super::fit::{Fit, SLEW};
use super::super::interval::Interval;
use super::super::learning::Learning;
use super::super::reading::Reading;
use super::by_hand::{WANDER, fit, reading};
use super::*;

fn learning(fit: &Fit) -> &Learning {
    fit.learning.as_ref().expect("open")
}

/// Ten batches, one a second, each 1008 ns wide: twice 500, and a tick of 8 ns. The system clock counts by `step`.
fn quiet(step: f64) -> Fit {
    let reading = |time: f64| Reading {
        step,
        ..reading(time, 500.0)
    };
    let mut fit = fit(&[(1e9, 500.0)]);
    for second in 2..=10 {
        fit.add(&reading(f64::from(second) * 1e9)).expect("quiet");
    }
    fit
}

/// Adds a batch `after` nanoseconds later. Its own interval and the extrapolated one before it have
/// an intersection `width` wide.
fn leave(fit: &mut Fit, after: f64, width: f64, step: f64) {
    let newest = *fit.knots.newest();
    let predicted = newest.allowed.high + fit.rate.high * after + WANDER * after * after / 2.0;
    let own = Reading {
        step,
        ..reading(10e9 + after, 500.0)
    };
    let low = predicted - width;
    let moved = low + 504.0;
    let shifted = Reading {
        bracket: Interval::new(moved - 500.0, moved + 500.0),
        centre: moved,
        ..own
    };
    fit.add(&shifted).expect("within the prediction");
    let found = fit.knots.newest().allowed.width();
    let kept = if fit.knots.changed { 1_008.0 } else { width };
    assert!((found - kept).abs() < 1.0, "{found} {kept}");
}

/// Less than the narrowest bracket by 5 % of it and by the ticks of both clocks, 8 and 100 ns: 1008 − 50 − 108 = 850.
#[test]
fn an_interval_narrower_than_brackets_can_be_shows_a_change() {
    for (width, changed) in [(870.0, false), (830.0, true)] {
        let mut fit = quiet(100.0);
        leave(&mut fit, 1e9, width, 100.0);
        assert_eq!(fit.knots.changed, changed, "{width}");
    }
}

/// 700 ns are missing 2 ms after the previous batch: twice that over the time is 700 ppm.
#[test]
fn the_change_that_a_narrow_interval_shows_is_twice_what_it_lacks() {
    let mut fit = quiet(1.0);
    let before = fit.rate;
    leave(&mut fit, 2e6, 308.0, 1.0);
    assert!(fit.knots.changed);
    let carried = learning(&fit).carried;
    for (carried, before) in [(carried.high, before.high), (-carried.low, -before.low)] {
        let more = carried - before;
        assert!((more - 700e-6).abs() < 2e-6, "{more}");
    }
}

/// The remembered first cross timestamp is moved by 60 µs: the frequency from it to the newest is
/// 2.9 ppm, and from the middle one at most 0.7 ppm.
#[test]
fn remembered_instants_that_contradict_each_other_show_a_change() {
    let mut fit = fit(&[(1e9, 500.0), (11e9, 500.0)]);
    let rate = fit.rate.high;
    fit.knots.all_mut()[0].allowed = Interval::new(-60_500.0, -59_500.0);
    fit.add(&reading(21e9, 500.0)).expect("as predicted");
    assert!(fit.knots.changed);
    let carried = learning(&fit).carried.high;
    let expected = rate + WANDER * 10e9 + SLEW;
    assert!((carried - expected).abs() < 1e-8, "{carried} {expected}");
    assert!(fit.wander > 1.9 * WANDER, "it may be a poor oscillator");
    // and only pairs of later instants determine the frequency
    fit.add(&reading(31e9, 500.0)).expect("as predicted");
    assert!((fit.rate.high - fit.rate.low) < 1e-6, "{:?}", fit.rate);
}

/// The middles are used as soon as one bracket of a batch is estimated.
#[test]
fn the_brackets_of_a_batch_are_known_if_all_are() {
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let start = Reading {
            told: first,
            ..reading(1e9, 500.0)
        };
        let next = Reading {
            told: second,
            ..reading(1e9 + 1_000.0, 500.0)
        };
        let mut fit = fit(&[(5e8, 500.0)]);
        fit.add(&start).expect("fits");
        fit.add(&next).expect("fits");
        assert_eq!(learning(&fit).known, first && second);
    }
}

/// Fifty parts per million fast: after some cross timestamps the next one is as predicted.
#[test]
fn the_best_guess_goes_on_at_the_frequency_that_was_learnt() {
    let ahead = |second: i64| Reading {
        middle: at(second * (SECOND + 50_000)),
        ..reading(second as f64 * 1e9, 500.0)
    };
    let mut fit = fit(&[(0.0, 500.0)]);
    for second in 1..=10 {
        fit.add(&ahead(second)).expect("even");
        let surprise = learning(&fit).bank.surprise(0.0);
        assert!(second < 3 || surprise.abs() < 20.0, "{second}: {surprise}");
        assert!(second < 3 || (fit.best_rate - 50e-6).abs() < 1e-8);
    }
}

/// A step after which the frequency may be 8 % off, but probably is not: the first cross timestamp
/// was delayed before the read, and the second, 100 µs later, after it. Together they are as good
/// as an undelayed one.
#[test]
fn after_a_step_the_best_guess_is_as_good_as_at_the_likely_frequency() {
    let limits = super::super::limits::Limits::of(&Assumptions::USUAL);
    let of = |time: f64, low: f64, high: f64| Reading {
        bracket: Interval::new(low, high),
        centre: low.midpoint(high),
        ..reading(time, 0.0)
    };
    let possible = Interval::around_zero(0.08);
    let first = of(1e9, -500.0, 4_500.0);
    let mut fit = Fit::new(1.0, possible, &first, 8, limits);
    fit.add(&of(1e9 + 1e5, -4_500.0, 500.0)).expect("fits");
    let centre = fit.knots.newest().centre();
    assert!(centre.abs() < 1.0, "{centre}");
    // the bound allows for all of it: the second one does not limit it 8 µs away
    let allowed = fit.knots.newest().allowed;
    assert!(
        allowed.low < -500.0 && allowed.high > 4_500.0,
        "{allowed:?}"
    );
    let likely = learning(&fit).likely;
    assert!(
        (likely.width() - 1_000.0 - 8.0 * 1.08).abs() < 0.1,
        "{likely:?}"
    );
    // a third one that contradicts them at that frequency is used with the full range of
    // frequencies
    fit.add(&of(1e9 + 2e5, 3_000.0, 4_000.0))
        .expect("at another frequency");
    let (likely, told) = (learning(&fit).likely, learning(&fit).told);
    assert_eq!(likely, told);
}
