//! Records this host's measurements for the analysis of a fleet, in Parquet files of `wirestamp-record`.
//!
//! Samples become rows at once; once a second the rows go to a thread that writes files. Neither a slow nor a full disk
//! delays measurements: a limited number of rows waits, and further ones are counted as lost.

#![cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "without it there is no recording")
)]

mod claim;
mod current;
#[cfg(feature = "parquet")]
mod files;
#[cfg(feature = "parquet")]
mod handle;
#[cfg(not(feature = "parquet"))]
#[path = "recording/without_parquet.rs"]
mod handle;
#[cfg(feature = "parquet")]
mod host_lock;
mod probes;

pub(crate) use current::Recordings;
pub(crate) use handle::Recording;

use claim::Said;
