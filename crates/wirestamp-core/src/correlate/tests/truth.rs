//! Random clocks and cross timestamps: the truth is always within the error bound.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// How cross timestamps of a clock are taken.
#[derive(Debug, Clone)]
struct Polling {
    every: i64,
    burst: usize,
    /// Minimum delays of request and answer.
    delays: (i64, i64),
    /// Additional delays: (of the request, of the answer), one pair per cross timestamp.
    jitter: Vec<(i64, i64)>,
}

fn counter() -> impl Strategy<Value = Counter> {
    let hertz = prop_oneof![
        Just(1e9),
        Just(1e7),
        Just(125e6),
        (3.0f64..10.0).prop_map(|power| 10f64.powf(power).floor())
    ];
    let start = prop_oneof![Just(1u64), Just(u64::MAX - 3_000_000_000), any::<u64>()];
    (
        hertz,
        start,
        -200.0f64..200.0,
        0.0f64..1.0,
        250.0f64..1_000.0,
    )
        .prop_map(|(hertz, start, fast, amplitude, period)| Counter {
            since: 0,
            start,
            hertz,
            fast,
            amplitude,
            period,
        })
}

fn polling() -> impl Strategy<Value = Polling> {
    let every = prop::sample::select(
        &[
            10 * MILLISECOND,
            100 * MILLISECOND,
            SECOND,
            5 * SECOND,
            8 * SECOND,
            30 * SECOND,
        ][..],
    );
    let delay = || prop_oneof![50i64..2_000, 10_000i64..40_000];
    let jitter = || prop_oneof![8 => 0i64..300, 1 => 0i64..20_000, 1 => 0i64..3_000_000];
    let jitters = prop::collection::vec((jitter(), jitter()), 20..160);
    (every, 1usize..6, (delay(), delay()), jitters).prop_map(|(every, burst, delays, jitter)| {
        Polling {
            every,
            burst,
            delays,
            jitter,
        }
    })
}

/// Takes cross timestamps as configured, and calls `each` after each one with its time and number.
fn poll(
    polling: &Polling,
    counter: impl Fn(i64) -> Counter,
    mut each: impl FnMut(&CrossTimestamp, i64, usize),
) {
    let mut time = SECOND;
    for (number, (before, after)) in polling.jitter.iter().enumerate() {
        let (before, after) = (polling.delays.0 + before, polling.delays.1 + after);
        let now = time + before;
        each(&counter(now).read(now, before, after), now + after, number);
        time = now
            + after
            + if (number + 1) % polling.burst == 0 {
                polling.every
            } else {
                200
            };
    }
}

/// Two cross timestamps of one batch with delays on different sides show a clock that ran 40 % fast
/// between them; the next batch shows that it did not. This looks like an exchanged oscillator.
/// Timestamps that could be converted before still can be.
#[test]
fn readings_that_seem_to_show_a_change_leave_timestamps_of_before_convertible() {
    let jitter = [
        [(0, 0), (0, 0), (0, 43), (0, 43)],
        [(0, 448_736), (550_920, 0), (45, 0), (45, 0)],
        [(0, 44), (0, 44), (0, 44), (0, 44)],
        [(0, 43), (0, 43), (0, 43), (998_926, 0)],
        [(0, 42), (0, 42), (0, 42), (0, 42)],
        [(35, 0), (34, 999_305), (17, 1), (0, 0)],
    ];
    let polling = Polling {
        every: 5 * SECOND,
        burst: 4,
        delays: (50, 50),
        jitter: jitter.concat(),
    };
    let counter = Counter {
        since: 0,
        start: 1,
        hertz: 1e9,
        fast: 0.0,
        amplitude: 0.0,
        period: 250.0,
    };
    let mut correlation = Correlation::new(interface(), None);
    let mut first = None;
    poll(
        &polling,
        |_| counter,
        |reading, now, _| {
            _ = correlation.push(reading);
            let (first, known) = (*first.get_or_insert(now), reading.middle().nanoseconds());
            for part in 0..40 {
                let time = first + (known - first).max(0) * part / 40;
                check(&correlation, &counter, time, known.max(time), false);
            }
        },
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn the_truth_lies_within_the_bound(
        counter in counter(),
        polling in polling(),
        stated in any::<bool>(),
        fractions in prop::collection::vec(0.0f64..1.0, 160),
    ) {
        let mut correlation = Correlation::new(interface(), stated.then(|| counter.frequency()));
        let (mut last, mut first) = (None::<i64>, None);
        poll(&polling, |_| counter, |reading, now, number| {
            // before the cross timestamp: a timestamp made since the last one
            if let Some(last) = last {
                let time = last + ((now - 1 - last) as f64 * fractions[number]) as i64;
                check(&correlation, &counter, time, now, stated);
            }
            let opened = correlation.push(reading);
            assert_eq!(opened, if number == 0 { Pushed::Opened(GenerationCause::Start) } else { Pushed::Accepted });
            // after it: any timestamp since the first one that had been read by then
            let first = *first.get_or_insert(now);
            let known = reading.middle().nanoseconds();
            if known > first {
                let time = first + ((known - first) as f64 * fractions[(number + 7) % 160]) as i64;
                check(&correlation, &counter, time, known, stated);
            }
            last = Some(now);
        });
        let rate = correlation.frequency();
        prop_assert!(!stated || rate.is_some());
        if let Some(rate) = rate {
            let low = counter.hertz * (1.0 + (counter.fast - counter.amplitude) * 1e-6);
            let high = counter.hertz * (1.0 + (counter.fast + counter.amplitude) * 1e-6);
            let bound = rate.hertz * rate.error_bound_parts_per_billion * 1e-9;
            prop_assert!(rate.hertz + bound >= low && rate.hertz - bound <= high);
        }
    }

    #[test]
    fn conversions_keep_the_order_of_the_timestamps(counter in counter(), polling in polling()) {
        let mut correlation = Correlation::new(interface(), Some(counter.frequency()));
        let (mut first, mut end) = (None, 0);
        poll(&polling, |_| counter, |reading, now, _| {
            _ = correlation.push(reading);
            first.get_or_insert(now);
            end = now;
        });
        let first = first.expect("polled");
        let step = (end - first) / 400 + 1;
        let mut previous = MonotonicTime::MIN;
        for time in (0..400).map(|n| first + n * step).filter(|time| *time < end) {
            // neighbouring ticks too
            for ticks in 0..2 {
                let timestamp = HardwareTimestamp { ticks: counter.ticks(time).plus(ticks), ..counter.timestamp(time, end + SECOND) };
                let Ok(estimate) = correlation.to_monotonic(&timestamp) else { continue };
                prop_assert!(estimate.at.value >= previous || counter.hertz < 1e6);
                previous = estimate.at.value;
            }
        }
    }

    /// After any event of the counter, no bound is wrong once a cross timestamp has been taken.
    #[test]
    fn after_an_event_no_bound_is_wrong(
        mut before in counter(),
        polling in polling(),
        event in 10usize..20,
        gap in 0.0f64..1.0,
        what in prop_oneof![
            Just(None),
            prop_oneof![-5_000i64..-20, 20i64..5_000].prop_map(Some),
        ],
        notified in any::<bool>(),
        fractions in prop::collection::vec(0.0f64..1.0, 40),
    ) {
        before.hertz = before.hertz.max(1e6);
        let polling = Polling { every: polling.every.min(8 * SECOND), ..polling };
        let mut correlation = Correlation::new(interface(), Some(before.frequency()));
        let mut made = Vec::new();
        let mut changed: Option<(i64, Counter)> = None;
        let mut last = 0;
        let world = |changed: Option<(i64, Counter)>, time: i64| match changed {
            Some((when, after)) if time >= when => after,
            _ => before,
        };
        let mut time = SECOND;
        for (number, (ask, answer)) in polling.jitter.iter().take(40).enumerate() {
            let (ask, answer) = (polling.delays.0 + ask, polling.delays.1 + answer);
            let now = time + ask;
            if number == event {
                let when = last + 1 + ((now - last - 2) as f64 * gap) as i64;
                let mut after = Counter { since: when, ..before };
                match what {
                    // restarts, as after a reset of the NIC
                    None => {
                        after.start = 1;
                        // a restart at which the counter would have wrapped to the same value
                        // anyway is none
                        let off = before.ticks(when).since(after.ticks(when)).unsigned_abs();
                        prop_assume!(off as f64 > 0.02 * after.hertz);
                    }
                    // stepped by this many milliseconds
                    Some(step) => {
                        let moved = (step as f64 * after.hertz / 1e3) as i64;
                        after.start = before.ticks(when).plus(moved).raw();
                    }
                }
                changed = Some((when, after));
                if notified {
                    correlation.restart(GenerationCause::Notification);
                }
            }
            let opened = correlation.push(&world(changed, now).read(now, ask, answer));
            prop_assert_eq!(matches!(opened, Pushed::Opened(_)), number == 0 || number == event, "{:?}", opened);
            let read = now + answer;
            if last > 0 {
                let made_at = last + ((read - last) as f64 * fractions[number]) as i64;
                let read_at = made_at + ((read - made_at) as f64 * fractions[39 - number]) as i64;
                made.push((made_at, read_at));
            }
            last = read;
            time = last + if (number + 1) % polling.burst == 0 { polling.every } else { 200 };
            for (made_at, read_at) in &made {
                let timestamp = world(changed, *made_at).timestamp(*made_at, *read_at);
                match correlation.to_monotonic(&timestamp) {
                    Ok(estimate) => _ = contains(estimate, *made_at),
                    Err(refusal) => {
                        prop_assert!(number >= event && !matches!(refusal, ConversionError::Stale | ConversionError::OtherClock));
                    }
                }
            }
        }
    }
}

#[track_caller]
fn check(correlation: &Correlation, counter: &Counter, time: i64, now: i64, stated: bool) {
    match correlation.to_monotonic(&counter.timestamp(time, now)) {
        Ok(estimate) => _ = contains(estimate, time),
        Err(refusal) => assert!(
            refusal == ConversionError::NotReady && !stated,
            "{refusal:?}"
        ),
    }
    if let Ok(estimate) = correlation.to_hardware(at(time)) {
        let error = counter.ticks(time).since(estimate.ticks).unsigned_abs();
        assert!(error <= estimate.bound, "{estimate:?} is {error} ticks off");
    }
}

proptest! {
    /// Drivers can return any values.
    #[test]
    fn nothing_panics(
        hertz in prop::option::of(1u64..),
        steps in prop::collection::vec((any::<i64>(), any::<i64>(), any::<u64>(), 0u32..64, any::<bool>()), 1..40),
    ) {
        let mut correlation = Correlation::new(interface(), hertz.and_then(Frequency::from_hertz));
        for (one, other, ticks, shift, restart) in steps {
            let (one, other, ticks) = (one >> shift, other >> shift, HardwareTicks::new(ticks >> shift));
            let method = if restart { CrossMethod::Driver } else { CrossMethod::Precise };
            if let Ok(reading) = CrossTimestamp::new(at(one.min(other)), ticks, at(one.max(other)), method) {
                _ = correlation.push(&reading);
            }
            if restart && shift == 0 {
                correlation.restart(GenerationCause::Notification);
            }
            let timestamp = HardwareTimestamp { ticks: ticks.plus(one), interface: Some(interface()), read_at: at(other) };
            if let Ok(estimate) = correlation.to_monotonic(&timestamp) {
                prop_assert!(estimate.at.bound > Span::ZERO);
            }
            _ = (correlation.to_hardware(at(one)), correlation.frequency());
        }
    }
}
