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
pub use recorded::{Batch, Recorded};
pub use report::{PathMtu, PtpReport, StampReport};
pub use sample::{Departure, Kind, Sample, Segment, Subject};
pub use sink::{Known, Packet, Sink};
pub use state::State;
