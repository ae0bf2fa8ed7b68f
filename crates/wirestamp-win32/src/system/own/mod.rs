//! The system calls of this library's own, where the system has none of these names.

pub mod exports;
pub(crate) mod last_error;
pub(crate) mod object;
pub(crate) mod port;
mod thread;
mod waiting;
