//! The decisions about packet timestamps, without I/O: which timestamp belongs to which packet, what time it means on
//! another clock, and how far that may be wrong.
//!
//! Makes no system call, reads no clock and starts no thread: every instant is an argument. The modules, in the order in
//! which data flows:
//!
//! 1. [`timestamp`]: matches transmit timestamps to packets (`tracker`, `matcher`, `counter` for kernels without ids) and
//!    converts software timestamps to the monotonic clock (`placement`);
//! 2. [`cross`]: cross timestamps, which relate a NIC's clock to the system's;
//! 3. [`correlate`]: converts timestamps between the two clocks, with an error bound. `model` relates the clocks,
//!    `generation` ends at a reset or step, `express` is the fast path, `published` serves other threads;
//! 4. [`latency`]: packets in flight, histograms and summaries of send path, wire and receive path.
//!
//! Around these: [`time`] has the clocks' types, [`backend`] the contract of an operating system, [`capability`] and
//! [`configuration`] what a NIC can do and was asked for, [`interface`] and [`ethernet`] descriptions and addresses,
//! [`holders`] who keeps hardware timestamping on. [`capture`] is for packets that are not the program's own, [`xdp`] for
//! packets taken from the driver, [`uevent`] for clocks that appear and disappear.

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
