//! The object that `ptp --json` prints a line for: a sample, or a change of state.

use crate::output::json;
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp_ptp::{PortStatus, Sample, Status};

/// Times in nanoseconds; `null` where nothing was measured.
#[derive(Serialize)]
pub(super) struct Line {
    /// Of the real-time clock.
    #[serde(serialize_with = "json::time")]
    time: i64,
    interface: String,
    state: &'static str,
    /// What the clock that timestamps showed when the Sync came.
    #[serde(serialize_with = "json::some_digits")]
    local_ns: Option<i64>,
    offset_ns: Option<i64>,
    mean_path_delay_ns: Option<i64>,
    error_bound_ns: Option<i64>,
    /// Of the system's clock, through the NIC's where that one timestamps.
    system_offset_ns: Option<i64>,
    system_error_bound_ns: Option<i64>,
    frequency_ppb: Option<f64>,
    source: &'static str,
    stamps: BTreeMap<&'static str, u64>,
    time_transmitter: Option<String>,
    lost: BTreeMap<&'static str, u64>,
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
