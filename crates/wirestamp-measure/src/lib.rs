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
//! Paths are within a crate's `src`; without a crate's name they are of this one. In brackets: what fails if the file is forgotten, and
//! names it. `scripts/schemas --write` renews `docs/json` and the guide's list of keys after each of these changes, `TRYCMD=overwrite` the
//! golden files.
//!
//! **A value** (a count, an estimate, a word) goes through these files, from left to right:
//!
//! | of | measured | state | filled | its command: `wirestamp-cli`, `commands/` (`parity.rs` fails) |
//! |---|---|---|---|---|
//! | a STAMP session | `wirestamp-probe`, `session/report.rs` (`SessionReport`): from headers and packets in `session/tally.rs`, from losses in `session/losses.rs` | `state/stamp.rs` | `stamp.rs` (`show`; does not compile) | `latency/peer/measurement.rs`, `latency/peer/text.rs` |
//! | the reflector | `wirestamp-probe`, `reflector/counters.rs` | `state/reflector.rs` | `reflector.rs` (`show`; does not compile) | `reflect.rs` (`Summary`) |
//! | an NTP server | `wirestamp-ntp`, `packet.rs` (`ServerState`), `outcome.rs` (`Counts`), `measure.rs` (`Measurement`) | `state/ntp.rs` | `ntp/shown.rs` (`describe`, `count`, `fill`) | `ntp/row.rs`, `ntp/text.rs` |
//! | a PTP port | `wirestamp-ptp`, `report.rs` (`Sample`, `PortStatus`); a count: `lost.rs` (`Counts`) | `state/ptp.rs` | `ptp/shown.rs` (`port`; does not compile) | `ptp/line.rs`, `ptp/summary.rs`, `ptp/status.rs` |
//! | a clock | `clock.rs`, `realtime.rs` | `state/clock.rs` | `clock.rs`, `realtime.rs` (`show`) | none: `top` has it |
//! | a path of this host | `wirestamp`, `latency/` | `state/path.rs` | `path/shown.rs`, `path/each.rs` | `latency.rs`, `latency/text.rs` |
//!
//! Then, for each:
//!
//! | where | files |
//! |---|---|
//! | after a restart of its task | `carried.rs` (does not compile) |
//! | metrics | `wirestamp-monitor`, `metrics/list/` (`tests/every_value.rs` fails); `metrics/names.rs` (`everything`; fails); a row in `guide/monitor-metrics.md` (`metrics/names.rs` fails) |
//! | page | `wirestamp-monitor`, `http/page/` (`tests/every_value.rs` fails): `clocks.js` (clocks, NTP, PTP), `delays.js` (sessions, paths), `tables.js` (reflector, timestamps) |
//! | `top` | the page of one thing has every value; a column: the map in `wirestamp-cli`, `commands/mod.rs` |
//!
//! | task | files |
//! |---|---|
//! | an option | its type in `options/` (field and default); obeyed by `stamp.rs` (`open`) and `wirestamp-probe`, `session/configuration.rs`; `ntp/dialogue.rs` and `wirestamp-ntp`, `client.rs` (`ClientOptions`); `reflector.rs` and `wirestamp-probe`, `reflector/configuration.rs`; the monitor's file has it with that: limits in `wirestamp-monitor`, `configuration/check.rs`; `wirestamp-cli`, `arguments/stamp.rs` (`Stamp`, `Reflect`), `arguments/ntp.rs`, passed on by `commands/latency/peer/run.rs` (`asked`), `commands/ntp/mod.rs` (`asked`), `commands/reflect.rs` (`wanted`) (`commands/parity.rs` fails) |
//! | an option of PTP | `wirestamp-ptp`, `configuration.rs` (field, `default`, `check`); obeyed in `engine.rs`, `node/`, `port/`, `sockets.rs`, `timestamping.rs`, `trust/` or `steering/`; the monitor's `[ptp.options]` has it with that; `wirestamp-cli`, `arguments/ptp.rs` (option, `change`) (`commands/parity.rs` fails); `guide/ptp.md` |
//! | a diagnosis, in one sentence for command, page, `top` and state | of an NTP server that answers: `ntp/hint.rs`; of one that gives no sample: `ntp/reason.rs`; of a STAMP session without an answer: `stamp.rs` (`silence`), of one that is answered there is none yet: it needs a field of the state, as `warnings` in `state/ptp.rs`; of PTP: `wirestamp-ptp`, `warning.rs`, `unmeasured.rs`; of the reflector: `reflector.rs` (`warnings`). What follows from shown values alone: the page's `http/page/problems.js` |
//! | an alert | the value as a metric; `packaging/prometheus/wirestamp.rules.yml` and `wirestamp.rules.test.yml` (`scripts/monitor/rules.py` fails); its metric's row in `guide/monitor-metrics.md` |
//! | a reason why an NTP response gives no sample | `wirestamp-ntp`, `client.rs`, `outcome.rs`; `ntp/reason.rs` |
//! | a STAMP extension | `wirestamp-probe`, `tlv.rs`, `tlv/`, `session/receive.rs`, `reflector/fill.rs` |
//! | a value of each sample | `sample.rs` (`Segment`), yielded by `stamp/segments.rs`, `path/each.rs`, `ptp.rs` (`segments`); a delay is then in the history, metrics and page's heat map; else as below |
//! | a value of a clock in the history | `state/clock.rs`, `clock.rs` (`show`); then the map of `wirestamp-monitor` |
//! | a value of a clock in recordings | `sink.rs` (`Known`), `clock.rs`, `ptp.rs` (`estimate`); then the map of `wirestamp-monitor` |
//! | another kind of sample for stores | `sink.rs` (`Sink`), `slot/counting.rs` (`tests/layers.rs` fails); `wirestamp-monitor`, `stores.rs`; then the map of `wirestamp-monitor` |
//! | a measurement | a module beside `ntp` (in `clock/` if it reads a NIC's clock), its options in `options/` and state in `state/`, `wanted.rs`, `slot.rs`, `sample.rs` (`Kind`), `carried.rs`, `tests/layers.rs`; `wirestamp-monitor`, `configuration.rs`, `snapshot.rs`, `history/record.rs` |
//! | an event | `event.rs` (`EventKind`); a change of a PTP clock: `ptp_change.rs`, and its line in `wirestamp-cli`, `commands/ptp/reports.rs` |
//!
//! Within this crate:
//!
//! | task | files |
//! |---|---|
//! | the message when a measurement fails | `slot.rs`; when its NIC is gone, `interfaces.rs` |
//! | when a peer or server is silent or stale | `task.rs` (`SILENT`: its name is resolved again), `ntp.rs` and `stamp.rs` (`stale_after`) |
//! | how NTP or STAMP sends (socket, port, keys) | `host.rs` (`connect`), `ntp/dialogue.rs`, `nts/`, `stamp.rs`, `key.rs` |
//! | how often an NTP server is asked | `wirestamp-ntp`, `client.rs` (`every`); `ntp.rs` (`due`, `is_asked`) obeys it |
//! | how often a NIC's clock is read for conversions | `nic.rs` (`correlated`) |
//! | when the times of a recording are final | `clock/recording/times.rs`: it waits itself once, at its end |
//! | a delay of a STAMP session | `wirestamp-probe`, `session/direction.rs`, `session/tally.rs`; `stamp/segments.rs` |
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
