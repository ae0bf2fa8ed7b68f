//! Decoders of Windows' structures: pure functions without system calls, built on every system, so
//! that fuzzers and sanitizers reach them without Windows. Layouts and numbers are in [`crate::abi`].

pub mod adapter;
pub mod clock_of;
pub mod control;
pub mod cut;
pub mod departures;
pub mod socket_address;
pub mod utc;
