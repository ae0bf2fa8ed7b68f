//! Whether an earlier conversion of a timestamp is confirmed by later cross timestamps.

use super::generations::{alike, reading};
use super::*;
use crate::time::Monotonic;

/// The counter showed `ticks`; it is read half a second later, and the system clock shows the same.
fn timestamp(ticks: i64) -> HardwareTimestamp {
    HardwareTimestamp {
        ticks: HardwareTicks::new(ticks as u64),
        interface: Some(interface()),
        read_at: at(ticks + SECOND / 2),
    }
}

/// The conversion of a timestamp after 20 cross timestamps, a second apart.
fn said(correlation: &Correlation, ticks: i64) -> Estimate<Monotonic> {
    let estimate = correlation.to_monotonic(&timestamp(ticks));
    estimate.expect("since the newest reading")
}

const MADE: i64 = 20 * SECOND + SECOND / 4;

#[test]
fn readings_that_agree_bear_it_out() {
    let mut correlation = alike(20);
    let first = said(&correlation, MADE);
    for second in 21..=23 {
        _ = correlation.push(&reading(second * SECOND, second * SECOND));
    }
    assert!(correlation.bears_out(&timestamp(MADE), &first));
    // as long as it is remembered
    for second in 24..=60 {
        _ = correlation.push(&reading(second * SECOND, second * SECOND));
    }
    assert!(correlation.bears_out(&timestamp(MADE), &first));
}

/// Its bound grows because the change can be anywhere in the gap; the earlier result may belong to
/// the other side.
#[test]
fn a_change_in_the_gap_bears_nothing_out() {
    for step in [2_000, 100_000, SECOND] {
        let mut correlation = alike(20);
        let first = said(&correlation, MADE);
        for second in 21..=23 {
            _ = correlation.push(&reading(second * SECOND + step, second * SECOND));
        }
        assert!(
            !correlation.bears_out(&timestamp(MADE), &first),
            "a step of {step} ns"
        );
    }
}

/// The change comes after the third batch. Before it shows, the answer is clear; later, brackets
/// may have hidden it for a while.
#[test]
fn what_contradicts_later_leaves_a_doubt() {
    let mut correlation = alike(20);
    let first = said(&correlation, MADE);
    for second in 21..=23 {
        _ = correlation.push(&reading(second * SECOND, second * SECOND));
    }
    assert!(correlation.bears_out(&timestamp(MADE), &first));
    _ = correlation.push(&reading(24 * SECOND + 100_000, 24 * SECOND));
    assert!(!correlation.bears_out(&timestamp(MADE), &first));
}

/// A change that is small enough for a new frequency: its place in the gap is unknown, but the
/// earlier bound had room for it.
#[test]
fn what_lies_within_what_was_said_is_borne_out() {
    let mut correlation = alike(20);
    let first = said(&correlation, MADE);
    for second in 21..=23 {
        _ = correlation.push(&reading(second * SECOND + 600, second * SECOND));
    }
    let wide = Estimate {
        at: Bounded::new(first.at.value, first.at.bound + Span::from_microseconds(5)),
        ..first
    };
    assert!(correlation.bears_out(&timestamp(MADE), &wide));
    assert!(!correlation.bears_out(&timestamp(MADE), &first));
}

/// Two cross timestamps of unknown width, 2 µs apart, each second: the first ended before the
/// second began, so that a clock that was set in either direction contradicts one of them.
#[test]
fn readings_of_unknown_width_show_a_step_of_either_sign() {
    for step in [-500_000, -50_000, -5_000, 5_000, 50_000, 500_000] {
        let mut correlation =
            Correlation::new(interface(), Some(Frequency::GIGAHERTZ)).with_assumptions(&FINE);
        let mut read = |time: i64, ticks: i64| {
            let ticks = HardwareTicks::new(ticks as u64);
            let reading = CrossTimestamp::new(at(time), ticks, at(time), CrossMethod::Driver);
            correlation.push(&reading.expect("valid"))
        };
        for second in 1..=10 {
            for time in [second * SECOND, second * SECOND + 2_000] {
                assert_ne!(
                    read(time, time),
                    Pushed::Opened(GenerationCause::Contradiction)
                );
            }
        }
        let opened = [11 * SECOND, 11 * SECOND + 2_000]
            .map(|time| read(time, time + step))
            .into_iter()
            .any(|pushed| matches!(pushed, Pushed::Opened(_)));
        assert!(opened, "a step of {step} ns");
    }
}
