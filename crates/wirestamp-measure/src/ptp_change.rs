//! Finds changes of a PTP clock, which the command prints and the monitor reports as events.

use crate::event::EventKind;
use wirestamp::Error;
use wirestamp_ptp::{
    Agreement, Node, PortIdentity, PortState, PortStatus, RefusedOffset, Status, Unmeasured,
    Warning,
};

/// A change of a PTP clock.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PtpChange {
    /// A port's state or timeTransmitter: the index of the port in the status.
    Port(usize),
    /// Whether the configured sources agree.
    Agreement,
    /// It runs with something that its user may not want.
    Warning(Warning),
    /// It has measured nothing although there was time enough.
    Silence(Unmeasured),
    /// An offset is beyond the limits, and not followed.
    Refused(RefusedOffset),
    /// The clock could not be moved.
    NotMoved(Error),
}

impl PtpChange {
    /// Returns the event: its kind, its interface and a sentence; `None` if only the command reports it.
    pub(crate) fn event(&self, status: &Status) -> Option<(EventKind, String, String)> {
        let first = || status.ports.first().map(|port| port.interface.clone());
        Some(match self {
            Self::Port(place) => {
                let port = status.ports.get(*place)?;
                let message = state(port, status);
                (EventKind::PtpState, port.interface.clone(), message)
            }
            Self::Agreement => (EventKind::Agreement, first()?, status.agreement.to_string()),
            Self::Warning(warning) => {
                let interface = warning.interface().to_owned();
                (EventKind::PtpWarning, interface, warning.to_string())
            }
            Self::Silence(why) => (EventKind::PtpSilence, first()?, why.to_string()),
            Self::Refused(_) | Self::NotMoved(_) => return None,
        })
    }
}

fn state(port: &PortStatus, status: &Status) -> String {
    let followed = status
        .time_transmitter
        .filter(|_| port.state == PortState::TimeReceiver);
    let follows = followed.map_or_else(String::new, |whom| format!(", it follows {whom}"));
    format!("the PTP port is now {}{follows}", port.state.name())
}

/// The status at the last check.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Each port's state and timeTransmitter.
    ports: Vec<(PortState, Option<PortIdentity>)>,
    agreement: Option<Agreement>,
    is_refused: bool,
    error: Option<Error>,
    pub(crate) warnings: Vec<Warning>,
    /// Why it has measured nothing.
    pub(crate) silence: Option<Unmeasured>,
}

impl Seen {
    /// Returns the changes since the last call; the first time, the state of each port.
    pub(crate) fn look(&mut self, node: &Node<'_>) -> Vec<PtpChange> {
        let mut changes = Vec::new();
        let refused = node.refused_offset();
        let was_refused = std::mem::replace(&mut self.is_refused, refused.is_some());
        changes.extend(refused.filter(|_| !was_refused).map(PtpChange::Refused));
        if self.error.as_ref() != node.steering_error() {
            self.error = node.steering_error().cloned();
            changes.extend(self.error.clone().map(PtpChange::NotMoved));
        }
        let before = self.agreement.replace(node.agreement());
        if before.is_some_and(|before| before != node.agreement()) {
            changes.push(PtpChange::Agreement);
        }
        let followed = node.time_transmitter();
        let whom = |state| followed.filter(|_| state == PortState::TimeReceiver);
        let ports: Vec<_> = node
            .port_states()
            .map(|state| (state, whom(state)))
            .collect();
        let places = (0..ports.len()).filter(|place| self.ports.get(*place) != ports.get(*place));
        changes.extend(places.map(PtpChange::Port));
        self.ports = ports;
        changes
    }

    /// Returns changes that are checked more rarely: warnings, and why nothing is measured. Each is reported once, and
    /// again if it comes back.
    pub(crate) fn diagnose(&mut self, node: &Node<'_>, is_late: bool) -> Vec<PtpChange> {
        let mut changes = Vec::new();
        let silence = is_late.then(|| node.unmeasured());
        if silence.map(kind) != self.silence.map(kind) {
            changes.extend(silence.map(PtpChange::Silence));
        }
        let warnings = node.warnings();
        let new = warnings.iter().filter(|one| !self.warnings.contains(one));
        changes.extend(new.cloned().map(PtpChange::Warning));
        (self.silence, self.warnings) = (silence, warnings);
        changes
    }
}

/// Returns the cause without its counts.
fn kind(unmeasured: Unmeasured) -> std::mem::Discriminant<Unmeasured> {
    std::mem::discriminant(&unmeasured)
}
