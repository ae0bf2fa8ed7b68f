//! Durations on the command line: how long to run or wait, also in seconds as the field's other tools take them; limits
//! and bounds with a unit, because 50 seconds pass where 50 µs were meant.

use std::time::Duration;

/// Reads `100ms`, `1m 30s`, `60` (seconds) or `0.5`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).or_else(|error| {
        let seconds = text.parse().ok();
        seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| format!("{error}; write 100ms, 1m 30s, or seconds: 60, 0.5"))
    })
}

/// Reads an interval between packets: a duration that is not 0.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => {
            Err("an interval of 0 is no pace; write 10ms, or seconds: 0.2".to_owned())
        }
        interval => Ok(interval),
    }
}

/// A run that Ctrl-C ends: no clock gets there.
pub(crate) const EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Reads how long to run: a duration, or `ever`.
pub(super) fn length(text: &str) -> Result<Duration, String> {
    match text {
        "ever" => Ok(EVER),
        _ => duration(text),
    }
}

/// How long a run lasts that has no end unless it is given one; `None`: until Ctrl-C.
pub(crate) fn limited(length: Option<Duration>) -> Option<Duration> {
    length.filter(|length| *length < EVER)
}

/// Reads `50us` or `1ms 500us`, and `0`. A number alone is an error.
pub(super) fn with_unit(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| {
        if text.trim().parse::<f64>().is_ok() {
            format!("{text} of what? Write {text}us, {text}ms or {text}s")
        } else {
            format!("{error}; write 50us, 1.5ms or 2s")
        }
    })
}

/// How many of what comes each `interval` fit into `all`, the first at its begin; at least one.
pub(crate) fn fitting(all: Duration, interval: Duration) -> u64 {
    let fit = all.as_nanos().div_ceil(interval.as_nanos().max(1));
    u64::try_from(fit).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_at_the_begin_and_the_last_before_the_end() {
        let fit =
            |all, interval| fitting(Duration::from_millis(all), Duration::from_millis(interval));
        let counts =
            [(1_000, 100), (1_001, 100), (50, 100), (0, 100)].map(|(all, each)| fit(all, each));
        assert_eq!(counts, [10, 11, 1, 1]);
        assert_eq!(fitting(Duration::from_nanos(5), Duration::ZERO), 5);
    }

    #[test]
    fn units_and_plain_seconds() {
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("60"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("0.1"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn an_interval_is_not_zero() {
        assert_eq!(interval("0.2"), Ok(Duration::from_millis(200)));
        assert_eq!(interval("10ms"), Ok(Duration::from_millis(10)));
        for none in ["0", "0s", "1e-12"] {
            assert!(interval(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_run_may_have_no_end() {
        assert_eq!(length("ever"), Ok(EVER));
        assert_eq!(length("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(limited(length("ever").ok()), None);
        assert_eq!(limited(length("2s").ok()), Some(Duration::from_secs(2)));
        assert!(duration("ever").is_err(), "an interval has an end");
        // within what the monotonic clock can count
        assert!(i64::try_from(EVER.as_nanos()).is_ok_and(|all| all < i64::MAX / 2));
    }

    #[test]
    fn limits_have_a_unit() {
        assert_eq!(with_unit("50us"), Ok(Duration::from_micros(50)));
        assert_eq!(with_unit("0"), Ok(Duration::ZERO));
        for number in ["50", "0.5", "1e3", "-1"] {
            let refused = with_unit(number).expect_err(number);
            assert!(refused.contains(&format!("Write {number}us")), "{refused}");
        }
        assert!(with_unit("fast").is_err_and(|error| error.contains("write 50us")));
    }

    #[test]
    fn what_is_no_duration_is_told_how_to_write_one() {
        for text in ["soon", "-1", "nan", "inf", "1e30", "", "5 parsecs"] {
            let refused = duration(text).expect_err(text);
            assert!(refused.contains("write 100ms"), "{text}: {refused}");
        }
    }
}
