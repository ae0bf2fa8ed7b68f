//! Measurements of clocks, delays and packet timestamps that yield samples, in one loop.
//!
//! An [`Engine`] runs the [`Measurements`] that are asked for: NTP servers, PTP timeTransmitters, STAMP sessions and a reflector, paths of this
//! host, and the clocks of its NICs. Each yields [`Sample`]s, with error bounds, into a [`Sink`], and reports its [`State`] on request. A
//! daemon runs many for ever, a command runs one until it has enough, a test runs them in virtual time ([`Place`]).
//!
//! ```no_run
//! use wirestamp::Span;
//! use wirestamp_measure::{Engine, Measurements, Ntp, Place, Sample};
//!
//! # fn main() -> wirestamp::Result<()> {
//! let wanted = Measurements::default().ntp(Ntp::of("ntp.example.net"));
//! let mut engine = Engine::new(wanted, Place::System)?;
//! engine.run_until(engine.now() + Span::from_seconds(60), &mut |sample: &Sample<'_>| println!("{sample:?}"))?;
//! # Ok(())
//! # }
//! ```
//!
//! Measurements import neither each other nor a store; `tests/layers.rs` checks that.
//!
//! # Where to change what
//!
//! | task | files |
//! |---|---|
//! | a measurement | a module beside `ntp` (in `clock/` if it reads a NIC's clock), its options in `options/` and state in `state/`, `wanted.rs`, `slot.rs`, `sample.rs` (`Kind`), `carried.rs`, `tests/layers.rs`; then the map of `wirestamp-monitor` |
//! | a metric | a field in `state/`, `carried.rs` if it outlives a restart of its task; then the map of `wirestamp-monitor` |
//! | an event | `event.rs`; a change of a PTP clock: `ptp_change.rs`, and its line in `wirestamp-cli`, `commands/ptp/reports.rs` |
//! | the message when a measurement fails | `slot.rs`; when its NIC is gone, `interfaces.rs` |
//! | when a peer or server is silent or stale | `task.rs` (`SILENT`: its name is resolved again), `ntp.rs` and `stamp.rs` (`stale_after`) |
//! | how NTP or STAMP sends (socket, port, keys) | `host.rs` (`connect`), `ntp/dialogue.rs`, `nts/`, `stamp.rs`, `key.rs` |
//! | how often an NTP server is asked | `wirestamp-ntp`, `client.rs` (`every`); `ntp.rs` (`due`, `is_asked`) obeys it |
//! | how often a NIC's clock is read for conversions | `nic.rs` (`correlated`) |
//! | when the times of a recording are final | `clock/recording/times.rs`: it waits itself once, at its end |
//! | a count of a STAMP session | `wirestamp-probe`, `session/receive.rs` and `losses.rs`; `stamp.rs` (`show`) |
//! | a delay of a STAMP session | `wirestamp-probe`, `session/direction.rs` and `tally.rs`; `stamp/segments.rs` |
//! | the printed report of a STAMP session | `wirestamp-cli`, `commands/latency/peer/` |
//! | a figure of a distribution | `delays.rs`; of the commands: `wirestamp-core`, `latency/summary.rs` |
//! | an option of the path within this host | `options/clocks.rs`, `path/each.rs`; of the command: `wirestamp`, `latency/mod.rs` |
//! | a peer in simulations | `peers.rs` |

#![forbid(unsafe_code)]

mod address;
mod adjustments;
mod carried;
mod claim;
mod clock;
pub mod delays;
mod engine;
mod event;
pub mod exact;
pub mod goal;
mod host;
mod host_stamp;
mod interfaces;
pub mod key;
mod moment;
mod neighbour;
mod nic;
mod ntp;
mod ntp_server;
pub mod nts;
mod options;
mod own_address;
mod path;
mod peers;
mod place;
mod provisional;
mod ptp;
mod ptp_change;
mod reading;
mod realtime;
mod recorded;
mod reflector;
mod report;
mod sample;
mod sink;
mod slot;
mod stamp;
pub mod state;
mod task;
pub mod times;
mod undelivered;
mod unstamped;
mod wanted;

pub use claim::Claim;
pub use delays::{Delays, Longest};
pub use engine::{Engine, Exchanged, Outcome};
pub use event::EventKind;
pub use host_stamp::HostStamp;
pub use moment::Moment;
pub use options::{
    ClockBound, Clocks, Datagrams, Family, Measurements, Ntp, Path, Ptp, Readings, Recording,
    Reflector, Relation, Stamp, Timestamper,
};
pub use own_address::own_address;
pub use place::Place;
pub use ptp_change::PtpChange;
pub use reading::ClockReading;
pub use recorded::{Batch, FinalTime, Recorded};
pub use report::{PathMtu, PtpReport, StampReport};
pub use sample::{Departure, Kind, Sample, Segment, Subject};
pub use sink::{Known, Packet, Sink};
pub use state::State;
