//! Instants, time spans, ticks and frequencies, all in integers.
//!
//! The clock is in the type: a [`HardwareTicks`], a [`MonotonicTime`], a [`UtcTime`] and a
//! [`PtpTime`] can't be compared, subtracted or assigned to one another.
//!
//! ```compile_fail,E0308
//! use wirestamp_core::time::{MonotonicTime, UtcTime};
//! let sent = MonotonicTime::from_nanoseconds(10);
//! let timestamped = UtcTime::from_nanoseconds(20);
//! let latency = timestamped - sent; // two clocks: does not compile
//! ```
//!
//! ```compile_fail,E0308
//! use wirestamp_core::time::{HardwareTicks, MonotonicTime};
//! fn log(at: MonotonicTime) {}
//! log(HardwareTicks::new(5)); // a NIC's counter is no system time
//! ```

mod adjusted;
mod bounded;
pub(crate) mod display;
mod hardware;
mod instant;
mod real_time_clock;
mod rfc3339;
mod span;
#[cfg(feature = "std")]
mod system_time;
mod utc;

pub use adjusted::Adjusted;
pub use bounded::Bounded;
pub use hardware::{Frequency, HardwareTicks};
pub use instant::{
    Clock, Monotonic, MonotonicTime, Ptp, PtpTime, Time, TimeOutOfRange, Utc, UtcTime,
};
pub use real_time_clock::RealTimeClock;
pub use rfc3339::Rfc3339;
pub use span::Span;
pub use utc::{ResolvedUtc, UtcCrossTimestamp, UtcModel};
