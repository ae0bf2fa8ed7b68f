//! What is particular to a thread on systems other than Linux. No timestamping call of Windows asks for a
//! privilege; what others ask for is not known here.

use std::thread;
use std::time::Duration;

/// A thread, as others see it.
#[derive(Debug)]
pub(crate) struct Seen;

impl Seen {
    /// The calling one.
    pub(crate) fn this() -> std::io::Result<Self> {
        Ok(Self)
    }

    /// Sleeps as long as a thread takes to begin a wait: whether it has begun is not told here.
    pub(crate) fn until_it_waits(&self) {
        thread::sleep(Duration::from_millis(20));
    }
}

/// The processor time that the calling thread has used. `None` where the system can't tell.
#[cfg(windows)]
pub(crate) fn cpu_time() -> Option<Duration> {
    cpu_time::ThreadTime::try_now()
        .ok()
        .map(|time| time.as_duration())
}

/// The same where this crate does not know it.
#[cfg(not(windows))]
pub(crate) fn cpu_time() -> Option<Duration> {
    None
}

/// Does something without privilege: not possible here.
pub(crate) fn without_privilege<T>(_: impl FnOnce() -> T) -> Result<T, String> {
    Err(String::from(
        "no privilege is known here that a timestamping call asks for",
    ))
}

/// Whether privilege is no reason for a refusal: here nobody is asked for one.
pub(crate) fn is_privileged() -> bool {
    true
}
