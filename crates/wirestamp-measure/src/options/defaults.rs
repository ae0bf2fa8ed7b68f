//! Default values.

use std::time::Duration;

pub(super) fn tenth() -> Duration {
    Duration::from_millis(100)
}
pub(super) fn one_second() -> Duration {
    Duration::from_secs(1)
}
pub(super) fn two_seconds() -> Duration {
    Duration::from_secs(2)
}
pub(super) fn sixteen_seconds() -> Duration {
    Duration::from_secs(16)
}
/// TAI − UTC in seconds, since 2017.
pub(crate) const TAI_OFFSET: i32 = 37;
pub(super) fn tai_offset() -> i32 {
    TAI_OFFSET
}
