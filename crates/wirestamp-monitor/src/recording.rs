//! Recordings for the analysis of a fleet: Parquet files of what this host measured, as `wirestamp-record` writes them.
//!
//! Tasks hand rows over while they are served; once a second these go to a thread that writes files. Neither a slow nor a full disk holds up measuring:
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

pub(crate) use current::Recordings;
pub(crate) use handle::Recording;

use claim::Said;

use std::net::SocketAddr;
use wirestamp::UtcTime;
use wirestamp_probe::HostTimestamp;

/// A packet of STAMP with its software timestamp: a row of `timestamps`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    pub(crate) interface: &'a str,
    /// This host's end and the other one.
    pub(crate) between: [SocketAddr; 2],
    /// The number that it carries.
    pub(crate) sequence: u32,
    pub(crate) is_sent: bool,
    /// Or why there is none.
    pub(crate) timestamp: Result<HostTimestamp, &'static str>,
}

impl Packet<'_> {
    /// The interface of sockets that belong to none.
    pub(crate) const ANY: &'static str = "any";
    /// Why there is no receive timestamp.
    pub(crate) const NO_TIMESTAMP: &'static str = "no_timestamp";
}

/// What is known of a clock from one instant to another: a row of `estimates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) from: UtcTime,
    pub(crate) until: UtcTime,
    pub(crate) generation: Option<u32>,
    /// Nanoseconds that it is ahead of UTC at `from`, and an error bound that holds until `until`; or why there is none.
    pub(crate) offset: Result<(i64, i64), &'static str>,
    pub(crate) frequency_ppt: Option<i64>,
}

impl Known {
    /// Nothing, for this reason.
    pub(crate) fn nothing(at: UtcTime, reason: &'static str) -> Self {
        Self {
            from: at,
            until: at,
            generation: None,
            offset: Err(reason),
            frequency_ppt: None,
        }
    }
}
