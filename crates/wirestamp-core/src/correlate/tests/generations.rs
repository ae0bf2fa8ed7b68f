//! The frequency at the start of a new clock generation, and the generation's cause: at the limits,
//! by hand.

use super::*;

/// Clocks of equal frequency, with a cross timestamp each second until `seconds`.
pub(super) fn alike(seconds: i64) -> Correlation {
    let mut correlation =
        Correlation::new(interface(), Some(Frequency::GIGAHERTZ)).with_assumptions(&FINE);
    for second in 1..=seconds {
        _ = correlation.push(&reading(second * SECOND, second * SECOND));
    }
    correlation
}

/// The counter shows `ticks` at `time`, within 600 ns.
pub(super) fn reading(ticks: i64, time: i64) -> CrossTimestamp {
    let (from, to) = (at(time - 600), at(time + 600));
    let ticks = HardwareTicks::new(ticks as u64);
    CrossTimestamp::new(from, ticks, to, CrossMethod::Extended).expect("valid")
}

/// The largest error of the frequency in parts per million; the cross timestamps before left less
/// than one.
#[track_caller]
fn unsure(correlation: &Correlation, parts_per_million: f64) {
    let limit = parts_per_million / 1e6;
    let expected = limit / (1.0 - limit) * 1e6;
    let known = correlation.frequency().expect("known");
    let off = known.error_bound_parts_per_billion / 1e3 - expected;
    assert!((0.0..1.2).contains(&off), "{known:?} {expected}");
}

/// A cross timestamp one second after the last one; the hardware clock has advanced by `ticks` ns
/// and the system clock by `time` ns.
#[track_caller]
fn next(ticks: i64, time: i64, cause: GenerationCause) -> Correlation {
    let mut correlation = alike(20);
    let pushed = correlation.push(&reading(20 * SECOND + ticks, 20 * SECOND + time));
    assert_eq!(pushed, Pushed::Opened(cause));
    correlation
}

#[test]
fn a_jump_allows_for_four_times_the_frequency_it_looks_like() {
    use GenerationCause::Contradiction;
    // all but 2 µs of it per second, the uncertainty of brackets and frequency
    let looks = |jump: f64| 4.0 * (jump - 1.75);
    for jump in [150_000, 200_000, 240_000] {
        let correlation = next(SECOND, SECOND + jump, Contradiction);
        let found = correlation
            .frequency()
            .expect("known")
            .error_bound_parts_per_billion
            / 1e3;
        let expected = looks(jump as f64 / 1e3);
        assert!((found - expected).abs() < 2.5, "{found} {expected}");
    }
    // the minimum is an adjustment of 500 ppm, the maximum the error of a stated frequency
    unsure(&next(SECOND, SECOND + 100_000, Contradiction), 505.0);
    unsure(&next(SECOND, SECOND - 100_000, Contradiction), 505.0);
    unsure(&next(SECOND, SECOND + 300_000, Contradiction), 1_000.0);
    unsure(&next(SECOND, SECOND + 990_000, Contradiction), 1_000.0);
}

#[test]
fn a_larger_jump_is_a_fast_slew_of_the_system_clock_or_a_step() {
    use GenerationCause::{HardwareStep, SystemStep};
    unsure(
        &next(SECOND, SECOND + 10 * MILLISECOND, SystemStep),
        84_500.0,
    );
    unsure(
        &next(SECOND, SECOND + 80 * MILLISECOND, SystemStep),
        84_500.0,
    );
    unsure(&next(SECOND, SECOND + 90 * MILLISECOND, SystemStep), 505.0);
    unsure(
        &next(SECOND + 10 * MILLISECOND, SECOND, HardwareStep),
        505.0,
    );
}

#[test]
fn without_a_contradiction_any_adjustment_may_have_been_made() {
    for cause in [GenerationCause::Notification, GenerationCause::Gap] {
        let mut correlation = alike(20);
        correlation.restart(cause);
        _ = correlation.push(&reading(21 * SECOND, 21 * SECOND));
        unsure(&correlation, 1_010.0);
    }
    let mut correlation = alike(20);
    let pushed = correlation.push(&reading(10 * SECOND, 21 * SECOND));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::CounterBackwards));
    unsure(&correlation, 505.0);
}

/// The frequency from three cross timestamps may have been wrong.
#[test]
fn a_generation_of_four_readings_is_trusted() {
    for (readings, limit) in [(3, 1_000.0), (4, 505.0)] {
        let mut correlation = alike(readings);
        let time = (readings + 1) * SECOND;
        let pushed = correlation.push(&reading(time, time + 60_000));
        assert_eq!(pushed, Pushed::Opened(GenerationCause::Contradiction));
        let known = correlation.frequency().expect("known");
        let found = known.error_bound_parts_per_billion / 1e3;
        assert!((limit..limit + 2.5).contains(&found), "{found}");
    }
}

/// A counter of 10 MHz that has run faster or slower by this many parts per million for half a
/// second.
fn cause_of(change: f64) -> Option<GenerationCause> {
    let counter = Counter {
        hertz: 1e7,
        ..Counter::STEADY
    };
    let mut correlation =
        Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
    (1..=20).for_each(|second| _ = correlation.push(&counter.read(second * SECOND, 600, 600)));
    let since = 20 * SECOND + SECOND / 2;
    let other = Counter {
        since,
        start: counter.ticks(since).raw(),
        fast: change,
        ..counter
    };
    let pushed = correlation.push(&other.read(21 * SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::Contradiction));
    assert_eq!(correlation.cause(), Some(GenerationCause::Contradiction));
    (22..=30).for_each(|second| _ = correlation.push(&other.read(second * SECOND, 600, 600)));
    assert_eq!(correlation.generation(), Some(ClockGeneration(1)));
    correlation.cause()
}

/// In either direction: by more than 200 ppm.
#[test]
fn a_contradiction_becomes_a_change_of_the_frequency_when_the_next_readings_show_one() {
    for change in [-210.0, 210.0] {
        assert_eq!(cause_of(change), Some(GenerationCause::FrequencyChange));
    }
    for change in [-190.0, -20.0, 20.0, 190.0] {
        assert_eq!(cause_of(change), Some(GenerationCause::Contradiction));
    }
}

/// Until 90 s after the last cross timestamp, and not a nanosecond later; after the end of a
/// generation not at all.
#[test]
fn the_last_reading_counts_for_a_minute_and_a_half() {
    let mut correlation = alike(20);
    assert!(correlation.to_hardware(at(110 * SECOND)).is_ok());
    assert_eq!(
        correlation.to_hardware(at(110 * SECOND + 1)),
        Err(ConversionError::Stale)
    );
    correlation.restart(GenerationCause::Notification);
    assert!(correlation.to_hardware(at(20 * SECOND)).is_ok());
    assert_eq!(
        correlation.to_hardware(at(20 * SECOND + 1)),
        Err(ConversionError::OutsideGenerations)
    );
}

/// Cross timestamps every 10 s: half the sum of the brackets over 10 s, plus the change since the
/// middle.
#[test]
fn the_frequency_and_what_is_believed_of_it_are_in_the_units_they_say() {
    let counter = Counter {
        fast: 100.0,
        ..Counter::STEADY
    };
    let mut correlation =
        Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
    assert_eq!(correlation.frequency(), None);
    assert_eq!(correlation.prior(), None);
    _ = correlation.push(&counter.read(10 * SECOND, 600, 600));
    _ = correlation.push(&counter.read(20 * SECOND, 600, 600));
    let known = correlation.frequency().expect("known");
    assert!((known.hertz - 1.0001e9).abs() < 10.0, "{known:?}");
    // a tick of at most 100 ns
    let expected = (2.0 * 650.0 / 10e9 + 3.0093e-17 * 5e9) * 1e9;
    let found = known.error_bound_parts_per_billion;
    assert!((found - expected).abs() < 2.0, "{found} {expected}");
    let prior = correlation.prior().expect("known");
    for believed in [prior.seen_per_second, prior.unseen_per_second] {
        assert!((believed / 3e-8 - 1.0).abs() < 1e-9, "{prior:?}");
    }
    assert_eq!(prior.generation, ClockGeneration(0));
}

/// A line that reaches farther does not convert a timestamp that was read more than 90 s after the
/// last cross timestamp.
#[test]
fn what_was_read_too_late_is_stale_also_if_it_was_made_in_time() {
    let correlation = alike(20);
    let timestamp = |made: i64, read_at: i64| HardwareTimestamp {
        ticks: HardwareTicks::new(made as u64),
        interface: Some(interface()),
        read_at: at(read_at),
    };
    for made in [99, 100, 101, 105, 109] {
        let made = made * SECOND + 1;
        for read_at in [made + 1_000, 110 * SECOND] {
            let estimate = correlation.to_monotonic(&timestamp(made, read_at));
            contains(estimate.expect("read in time"), made);
        }
        assert_eq!(
            correlation.to_monotonic(&timestamp(made, 110 * SECOND + 1)),
            Err(ConversionError::Stale),
            "{made}"
        );
    }
}

/// A result to the picosecond also names its generation.
#[test]
fn a_fine_estimate_is_of_the_generation_of_the_whole_one() {
    let mut correlation = alike(20);
    for generation in 1..=2 {
        correlation.restart(GenerationCause::Notification);
        for second in 0..14 {
            let time = (21 + 20 * i64::from(generation) + second) * SECOND;
            _ = correlation.push(&reading(time, time));
        }
        let made = (34 + 20 * i64::from(generation)) * SECOND;
        let timestamp = HardwareTimestamp {
            ticks: HardwareTicks::new(made as u64),
            interface: Some(interface()),
            read_at: at(made + 1_000),
        };
        let fine = correlation.to_monotonic_fine(&timestamp).expect("known");
        assert_eq!(fine.generation, ClockGeneration(generation));
        let whole = correlation.to_monotonic(&timestamp).expect("known");
        assert_eq!(whole.generation, ClockGeneration(generation));
    }
}

/// A cross timestamp from half a second before the last one is only late if it deviates by less
/// than the bound there and its own bracket; if it deviates by more, the system clock was set back.
#[test]
fn a_late_reading_is_one_that_fits() {
    let made = 39 * SECOND / 2;
    let mut correlation = alike(20);
    let timestamp = HardwareTimestamp {
        ticks: HardwareTicks::new(made as u64),
        interface: Some(interface()),
        read_at: at(made + 1_000),
    };
    let known = correlation.to_monotonic(&timestamp).expect("known");
    let (bound, half) = (known.at.bound.saturating_nanoseconds(), 600);
    for (off, expected) in [
        (bound + half, Pushed::Outdated),
        (-bound - half, Pushed::Outdated),
        (
            -bound - half - 2,
            Pushed::Opened(GenerationCause::SystemStep),
        ),
    ] {
        let late = reading(made, known.at.value.nanoseconds() + off);
        assert_eq!(correlation.push(&late), expected);
    }
    assert_eq!(
        correlation.readings(),
        1,
        "all earlier ones mean something else"
    );
}

/// The uncertainty of two brackets and a tick is at most a thousandth of the distance, for any
/// tick.
#[test]
fn an_unknown_frequency_is_known_when_two_readings_are_far_enough_apart() {
    // 1201 ns of the brackets, and a tick
    for (hertz, way) in [(1e7, 1_301_000), (5e9, 1_201_200), (1e9, 1_202_000)] {
        for (time, known) in [(way - 5_000, false), (way + 5_000, true)] {
            let counter = Counter {
                hertz,
                ..Counter::STEADY
            };
            let mut correlation = Correlation::new(interface(), None);
            _ = correlation.push(&counter.read(SECOND, 600, 600));
            _ = correlation.push(&counter.read(SECOND + time, 600, 600));
            assert_eq!(correlation.frequency().is_some(), known, "{hertz} {time}");
        }
    }
}
