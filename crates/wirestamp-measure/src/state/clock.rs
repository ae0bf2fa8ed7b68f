//! The state of this host's clocks.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// A clock of this host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ClockState {
    /// Name of the interface, or "realtime".
    pub name: String,
    /// "phc" or "realtime".
    pub kind: String,
    /// Offset from UTC, in nanoseconds (positive: this clock is ahead). Of a PTP hardware clock: from UTC as the
    /// real-time clock shows it, by a reading of both that was taken for this.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub utc_offset_ns: Option<i64>,
    /// The truth lies within this distance of `utc_offset_ns`.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub utc_bound_ns: Option<i64>,
    /// Where NTP servers say so: offset and bound hold if so many of them are right.
    #[serde(default)]
    pub right_servers: Option<u64>,
    /// Offset from TAI, in nanoseconds; `utc_bound_ns` is its error bound as well.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub tai_offset_ns: Option<i64>,
    /// Where the offset comes from: "system", "ntp", "ptp", "kernel" (a bound alone) or "simulation" (nothing is known).
    pub reference: Option<String>,
    /// Frequency offset from the monotonic clock, in parts per billion (positive: this clock runs fast).
    pub frequency_ppb: Option<f64>,
    /// Error bound of `frequency_ppb`.
    pub frequency_bound_ppb: Option<f64>,
    /// Clock generation: one uninterrupted run of the clock.
    pub generation: Option<u64>,
    /// Changes of the generation since the start, by cause.
    pub generation_changes: Reasons,
    /// Time since the last successful reading or exchange, at most; the reading that `utc_offset_ns` is of does not count.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub age_ns: Option<i64>,
    /// How long the narrowest of the last cross timestamps took.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub cross_width_ns: Option<i64>,
    /// How cross timestamps are taken.
    pub cross_method: Option<String>,
    /// Cross timestamps taken since the start.
    pub readings: u64,
    /// Attempts to read the clock that failed since the start.
    pub failures: u64,
    /// Why the last one failed.
    pub error: Option<String>,
}
