//! Times of day as text.

use std::time::{Duration, SystemTime};
use wirestamp::UtcTime;

/// RFC 3339 with nanoseconds.
pub(crate) fn rfc3339(utc: UtcTime) -> String {
    let since = Duration::from_nanos(u64::try_from(utc.nanoseconds()).unwrap_or(0));
    humantime::format_rfc3339_nanos(SystemTime::UNIX_EPOCH + since).to_string()
}
