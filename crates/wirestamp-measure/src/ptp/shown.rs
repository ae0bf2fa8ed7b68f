//! The state of a PTP clock.

use super::PtpTask;
use crate::moment::Moment;
use crate::state::{PtpState, Reasons};
use std::collections::BTreeMap;
use wirestamp_ptp::{PortState, PortStatus, Sample, Status, Warning};

impl PtpTask {
    /// Each of its ports.
    pub(super) fn shown(&self, status: &Status, moment: &Moment) -> impl Iterator<Item = PtpState> {
        let ports = status.ports.iter();
        ports.map(|port| self.port(status, port, moment))
    }

    fn port(&self, status: &Status, port: &PortStatus, moment: &Moment) -> PtpState {
        let held = port.estimate;
        let name = port.interface.as_str();
        let last = self.last.as_ref().filter(|last| last.interface == name);
        // measurements from before a step do not apply to the clock now
        let valid = last.filter(|last| held.is_some() && !is_stepped_since(last, moment));
        let system = valid.and_then(|last| last.system_offset);
        let since = last.map(|last| (moment.now - last.at).saturating_nanoseconds());
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
            age_ns: held.map(|held| held.age_ns).or(since),
            stale_after_ns: measures(port.state).then(|| self.patience.saturating_nanoseconds()),
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

/// Whether a port in this state measures, or should.
pub(super) fn measures(state: PortState) -> bool {
    !matches!(state, PortState::TimeTransmitter | PortState::Passive)
}

fn is_stepped_since(last: &Sample, moment: &Moment) -> bool {
    let slewed = moment
        .real_time_clock
        .slewed(&last.reading, &moment.reading);
    slewed.is_none()
}

fn reasons(counts: &BTreeMap<&'static str, u64>) -> Reasons {
    let owned = counts
        .iter()
        .map(|(reason, count)| ((*reason).to_owned(), *count));
    owned.collect()
}
