//! A monitor of clocks, delays and packet timestamps: it measures all the time, and shows what it knows.
//!
//! A [`Monitor`] runs what a [`Configuration`] asks for, in one loop: correlation of NICs' clocks, NTP and PTP measurement, STAMP sessions and a
//! reflector, the send and receive paths of this host. [`Monitor::snapshot`] returns what is known at one instant; [`metrics`] and [`http`] serve it.
//! The same loop runs on this system and in a simulation ([`Place`]).
//!
//! ```
//! use wirestamp::{Simulation, Span};
//! use wirestamp_monitor::{Configuration, Monitor, Place};
//!
//! # fn main() -> wirestamp::Result<()> {
//! let place = Place::Simulation(Simulation::preset("igc", 1)?);
//! let mut monitor = Monitor::new(Configuration::default(), place)?;
//! monitor.run_until(monitor.now() + Span::from_seconds(10))?;
//! for clock in monitor.snapshot().clocks {
//!     println!("{}: {:?} ns ± {:?} ns", clock.name, clock.utc_offset_ns, clock.utc_bound_ns);
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod carried;
mod configuration;
mod delays;
mod events;
mod exact;
pub mod history;
pub mod http;
mod interfaces;
mod key;
mod lock;
pub mod metrics;
mod monitor;
#[cfg(feature = "otlp")]
pub mod otlp;
mod own;
mod patience;
mod place;
mod recording;
mod rfc3339;
mod secret;
mod service;
mod slot;
pub mod snapshot;
mod task;

pub use configuration::{
    Clocks, Configuration, History, Http, Metrics, Ntp, Otlp, Path, Ptp, Recording, Reflector,
    Relation, Stamp, Table,
};
pub use delays::{Delays, Longest};
pub use monitor::Monitor;
pub use place::Place;
pub use service::{Ended, Handle, Health, Service};
