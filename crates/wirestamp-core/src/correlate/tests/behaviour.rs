//! Single cases of generations, rejected cross timestamps and error bounds.

use super::*;

fn every(
    correlation: &mut Correlation,
    counter: &Counter,
    from: i64,
    to: i64,
    interval: i64,
) -> Pushed {
    let mut last = Pushed::Accepted;
    let mut time = from;
    while time <= to {
        last = correlation.push(&counter.read(time, 600, 600));
        time += interval;
    }
    last
}

fn steady() -> (Correlation, Counter) {
    let counter = Counter {
        fast: 37.0,
        ..Counter::STEADY
    };
    let mut correlation =
        Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
    every(&mut correlation, &counter, SECOND, 20 * SECOND, SECOND);
    (correlation, counter)
}

#[test]
fn one_reading_is_enough_with_a_stated_frequency() {
    let counter = Counter {
        fast: 37.0,
        ..Counter::STEADY
    };
    let mut correlation =
        Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
    assert_eq!(
        correlation.to_monotonic(&counter.timestamp(SECOND, SECOND)),
        Err(ConversionError::NotReady)
    );
    assert_eq!(
        correlation.to_hardware(at(SECOND)),
        Err(ConversionError::NotReady)
    );
    assert_eq!(
        (
            correlation.generation(),
            correlation.cause(),
            correlation.readings()
        ),
        (None, None, 0)
    );
    assert_eq!(
        correlation.push(&counter.read(SECOND, 600, 600)),
        Pushed::Opened(GenerationCause::Start)
    );
    let time = SECOND + MILLISECOND;
    let bound = contains(
        correlation
            .to_monotonic(&counter.timestamp(time, time))
            .expect("converts"),
        time,
    );
    assert!(
        bound < Span::from_microseconds(2),
        "half the bracket and 1000 ppm of a millisecond: {bound}"
    );
    assert_eq!(correlation.generation(), Some(ClockGeneration(0)));
}

/// One cross timestamp does not show the counter's tick: the longest possible one is assumed.
#[test]
fn the_bound_of_one_reading_allows_for_the_longest_tick_and_a_batch_shows_the_true_one() {
    let counter = Counter {
        fast: 37.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
    let mut bound = |time: i64| {
        _ = correlation.push(&counter.read(time, 600, 600));
        contains(
            correlation
                .to_monotonic(&counter.timestamp(time + 1, time + 1))
                .expect("converts"),
            time + 1,
        )
    };
    let one = bound(SECOND).nanoseconds();
    assert!(
        (10_600..10_620).contains(&one),
        "10 µs and half a bracket: {one} ns"
    );
    let [_, _, batch] = [1_307, 2_749, 4_001].map(|later| bound(SECOND + later));
    assert!(batch < Span::from_nanoseconds(650), "{batch}");
}

#[test]
fn an_unknown_frequency_is_learnt_from_readings_far_enough_apart() {
    let counter = Counter {
        hertz: 19_200_000.0,
        fast: -90.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), None);
    for time in 0..3 {
        _ = correlation.push(&counter.read(SECOND + time * 10_000, 600, 600));
        assert_eq!(
            correlation.to_monotonic(&counter.timestamp(2 * SECOND, 2 * SECOND)),
            Err(ConversionError::NotReady)
        );
        assert_eq!(correlation.frequency(), None);
    }
    assert_eq!(
        correlation.push(&counter.read(2 * SECOND, 600, 600)),
        Pushed::Accepted
    );
    contains(
        correlation
            .to_monotonic(&counter.timestamp(2 * SECOND, 2 * SECOND))
            .expect("converts"),
        2 * SECOND,
    );
    let rate = correlation.frequency().expect("known");
    let truth = 19_200_000.0 * (1.0 - 90e-6);
    assert!((rate.hertz / truth - 1.0).abs() * 1e9 < rate.error_bound_parts_per_billion);
    assert!(rate.error_bound_parts_per_billion < 2_000.0);
}

#[test]
fn the_bound_is_hardly_more_than_half_the_narrowest_bracket() {
    let (correlation, counter) = steady();
    let time = 20 * SECOND + 100 * MILLISECOND;
    let bound = contains(
        correlation
            .to_monotonic(&counter.timestamp(time, time))
            .expect("converts"),
        time,
    );
    assert!(
        bound > Span::from_nanoseconds(600) && bound < Span::from_nanoseconds(800),
        "{bound}"
    );
    let later = time + 30 * SECOND;
    let bound = contains(
        correlation
            .to_monotonic(&counter.timestamp(later, later))
            .expect("converts"),
        later,
    );
    assert!(
        bound > Span::from_microseconds(10),
        "it grows with the age of the last reading: {bound}"
    );
}

#[test]
fn wide_readings_among_narrow_ones_do_no_harm() {
    let (mut correlation, counter) = steady();
    for n in 0..200 {
        assert_eq!(
            correlation.push(&counter.read(21 * SECOND + n * 1_000_000, 600, 400_000)),
            Pushed::Accepted
        );
    }
    assert_eq!(correlation.readings(), 220);
    let time = 21 * SECOND + 200 * MILLISECOND;
    let bound = contains(
        correlation
            .to_monotonic(&counter.timestamp(time, time))
            .expect("converts"),
        time,
    );
    assert!(bound < Span::from_nanoseconds(1_500), "{bound}");
}

#[test]
fn timestamps_of_other_clocks_are_refused() {
    let (correlation, counter) = steady();
    let timestamp = counter.timestamp(10 * SECOND, 20 * SECOND);
    assert!(correlation.to_monotonic(&timestamp).is_ok());
    for (interface, refused) in [
        (None, ConversionError::UnknownDevice),
        (InterfaceIndex::new(4), ConversionError::OtherClock),
    ] {
        assert_eq!(
            correlation.to_monotonic(&HardwareTimestamp {
                interface,
                ..timestamp
            }),
            Err(refused)
        );
    }
}

#[test]
fn timestamps_from_outside_the_generation_are_refused() {
    let (correlation, counter) = steady();
    let early = counter.timestamp(SECOND / 2, 20 * SECOND);
    assert_eq!(
        correlation.to_monotonic(&early),
        Err(ConversionError::OutsideGenerations),
        "before the first reading"
    );
    let future = counter.timestamp(21 * SECOND, 20 * SECOND + 1);
    assert_eq!(
        correlation.to_monotonic(&future),
        Err(ConversionError::OutsideGenerations),
        "made after it was read"
    );
    let zero_early = at(SECOND / 2);
    assert_eq!(
        correlation.to_hardware(zero_early),
        Err(ConversionError::OutsideGenerations)
    );
}

#[test]
fn a_minute_without_a_reading_is_bridged_and_more_is_too_long() {
    let (mut correlation, counter) = steady();
    let last = 20 * SECOND;
    let fresh = last + 90 * SECOND;
    assert!(
        correlation
            .to_monotonic(&counter.timestamp(fresh, fresh))
            .is_ok()
    );
    assert_eq!(
        correlation.to_monotonic(&counter.timestamp(fresh + 1, fresh + 1)),
        Err(ConversionError::Stale)
    );
    assert_eq!(
        correlation.to_hardware(at(fresh + 1)),
        Err(ConversionError::Stale)
    );
    assert_eq!(
        correlation.push(&counter.read(last + 91 * SECOND, 600, 600)),
        Pushed::Opened(GenerationCause::Gap)
    );
    assert_eq!(correlation.generation(), Some(ClockGeneration(1)));
}

#[test]
fn an_unnoticed_restart_is_not_taken_for_an_old_timestamp() {
    let (mut correlation, counter) = steady();
    // restarted after the last cross timestamp, and counting through values that it had before
    let restarted = Counter {
        since: 20 * SECOND + 1,
        start: counter.ticks(2 * SECOND).raw(),
        ..counter
    };
    let timestamp = restarted.timestamp(21 * SECOND, 21 * SECOND);
    assert_eq!(
        correlation.to_monotonic(&timestamp),
        Err(ConversionError::OutsideGenerations)
    );
    let pushed = correlation.push(&restarted.read(22 * SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::CounterBackwards));
    assert_eq!(
        correlation.to_monotonic(&timestamp),
        Err(ConversionError::Ambiguous),
        "of either run"
    );
    let later = 22 * SECOND + MILLISECOND;
    let fresh = restarted.timestamp(later, later);
    contains(
        correlation.to_monotonic(&fresh).expect("of the new run"),
        later,
    );
    every(
        &mut correlation,
        &restarted,
        23 * SECOND,
        26 * SECOND,
        SECOND,
    );
    let estimate = correlation
        .to_monotonic(&fresh)
        .expect("of the new run: of the old one it would have waited 18 s");
    contains(estimate, later);
}

#[test]
fn old_timestamps_convert_while_a_new_generation_is_not_ready() {
    let counter = Counter {
        hertz: 24_000_000.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), None);
    // too few for the next generation to start from their frequency
    every(&mut correlation, &counter, 18 * SECOND, 20 * SECOND, SECOND);
    correlation.restart(GenerationCause::Notification);
    _ = correlation.push(&counter.read(21 * SECOND, 600, 600));
    contains(
        correlation
            .to_monotonic(&counter.timestamp(19 * SECOND, 20 * SECOND))
            .expect("read before"),
        19 * SECOND,
    );
    let fresh = counter.timestamp(22 * SECOND, 22 * SECOND);
    assert_eq!(
        correlation.to_monotonic(&fresh),
        Err(ConversionError::NotReady)
    );
    // and if that generation ends now, no cross timestamp will ever show it
    correlation.restart(GenerationCause::Notification);
    every(&mut correlation, &counter, 23 * SECOND, 40 * SECOND, SECOND);
    assert_eq!(
        correlation.to_monotonic(&fresh),
        Err(ConversionError::OutsideGenerations)
    );
    let young = counter.timestamp(24 * SECOND, 24 * SECOND);
    assert_eq!(
        correlation.to_monotonic(&young),
        Err(ConversionError::Ambiguous),
        "it can be of either"
    );
    let later = counter.timestamp(34 * SECOND, 34 * SECOND);
    contains(
        correlation
            .to_monotonic(&later)
            .expect("of the other it would have waited"),
        34 * SECOND,
    );
    contains(
        correlation
            .to_monotonic(&counter.timestamp(19 * SECOND, 20 * SECOND))
            .expect("read before"),
        19 * SECOND,
    );
    let lingered = counter.timestamp(19 * SECOND, 34 * SECOND);
    assert_eq!(
        correlation.to_monotonic(&lingered),
        Err(ConversionError::Ambiguous),
        "of either it waited"
    );
}

#[test]
fn after_a_notification_old_timestamps_convert_and_new_ones_wait() {
    let (mut correlation, counter) = steady();
    let (old, new) = (
        counter.timestamp(19 * SECOND, 20 * SECOND),
        counter.timestamp(21 * SECOND, 21 * SECOND),
    );
    correlation.restart(GenerationCause::Notification);
    contains(
        correlation.to_monotonic(&old).expect("read before"),
        19 * SECOND,
    );
    assert_eq!(
        correlation.to_monotonic(&new),
        Err(ConversionError::OutsideGenerations)
    );
    assert_eq!(
        correlation.to_hardware(at(21 * SECOND)),
        Err(ConversionError::OutsideGenerations)
    );
    contains_ticks(&correlation, &counter, 19 * SECOND);
    let pushed = correlation.push(&counter.read(22 * SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::Notification));
    let estimate = correlation.to_monotonic(&old).expect("remembered");
    assert_eq!(estimate.generation, ClockGeneration(0));
    contains(estimate, 19 * SECOND);
    assert_eq!(
        correlation.to_monotonic(&new),
        Err(ConversionError::OutsideGenerations),
        "between the generations"
    );
    let fresh = counter.timestamp(23 * SECOND, 23 * SECOND);
    assert_eq!(
        correlation
            .to_monotonic(&fresh)
            .expect("converts")
            .generation,
        ClockGeneration(1)
    );
    contains_ticks(&correlation, &counter, 19 * SECOND);
    assert_eq!(
        correlation.to_hardware(at(21 * SECOND)),
        Err(ConversionError::OutsideGenerations)
    );
}

fn contains_ticks(correlation: &Correlation, counter: &Counter, time: i64) {
    let estimate = correlation.to_hardware(at(time)).expect("converts");
    assert!(counter.ticks(time).since(estimate.ticks).unsigned_abs() <= estimate.bound);
    assert!(estimate.bound < 5_000, "{estimate:?}");
}

#[test]
fn a_notification_before_the_first_reading_changes_nothing() {
    let mut correlation = Correlation::new(interface(), None);
    correlation.restart(GenerationCause::Notification);
    let pushed = correlation.push(&Counter::STEADY.read(SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::Start));
}

#[test]
fn four_generations_are_remembered() {
    let (mut correlation, counter) = steady();
    for n in 1..=4 {
        correlation.restart(GenerationCause::Notification);
        every(
            &mut correlation,
            &counter,
            (20 + n) * SECOND,
            (20 + n) * SECOND + SECOND / 2,
            SECOND / 4,
        );
    }
    let timestamp = counter.timestamp(19 * SECOND, 20 * SECOND);
    contains(
        correlation
            .to_monotonic(&timestamp)
            .expect("the fourth before the current one"),
        19 * SECOND,
    );
    correlation.restart(GenerationCause::Notification);
    every(&mut correlation, &counter, 25 * SECOND, 25 * SECOND, SECOND);
    assert_eq!(
        correlation.to_monotonic(&timestamp),
        Err(ConversionError::OutsideGenerations)
    );
    assert_eq!(correlation.generation(), Some(ClockGeneration(5)));
}

#[test]
fn a_step_is_a_contradiction_and_a_new_rate_is_told_from_it() {
    for (change, expected) in [
        (0.0, GenerationCause::Contradiction),
        (300.0, GenerationCause::FrequencyChange),
    ] {
        let (mut correlation, counter) = steady();
        let since = 20 * SECOND + SECOND / 2;
        let start = counter
            .ticks(since)
            .plus(if change > 0.0 { 0 } else { MILLISECOND })
            .raw();
        let changed = Counter {
            since,
            start,
            fast: counter.fast + change,
            ..counter
        };
        let pushed = correlation.push(&changed.read(21 * SECOND, 600, 600));
        assert_eq!(pushed, Pushed::Opened(GenerationCause::Contradiction));
        let last = every(&mut correlation, &changed, 22 * SECOND, 25 * SECOND, SECOND);
        assert_eq!(
            (last, correlation.cause()),
            (Pushed::Accepted, Some(expected))
        );
        assert_eq!(correlation.generation(), Some(ClockGeneration(1)));
    }
}

#[test]
fn a_wrongly_stated_frequency_is_dropped() {
    let counter = Counter {
        hertz: 24_000_000.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), Frequency::from_hertz(25_000_000));
    every(&mut correlation, &counter, SECOND, 5 * SECOND, SECOND);
    contains(
        correlation
            .to_monotonic(&counter.timestamp(5 * SECOND, 5 * SECOND))
            .expect("converts"),
        5 * SECOND,
    );
    assert_eq!(
        correlation.generation(),
        Some(ClockGeneration(1)),
        "one contradiction is enough"
    );
}

#[test]
fn an_outdated_reading_is_not_used() {
    let (mut correlation, counter) = steady();
    assert_eq!(
        correlation.push(&counter.read(19 * SECOND, 600, 600)),
        Pushed::Outdated
    );
    assert_eq!(correlation.readings(), 20);
}

#[test]
fn an_unknown_bracket_counts_as_a_wide_one() {
    let counter = Counter::STEADY;
    let pair = |time: i64| {
        CrossTimestamp::new(
            at(time),
            counter.ticks(time - 70_000),
            at(time),
            CrossMethod::Driver,
        )
        .expect("valid")
    };
    let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
    for time in 1..=20 {
        _ = correlation.push(&pair(time * SECOND));
    }
    assert_eq!(correlation.generation(), Some(ClockGeneration(0)));
    let bound = contains(
        correlation
            .to_monotonic(&counter.timestamp(15 * SECOND, 20 * SECOND))
            .expect("converts"),
        15 * SECOND,
    );
    assert!(bound > Span::from_microseconds(500), "{bound}");
}

#[test]
fn the_steps_of_coarse_clocks_are_within_the_bound() {
    // a system clock of 100 ns and a counter of 40 ns, read as fast as possible
    let (coarse, system) = (
        |time: i64| HardwareTicks::new((time / 40 * 40) as u64),
        |time: i64| at(time / 100 * 100),
    );
    let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
    for n in 0..400 {
        let time = SECOND + n * 1_000_037;
        let reading = CrossTimestamp::new(
            system(time - 110),
            coarse(time),
            system(time + 3),
            CrossMethod::Driver,
        );
        assert_eq!(
            correlation.push(&reading.expect("valid")) == Pushed::Accepted,
            n > 0
        );
        let made = time + 13 * n;
        let timestamp = HardwareTimestamp {
            ticks: coarse(made),
            interface: Some(interface()),
            read_at: at(made),
        };
        contains(
            correlation.to_monotonic(&timestamp).expect("converts"),
            made,
        );
    }
}

#[test]
fn the_counter_may_wrap() {
    let counter = Counter {
        start: u64::MAX - 5_000_000_000,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), None);
    every(&mut correlation, &counter, SECOND, 20 * SECOND, SECOND);
    assert_eq!(correlation.generation(), Some(ClockGeneration(0)));
    for time in [2 * SECOND, 4 * SECOND, 5 * SECOND, 19 * SECOND] {
        contains(
            correlation
                .to_monotonic(&counter.timestamp(time, 20 * SECOND))
                .expect("converts"),
            time,
        );
    }
}

#[test]
fn the_system_clock_counts_as_finely_as_it_is_said_to() {
    let counter = Counter::STEADY;
    let bound = |correlation: Correlation| {
        let mut correlation = correlation;
        for n in 1..=20 {
            let reading = counter.read(n * SECOND, 600, 600);
            let (from, to) = (reading.monotonic_before(), reading.monotonic_after());
            let driver = CrossTimestamp::new(from, reading.hardware(), to, CrossMethod::Driver)
                .expect("valid");
            _ = correlation.push(&driver);
        }
        contains(
            correlation
                .to_monotonic(&counter.timestamp(20 * SECOND, 20 * SECOND))
                .expect("converts"),
            20 * SECOND,
        )
    };
    let new = || Correlation::new(interface(), Some(counter.frequency()));
    let [fine, usual, coarse, odd] = [
        bound(new().with_system_frequency(Frequency::GIGAHERTZ)),
        bound(new()),
        bound(new().with_system_frequency(Frequency::from_hertz(1_000_000).expect("not zero"))),
        bound(new().with_system_frequency(Frequency::from_hertz(3_000_000).expect("not zero"))),
    ]
    .map(Span::saturating_nanoseconds);
    assert!(
        (usual - fine - 49).abs() < 3,
        "half of 99 ns more: {fine} {usual}"
    );
    assert!(
        (coarse - fine - 499).abs() < 9,
        "half of 999 ns more: {fine} {coarse}"
    );
    assert!(
        (odd - fine - 166).abs() < 5,
        "half of 333.3 ns more, and what rounding cost: {fine} {odd}"
    );
}

/// A clock is set forward by one second. It is unknown whether a timestamp is from before or after
/// while it may have waited for a second.
#[test]
fn timestamps_that_never_wait_are_sure_to_be_of_the_new_generation_at_once() {
    for (wait, expected) in [(10 * SECOND, false), (10 * MILLISECOND, true)] {
        let (correlation, counter) = steady();
        let mut correlation = correlation.with_longest_wait(Span::from_nanoseconds(wait.into()));
        let since = 20 * SECOND + SECOND / 2;
        let set_back = Counter {
            since,
            start: counter.ticks(since - SECOND).raw(),
            ..counter
        };
        _ = correlation.push(&set_back.read(21 * SECOND, 600, 600));
        let made = 21 * SECOND + 2 * MILLISECOND;
        match correlation.to_monotonic(&set_back.timestamp(made, made + 1_000)) {
            Ok(estimate) => {
                assert!(expected && contains(estimate, made) < Span::from_milliseconds(1));
            }
            Err(refusal) => assert_eq!((refusal, expected), (ConversionError::Ambiguous, false)),
        }
    }
}

/// The stepped clock is reported if it can be known; after one cross timestamp everything is right
/// again in either case.
#[test]
fn a_step_of_the_system_clock_is_told_apart_from_one_of_the_hardware_clock() {
    for (system, hardware, expected) in [
        (-3_600 * SECOND, 0, GenerationCause::SystemStep),
        (-SECOND - SECOND / 2, 0, GenerationCause::SystemStep),
        (-SECOND / 2, 0, GenerationCause::SystemStep),
        (30 * SECOND, 0, GenerationCause::SystemStep),
        (0, 30 * SECOND, GenerationCause::HardwareStep),
        (0, 3_000 * SECOND, GenerationCause::HardwareStep),
        (0, -3 * SECOND, GenerationCause::CounterBackwards),
        (0, MILLISECOND, GenerationCause::Contradiction),
    ] {
        let (correlation, counter) = steady();
        let mut correlation = correlation.with_longest_wait(Span::from_milliseconds(1));
        let since = 20 * SECOND + SECOND / 2;
        // in the system clock's time after the step
        let start = counter.ticks(since).plus(hardware).raw();
        let stepped = Counter {
            since: since + system,
            start,
            ..counter
        };
        // the interval of the cross timestamps is not exact either
        let first = 21 * SECOND + 30_000 + system;
        let pushed = correlation.push(&stepped.read(first, 600, 600));
        assert_eq!(pushed, Pushed::Opened(expected), "{system} {hardware}");
        // known at once if the steps of the clocks determine the generation
        let made = first + 2 * MILLISECOND;
        let of_now = correlation
            .clone()
            .with_longest_wait(Span::from_milliseconds(1));
        contains(
            of_now
                .to_monotonic(&stepped.timestamp(made, made + 1_000))
                .unwrap_or_else(|refusal| panic!("{system} {hardware}: {refusal}")),
            made,
        );
        let last = every(
            &mut correlation,
            &stepped,
            first + SECOND,
            first + 20 * SECOND,
            SECOND,
        );
        assert_eq!(
            (last, correlation.generation(), correlation.cause()),
            (Pushed::Accepted, Some(ClockGeneration(1)), Some(expected))
        );
        let bound = contains(
            correlation
                .to_monotonic(&stepped.timestamp(made, made + 1_000))
                .expect("converts"),
            made,
        );
        assert!(bound < Span::from_microseconds(2), "{bound}");
    }
}

/// A counter of nanoseconds that advances by a microsecond at a time: its step shows in the
/// differences of its values, unless these are all equal.
#[test]
fn a_counter_that_counts_by_a_microsecond_is_noticed() {
    let coarse = |time: i64| HardwareTicks::new((time / 1_000 * 1_000) as u64);
    let mut correlation = Correlation::new(interface(), Some(Frequency::GIGAHERTZ));
    for n in 0..200 {
        let time = SECOND + n * 100 * MILLISECOND + n * n * 7_919 % 1_000_003;
        let reading = CrossTimestamp::new(
            at(time - 600),
            coarse(time),
            at(time + 599),
            CrossMethod::Extended,
        );
        _ = correlation.push(&reading.expect("valid"));
        if n < 40 {
            continue;
        }
        for made in [
            time + 30 * MILLISECOND,
            time + 30 * MILLISECOND + 999,
            time + 31_234_567,
        ] {
            let timestamp = HardwareTimestamp {
                ticks: coarse(made),
                interface: Some(interface()),
                read_at: at(made),
            };
            let bound = contains(
                correlation.to_monotonic(&timestamp).expect("converts"),
                made,
            );
            assert!(bound < Span::from_microseconds(3), "{bound}");
        }
    }
    assert_eq!(correlation.generation(), Some(ClockGeneration(0)));
}

/// A driver that returns the same system time twice does not show how long its cross timestamp
/// took; but each one ended before the next began.
#[test]
fn readings_of_unknown_width_in_quick_succession_bound_one_another() {
    // when the driver reads the system clock, and when the counter: fractions of a call
    for (looked, latched) in [(0, 19), (19, 0), (3, 10)] {
        let counter = Counter {
            fast: 21.0,
            ..Counter::STEADY
        };
        let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
        for batch in 1..=30 {
            let mut begun = batch * SECOND + batch * 7_919;
            for length in [500, 2_000, 500, 2_000, 500] {
                let printed = at(begun + looked * length / 20);
                let latched = counter.ticks(begun + latched * length / 20);
                let reading = CrossTimestamp::new(printed, latched, printed, CrossMethod::Driver);
                _ = correlation.push(&reading.expect("valid"));
                begun += length;
            }
            // the width of a batch's last cross timestamp is known only with the next one
            let made = batch * SECOND + 500 * MILLISECOND;
            let bound = contains(
                correlation
                    .to_monotonic(&counter.timestamp(made, made))
                    .expect("converts"),
                made,
            );
            assert!(
                batch < 10 || bound < Span::from_microseconds(4),
                "{looked} {latched}: {bound}"
            );
        }
        assert_eq!(correlation.generation(), Some(ClockGeneration(0)));
    }
}
