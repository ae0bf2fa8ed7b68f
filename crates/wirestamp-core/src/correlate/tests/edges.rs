//! Generations and conversions just within and just beyond their limits.

use super::super::limits::Limits;
use super::generations::{alike, reading};
use super::*;

/// The counter showed `ticks`; read at `read_at`.
fn timestamp(ticks: i64, read_at: i64) -> HardwareTimestamp {
    HardwareTimestamp {
        ticks: HardwareTicks::new(ticks as u64),
        interface: Some(interface()),
        read_at: at(read_at),
    }
}

#[test]
fn a_generation_that_ended_is_known_up_to_its_last_reading() {
    let mut correlation = alike(20);
    correlation.restart(GenerationCause::Notification);
    _ = correlation.push(&reading(30 * SECOND, 30 * SECOND));
    let known = correlation
        .to_hardware(at(20 * SECOND))
        .expect("at a reading");
    assert_eq!(known.generation, ClockGeneration(0));
    let refused = correlation.to_hardware(at(20 * SECOND + 1));
    assert_eq!(refused, Err(ConversionError::OutsideGenerations));
}

#[test]
fn a_correlation_is_ready_while_a_new_timestamp_could_be_converted() {
    use ConversionError::{NotReady, Stale};
    let mut unknown = Correlation::new(interface(), None);
    assert_eq!(unknown.nominal(), None);
    assert_eq!(unknown.readiness(at(SECOND)), Err(NotReady));
    _ = unknown.push(&reading(SECOND, SECOND));
    assert_eq!(unknown.readiness(at(SECOND)), Err(NotReady), "no frequency");
    let mut correlation = alike(20);
    assert_eq!(correlation.nominal(), Some(Frequency::GIGAHERTZ));
    let ready = |correlation: &Correlation, time| correlation.readiness(at(time));
    assert_eq!(
        ready(&correlation, 110 * SECOND),
        Ok(ClockGeneration(0)),
        "90 s"
    );
    assert_eq!(ready(&correlation, 110 * SECOND + 1), Err(Stale));
    correlation.restart(GenerationCause::Notification);
    assert_eq!(ready(&correlation, 20 * SECOND), Err(NotReady), "ended");
    _ = correlation.push(&reading(21 * SECOND, 21 * SECOND));
    assert_eq!(ready(&correlation, 21 * SECOND), Ok(ClockGeneration(1)));
}

/// The hardware clock was set forward by 3 s. In the new generation, the timestamp would be 8 s
/// before the last cross timestamp of the old one.
#[test]
fn a_timestamp_is_of_no_generation_whose_predecessor_still_ran() {
    let mut correlation = alike(20);
    let pushed = correlation.push(&reading(24 * SECOND, 21 * SECOND));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::HardwareStep));
    let made = 15 * SECOND;
    let estimate = correlation.to_monotonic(&timestamp(made, 20 * SECOND + SECOND / 2));
    let estimate = estimate.expect("of the old generation");
    contains(estimate, made);
    assert_eq!(estimate.generation, ClockGeneration(0));
}

/// The second generation lasted for 9 s and has ended.
#[test]
fn what_was_read_after_the_end_of_a_short_generation_is_not_of_it() {
    let mut correlation = alike(20);
    correlation.restart(GenerationCause::Notification);
    for second in 21..=30 {
        _ = correlation.push(&reading(second * SECOND, second * SECOND));
    }
    correlation.restart(GenerationCause::Notification);
    let made = 59 * SECOND / 2;
    let before = correlation.to_monotonic(&timestamp(made, 30 * SECOND));
    contains(before.expect("read before the end"), made);
    for read_at in [31, 33, 34, 38] {
        let after = correlation.to_monotonic(&timestamp(made, read_at * SECOND));
        assert_eq!(
            after,
            Err(ConversionError::OutsideGenerations),
            "{read_at} s"
        );
    }
}

#[test]
fn a_timestamp_from_before_the_first_reading_is_of_no_generation() {
    let correlation = alike(20);
    for made in [SECOND / 2, SECOND - 5_000] {
        let early = correlation.to_monotonic(&timestamp(made, SECOND + SECOND / 2));
        assert_eq!(early, Err(ConversionError::OutsideGenerations));
    }
    let made = SECOND + 5_000;
    let first = correlation.to_monotonic(&timestamp(made, SECOND + SECOND / 2));
    contains(first.expect("after the first reading"), made);
}

/// Three cross timestamps of a counter that counts by 400 ns: too few to trust their frequency, but
/// they show its tick. Half a tick is added for the cross timestamp and half for the timestamp.
#[test]
fn the_tick_of_a_counter_is_known_in_the_next_generation() {
    let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
    for time in [SECOND, 2 * SECOND + 400, 3 * SECOND] {
        _ = correlation.push(&reading(time, time));
    }
    correlation.restart(GenerationCause::Notification);
    let time = 4 * SECOND;
    _ = correlation.push(&reading(time, time));
    let fit = correlation.runs.back().and_then(|run| run.fit());
    let ticks = HardwareTicks::new(time as u64);
    let bound = fit.and_then(|fit| fit.convert(ticks)).expect("known").bound;
    // 600.5, twice 200 · 1.001, and 0.51, rounded up
    assert!((1_001..=1_003).contains(&bound), "{bound}");
}

#[test]
fn readings_ninety_seconds_apart_are_of_one_generation() {
    let mut correlation = alike(20);
    let pushed = correlation.push(&reading(110 * SECOND, 110 * SECOND));
    assert_eq!(pushed, Pushed::Accepted);
    let time = 200 * SECOND + 1;
    let pushed = correlation.push(&reading(time, time));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::Gap));
}

#[test]
fn two_readings_of_one_instant_are_both_taken() {
    let mut correlation = alike(20);
    let again = correlation.push(&reading(20 * SECOND, 20 * SECOND));
    assert_eq!((again, correlation.readings()), (Pushed::Accepted, 21));
}

/// Before the frequency is known, an earlier cross timestamp is late only if its counter is behind,
/// too.
#[test]
fn without_a_frequency_a_late_reading_is_one_whose_counter_is_behind() {
    for (ticks, expected) in [
        (4 * SECOND, Pushed::Outdated),
        (5 * SECOND, Pushed::Outdated),
        (6 * SECOND, Pushed::Opened(GenerationCause::SystemStep)),
    ] {
        let mut correlation = Correlation::new(interface(), None);
        _ = correlation.push(&reading(5 * SECOND, 5 * SECOND));
        assert_eq!(correlation.push(&reading(ticks, 4 * SECOND)), expected);
    }
}

/// Counters run at 1 kHz to 10 GHz.
#[test]
fn a_frequency_that_no_counter_has_is_not_learnt() {
    for (hertz, possible) in [(5e2, false), (1e3, true), (1e10, true), (2e11, false)] {
        let counter = Counter {
            hertz,
            ..Counter::STEADY
        };
        let mut correlation = Correlation::new(interface(), None);
        _ = correlation.push(&counter.read(SECOND, 600, 600));
        _ = correlation.push(&counter.read(81 * SECOND, 600, 600));
        assert_eq!(correlation.frequency().is_some(), possible, "{hertz}");
    }
}

#[test]
fn assumptions_that_are_none_are_the_usual_ones() {
    let limits = |wander_per_second| {
        Limits::of(&Assumptions {
            wander_per_second,
            ..Assumptions::USUAL
        })
    };
    for nothing in [f64::NAN, f64::INFINITY, -1.0, f64::NEG_INFINITY] {
        assert!((limits(nothing).wander / 3e-17 - 1.0).abs() < 1e-9);
    }
    assert!((limits(5e-7).wander / 5e-16 - 1.0).abs() < 1e-9);
    assert!(limits(0.0).wander.abs() < 1e-30);
}

/// The time of the answer has an error of up to a step of the system clock, plus a nanosecond if it
/// was rounded: half of that, plus half the bracket, plus twice half a tick of 100 ns.
#[test]
fn the_step_of_the_system_clock_counts_half() {
    for (hertz, step) in [
        (1_000_000_000, 1.0),
        (10_000_000, 100.0),
        (3_000_000, 1e3 / 3.0 + 1.0),
    ] {
        let frequency = Frequency::from_hertz(hertz).expect("not zero");
        let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ))
            .with_assumptions(&FINE)
            .with_system_frequency(frequency);
        _ = correlation.push(&reading(SECOND, SECOND));
        let fine = correlation
            .to_monotonic_fine(&timestamp(SECOND, SECOND + 1_000))
            .expect("stated");
        let expected = 600.0 + step / 2.0 + 2.0 * 50.0 * 1.001;
        let off = fine.bound_picoseconds as f64 / 1e3 - expected;
        assert!((0.0..0.05).contains(&off), "{fine:?} {expected}");
    }
}

/// A cross timestamp delayed on one side does not limit the frequency on that side.
#[test]
fn the_frequency_has_the_bound_of_its_farther_end() {
    for (before, after) in [(600, 90_000), (90_000, 600)] {
        let mut correlation = alike(2);
        let (from, to) = (at(12 * SECOND - before), at(12 * SECOND + after));
        let ticks = HardwareTicks::new(12_000_000_000);
        let wide = CrossTimestamp::new(from, ticks, to, CrossMethod::Extended);
        assert_eq!(correlation.push(&wide.expect("valid")), Pushed::Accepted);
        let rate = correlation.runs.back().and_then(|run| run.fit());
        let rate = rate.expect("known").rate();
        let known = correlation.frequency().expect("known");
        let farther = (1e9 / rate.low - known.hertz)
            .abs()
            .max((known.hertz - 1e9 / rate.high).abs());
        let expected = farther / known.hertz * 1e9;
        let off = known.error_bound_parts_per_billion - expected;
        assert!((-0.01..0.1).contains(&off), "{known:?} {expected}");
    }
}

/// Two cross timestamps are too few to trust their frequency, but enough to compare it with the
/// stated one.
#[test]
fn a_stated_frequency_is_used_again_if_readings_went_with_it() {
    let mut correlation = alike(2);
    correlation.restart(GenerationCause::Notification);
    _ = correlation.push(&reading(3 * SECOND, 3 * SECOND));
    let ready = correlation.readiness(at(3 * SECOND));
    assert_eq!(ready, Ok(ClockGeneration(1)));
}

/// 3000 ppm off, in either direction.
#[test]
fn a_stated_frequency_is_not_used_again_if_readings_contradicted_it() {
    for fast in [-3_000.0, 3_000.0] {
        let counter = Counter {
            fast,
            ..Counter::STEADY
        };
        let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
        for second in 1..=3 {
            _ = correlation.push(&counter.read(second * SECOND, 600, 600));
        }
        let ready = correlation.readiness(at(3 * SECOND));
        assert_eq!(ready, Ok(ClockGeneration(1)), "learnt");
        correlation.restart(GenerationCause::Notification);
        _ = correlation.push(&counter.read(4 * SECOND, 600, 600));
        let ready = correlation.readiness(at(4 * SECOND));
        assert_eq!(ready, Err(ConversionError::NotReady));
    }
}

/// Two cross timestamps without a width, 10 µs apart: the first ended before the second began,
/// which the system clock shows to within its step of 100 ns.
#[test]
fn a_reading_of_unknown_width_was_over_when_the_next_one_began() {
    let mut correlation =
        Correlation::new(interface(), Some(Frequency::GIGAHERTZ)).with_assumptions(&FINE);
    for time in [SECOND, SECOND + 10_000] {
        let ticks = HardwareTicks::new(time as u64);
        let pair = CrossTimestamp::new(at(time), ticks, at(time), CrossMethod::Driver);
        _ = correlation.push(&pair.expect("valid"));
    }
    let fit = correlation.runs.back().and_then(|run| run.fit());
    let allowed = fit.expect("stated").knots.newest().allowed;
    let half_tick = 50.0 * 1.001;
    let high = 10_000.0 + 100.0 + half_tick;
    assert!((allowed.high - high).abs() < 0.1, "{allowed:?} {high}");
}

/// Six generations of 5 s, 20 s apart; timestamps that were read at once.
#[test]
fn a_timestamp_is_of_any_of_the_five_newest_generations() {
    let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
    for generation in 0..6 {
        correlation.restart(GenerationCause::Notification);
        for second in 1..=5 {
            let time = (20 * generation + second) * SECOND;
            _ = correlation.push(&reading(time, time));
        }
    }
    for generation in 0..6 {
        let made = (20 * generation + 3) * SECOND + SECOND / 2;
        let estimate = correlation.to_monotonic(&timestamp(made, made + SECOND / 4));
        if generation == 0 {
            assert_eq!(estimate, Err(ConversionError::OutsideGenerations));
        } else {
            let estimate = estimate.expect("remembered");
            contains(estimate, made);
            assert_eq!(estimate.generation, ClockGeneration(generation as u32));
        }
    }
}
