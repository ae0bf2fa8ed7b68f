//! The system calls that programs of this kind need: the performance counter, threads,
//! events, waits, the last error. Nothing of the network.
//!
//! Populated on: Linux. On Windows the system's own are used, and nothing is exported.

pub(crate) mod clock;

#[cfg(not(windows))]
pub mod exports;
#[cfg(not(windows))]
pub(crate) mod last_error;
#[cfg(not(windows))]
pub(crate) mod object;
#[cfg(not(windows))]
mod thread;
#[cfg(not(windows))]
pub(crate) mod waiting;

#[cfg(windows)]
#[path = "last_error_windows.rs"]
pub(crate) mod last_error;
#[cfg(windows)]
#[path = "object_windows.rs"]
pub(crate) mod object;
