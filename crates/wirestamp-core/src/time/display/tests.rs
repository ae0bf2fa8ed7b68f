//! Printed intervals, read back by an independent reader, contain the original ones.

use crate::correlate::{ClockGeneration, Estimate, FineEstimate};
use crate::time::{Bounded, Clock, Monotonic, MonotonicTime, PtpTime, Span, Time, Utc, UtcTime};
use alloc::string::{String, ToString};
use proptest::prelude::*;
use std::format;
use std::vec::Vec;

const SECOND: i128 = 1_000_000_000_000;

fn estimate<C: Clock>(at: i64, bound: i128) -> Estimate<C> {
    Estimate {
        at: Bounded::new(Time::from_nanoseconds(at), Span::from_nanoseconds(bound)),
        generation: ClockGeneration(0),
    }
}

fn fine<C: Clock>(at: i64, picoseconds: u16, bound: u64) -> FineEstimate<C> {
    FineEstimate {
        at: Time::from_nanoseconds(at),
        picoseconds,
        bound_picoseconds: bound,
        generation: ClockGeneration(0),
    }
}

#[test]
fn times_are_text_with_as_many_digits_as_asked_for() {
    let at = UtcTime::from_nanoseconds(1_795_611_600_123_456_789);
    assert_eq!(at.to_string(), "2026-11-25T13:00:00.123456789Z");
    assert_eq!(format!("{at:.6}"), "2026-11-25T13:00:00.123457Z");
    assert_eq!(format!("{at:.0}"), "2026-11-25T13:00:00Z");
    assert_eq!(format!("{at:.12}"), at.to_string());
    assert_eq!(at.rfc3339().to_string(), at.to_string());
    let up = UtcTime::from_nanoseconds(-1);
    assert_eq!(format!("{up:.3}"), "1970-01-01T00:00:00.000Z");
    assert_eq!(format!("{:.0}", UtcTime::MAX), "2262-04-11T23:47:17Z");
    let monotonic = MonotonicTime::from_nanoseconds;
    assert_eq!(monotonic(4_711_000_123_456).to_string(), "4711.000123456 s");
    assert_eq!(monotonic(-1).to_string(), "-0.000000001 s");
    assert_eq!(format!("{:.1}", monotonic(-1_250_000_000)), "-1.2 s");
    assert_eq!(PtpTime::from_nanoseconds(37).to_string(), "0.000000037 s");
    assert_eq!(
        format!("{:>8.0}|{:*^5.0}", monotonic(1), monotonic(1)),
        "     0 s|*0 s*"
    );
}

#[test]
fn estimates_are_a_time_and_its_bound() {
    let at = 1_795_611_600_123_456_789;
    let shown = |bound| {
        let text = estimate::<Utc>(at, bound).to_string();
        let bound = text.strip_prefix("2026-11-25T13:00:00.123456789Z ±");
        bound.map(String::from).expect("the time")
    };
    for (bound, expected) in [
        (0, "0 ns"),
        (420, "420 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (1_001, "1.01 µs"),
        (9_991, "10.0 µs"),
        (99_901, "100 µs"),
        (999_001, "1.00 ms"),
        (1_500_000_000, "1.50 s"),
        (1_234_000_000_001, "1235 s"),
    ] {
        assert_eq!(shown(bound), expected);
    }
    // 43.211 µs of the time move into the bound
    let coarse = format!("{:.3}", estimate::<Utc>(at - 413_578, 420));
    assert_eq!(coarse, "2026-11-25T13:00:00.123Z ±43.7 µs");
    assert_eq!(
        fine::<Monotonic>(5, 7, 1_234).to_string(),
        "0.000000005007 s ±1.24 ns"
    );
    assert_eq!(
        fine::<Monotonic>(5, 7, 9).to_string(),
        "0.000000005007 s ±9 ps"
    );
    assert_eq!(
        format!("{:>24}", estimate::<Monotonic>(0, 7)),
        "     0.000000000 s ±7 ns"
    );
}

/// The picoseconds of a decimal number in a unit of this many picoseconds.
fn decimal(text: &str, per: i128) -> i128 {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut value = whole.parse::<i128>().expect("a number") * per;
    let mut step = per;
    for digit in fraction.bytes() {
        step /= 10;
        value += i128::from(digit - b'0') * step;
    }
    sign * value
}

/// Days since 1970, counted by months and leap years.
fn days(year: i128, month: i128, day: i128) -> i128 {
    let leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let years = if year < 1970 { year..1970 } else { 1970..year };
    let of_years: i128 = years.map(|year| 365 + i128::from(leap(year))).sum();
    let lengths = [
        31,
        28 + i128::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let of_months: i128 = lengths.iter().take(month as usize - 1).sum();
    (if year < 1970 { -of_years } else { of_years }) + of_months + day - 1
}

fn read_utc(text: &str) -> i128 {
    let (date, time) = text.split_once('T').expect("a date and a time");
    let date: Vec<i128> = date.split('-').map(|part| decimal(part, 1)).collect();
    let time: Vec<_> = time.trim_end_matches('Z').split(':').collect();
    let minutes = (days(date[0], date[1], date[2]) * 24 + decimal(time[0], 1)) * 60;
    (minutes + decimal(time[1], 1)) * 60 * SECOND + decimal(time[2], SECOND)
}

fn read_seconds(text: &str) -> i128 {
    decimal(text.trim_end_matches(" s"), SECOND)
}

fn read_bound(text: &str) -> i128 {
    let (number, unit) = text.split_once(' ').expect("a number and its unit");
    let units = [
        ("ps", 1),
        ("ns", 1_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", SECOND),
    ];
    let per = units
        .iter()
        .find(|(name, _)| *name == unit)
        .expect("a unit")
        .1;
    decimal(number, per)
}

/// The printed interval contains the true one and is wider by at most half of the last digit and
/// three digits of the bound. Its middle is the nearest one that the digits allow.
fn assert_contains(text: &str, read: fn(&str) -> i128, at: i128, bound: i128, digits: usize) {
    let (time, shown_bound) = text.split_once(" ±").expect("a bound");
    let (shown, shown_bound) = (read(time), read_bound(shown_bound));
    let away = (shown - at).abs();
    assert!(away + bound <= shown_bound, "{text}: of {at} ±{bound}");
    let step = 10i128.pow(12 - digits as u32);
    assert!(away * 2 <= step, "{text}: of {at}");
    assert!(
        shown_bound * 100 <= (away + bound) * 101,
        "{text}: of {at} ±{bound}"
    );
}

proptest! {
    #[test]
    fn what_is_printed_contains_what_was_measured(
        at: i64,
        picoseconds in 0..1_000u16,
        bound in (0u32..63).prop_flat_map(|bits| 0..=(u64::MAX >> bits) / 1_000_000),
        digits in 0..=12usize,
    ) {
        let (whole, exact) = (i128::from(at) * 1_000, i128::from(at) * 1_000 + i128::from(picoseconds));
        let few = digits.min(9);
        let in_picoseconds = i128::from(bound) * 1_000;
        let of_utc = format!("{:.digits$}", estimate::<Utc>(at, bound.into()));
        assert_contains(&of_utc, read_utc, whole, in_picoseconds, few);
        let of_monotonic = format!("{:.digits$}", estimate::<Monotonic>(at, bound.into()));
        assert_contains(&of_monotonic, read_seconds, whole, in_picoseconds, few);
        let of_fine = format!("{:.digits$}", fine::<Utc>(at, picoseconds, bound));
        assert_contains(&of_fine, read_utc, exact, bound.into(), digits);
    }
}
