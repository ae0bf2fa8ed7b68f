//! The logic of packet timestamps, without I/O: matching timestamps to packets, conversion between
//! clocks, and error bounds.
//!
//! It makes no system calls, reads no clock and starts no threads: every instant is an argument.
//! The modules in the order of the data flow:
//!
//! 1. [`timestamp`]: matches transmit timestamps to packets (`tracker`, `matcher`, `counter` for
//!    kernels without IDs) and converts software timestamps to the monotonic clock (`placement`);
//! 2. [`cross`]: cross timestamps, which relate a NIC's clock to the monotonic clock;
//! 3. [`correlate`]: converts timestamps between the two clocks, with an error bound. `model`
//!    relates the clocks, `generation` is an uninterrupted run of a clock, `express` is the fast
//!    path, `published` serves other threads;
//! 4. [`latency`]: packets in flight, histograms and summaries of send path, wire and receive path.
//!
//! Supporting modules: [`time`] has the types of instants and time spans, [`backend`] the traits
//! that an operating system implements, [`capability`] and [`configuration`] the capabilities and
//! settings of NICs and sockets, [`interface`] and [`ethernet`] descriptions and addresses,
//! [`holders`] the programs that keep hardware timestamping on. [`capture`] is for packet capture,
//! [`xdp`] for AF_XDP, [`uevent`] for clocks that appear and disappear.

// On docs.rs, items that need a feature or an operating system are labelled.
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
