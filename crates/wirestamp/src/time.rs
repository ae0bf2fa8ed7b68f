//! Instants of each clock, lengths of time, and values with their error bounds.
//!
//! The clock is in the type: [`Time<Monotonic>`](MonotonicTime), [`Time<Utc>`](UtcTime) and [`Time<Ptp>`](PtpTime) cannot
//! be mixed, nor can the counts of a NIC's clock ([`HardwareTicks`]).

pub use wirestamp_core::time::{
    Adjusted, Bounded, Frequency, HardwareTicks, Monotonic, MonotonicTime, Ptp, PtpTime,
    RealTimeClock, Rfc3339, Span, Time, TimeOutOfRange, Utc, UtcCrossTimestamp, UtcModel, UtcTime,
};
