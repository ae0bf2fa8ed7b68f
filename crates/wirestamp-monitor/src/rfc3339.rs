//! Parses RFC 3339 times with all their nanoseconds.

use std::time::UNIX_EPOCH;

/// Returns the nanoseconds of UTC of an RFC 3339 time; `None` for anything else, and before 1970.
pub(crate) fn nanoseconds(text: &str) -> Option<i64> {
    // the fraction apart: the times of Windows' standard library have 100 ns
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (format!("{whole}Z"), fraction.strip_suffix('Z')?),
        None => (text.to_owned(), "0"),
    };
    let seconds = humantime::parse_rfc3339(&whole)
        .ok()?
        .duration_since(UNIX_EPOCH);
    let seconds = i64::try_from(seconds.ok()?.as_secs()).ok()?;
    let is_fraction =
        (1..=9).contains(&fraction.len()) && fraction.bytes().all(|octet| octet.is_ascii_digit());
    let nanoseconds: i64 = is_fraction.then(|| format!("{fraction:0<9}").parse().ok())??;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_nanoseconds_on_every_system() {
        for (text, expected) in [
            ("1970-01-01T00:00:01Z", Some(1_000_000_000)),
            ("1970-01-01T00:00:01.000000789Z", Some(1_000_000_789)),
            ("1970-01-01T00:00:01.5Z", Some(1_500_000_000)),
            ("1970-01-01T00:00:01.Z", None),
            ("1970-01-01T00:00:01.+5Z", None),
            ("1970-01-01T00:00:01.1234567891Z", None),
            ("1970-01-01T00:00:01.5", None),
            ("1970-01-01", None),
            ("", None),
        ] {
            assert_eq!(nanoseconds(text), expected, "{text}");
        }
    }
}
