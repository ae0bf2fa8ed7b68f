//! Parquet files of packet timestamps, cross timestamps, clock estimates and probes, for the analysis of a fleet.
//!
//! - [`Recorder`] takes the rows of one table and writes the files;
//! - [`Retention`] removes a host's oldest files;
//! - [`Timestamp`], [`Cross`], [`ClockEstimate`] and [`Probe`] are the rows;
//! - [`tables`] describes the columns, as `docs/parquet/schema.json` does;
//! - [`flow_of`] and [`bucket_of`] number flows so that both directions of a flow are stored together.
//!
//! A file is complete or absent: it is written under another name, synced and renamed. It holds one row group, so that a
//! process that is killed loses the rows that were not written yet and nothing else.
//!
//! ```
//! use wirestamp_record::{Options, Probe, Recorder};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let mut probes = Recorder::new(folder, "rack1-host1", Options::default());
//! probes.push(
//!     1_790_000_000_000_000_000,
//!     Probe {
//!         peer: "rack1-host2".into(),
//!         window_start: 1_790_000_000_000_000_000,
//!         window: 1_000_000_000,
//!         forward: Some(4_210),
//!         backward: Some(3_980),
//!         forward_middle: Some(4_410),
//!         backward_middle: Some(4_190),
//!         count: 10,
//!     },
//! )?;
//! probes.finish()?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod draft;
mod flow;
mod group;
mod name;
mod partition;
mod recorder;
mod retention;
mod row;
mod schema;

pub use flow::{bucket_of, flow_of};
pub use group::Group;
pub use name::label;
pub use recorder::{Options, Recorder};
pub use retention::{Kept, Retention};
pub use row::{ClockEstimate, Cross, Direction, Probe, Row, Source, Timestamp};
pub use schema::{BUCKETS, Column, Kind, Table, VERSION, tables};
