//! Conversions to the picosecond, compared with clocks that are exact to the picosecond.

use super::*;
use proptest::prelude::*;

const PICOSECOND: i128 = 1_000_000_000_000;

/// An exact counter, at `time` in picoseconds of the system clock.
fn ticks_at(hertz: u64, start: u64, time: i128) -> HardwareTicks {
    let ticks = (time * i128::from(hertz)).div_euclid(PICOSECOND);
    HardwareTicks::new(start.wrapping_add(ticks as u64))
}

/// A cross timestamp at `time`; a system clock of nanoseconds is read `before` and `after` it.
fn read(hertz: u64, start: u64, time: i128, before: i128, after: i128) -> CrossTimestamp {
    let shown = |time: i128| at(time.div_euclid(1_000) as i64);
    let (from, to) = (shown(time - before), shown(time + after));
    CrossTimestamp::new(
        from,
        ticks_at(hertz, start, time),
        to,
        CrossMethod::Extended,
    )
    .expect("valid")
}

/// The first and last picosecond in which the counter shows its value of `time`.
fn tick_around(hertz: u64, time: i128) -> (i128, i128) {
    let hertz = i128::from(hertz);
    let tick = (time * hertz).div_euclid(PICOSECOND);
    let starts = |tick: i128| -(-tick * PICOSECOND).div_euclid(hertz);
    (starts(tick), starts(tick + 1) - 1)
}

#[test]
fn ticks_of_a_tenth_of_a_nanosecond_are_told_apart() {
    let (hertz, start) = (10_000_000_000, u64::MAX - 1_000_000_000);
    let mut correlation = Correlation::new(interface(), Frequency::from_hertz(hertz));
    for second in 1..=30 {
        _ = correlation.push(&read(hertz, start, second * PICOSECOND, 600_000, 599_000));
    }
    let last = 30 * PICOSECOND;
    for since in [-7 * PICOSECOND - 50, 50, 10 * PICOSECOND + 50] {
        let convert = |tick: i128| {
            let made = last + since + tick * 100;
            let timestamp = HardwareTimestamp {
                ticks: ticks_at(hertz, start, made),
                interface: Some(interface()),
                read_at: at(((made + 500_000) / 1_000) as i64).max(at((last / 1_000) as i64)),
            };
            correlation
                .to_monotonic_fine(&timestamp)
                .expect("converts")
                .total_picoseconds()
        };
        let first = convert(0);
        assert!(
            (first - (last + since)).abs() < 500,
            "{since}: {}",
            first - (last + since)
        );
        for tick in 1..2_000 {
            let off = convert(tick) - first - tick * 100;
            assert!(off.abs() <= 2, "{since}: tick {tick} is {off} ps off");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The whole tick is within the bound, at any frequency, before and after the newest cross
    /// timestamp; nanoseconds and picoseconds agree.
    #[test]
    fn a_bound_contains_all_of_the_tick(
        hertz in prop_oneof![
            prop::sample::select(&[1_000u64, 32_768, 10_000_000, 125_000_000, 156_250_000, 1_000_000_000, 10_000_000_000][..]),
            1_000u64..10_000_000_000,
        ],
        start in prop_oneof![Just(1u64), Just(u64::MAX - 2_000_000_000), any::<u64>()],
        delays in prop::collection::vec((400_000i128..700_000, 300_000i128..900_000, 0i128..PICOSECOND), 12..40),
        stated in any::<bool>(),
    ) {
        let mut correlation = Correlation::new(interface(), stated.then(|| Frequency::from_hertz(hertz)).flatten());
        for (number, (before, after, jitter)) in delays.iter().enumerate() {
            let time = (number as i128 + 1) * PICOSECOND + jitter / 2;
            _ = correlation.push(&read(hertz, start, time, *before, *after));
            if number < 3 {
                continue;
            }
            for made in [time + jitter / 3 + 1_000_000, time - 2 * jitter] {
                let ticks = ticks_at(hertz, start, made);
                let read_at = at(((made.max(time) + PICOSECOND) / 1_000) as i64);
                let timestamp = HardwareTimestamp { ticks, interface: Some(interface()), read_at };
                let Ok(fine) = correlation.to_monotonic_fine(&timestamp) else { continue };
                let (from, to) = tick_around(hertz, made);
                let (estimate, bound) = (fine.total_picoseconds(), i128::from(fine.bound_picoseconds));
                prop_assert!(estimate - bound <= from && to <= estimate + bound, "{fine:?} {from} {to}");
                let whole = correlation.to_monotonic(&timestamp).expect("converts as well");
                prop_assert!((i128::from(whole.at.value.nanoseconds()) * 1_000 - estimate).abs() <= 501);
                prop_assert!(bound <= whole.at.bound.nanoseconds() * 1_000 && fine.generation == whole.generation);
                // half a nanosecond for rounding up, half for rounding to the nearest
                prop_assert!(bound + 2_100 > whole.at.bound.nanoseconds() * 1_000);
            }
        }
        prop_assert!(correlation.generation() == Some(ClockGeneration(0)));
    }
}

#[test]
fn a_settled_one_waits_as_that_of_whole_nanoseconds_does() {
    let (hertz, start) = (125_000_000, 77);
    let mut correlation =
        Correlation::new(interface(), Frequency::from_hertz(hertz)).with_assumptions(&FINE);
    for second in 1..=9 {
        _ = correlation.push(&read(hertz, start, second * PICOSECOND, 600_000, 600_000));
    }
    let made = 9 * PICOSECOND + PICOSECOND / 2;
    let timestamp = correlation.timestamp_just_read(ticks_at(hertz, start, made));
    assert!(correlation.to_monotonic_fine(&timestamp).is_ok());
    assert_eq!(
        correlation.to_monotonic_settled_fine(&timestamp),
        Err(ConversionError::NotReady)
    );
    _ = correlation.push(&read(hertz, start, 10 * PICOSECOND, 600_000, 600_000));
    let settled = correlation
        .to_monotonic_settled_fine(&timestamp)
        .expect("a reading came after it");
    assert!(
        (settled.total_picoseconds() - made).abs() <= 4_500 && settled.bound_picoseconds < 800_000,
        "{settled:?}"
    );
}

#[test]
fn a_timestamp_just_read_is_of_the_time_since_the_newest_reading_or_of_just_before() {
    let counter = Counter {
        fast: 37.0,
        ..Counter::STEADY
    };
    let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
    let early = correlation.timestamp_just_read(counter.ticks(SECOND));
    assert_eq!(
        correlation.to_monotonic_fine(&early),
        Err(ConversionError::NotReady)
    );
    for second in 1..=20 {
        _ = correlation.push(&counter.read(second * SECOND, 600, 600));
    }
    for made in [15 * SECOND, 20 * SECOND + 5, 21 * SECOND, 109 * SECOND] {
        let estimate = correlation
            .to_monotonic(&correlation.timestamp_just_read(counter.ticks(made)))
            .expect("converts");
        contains(estimate, made);
    }
    let refused =
        |made| correlation.to_monotonic_fine(&correlation.timestamp_just_read(counter.ticks(made)));
    assert_eq!(
        refused(111 * SECOND),
        Err(ConversionError::Stale),
        "a minute and a half after the reading"
    );
    assert_eq!(
        refused(3 * SECOND),
        Err(ConversionError::OutsideGenerations),
        "rather a restart than 17 s unread"
    );
}
