//! Default times.

use std::time::Duration;

pub(super) fn one_second() -> Duration {
    Duration::from_secs(1)
}
pub(super) fn five_seconds() -> Duration {
    Duration::from_secs(5)
}
pub(super) fn fifteen_seconds() -> Duration {
    Duration::from_secs(15)
}
pub(super) fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}
pub(super) fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}
pub(super) fn fortnight() -> Duration {
    Duration::from_secs(14 * 86_400)
}
