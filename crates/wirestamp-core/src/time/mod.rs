//! Owns instants, spans, ticks and frequencies. Floats appear nowhere here.
//!
//! The clock is in the type: a [`HardwareTicks`], a [`SystemTime`], a [`WallTime`] and a
//! [`PtpTime`] can't be compared, subtracted or assigned to one another.
//!
//! ```compile_fail,E0308
//! use wirestamp_core::time::{SystemTime, WallTime};
//! let sent = SystemTime::from_nanoseconds(10);
//! let stamped = WallTime::from_nanoseconds(20);
//! let latency = stamped - sent; // two clocks: does not compile
//! ```
//!
//! ```compile_fail,E0308
//! use wirestamp_core::time::{HardwareTicks, SystemTime};
//! fn log(at: SystemTime) {}
//! log(HardwareTicks::new(5)); // an adapter's counter is no system time
//! ```

mod hardware;
mod instant;
mod span;
mod wall;

pub use hardware::{Frequency, HardwareTicks};
pub use instant::{Clock, Ptp, PtpTime, System, SystemTime, Time, TimeOutOfRange, Wall, WallTime};
pub use span::Span;
pub use wall::{WallOffset, WallReading, WallResolution};
