//! The performance counter of Windows, as the monotonic clock.

use std::sync::OnceLock;
use wirestamp_core::time::{Frequency, MonotonicTime};

#[link(name = "kernel32")]
unsafe extern "system" {
    fn QueryPerformanceCounter(count: *mut i64) -> i32;
    fn QueryPerformanceFrequency(hertz: *mut i64) -> i32;
}

/// How often it ticks a second.
pub(crate) fn frequency() -> Frequency {
    static FREQUENCY: OnceLock<Frequency> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let mut hertz = 0;
        // SAFETY: the number outlives the call, which can't fail since Windows XP.
        unsafe { QueryPerformanceFrequency(&raw mut hertz) };
        Frequency::from_hertz(hertz.unsigned_abs()).unwrap_or(Frequency::GIGAHERTZ)
    })
}

/// Reads it, in nanoseconds.
pub(crate) fn now() -> MonotonicTime {
    let mut count = 0;
    // SAFETY: the number outlives the call, which can't fail since Windows XP.
    unsafe { QueryPerformanceCounter(&raw mut count) };
    MonotonicTime::from_nanoseconds(0) + frequency().span_of(count)
}
