//! Durations on the command line: with units, or in seconds as the field's other tools take them.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_plain_seconds() {
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("60"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("0.1"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_no_duration_is_told_how_to_write_one() {
        for text in ["soon", "-1", "nan", "inf", "1e30", "", "5 parsecs"] {
            let refused = duration(text).expect_err(text);
            assert!(refused.contains("write 100ms"), "{text}: {refused}");
        }
    }
}
