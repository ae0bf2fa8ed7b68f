//! Time types: instants of each clock, time spans, and values with an error bound.
//!
//! The clock is in the type: [`Time<Monotonic>`](MonotonicTime), [`Time<Utc>`](UtcTime) and
//! [`Time<Ptp>`](PtpTime) cannot be mixed, nor can the ticks of a NIC's clock ([`HardwareTicks`]).

pub use wirestamp_core::time::{
    Adjusted, Bounded, Clock, Frequency, HardwareTicks, Monotonic, MonotonicTime, Ptp, PtpTime,
    RealTimeClock, ResolvedUtc, Rfc3339, Span, Time, TimeOutOfRange, Utc, UtcCrossTimestamp,
    UtcModel, UtcTime,
};
