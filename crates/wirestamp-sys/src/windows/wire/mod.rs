//! What the bytes of Windows mean: pure functions, built on every system, so that fuzzers
//! and sanitizers reach them without Windows. Asks nothing.

pub mod abi;
pub mod adapter;
#[cfg(windows)]
mod agreement;
pub mod clock_of;
#[cfg(windows)]
pub(crate) mod codes;
pub(crate) mod constants;
pub mod control;
pub mod departures;
pub mod socket_address;
pub mod utc;
