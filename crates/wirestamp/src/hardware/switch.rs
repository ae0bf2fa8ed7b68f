//! Switches a NIC's hardware timestamping to the first candidate that the driver accepts, and
//! explains the error if it accepts none.

use super::request::HardwareRequest;
use crate::interface::Interface;
use wirestamp_core::backend::Backend;
use wirestamp_core::capability::{Direction, PtpVerdict};
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "enable hardware timestamps";
const OTHERWISE: &str =
    "see the supported capabilities of the interface, or use software timestamps";

/// The resulting configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switched {
    pub(super) granted: HardwareConfiguration,
    /// What the driver reports afterwards. One that granted "some" may report the requested filter.
    pub(super) told: HardwareConfiguration,
}

/// Switches to a configuration that satisfies `request` and covers `needed`; changes nothing if
/// `current` already does. On failure it restores `current`.
pub(super) fn on(
    interface: &Interface,
    request: HardwareRequest,
    current: Option<HardwareConfiguration>,
    needed: HardwareConfiguration,
) -> Result<Switched> {
    let is_held = needed != HardwareConfiguration::OFF;
    if let Some(current) = current.filter(|current| request.is_served_already(*current, is_held)) {
        return Ok(Switched {
            granted: current,
            told: current,
        });
    }
    let mut refused = Vec::new();
    let in_force = current.unwrap_or(HardwareConfiguration::OFF);
    for wanted in request.candidates(in_force, needed) {
        match interface.host().configure(interface.description(), wanted) {
            Ok(granted) if request.is_served_by(wanted, granted) && keeps(granted, needed) => {
                return Ok(Switched {
                    granted,
                    told: told(interface, granted),
                });
            }
            Ok(granted) => {
                refused.push((wanted, unserved(interface, granted)));
                let back = current.unwrap_or(needed);
                let _ = interface.host().configure(interface.description(), back); // the error below reports the rejected candidate
            }
            Err(error) if may_try_another(error.kind()) => refused.push((wanted, error)),
            Err(error) => return Err(error),
        }
    }
    Err(summed_up(interface, request, needed, refused))
}

/// Whether `granted` still covers `needed`.
fn keeps(granted: HardwareConfiguration, needed: HardwareConfiguration) -> bool {
    granted.covers(needed)
        || granted.receive == ReceiveFilter::Some && granted.transmit >= needed.transmit
}

/// What the driver will report as long as `granted` is not changed.
fn told(interface: &Interface, granted: HardwareConfiguration) -> HardwareConfiguration {
    if granted.receive == ReceiveFilter::Some {
        interface.configuration().unwrap_or(granted)
    } else {
        granted
    }
}

/// Whether the driver may accept another filter after this error.
fn may_try_another(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotSupported | ErrorKind::InvalidInput)
}

pub(super) fn shown(configuration: HardwareConfiguration) -> String {
    let transmit = if configuration.transmit { "on" } else { "off" };
    format!(
        "transmit {transmit}, receive {}",
        configuration.receive.name()
    )
}

fn unserved(interface: &Interface, granted: HardwareConfiguration) -> Error {
    let cause = format!("the driver granted {} instead", shown(granted));
    Error::new(ErrorKind::NotSupported, OPERATION, interface.name(), cause)
}

/// What the caller can request instead, according to the NIC's capabilities: never the request that
/// just failed.
fn instead(interface: &Interface, request: HardwareRequest) -> Option<&'static str> {
    let supported = interface.supported().ok()?;
    let any = |direction| supported.hardware.timestamps_any_datagram(direction);
    let ptp = supported.ptp_verdict() == PtpVerdict::Hardware;
    match (any(Direction::Transmit), any(Direction::Receive)) {
        (false, true)
            if matches!(
                request,
                HardwareRequest::Ptp | HardwareRequest::PtpOverEthernet
            ) =>
        {
            Some(
                "the NIC timestamps received packets alone, and PTP needs sent ones as well: use software timestamps",
            )
        }
        (false, true)
            if !matches!(
                request,
                HardwareRequest::Received | HardwareRequest::ReceivedPtp
            ) =>
        {
            Some(
                "the NIC timestamps received packets alone: ask for those, or use software timestamps",
            )
        }
        (true, false)
            if ptp
                && !matches!(
                    request,
                    HardwareRequest::Ptp | HardwareRequest::ReceivedPtp | HardwareRequest::Sent
                ) =>
        {
            Some(
                "of received packets the NIC timestamps PTP messages alone: ask for those, or use software timestamps",
            )
        }
        (true, false) if request != HardwareRequest::Sent => {
            Some("the NIC timestamps sent packets alone: ask for those, or use software timestamps")
        }
        _ => None,
    }
}

fn summed_up(
    interface: &Interface,
    request: HardwareRequest,
    needed: HardwareConfiguration,
    mut refused: Vec<(HardwareConfiguration, Error)>,
) -> Error {
    let answers: Vec<_> = refused
        .iter()
        .map(|(wanted, error)| format!("{} ({})", shown(*wanted), error.cause()))
        .collect();
    let Some((_, last)) = refused.pop() else {
        return Error::new(
            ErrorKind::InvalidInput,
            OPERATION,
            interface.name(),
            "nothing was asked for",
        );
    };
    let instead = instead(interface, request);
    // A driver without any support gives the same error for every candidate; so do some with
    // partial support.
    let cannot =
        last.kind() == ErrorKind::NotSupported && refused.iter().all(|(_, error)| *error == last);
    if cannot {
        return instead.map_or(last.clone(), |remedy| last.with_remedy(remedy));
    }
    let mut cause = format!("the driver rejected {}", answers.join(", then "));
    if needed != HardwareConfiguration::OFF {
        cause += &format!(" (other holders need {})", shown(needed));
    }
    let remedy = match (instead, last.remedy()) {
        (Some(instead), _) => instead.to_owned(),
        (None, "") => OTHERWISE.to_owned(),
        (None, own) => own.to_owned(),
    };
    let error = Error::new(last.kind(), OPERATION, interface.name(), cause).with_remedy(remedy);
    last.code()
        .map_or(error.clone(), |code| error.with_code(code))
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests {
    use super::*;

    /// Some drivers return "not supported" for the part that they cannot do.
    #[test]
    fn who_supports_a_part_is_not_said_to_support_nothing() {
        let remedy = |preset, request: HardwareRequest| {
            let simulation = crate::Simulation::preset(preset, 7).expect("a preset");
            let nic = simulation.interface("sim0").expect("a NIC");
            let answer = Error::new(ErrorKind::NotSupported, OPERATION, "sim0", "not supported")
                .with_remedy("this driver has no hardware timestamping");
            let candidates =
                request.candidates(HardwareConfiguration::OFF, HardwareConfiguration::OFF);
            let refused = candidates.into_iter().map(|one| (one, answer.clone()));
            let error = summed_up(&nic, request, HardwareConfiguration::OFF, refused.collect());
            assert_eq!(error.kind(), ErrorKind::NotSupported);
            error.remedy().to_owned()
        };
        for request in [HardwareRequest::AllPackets, HardwareRequest::Sent] {
            assert!(remedy("ena", request).contains("ask for those"));
        }
        assert!(remedy("ena", HardwareRequest::Ptp).contains("PTP needs sent ones"));
        let nothing = remedy("ena", HardwareRequest::Received);
        assert!(nothing.contains("no hardware timestamping"), "{nothing}");
    }

    /// Several candidates, and different errors: the last one says more than this module could.
    #[test]
    fn the_drivers_own_remedy_comes_through() {
        let simulation = crate::Simulation::preset("ena", 7).expect("a preset");
        let nic = simulation.interface("sim0").expect("a NIC");
        let own = "a bond takes its active member's";
        let answers = [
            Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                "sim0",
                "invalid argument",
            ),
            Error::new(ErrorKind::NotSupported, OPERATION, "sim0", "not supported"),
        ];
        let refused = answers.map(|error| (HardwareConfiguration::OFF, error.with_remedy(own)));
        let request = HardwareRequest::Received;
        let error = summed_up(&nic, request, HardwareConfiguration::OFF, refused.into());
        assert_eq!(error.remedy(), own);
    }
}
