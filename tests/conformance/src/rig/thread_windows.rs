//! Owns what is particular to a thread on Windows: its processor time. No timestamping call
//! asks for a privilege there.

use std::time::Duration;

/// The processor time that the calling thread has used. `None` where the system can't tell.
pub(crate) fn cpu_time() -> Option<Duration> {
    cpu_time::ThreadTime::try_now().ok().map(|time| time.as_duration())
}

/// Does something without privilege: there is none to do without.
pub(crate) fn without_privilege<T>(_: impl FnOnce() -> T) -> Result<T, String> {
    Err(String::from("no timestamping call of Windows asks for a privilege"))
}

/// Whether privilege is no reason for a refusal: here nobody is asked for one.
pub(crate) fn is_privileged() -> bool {
    true
}
