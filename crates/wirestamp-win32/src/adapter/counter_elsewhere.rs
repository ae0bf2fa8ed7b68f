//! A monotonic clock where nothing but the standard library is known of the system.

use std::sync::OnceLock;
use std::time::Instant;
use wirestamp_core::time::{Frequency, MonotonicTime, Span};

const FREQUENCY: Frequency = match Frequency::from_hertz(10_000_000) {
    Some(frequency) => frequency,
    None => Frequency::GIGAHERTZ,
};

/// How often it ticks a second.
pub(crate) fn frequency() -> Frequency {
    FREQUENCY
}

/// Time since the first reading, from a second on: zero is no time.
pub(crate) fn now() -> MonotonicTime {
    static START: OnceLock<Instant> = OnceLock::new();
    let since = START.get_or_init(Instant::now).elapsed();
    MonotonicTime::from_nanoseconds(1_000_000_000)
        + Span::from_nanoseconds(since.as_nanos().cast_signed())
}
