//! Recordings for the analysis of a fleet: Parquet files of what this host measured, as `wirestamp-record` writes them.
//!
//! What is measured becomes rows while it is served; once a second these go to a thread that writes files. Neither a slow nor a full disk holds up measuring:
//! rows wait, as many as memory is meant for, and those beyond are counted as lost.

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
