//! The system calls of this library's own, where the system has none of these names.

#[cfg(target_os = "linux")]
pub mod console;
pub mod exports;
pub(crate) mod last_error;
#[cfg(target_os = "linux")]
pub mod messages;
pub(crate) mod object;
pub(crate) mod port;
#[cfg(target_os = "linux")]
mod texts;
mod thread;
mod waiting;
