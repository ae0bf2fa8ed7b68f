//! The object that `ptp --json` prints a line for: a sample, or a change of state.

use crate::output::json;
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp_ptp::{PortStatus, Sample, Status};

/// A sample, or a change of state.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Line {
    /// Time on the real-time clock, UTC.
    #[serde(serialize_with = "json::time")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Utc"))]
    time: i64,
    /// Name of the interface.
    interface: String,
    /// State of the port, as IEEE 1588 names it.
    state: &'static str,
    /// The timestamping clock's time when the Sync arrived, in nanoseconds; `None`: nothing was measured.
    #[serde(serialize_with = "json::some_digits")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Digits>"))]
    local_ns: Option<i64>,
    /// Timestamping clock minus timeTransmitter; positive: the local clock is ahead; `None`: nothing was measured.
    offset_ns: Option<i64>,
    /// Mean of the path delays of both directions.
    mean_path_delay_ns: Option<i64>,
    /// Error bound of `offset_ns`.
    error_bound_ns: Option<i64>,
    /// System clock minus timeTransmitter, through the NIC's clock if that one timestamps; positive: the system clock is
    /// ahead.
    system_offset_ns: Option<i64>,
    /// Error bound of `system_offset_ns`.
    system_error_bound_ns: Option<i64>,
    /// Frequency offset of the timestamping clock; positive: it runs fast.
    frequency_ppb: Option<f64>,
    /// Which clock timestamps: hardware (the NIC's) or software (the system's).
    source: &'static str,
    /// Timestamps that were used, by which clock made them: hardware (the NIC's) or software (the system's).
    stamps: BTreeMap<&'static str, u64>,
    /// Port identity of the followed timeTransmitter; `None`: none is followed.
    time_transmitter: Option<String>,
    /// Exchanges without a sample, by reason.
    lost: BTreeMap<&'static str, u64>,
    /// Ignored messages, by reason.
    ignored: BTreeMap<&'static str, u64>,
}

impl Line {
    pub(super) fn of_sample(sample: &Sample) -> Self {
        let system = sample.system_offset;
        Self {
            time: sample.time.nanoseconds(),
            interface: sample.interface.clone(),
            state: sample.state.name(),
            local_ns: Some(sample.local_ns),
            offset_ns: Some(sample.offset.value.saturating_nanoseconds()),
            mean_path_delay_ns: Some(sample.mean_path_delay_ns),
            error_bound_ns: Some(sample.offset.bound.saturating_nanoseconds()),
            system_offset_ns: system.map(|system| system.value.saturating_nanoseconds()),
            system_error_bound_ns: system.map(|system| system.bound.saturating_nanoseconds()),
            frequency_ppb: sample.frequency_ppb,
            source: sample.source.name(),
            stamps: sample.counts.stamps.clone(),
            time_transmitter: Some(sample.time_transmitter.to_string()),
            lost: sample.counts.lost.clone(),
            ignored: sample.counts.ignored.clone(),
        }
    }

    /// A port's state, with nothing measured.
    pub(super) fn of_port(status: &Status, port: &PortStatus) -> Self {
        Self {
            time: status.time.nanoseconds(),
            interface: port.interface.clone(),
            state: port.state.name(),
            local_ns: None,
            offset_ns: None,
            mean_path_delay_ns: None,
            error_bound_ns: None,
            system_offset_ns: None,
            system_error_bound_ns: None,
            frequency_ppb: None,
            source: port.source.name(),
            stamps: port.counts.stamps.clone(),
            time_transmitter: status
                .time_transmitter
                .map(|transmitter| transmitter.to_string()),
            lost: port.counts.lost.clone(),
            ignored: port.counts.ignored.clone(),
        }
    }
}
