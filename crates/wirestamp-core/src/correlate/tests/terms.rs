//! Each term of an error bound, in a case where it dominates, so that a mutation of it is noticed.

use super::super::prior::Wander;
use super::*;
use std::vec::Vec;

fn steady() -> (Correlation, Counter) {
    let counter = Counter {
        fast: 37.0,
        ..Counter::STEADY
    };
    let mut correlation =
        Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
    for second in 1..=20 {
        _ = correlation.push(&counter.read(second * SECOND, 600, 600));
    }
    (correlation, counter)
}

/// Before the oldest remembered cross timestamp, only the limit of the frequency is known.
#[test]
fn long_before_the_oldest_remembered_reading_the_wander_counts_squared() {
    // ramps down by 3·10⁻⁸ per second for 150 s, then stays constant
    let wandering = |time: i64| {
        let seconds = (time as f64 / 1e9).min(150.0);
        let ahead = (3e-8 * (150.0 * seconds - seconds * seconds / 2.0) * 1e9) as i64;
        HardwareTicks::new((1_000_000_000_000 + time + ahead) as u64)
    };
    let mut correlation =
        Correlation::new(interface(), Some(Frequency::GIGAHERTZ)).with_assumptions(&FINE);
    for second in 1..=460 {
        let time = second * SECOND;
        let reading = CrossTimestamp::new(
            at(time - 600),
            wandering(time),
            at(time + 600),
            CrossMethod::Extended,
        );
        assert_eq!(
            correlation.push(&reading.expect("valid")) == Pushed::Accepted,
            second > 1
        );
    }
    let mut widest = Span::ZERO;
    for made in (2..150).map(|second| second * SECOND) {
        let timestamp = HardwareTimestamp {
            ticks: wandering(made),
            interface: Some(interface()),
            read_at: at(made + SECOND),
        };
        widest = widest.max(contains(
            correlation
                .to_monotonic(&timestamp)
                .expect("of the only generation"),
            made,
        ));
    }
    assert!(
        widest > Span::from_microseconds(100),
        "W·d²/2 for 100 s: {widest}"
    );
    assert!(widest < Span::from_microseconds(1_000), "{widest}");
}

#[test]
fn an_older_timestamp_is_the_same_to_the_picosecond_and_to_the_nanosecond() {
    for fast in [-90.0, 37.0, 0.25] {
        let counter = Counter {
            fast,
            ..Counter::STEADY
        };
        let mut correlation =
            Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
        for second in 1..=20 {
            _ = correlation.push(&counter.read(second * SECOND, 600 + 40 * (second % 7), 600));
        }
        for made in (0..180).map(|n| SECOND + 100_000_007 * n) {
            let timestamp = counter.timestamp(made, made + 1_000);
            let whole = correlation.to_monotonic(&timestamp).expect("converts");
            let fine = correlation.to_monotonic_fine(&timestamp).expect("converts");
            let apart = fine.total_picoseconds() - i128::from(whole.at.value.nanoseconds()) * 1_000;
            assert!(apart.abs() <= 510, "{fine:?} {whole:?}");
            assert!(fine.picoseconds < 1_000);
        }
    }
}

/// A new frequency shows in the next cross timestamp in proportion to its duration.
#[test]
fn a_rate_that_changed_late_may_have_changed_by_four_times_as_much() {
    let (mut correlation, counter) = steady();
    let since = 20 * SECOND + 700 * MILLISECOND;
    let faster = Counter {
        since,
        start: counter.ticks(since).raw(),
        fast: counter.fast + 700.0,
        ..counter
    };
    let pushed = correlation.push(&faster.read(21 * SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::Contradiction));
    for after in [1, 100, 900] {
        let made = 21 * SECOND + after * MILLISECOND;
        let bound = contains(
            correlation
                .to_monotonic(&faster.timestamp(made, made))
                .expect("converts"),
            made,
        );
        assert!(bound < Span::from_microseconds(2 + 2 * after), "{bound}");
    }
}

/// A jump that chronyd's fastest slew can explain is allowed for until the second batch, unless the
/// intervals of the cross timestamps stayed constant in system time.
#[test]
fn the_system_clock_may_be_slewed_as_fast_as_chronyd_does() {
    let (mut correlation, counter) = steady();
    let since = 20 * SECOND + SECOND / 2;
    let slewed = Counter {
        since,
        start: counter.ticks(since).raw(),
        fast: counter.fast - 76_000.0,
        ..counter
    };
    let first = 21 * SECOND + 30 * MILLISECOND;
    assert_eq!(
        correlation.push(&slewed.read(first, 600, 600)),
        Pushed::Opened(GenerationCause::Contradiction)
    );
    let made = first + 90 * MILLISECOND;
    contains(
        correlation
            .to_monotonic(&slewed.timestamp(made, made))
            .expect("converts"),
        made,
    );
    assert_eq!(
        correlation.push(&slewed.read(first + 100 * MILLISECOND, 600, 600)),
        Pushed::Accepted
    );
    let made = first + 200 * MILLISECOND;
    let bound = contains(
        correlation
            .to_monotonic(&slewed.timestamp(made, made))
            .expect("converts"),
        made,
    );
    assert!(bound < Span::from_microseconds(4), "{bound}");
}

/// After a notification another program may have set any adjustment.
#[test]
fn a_notification_allows_for_a_change_from_the_least_adjustment_to_the_largest() {
    for fast in [-500.0, 500.0] {
        let counter = Counter {
            fast,
            ..Counter::STEADY
        };
        let mut correlation =
            Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
        for second in 1..=20 {
            _ = correlation.push(&counter.read(second * SECOND, 600, 600));
        }
        correlation.restart(GenerationCause::Notification);
        let since = 20 * SECOND + SECOND / 2;
        let other = Counter {
            since,
            start: counter.ticks(since).raw(),
            fast: -fast,
            ..counter
        };
        _ = correlation.push(&other.read(21 * SECOND, 600, 600));
        let made = 24 * SECOND;
        contains(
            correlation
                .to_monotonic(&other.timestamp(made, made))
                .expect("converts"),
            made,
        );
    }
}

/// A late cross timestamp agrees with the earlier ones; one of a clock that was set back does not.
#[test]
fn a_system_clock_set_back_by_a_little_is_no_late_reading() {
    let (mut correlation, counter) = steady();
    let shown = 20 * SECOND - 50_000;
    let reading = CrossTimestamp::new(
        at(shown - 600),
        counter.ticks(20 * SECOND + 50_000),
        at(shown + 600),
        CrossMethod::Extended,
    );
    assert_eq!(
        correlation.push(&reading.expect("valid")),
        Pushed::Opened(GenerationCause::SystemStep)
    );
}

/// A stated frequency that cross timestamps have confirmed is used again after a generation that
/// was too short to learn from.
#[test]
fn a_stated_frequency_that_was_confirmed_stays_reliable() {
    let (mut correlation, counter) = steady();
    for second in [21, 22] {
        correlation.restart(GenerationCause::Notification);
        _ = correlation.push(&counter.read(second * SECOND, 600, 600));
        let made = second * SECOND + MILLISECOND;
        contains(
            correlation
                .to_monotonic(&counter.timestamp(made, made))
                .expect("one reading is enough"),
            made,
        );
    }
}

#[test]
fn wander_is_learnt_from_eight_batches_and_four_seconds_at_least() {
    let observed = |every: f64, batches: u32| {
        let mut wander = Wander::new(3e-17);
        (0..batches).for_each(|_| wander.observe(0.0, every));
        wander.seen()
    };
    assert!(observed(1e8, 30) >= 3e-17, "3 s");
    assert!(observed(4e9, 7) >= 3e-17, "7 batches");
    assert!(observed(1e9, 60) < 3e-17);
    assert!(Wander::new(3e-17).believed() >= 3e-17);
}

/// The next batch shows the delay of a cross timestamp.
#[test]
fn a_wide_reading_is_narrowed_by_the_next_one() {
    for (before, after) in [(600, 90_000), (90_000, 600)] {
        let (mut correlation, counter) = steady();
        assert_eq!(
            correlation.push(&counter.read(21 * SECOND, before, after)),
            Pushed::Accepted
        );
        assert_eq!(
            correlation.push(&counter.read(22 * SECOND, 600, 600)),
            Pushed::Accepted
        );
        let made = 21 * SECOND;
        let bound = contains(
            correlation
                .to_monotonic(&counter.timestamp(made, made + 1_000))
                .expect("converts"),
            made,
        );
        assert!(bound < Span::from_nanoseconds(1_300), "{bound}");
    }
}

/// The output of `--json` does not change.
#[test]
fn causes_and_refusals_have_stable_names() {
    let causes = [
        (GenerationCause::Start, "start"),
        (GenerationCause::CounterBackwards, "counter_backwards"),
        (GenerationCause::Contradiction, "contradiction"),
        (GenerationCause::SystemStep, "system_step"),
        (GenerationCause::HardwareStep, "hardware_step"),
        (GenerationCause::FrequencyChange, "frequency_change"),
        (GenerationCause::Gap, "gap"),
        (GenerationCause::Notification, "notification"),
        (GenerationCause::ClockReplaced, "clock_replaced"),
    ];
    for (cause, name) in causes {
        assert_eq!(cause.name(), name);
    }
    let refusals = [
        (ConversionError::NotReady, "not_ready"),
        (ConversionError::OtherClock, "other_clock"),
        (ConversionError::UnknownDevice, "unknown_device"),
        (ConversionError::OutsideGenerations, "outside_generations"),
        (ConversionError::Ambiguous, "ambiguous"),
        (ConversionError::Stale, "stale"),
    ];
    for (refusal, name) in refusals {
        assert_eq!(refusal.name(), name);
    }
}

/// An interface comes back with another number: new timestamps carry the new number, old ones are
/// not converted.
#[test]
fn a_renumbered_interface_goes_on_in_a_new_generation() {
    let (mut correlation, counter) = steady();
    let other = InterfaceIndex::new(7).expect("not zero");
    correlation.replace_clock(other, Some(Frequency::GIGAHERTZ));
    assert_eq!(correlation.interface(), other);
    let pushed = correlation.push(&counter.read(21 * SECOND, 600, 600));
    assert_eq!(pushed, Pushed::Opened(GenerationCause::ClockReplaced));
    let made = 35 * SECOND;
    _ = correlation.push(&counter.read(made - SECOND, 600, 600));
    let old = counter.timestamp(made, made + 1_000);
    assert_eq!(
        correlation.to_monotonic(&old),
        Err(ConversionError::OtherClock)
    );
    let new = HardwareTimestamp {
        interface: Some(other),
        ..old
    };
    let estimate = correlation.to_monotonic(&new).expect("converts");
    contains(estimate, made);
    assert_eq!(estimate.generation, ClockGeneration(1));
}

/// It has another frequency, another tick and another duration of its cross timestamps.
#[test]
fn nothing_that_was_learnt_of_a_clock_is_assumed_of_the_one_that_replaces_it() {
    let (mut correlation, _) = steady();
    let coarse = Counter {
        start: 40 * 365 * 86_400,
        hertz: 200e3, // 5 µs a tick
        fast: -70.0,
        ..Counter::STEADY
    };
    correlation.replace_clock(interface(), Some(coarse.frequency()));
    correlation.restart(GenerationCause::Notification); // comes beside it
    let before = coarse.timestamp(21 * SECOND, 21 * SECOND + 1_000);
    assert_eq!(
        correlation.to_monotonic(&before),
        Err(ConversionError::OutsideGenerations)
    );
    for reading in 0..20 {
        let pushed =
            correlation.push(&coarse.read(21 * SECOND + reading * 10 * MILLISECOND, 900, 900));
        let opened = Pushed::Opened(GenerationCause::ClockReplaced);
        assert_eq!(
            pushed,
            if reading == 0 {
                opened
            } else {
                Pushed::Accepted
            }
        );
        for later in (0..9 * MILLISECOND).step_by(700_001) {
            let made = 21 * SECOND + reading * 10 * MILLISECOND + later;
            if let Ok(estimate) = correlation.to_monotonic(&coarse.timestamp(made, made + 1_000)) {
                contains(estimate, made);
                assert_eq!(estimate.generation, ClockGeneration(1));
            }
        }
    }
    let made = 21_500 * MILLISECOND;
    contains(
        correlation
            .to_monotonic(&coarse.timestamp(made, made + 1_000))
            .expect("known"),
        made,
    );
}

/// A socket on a VLAN has timestamps of the device below it; a socket on a bond, of the active
/// member.
#[test]
fn timestamps_of_the_devices_below_an_interface_are_of_its_clock() {
    let (mut correlation, counter) = steady();
    let [device, other] = [8, 9].map(|index| InterfaceIndex::new(index).expect("not zero"));
    let made = 20 * SECOND + 500 * MILLISECOND;
    let of = |interface| HardwareTimestamp {
        interface: Some(interface),
        ..counter.timestamp(made, made + 1_000)
    };
    let refused = Err(ConversionError::OtherClock);
    assert_eq!(correlation.to_monotonic(&of(device)), refused);
    correlation.set_devices([device]);
    let estimate = correlation
        .to_monotonic(&of(device))
        .expect("the same clock");
    contains(estimate, made);
    assert_eq!(Ok(estimate), correlation.to_monotonic(&of(interface())));
    assert_eq!(correlation.to_monotonic(&of(other)), refused);
    // two ports of one card, whose clock they share
    correlation.set_devices([other]);
    for half_seconds in 42..=44 {
        _ = correlation.push(&counter.read(half_seconds * SECOND / 2, 600, 600));
    }
    for (device, made) in [
        (device, 19 * SECOND),
        (other, 22 * SECOND + 100 * MILLISECOND),
    ] {
        let timestamp = HardwareTimestamp {
            interface: Some(device),
            ..counter.timestamp(made, made + 1_000)
        };
        let estimate = correlation.to_monotonic(&timestamp).expect("its own");
        contains(estimate, made);
    }
}

/// A VLAN on a bond of VLANs: transmit timestamps name the bond, receive timestamps the NIC.
#[test]
fn all_devices_below_an_interface_count() {
    let made = 20 * SECOND + 500 * MILLISECOND;
    let index = |number| InterfaceIndex::new(number).expect("not zero");
    let converts = |devices: std::ops::Range<u32>| -> Vec<u32> {
        let (mut correlation, counter) = steady();
        correlation.set_devices(devices.map(index));
        let of = |number| HardwareTimestamp {
            interface: Some(index(number)),
            ..counter.timestamp(made, made + 1_000)
        };
        (90..120)
            .filter(|number| correlation.to_monotonic(&of(*number)).is_ok())
            .collect()
    };
    assert_eq!(converts(100..103), [100, 101, 102]);
    assert_eq!(
        converts(100..108),
        Vec::from_iter(100..108),
        "as many as there can be"
    );
    assert_eq!(converts(100..110), Vec::from_iter(102..110), "the last");
    assert_eq!(converts(100..100), Vec::<u32>::new());
}

/// A bond whose clocks are 3 s apart fails over. A timestamp that names its device is of that
/// device's clock, regardless of how long it waited. A timestamp that names the bond may have
/// waited, and is then of the former clock.
#[test]
fn after_a_failover_a_timestamp_is_of_the_clock_of_its_device() {
    let (mut correlation, former) = steady();
    let [first, second] = [8, 9].map(|index| InterfaceIndex::new(index).expect("not zero"));
    correlation.set_devices([first]);
    let behind = Counter {
        since: former.since + 3 * SECOND,
        ..former
    };
    let by = |device, counter: &Counter, made: i64, read_at: i64| HardwareTimestamp {
        interface: Some(device),
        ..counter.timestamp(made, read_at)
    };
    let soon = 20 * SECOND + 400 * MILLISECOND;
    let unnoticed = by(second, &behind, soon, soon + 1_000);
    assert_eq!(
        correlation.to_monotonic(&unnoticed),
        Err(ConversionError::OtherClock),
        "its device is not known yet"
    );
    correlation.replace_clock(interface(), correlation.nominal());
    correlation.set_devices([second]);
    assert_eq!(
        correlation.to_monotonic(&unnoticed),
        Err(ConversionError::OutsideGenerations),
        "its clock was not read yet"
    );
    for half_seconds in 42..=44 {
        _ = correlation.push(&behind.read(half_seconds * SECOND / 2, 600, 600));
    }
    let made = 22 * SECOND + 100 * MILLISECOND;
    let now = by(second, &behind, made, made + 1_000);
    contains(
        correlation.to_monotonic(&now).expect("of the second clock"),
        made,
    );
    // it waited since before the failover
    let early = 19 * SECOND + 500 * MILLISECOND;
    let late = by(first, &former, early, made);
    contains(
        correlation.to_monotonic(&late).expect("of the first clock"),
        early,
    );
    let of_the_bond = by(interface(), &behind, made, made + 1_000);
    assert_eq!(
        correlation.to_monotonic(&of_the_bond),
        Err(ConversionError::Ambiguous),
        "the first clock showed it 3 s ago"
    );
}

/// Conversions on other threads equal those of the correlation itself, for any interface and
/// generation number.
#[test]
fn what_is_published_is_what_the_correlation_converts_with() {
    let (mut correlation, counter) = steady();
    let published = Published::default();
    for (second, number) in [(21, u32::MAX), (40, 1), (60, 0x1_0001)] {
        correlation.replace_clock(
            InterfaceIndex::new(number).expect("not zero"),
            correlation.nominal(),
        );
        for later in 0..14 {
            _ = correlation.push(&counter.read((second + later) * SECOND, 600, 600));
        }
        let made = (second + 14) * SECOND;
        let timestamp = HardwareTimestamp {
            interface: InterfaceIndex::new(number),
            ..counter.timestamp(made, made + 1_000)
        };
        assert_ne!(
            published.to_monotonic(&timestamp),
            correlation.to_monotonic(&timestamp).ok()
        );
        published.publish(&correlation);
        assert!(published.to_monotonic(&timestamp).is_some());
        assert_eq!(
            published.to_monotonic(&timestamp),
            correlation.to_monotonic(&timestamp).ok()
        );
        assert_eq!(
            published.to_monotonic(&counter.timestamp(made, made + 1_000)),
            None
        );
    }
}

/// A stated frequency that the first cross timestamps contradict is no longer used, until cross
/// timestamps agree with it.
#[test]
fn a_stated_frequency_that_readings_agree_with_again_is_used_again() {
    let wrong = Counter {
        fast: 3_000.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), Some(wrong.frequency()));
    for second in 1..=4 {
        _ = correlation.push(&wrong.read(second * SECOND, 600, 600));
    }
    assert!(correlation.frequency().is_some());
    correlation.restart(GenerationCause::Notification);
    _ = correlation.push(&wrong.read(5 * SECOND, 600, 600));
    correlation.restart(GenerationCause::Notification);
    let since = 5 * SECOND + SECOND / 2;
    let right = Counter {
        since,
        start: wrong.ticks(since).raw(),
        fast: 0.0,
        ..wrong
    };
    for second in 6..=30 {
        _ = correlation.push(&right.read(second * SECOND, 600, 600));
    }
    let known = correlation.frequency().expect("known");
    assert!((known.hertz - 1e9).abs() < 1e3, "{known:?}");
    for second in [31, 32, 33] {
        correlation.restart(GenerationCause::Notification);
        _ = correlation.push(&right.read(second * SECOND, 600, 600));
    }
    let made = 33 * SECOND + MILLISECOND;
    let estimate = correlation.to_monotonic(&right.timestamp(made, made + 1_000));
    assert!(estimate.is_ok() || estimate == Err(ConversionError::Ambiguous));
}

/// A batch that is still open: its two ends come from two cross timestamps, each with an error of
/// up to a tick.
#[test]
fn the_variance_of_a_batch_is_that_of_its_ends() {
    use super::super::bank::{Bank, Measurement};
    use super::super::interval::Interval;
    use super::super::knots::KEPT;
    use super::super::learning::Learning;
    use super::super::path::PathWidth;
    let mut learning = Learning {
        bank: Bank::new(0.0, 1.0),
        told: Interval::new(-50.0, 90.0),
        likely: Interval::new(-3.0, 7.0),
        known: false,
        middles: 30.0,
        readings: 1.0,
        system_step: 12.0,
        carried: Interval::around_zero(1.0),
        agreed_since: HardwareTicks::new(0),
        since_last: 0.0,
        brackets: [[0.0; 2]; KEPT],
        path: PathWidth::new(),
        wander: Wander::new(3e-17),
    };
    for (readings, variance) in [(1.0, 24.0 * 24.0 / 12.0), (2.0, 24.0), (5.0, 24.0)] {
        learning.readings = readings;
        let measured = learning.measured(24.0);
        assert!((measured.centre - 30.0 / readings).abs() < 1e-9);
        let expected = 1e4 + variance + 12.0 * 12.0 / 24.0;
        assert!((measured.variance - expected).abs() < 1e-6, "{measured:?}");
    }
    // 20 ns from the previous batch's value
    learning.readings = 1.0;
    learning.bank.update(Measurement {
        centre: 10.0,
        variance: 1.0,
    });
    let surprised = learning.measured(24.0);
    let expected = 1e4 + 48.0 + 6.0 + 400.0;
    assert!(
        (surprised.variance - expected).abs() < 1e-3,
        "{surprised:?}"
    );
    learning.known = true;
    let measured = learning.measured(24.0);
    assert!((measured.centre - 2.0).abs() < 1e-9);
    assert!((measured.variance - (1.0 / 12.0 + 48.0 + 6.0 + 0.5)).abs() < 1e-6);
}
