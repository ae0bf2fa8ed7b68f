//! PTPv2 over UDP (IPv4 and IPv6) and Ethernet, two-step: ordinary and boundary clocks on wirestamp's
//! sockets, clocks and timestamps. The protocol is the `statime` engine's.
//!
//! The modules: `message` decodes and validates messages, `engine` adapts `statime`, `port/`
//! receives, measures and observes other sources, `node` runs all ports, `trust/` has pins, rate
//! limits, flood protection and the comparison of sources, `steering/` steers a clock, `simulate`
//! has simulated networks and the campaign of seeded runs.
//!
//! A [`Node`] is a running clock. It measures, and by default steers nothing. A timeTransmitter and
//! timeReceiver are a master and slave in older text and in ptp4l's output.
//!
//! A measurement ([`Sample`]) has an error bound that contains the true offset while the
//! assumptions of the [`Configuration`] hold: no packet takes less than `least_delay_ns`; the
//! timeTransmitter's timestamps are accurate to `transmitter_resolution_ns`; and between steps the
//! two clocks drift by at most `max_drift_ppm`, which changes by at most `wander_ppb` per second.
//! The timeTransmitter's clock may be stepped by any amount; by an amount that causes no
//! contradiction between messages, once in a quarter of an hour ([`Lost::Contradiction`] restarts
//! the estimate). If it is stepped ahead between a delay request and a Sync that waits in a queue
//! for longer than the last exchange took, samples may miss the true offset until the next delay
//! request is answered (`docs/error-bound.md`, Theorem 11).
//!
//! ```no_run
//! use wirestamp_ptp::{Configuration, Engine, Node, identity_of};
//!
//! # fn main() -> wirestamp::Result<()> {
//! let interface = wirestamp::Interface::find("eth0")?;
//! let engine = Engine::new(Configuration::default(), identity_of(&interface))?;
//! let mut node = Node::start(&engine, &[interface])?;
//! loop {
//!     node.run(wirestamp::MonotonicTime::MAX)?;
//!     // final ones: with the NIC's timestamps some seconds after they were made
//!     for sample in node.samples() {
//!         println!("{} ±{}", sample.offset.value, sample.offset.bound);
//!     }
//! }
//! # }
//! ```

// On docs.rs, items that need a feature or an operating system are labelled.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod configuration;
mod engine;
mod identity;
mod lost;
mod message;
mod node;
mod owner;
mod port;
mod report;
#[cfg(feature = "sim")]
pub mod simulate;
mod sockets;
#[cfg(target_os = "linux")]
mod status;
#[cfg(windows)]
mod status_windows;
#[cfg(windows)]
use status_windows as status;
#[cfg(not(any(target_os = "linux", windows)))]
mod status_elsewhere;
#[cfg(not(any(target_os = "linux", windows)))]
use status_elsewhere as status;
mod steering;
mod timeline;
mod timestamping;
mod trust;
mod unmeasured;
mod warning;

pub use configuration::{
    Clock, Configuration, DelayMechanism, Role, Source, Steering, Timescale, Transport,
};
pub use engine::{Engine, PortState};
pub use identity::identity_of;
pub use lost::{Counts, Lost};
pub use message::{Fault, PortIdentity};
pub use node::{Node, check_free};
pub use report::{Held, PortStatus, Sample, SourceStatus, Status};
pub use status::{StatusServer, ask};
pub use steering::{ClockStatus, Leap, RefusedOffset, SteeredClock};
pub use trust::{Agreement, Trust};
pub use unmeasured::Unmeasured;
pub use warning::Warning;
