//! A monitor of clocks, delays and packet timestamps: it measures continuously and serves its results.
//!
//! A [`Monitor`] runs what a [`Configuration`] asks for in an [`Engine`](wirestamp_measure::Engine): correlation of
//! NICs' clocks, NTP and PTP measurement, STAMP sessions and a reflector, the send and receive paths of this host.
//! History and recordings take its samples. [`Monitor::snapshot`] returns all results at one instant; [`metrics`] and
//! [`http`] serve them. The same loop runs on this system and in a simulation ([`Place`]).
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
//!
//! # Where to change what
//!
//! | task | files |
//! |---|---|
//! | a measurement | the map of `wirestamp-measure`, then `configuration.rs`, `snapshot.rs`, `history/record.rs` |
//! | a metric | a field in `wirestamp-measure`, `state/`; here `metrics/list/`; a row in `guide/monitor-metrics.md` |
//! | a key of the configuration | of a measurement: `wirestamp-measure`, `options/`; else `configuration/`; the example in `guide/monitor.md`; `scripts/schemas --write` |
//! | an event of the monitor itself | `events.rs` (`kinds`), `scripts/schemas --write` |
//! | a value of each sample in the history | `history/record.rs`, `series.rs`, `block.rs` (version), `scripts/page/history.py` |
//! | a part of the web page | `http/page/`, `http/page.rs`, `scripts/page/browse.js` |

#![forbid(unsafe_code)]

#[cfg(test)]
macro_rules! made {
    ($type:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let mut made = $type::default();
        $(made.$field = $value;)*
        made
    }};
}

mod configuration;
mod events;
pub mod history;
pub mod http;
mod lock;
pub mod metrics;
mod monitor;
#[cfg(feature = "otlp")]
pub mod otlp;
mod own;
mod patience;
mod recording;
mod rfc3339;
mod secret;
mod service;
pub mod snapshot;
mod stores;

pub use configuration::{
    Clocks, Configuration, History, Http, Metrics, Ntp, Otlp, Path, Ptp, Recording, Reflector,
    Relation, Stamp, Table,
};
pub use monitor::Monitor;
pub use service::{Ended, Handle, Health, Service};
pub use wirestamp_measure::{Delays, Longest, Place};
