//! The performance counter: which instant it shows, and which count an instant is.
//! Reads the monotonic clock from `adapter`.
//!
//! Software timestamps are monotonic clock instants before they come here: how UTC becomes
//! monotonic time, steps included, is `wirestamp_core::time::UtcModel`'s affair.

use crate::adapter::{machine, native, simulated};
use wirestamp_core::time::{Frequency, MonotonicTime, Span};

/// What the performance counter shows now. With a simulation, whichever of both clocks is
/// ahead: no timestamp lies in its future, and it never runs backwards.
pub(crate) fn now() -> MonotonicTime {
    let real = machine::now();
    match simulated::running() {
        Some(simulation) => real.max(simulation.shown()),
        None => real,
    }
}

/// The count that an instant falls into. Exact to the tick; 0 before the counter's start.
pub(crate) fn count(at: MonotonicTime) -> u64 {
    count_at(native::frequency(), at)
}

fn count_at(frequency: Frequency, at: MonotonicTime) -> u64 {
    let since_start = Span::from_nanoseconds(i128::from(at.nanoseconds()));
    frequency
        .ticks_in(since_start)
        .and_then(|ticks| u64::try_from(ticks).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_of(nanoseconds: i64) -> u64 {
        count_at(
            Frequency::from_hertz(10_000_000).expect("not zero"),
            MonotonicTime::from_nanoseconds(nanoseconds),
        )
    }

    #[test]
    fn every_nanosecond_of_a_tick_is_that_tick() {
        assert_eq!([0, 99, 100, 199, 200].map(count_of), [0, 0, 1, 1, 2]);
        let century = 100 * 366 * 86_400 * 1_000_000_000 - 1;
        let digits = century / 100;
        assert_eq!(count_of(century), digits as u64);
    }

    #[test]
    fn an_instant_before_the_start_is_no_huge_count() {
        assert_eq!(count_of(-1), 0);
        assert_eq!(count_of(i64::MIN), 0);
    }

    #[test]
    fn the_counter_does_not_run_backwards() {
        let counts: Vec<_> = (0..1_000).map(|_| count(now())).collect();
        assert!(counts.is_sorted());
    }
}
