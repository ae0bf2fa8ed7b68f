//! Each term of a bound, where it is the one that matters: mutations of them must not go unnoticed.

use super::super::prior::Wander;
use super::*;

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

/// What the frequency did before the oldest remembered reading is not known but for its limit.
#[test]
fn long_before_the_oldest_remembered_reading_the_wander_counts_squared() {
    // ramps down by 3·10⁻⁸ a second for 150 s, then stays
    let wandering = |time: i64| {
        let seconds = (time as f64 / 1e9).min(150.0);
        let ahead = (3e-8 * (150.0 * seconds - seconds * seconds / 2.0) * 1e9) as i64;
        HardwareTicks::new((1_000_000_000_000 + time + ahead).cast_unsigned())
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
            let apart = fine.total_picoseconds() - i128::from(whole.at.nanoseconds()) * 1_000;
            assert!(apart.abs() <= 510, "{fine:?} {whole:?}");
            assert!(fine.picoseconds < 1_000);
        }
    }
}

/// A new rate shows in the reading after it by as much as it has lasted.
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
/// readings kept their pace by the system clock.
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

/// A reading that comes late fits what is known; one of a clock that was set back does not.
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

/// A stated frequency that readings went with counts again when a generation was too short to learn from.
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

/// The next batch tells how late a reading was.
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
