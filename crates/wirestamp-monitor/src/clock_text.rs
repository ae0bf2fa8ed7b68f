//! Times of day as text.

use std::time::{Duration, SystemTime};
use wirestamp::UtcTime;

/// RFC 3339 with nanoseconds.
pub(crate) fn rfc3339(utc: UtcTime) -> String {
    let since = Duration::from_nanos(u64::try_from(utc.nanoseconds()).unwrap_or(0));
    // Windows' `SystemTime` counts in steps of 100 ns: it has the seconds alone
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs());
    let text = humantime::format_rfc3339_seconds(second).to_string();
    format!(
        "{}.{:09}Z",
        text.trim_end_matches('Z'),
        since.subsec_nanos()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_kept() {
        let utc = UtcTime::from_nanoseconds(1_795_415_400_123_456_789);
        assert_eq!(rfc3339(utc), "2026-11-23T06:30:00.123456789Z");
    }
}
