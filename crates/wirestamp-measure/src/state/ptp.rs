//! The state of PTP clocks.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// A port of a PTP clock that measures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PtpState {
    /// Name of the interface.
    pub interface: String,
    /// State of the port, as IEEE 1588 names it.
    pub state: String,
    /// Port identity of the timeTransmitter that it follows.
    pub time_transmitter: Option<String>,
    /// Clock identity of the grandmaster.
    pub grandmaster: String,
    /// Clocks between.
    pub steps_removed: u16,
    /// "hardware" or "software".
    pub source: String,
    /// Timestamps of event messages that were used, by source.
    #[serde(default)]
    pub stamps: Reasons,
    /// The clock that timestamps minus the timeTransmitter's, at the last Sync; without one for some seconds, now. `None`:
    /// not measured, or the clock was stepped since.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub offset_ns: Option<i64>,
    /// Error bound of `offset_ns`.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub bound_ns: Option<i64>,
    /// This host's real-time clock minus the timeTransmitter's UTC, at the last Sync. `None`: not measured, or a clock of this
    /// host was stepped since.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub system_offset_ns: Option<i64>,
    /// Error bound of `system_offset_ns`, at the last Sync.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub system_bound_ns: Option<i64>,
    /// Path delay: the mean of both directions.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub path_delay_ns: Option<i64>,
    /// Frequency offset from the timeTransmitter's clock, in parts per billion (positive: the local clock runs fast).
    pub frequency_ppb: Option<f64>,
    /// Time since the last Sync that gave a sample.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub age_ns: Option<i64>,
    /// A greater age says that Syncs or answers are missing: 30 s, or eight intervals of Announce messages. `None`: the port
    /// transmits time or is passive, and measures nothing.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub stale_after_ns: Option<i64>,
    /// Whether the timeTransmitter is followed no more.
    pub holdover: bool,
    /// Whether the configured sources agree.
    pub agreement: String,
    /// Why it has never measured anything, if it has not for `stale_after_ns`.
    #[serde(default)]
    pub error: Option<String>,
    /// Settings that work, but perhaps not as they are meant, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Syncs that gave a sample.
    pub samples: u64,
    /// Exchanges without a sample, by reason.
    pub lost: Reasons,
    /// Messages that are no concern of this clock, by reason.
    pub ignored: Reasons,
}
