//! Stands in for Windows' registry where there is none.

use super::driver::Properties;

pub(super) fn build() -> Option<u32> {
    None
}

pub(super) fn properties(_names: &[String]) -> Option<Properties> {
    None
}

pub(super) fn ptp_client() -> Option<bool> {
    None
}
