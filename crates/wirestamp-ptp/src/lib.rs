//! PTPv2 over UDP (IPv4 and IPv6), two-step: ordinary and boundary clocks on wirestamp's
//! sockets, clocks and timestamps. The protocol is the `statime` engine's.
//!
//! `message` decodes and rejects messages, `engine` is what `statime` is given, `port/` receives, measures and observes
//! other sources, `node` runs all ports, `trust/` has pins, limits, floods and the comparison of sources, `steering/`
//! moves a clock, `simulate` has simulated networks and the campaign of seeded runs.
//!
//! A [`Node`] is a running clock; it measures, and by default changes nothing. A measurement
//! ([`Sample`]) carries an error bound that contains the truth while the assumptions of the
//! [`Configuration`] hold: no packet takes less than `least_delay_ns`; the timeTransmitter's timestamps are within
//! `transmitter_resolution_ns`; and between steps the two clocks drift by no more than `max_drift_ppm`, which changes by
//! no more than `wander_ppb` in a second. A timeTransmitter's clock may be stepped by any amount, once in a quarter of an hour if its messages do not
//! contradict each other ([`Lost::Contradiction`] begins anew). If it is stepped ahead between a delay request and a Sync that waits in a
//! queue for longer than the last exchange took, samples may miss the truth until the next delay request is answered
//! (`docs/error-bound.md`, Theorem 11).
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

// docs.rs labels what needs a feature or a system.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod configuration;
mod engine;
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
pub use lost::{Counts, Lost};
pub use message::{Fault, PortIdentity};
pub use node::{Node, check_free, identity_of};
pub use report::{Held, PortStatus, Sample, SourceStatus, Status};
pub use status::{StatusServer, ask};
pub use steering::{ClockStatus, Leap, RefusedOffset, SteeredClock};
pub use trust::{Agreement, Trust};
pub use unmeasured::Unmeasured;
pub use warning::Warning;
