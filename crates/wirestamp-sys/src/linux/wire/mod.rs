//! Owns what bytes from the kernel mean. Pure: no system call, so fuzzers and sanitizers
//! reach all of it without a socket.

pub mod adapter;
pub mod address;
pub mod completion;
pub mod constants;
pub mod control;

pub use wirestamp_core::uevent;
