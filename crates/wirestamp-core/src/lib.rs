//! Decides everything about packet timestamps and does no I/O: which timestamp belongs to which
//! packet, what time it means on another clock, and how far that may be wrong.
//!
//! Knows no operating system, reads no clock and starts no thread: every time comes in from
//! outside. The modules, in the order in which data flows:
//!
//! 1. [`timestamp`]: matches transmit timestamps to packets and places them in time;
//! 2. [`cross`]: cross timestamps, which relate a NIC's clock to the system's;
//! 3. [`correlate`]: converts timestamps between the two clocks, with an error bound;
//! 4. [`latency`]: send path, wire and receive path.
//!
//! [`capture`] is about packets that are not the program's own, [`xdp`] about taking packets from the driver.

// docs.rs labels what needs a feature or a system.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod backend;
pub mod capability;
pub mod capture;
pub mod configuration;
pub mod correlate;
pub mod cross;
pub mod error;
pub mod ethernet;
pub mod holders;
pub mod interface;
pub mod latency;
#[cfg(feature = "serde")]
pub mod serialized;
pub mod time;
pub mod timestamp;
pub mod uevent;
pub mod xdp;

pub use error::{Error, ErrorKind, Result};
