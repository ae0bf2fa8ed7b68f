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
//! What a measurement brings (a value, an option, a diagnosis, an alert, an event) and in which files it is shown: the map of
//! `wirestamp-measure`. In brackets: what fails if a file is forgotten.
//!
//! | task | files |
//! |---|---|
//! | a key of the configuration | of a measurement: `wirestamp-measure`, `options/`; else `configuration/`; the example in `guide/monitor.md`; `scripts/schemas --write` |
//! | an event of the monitor itself | `events.rs` (`kinds`), `scripts/schemas --write` |
//! | a value in the history | `history/record.rs` (`Record`; `of` for samples, `of_server` and `of_clock` once a second); how it is stored: `history/series.rs` (`Kind` at the end of `ALL`, `numbers`, `split`, `record`), `history/block.rs` (`VERSION`), an example in `history/block/tests.rs`; queries: `history/bins.rs`, `docs/json/history.json` (`scripts/schemas --write`), `http/page/offsets.js` or `delays.js` |
//! | a column in recordings | `wirestamp-record`, `row.rs` (`Row`) and `schema.rs` (`tests/files.rs` fails, and names `docs/parquet/schema.json`); filled in `recording/handle.rs` (of `probes`: from `wirestamp-probe`, `session/windows.rs`), and by commands in `wirestamp-cli`, `commands/record/parquet.rs`, `commands/latency/peer/probes.rs`; `fleet/python/wirestamp_fleet/schema.py` (`ADDED`; `fleet/tests/python/test_fleet.py` fails), `fleet/python/wirestamp_fleet/simulate.py` |
//! | a table in recordings | the same, `wirestamp-record`, `schema.rs` (`tables`), and `configuration/recording.rs` (`Table`), `recording/files.rs` (`Row`, `Files`), `recording/handle.rs`, `stores.rs`; `guide/fleet.md` |
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
