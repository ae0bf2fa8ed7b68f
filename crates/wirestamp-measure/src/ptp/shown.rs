//! The state of a PTP clock.

use super::PtpTask;
use crate::state::{PtpState, Reasons};
use std::collections::BTreeMap;
use wirestamp_ptp::{PortStatus, Status, Warning};

impl PtpTask {
    /// Each of its ports.
    pub(super) fn shown(&self, status: &Status) -> impl Iterator<Item = PtpState> {
        status.ports.iter().map(|port| self.port(status, port))
    }

    fn port(&self, status: &Status, port: &PortStatus) -> PtpState {
        let held = port.estimate;
        let name = port.interface.as_str();
        let last = self.last.as_ref().filter(|last| last.interface == name);
        let system = last.and_then(|last| last.system_offset);
        let warnings = self
            .seen
            .warnings
            .iter()
            .filter(|one| one.interface() == name);
        PtpState {
            interface: port.interface.clone(),
            state: port.state.name().to_owned(),
            time_transmitter: status.time_transmitter.map(|identity| identity.to_string()),
            grandmaster: status.grandmaster.to_string(),
            steps_removed: status.steps_removed,
            source: port.source.name().to_owned(),
            stamps: reasons(&port.counts.stamps),
            offset_ns: held.map(|held| held.offset.value.saturating_nanoseconds()),
            bound_ns: held.map(|held| held.offset.bound.saturating_nanoseconds()),
            system_offset_ns: system.map(|system| system.value.saturating_nanoseconds()),
            system_bound_ns: system.map(|system| system.bound.saturating_nanoseconds()),
            path_delay_ns: held.map(|held| held.mean_path_delay_ns),
            frequency_ppb: held.and_then(|held| held.frequency_ppb),
            age_ns: held.map(|held| held.age_ns),
            holdover: held.is_some_and(|held| held.holdover),
            agreement: status.agreement.name().to_owned(),
            error: self.seen.silence.map(|why| why.to_string()),
            warnings: warnings.map(Warning::to_string).collect(),
            samples: self.samples.get(name).copied().unwrap_or(0),
            lost: reasons(&port.counts.lost),
            ignored: reasons(&port.counts.ignored),
        }
    }
}

fn reasons(counts: &BTreeMap<&'static str, u64>) -> Reasons {
    let owned = counts
        .iter()
        .map(|(reason, count)| ((*reason).to_owned(), *count));
    owned.collect()
}
