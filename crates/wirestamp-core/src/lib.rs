//! What packet timestamping *means*: time and tick types, capabilities, timestamps and
//! their matching, cross timestamps, correlation, latency statistics, and the contract
//! that a backend fulfils.
//!
//! Knows no operating system, no clock and no thread: every time comes in from outside.
//! The modules stand in the order in which data flows:
//!
//! 1. [`timestamp`]: which clock timestamped which packet;
//! 2. [`cross`]: readings that relate a NIC's clock to the system clock;
//! 3. [`correlate`]: from readings to conversions with a bound and a generation;
//! 4. [`latency`]: send path, wire and receive path.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod backend;
pub mod capability;
pub mod configuration;
pub mod correlate;
pub mod cross;
pub mod error;
pub mod holders;
pub mod interface;
pub mod latency;
pub mod time;
pub mod timestamp;
pub mod uevent;

pub use error::{Error, ErrorKind, Result};
