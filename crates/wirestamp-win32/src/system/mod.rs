//! The system calls that programs of this kind need: the performance counter, threads,
//! events, waits, the last error. Nothing of the network.
//!
//! Populated on: Linux. On Windows the system's own are used, and nothing is exported.

pub(crate) mod clock;
#[cfg(not(windows))]
mod own;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub use own::exports;
#[cfg(target_os = "linux")]
pub use own::{console, messages};
#[cfg(not(windows))]
pub(crate) use own::{last_error, object, port};
#[cfg(windows)]
pub(crate) use windows::{last_error, object, port};
