//! Owns what is particular to a thread, where this crate does not know it.

use std::time::Duration;

/// The processor time that the calling thread has used: not known here.
pub(crate) fn cpu_time() -> Option<Duration> {
    None
}

/// Does something without privilege: not possible here.
pub(crate) fn without_privilege<T>(_: impl FnOnce() -> T) -> Result<T, String> {
    Err(String::from("this system's privileges are not known to the tests"))
}

/// Whether privilege is no reason for a refusal: here nobody is asked for one.
pub(crate) fn is_privileged() -> bool {
    true
}
