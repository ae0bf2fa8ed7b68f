//! Bends of chords, computed by hand from Theorems 4, 5 and 6 of `docs/error-bound.md`.

use super::super::limits::Limits;
use super::super::reading::Reading;
use super::*;
use crate::correlate::Assumptions;
use crate::time::{HardwareTicks, MonotonicTime, Span};

/// Nanoseconds per tick.
const SCALE: f64 = 2.0;
/// Per nanosecond; large enough that each of its terms matters.
const WANDER: f64 = 1e-5;

/// `ticks` and `time` of an instant, the interval allowed around it, the best estimate in the
/// interval, and the bend after it.
fn knot(ticks: u64, time: i64, allowed: (f64, f64), centre: f32, bend: f32) -> Knot {
    Knot {
        ticks: HardwareTicks::new(ticks),
        at: MonotonicTime::from_nanoseconds(time),
        allowed: Interval::new(allowed.0, allowed.1),
        centre,
        bend,
    }
}

/// Half widths 6, 7, 9 and 3; distances of 2000, 6000 and 2000 ns, over which the system clock
/// gains 31, 7 and 6 ns.
fn knots() -> [Knot; 4] {
    [
        knot(0, 0, (-3.0, 7.0), 1.0, 40.0),
        knot(1_000, 2_030, (-5.0, 5.0), 2.0, 25.0),
        knot(4_000, 8_040, (-8.0, 8.0), -1.0, 5.0),
        knot(5_000, 10_044, (-2.0, 3.0), 1.0, 0.0),
    ]
}

/// A fit that remembers these instants; each interval is from the instant's own batch.
fn remembering(knots: &[Knot]) -> Fit {
    let limits = Limits::of(&Assumptions {
        largest_tick: Span::from_nanoseconds(1),
        ..Assumptions::USUAL
    });
    let first = Reading {
        ticks: knots[0].ticks,
        middle: knots[0].at,
        bracket: knots[0].allowed,
        centre: 0.0,
        told: true,
        step: 1.0,
    };
    let mut fit = Fit::new(SCALE, STATED, &first, 1, limits);
    fit.wander = WANDER;
    *fit.knots.newest_mut() = knots[0];
    for knot in &knots[1..] {
        fit.knots.push(*knot);
    }
    let learning = fit.learning.as_mut().expect("open");
    for (bracket, knot) in learning.brackets.iter_mut().zip(knots) {
        *bracket = [knot.allowed.low as f32, knot.allowed.high as f32];
    }
    learning.told = knots.last().expect("one at least").allowed;
    fit
}

#[track_caller]
fn near(found: f64, expected: f64) {
    let off = found - expected;
    assert!(off.abs() <= 1e-5 * expected.abs(), "{found} {expected}");
}

#[track_caller]
fn bends(fit: &Fit, expected: &[f64]) {
    assert_eq!(fit.knots.all().len(), expected.len());
    for (knot, expected) in fit.knots.all().iter().zip(expected) {
        near(knot.bend.into(), *expected);
    }
}

#[test]
fn a_chord_is_left_by_an_eighth_of_the_wander_times_the_square_of_its_width() {
    near(bent(3e-17, 4e9), 60.0);
    let rounded = at_least(0.1);
    assert!(f64::from(rounded) >= 0.1 && f64::from(rounded) < 0.1 + 1e-6);
}

/// The instant in the middle of a longer chord is removed. Its own batch's interval (`told`)
/// counts; `raw` is the system clock's gain until it, without the centres.
#[track_caller]
fn forgets(raw: i64, told: (f64, f64), bend: f32, changed: bool, expected: f64) {
    let [first, mut second, third, last] = knots();
    (second.at, second.bend) = (MonotonicTime::from_nanoseconds(2_000 + raw), bend);
    let mut fit = remembering(&[first, second, third, last]);
    if changed {
        fit.knots.contradict();
    }
    let brackets = &mut fit.learning.as_mut().expect("open").brackets;
    brackets[1] = [told.0 as f32, told.1 as f32];
    let kept = [brackets[0], brackets[2], brackets[3]];
    fit.forget(1);
    bends(&fit, &[expected, 5.0, 0.0]);
    assert_eq!(fit.knots.all()[1].ticks, third.ticks);
    let brackets = fit.learning.expect("open").brackets;
    for (found, kept) in brackets.into_iter().zip(kept) {
        assert_eq!(Interval::of_rounded(found), Interval::of_rounded(kept));
    }
}

#[test]
fn of_a_forgotten_instant_its_distance_from_the_longer_chord_is_left() {
    // it gained 31 of 38 ns in the first quarter, 21.5 more than the chord; `told` reaches 22 or 28
    // ns from the centre; the half width there is 6.75
    forgets(30, (-20.0, 6.0), 25.0, true, 40.0 + 21.5 + 22.0 - 6.75);
    forgets(30, (-1.0, 30.0), 25.0, true, 40.0 + 21.5 + 28.0 - 6.75);
    forgets(30, (-20.0, 6.0), 60.0, true, 60.0 + 21.5 + 22.0 - 6.75);
    // it lost 29 ns in the first quarter
    forgets(-30, (-20.0, 6.0), 25.0, true, 40.0 + 38.5 + 22.0 - 6.75);
    // 0.5 ns from the chord, told to 1.5 ns: within the half widths
    forgets(8, (1.0, 3.5), 25.0, true, 40.0);
}

#[test]
fn without_a_change_a_longer_chord_has_no_more_than_its_own_bend() {
    // 10⁻⁵ · 8000² / 8
    forgets(30, (-20.0, 6.0), 25.0, false, 76.75);
    forgets(30, (-1.0, 30.0), 25.0, false, 80.0);
    forgets(30, (-1.0, 30.0), 25.0, true, 82.75);
}

/// Removes the instant at `place` of five instants, of which the last were remembered after the
/// change.
#[track_caller]
fn forgets_after_a_change(after: usize, place: usize, expected: &[f64]) {
    let [first, mut second, third, last] = knots();
    second.at = MonotonicTime::from_nanoseconds(2_030);
    let before = knot(1_000_u64.wrapping_neg(), -2_000, (-9.0, 9.0), 0.0, 5.0);
    let all = [before, first, second, third, last];
    let mut fit = remembering(&all[..all.len() - after]);
    fit.knots.contradict();
    all[all.len() - after..]
        .iter()
        .for_each(|knot| fit.knots.push(*knot));
    let brackets = &mut fit.learning.as_mut().expect("open").brackets;
    brackets[2] = [-1.0, 30.0];
    fit.forget(place);
    bends(&fit, expected);
}

/// The longer chord is after the change: its own bend is a limit again, regardless of the length of
/// the generation.
#[test]
fn a_chord_after_a_change_is_bent_by_wander_alone() {
    forgets_after_a_change(4, 2, &[5.0, 80.0, 5.0, 0.0]);
    forgets_after_a_change(3, 2, &[5.0, 82.75, 5.0, 0.0]);
}

#[test]
fn the_oldest_instant_is_forgotten_with_all_before_it() {
    let mut fit = remembering(&knots());
    fit.forget(0);
    bends(&fit, &[25.0, 5.0, 0.0]);
    assert!((fit.learning.expect("open").brackets[0][0] + 5.0).abs() < 1e-6);
}

/// Each distance extrapolated over the next one or the previous one: the miss, the scaled half
/// widths of all four ends, and the largest change of the frequency.
#[test]
fn a_single_change_goes_no_farther_than_the_neighbours_carried_on_miss() {
    let fit = remembering(&knots());
    let missed = |fit: &Fit, place| fit.missed_after(place).expect("it has neighbours");
    // 6000 ns with 7 ns, extrapolated back over 2000
    let first = (31.0 - 7.0 / 3.0) + (6.0 + 7.0) + (7.0 + 9.0) / 3.0 + 80.0;
    near(missed(&fit, 0), first);
    // 2000 ns with 6 ns, extrapolated back over 6000: less than the 31 ns of the 2000 before
    let second = (3.0 * 6.0 - 7.0) + (7.0 + 9.0) + 3.0 * (9.0 + 3.0) + 240.0;
    near(missed(&fit, 1), second);
    // 6000 ns with 7 ns, extrapolated over 2000
    let third = (6.0 - 7.0 / 3.0) + (9.0 + 3.0) + (7.0 + 9.0) / 3.0 + 80.0;
    near(missed(&fit, 2), third);
    let without_last = remembering(&knots()[..3]);
    let second = (3.0 * 31.0 - 7.0) + (7.0 + 9.0) + 3.0 * (6.0 + 7.0) + 240.0;
    near(missed(&without_last, 1), second);
    for (place, fit) in [(3, &fit), (0, &remembering(&knots()[..2]))] {
        assert_eq!(fit.missed_after(place), None);
    }
}

/// Two per mille of the distance, the gain, the half widths of its ends, and the wander.
#[test]
fn a_change_goes_no_farther_than_a_frequency_can_take_it() {
    let fit = remembering(&knots());
    let [first, second, third] = [
        4.0 + 31.0 + (6.0 + 7.0) + 5.0,
        12.0 + 7.0 + (7.0 + 9.0) + 45.0,
        4.0 + 6.0 + (9.0 + 3.0) + 5.0,
    ];
    for (place, farthest) in [first, second, third].into_iter().enumerate() {
        near(fit.change_after(place), farthest);
    }
    let newest = fit.change_after(3);
    assert!(newest.abs() < 1e-9, "nothing follows the newest");
    let mut without_last = remembering(&knots()[..3]);
    without_last.reopen();
    bends(&without_last, &[first, second, 5.0]);
    assert!(without_last.knots.changed);
    // nothing to extrapolate: any change is possible
    near(remembering(&knots()[..2]).change_after(0), 1.0 + 5.0);
    // neighbours that limit it more: 6000 ns with 70 ns, as the 2000 before had to a third
    let mut alike = knots();
    alike[1] = knot(1_000, 2_023, (-0.5, 0.5), 0.0, 25.0);
    alike[2] = knot(4_000, 8_093, (-0.5, 0.5), 0.0, 5.0);
    alike[0] = knot(0, 0, (-0.5, 0.5), 0.0, 40.0);
    let mut fit = remembering(&alike);
    fit.wander = 0.0;
    // 23 ns extrapolated over three times the distance miss by 1 ns
    near(fit.change_after(1), 1.0 + (0.5 + 0.5) + 3.0 * (0.5 + 0.5));
}

#[test]
fn a_stronger_wander_bends_every_chord() {
    let mut fit = remembering(&knots());
    fit.believe_in(WANDER / 2.0);
    bends(&fit, &[40.0, 25.0, 5.0, 0.0]);
    near(fit.wander, WANDER / 2.0);
    let mut fit = remembering(&knots());
    fit.believe_in(5.0 * WANDER);
    bends(&fit, &[40.0, 225.0, 25.0, 0.0]);
    let mut fit = remembering(&knots());
    fit.believe_in(10.0 * WANDER);
    bends(&fit, &[50.0, 450.0, 50.0, 0.0]);
    near(fit.wander, 10.0 * WANDER);
}

/// Limits that one batch puts on another no longer count; a batch's own limits do.
#[test]
fn after_a_change_each_batch_stands_for_itself() {
    let mut fit = remembering(&knots());
    let learning = fit.learning.as_mut().expect("open");
    learning.brackets[0] = [-30.0, -10.0];
    learning.brackets[1] = [-50.0, 60.0];
    learning.told = Interval::new(-4.0, 70.0);
    (learning.carried, fit.rate) = (Interval::new(-1e-5, 2e-5), Interval::new(0.0, 1e-6));
    for (implied, widened) in [(0.0, 505e-6), (7e-4, 7e-4), (0.5, 1e-3)] {
        let mut fit = fit.clone();
        fit.disbelieve(implied);
        near(fit.rate.low, -1e-5 - widened);
        near(fit.rate.high, 2e-5 + widened);
        let [first, second, _, newest] = fit.knots.all() else {
            panic!("none went");
        };
        assert_eq!(first.allowed, Interval::new(-30.0, -10.0));
        assert!((first.centre + 10.0).abs() < 1e-6, "as near as it can be");
        assert_eq!(second.allowed, Interval::new(-50.0, 60.0));
        assert!((second.centre - 2.0).abs() < 1e-6);
        assert!(newest.allowed.low <= -4.0 && newest.allowed.low > -4.1);
        assert!(newest.allowed.high >= 70.0 && newest.allowed.high < 70.1);
        let learning = fit.learning.as_ref().expect("open");
        assert_eq!(learning.agreed_since, newest.ticks);
    }
}

/// The bend of the distance that ends, and the own interval of the finished batch.
#[test]
fn the_newest_instant_is_remembered_with_what_its_batch_said() {
    let mut fit = remembering(&knots());
    fit.learning.as_mut().expect("open").told = Interval::new(-1.0, 64.0);
    fit.remember(4_000.0);
    bends(&fit, &[40.0, 25.0, 5.0, 20.0]);
    let told = Interval::of_rounded(fit.learning.expect("open").brackets[3]);
    near(told.low, -1.0);
    near(told.high, 64.0);
}
