//! The checks of one NIC: what it supports, what is active, what really comes, its
//! clock, and the verdict for PTP. Switches nothing on this system; a simulated NIC is
//! tried out.

use super::check::{Check, Status};
use super::system::failed;
use super::{driver, remedy};
use crate::commands::capabilities::matrix;
use crate::probe::{self, Probe};
use std::net::SocketAddr;
use wirestamp::clock::CrossMethod;
use wirestamp::interface::{Direction, PtpVerdict};
use wirestamp::{Capabilities, CrossTimestamp, Error, ErrorKind, HardwareRequest, Interface, Span};

/// A bracket that is wider than this hides more than a packet's way through the stack.
const WIDE: Span = Span::from_microseconds(10);

/// Checks `interface`; with a `peer`, whether timestamps come of what is sent there.
pub(super) fn check(interface: &Interface, peer: Option<SocketAddr>, checks: &mut Vec<Check>) {
    let name = interface.name();
    let mut found = Vec::new();
    match (interface.supported(), interface.active()) {
        (Ok(supported), Ok(active)) => {
            let probe = peer.map(|peer| probe::toward(interface, peer));
            let seen = probe.as_ref().and_then(|probe| probe.as_ref().ok());
            let came = seen.is_some_and(came_in_software);
            found.push(software(interface, &supported, &active, came));
            let hardware = hardware(interface, probe.as_ref(), &supported, &active);
            found.extend(hardware.checks);
            found.push(match hardware.never_came {
                true => none_came(&active),
                false => verdict(name, &supported, &active, came),
            });
        }
        (Ok(_), Err(error)) if is_refused_by_windows(interface, &error) => {
            found.extend(by_value(interface, peer, &error));
        }
        (Err(error), _) | (Ok(_), Err(error)) => found.push(failed("capabilities", &error)),
    }
    if !interface.description().simulated {
        found.extend(driver::nic(interface));
    }
    found.push(clock(interface));
    #[cfg(target_os = "linux")]
    if !interface.description().simulated {
        found.extend(super::xdp::check(interface));
    }
    checks.extend(found.into_iter().map(|check| check.on(name)));
}

/// Whether Windows' driver refuses to say what is active, as some do that timestamp all the same.
fn is_refused_by_windows(interface: &Interface, error: &Error) -> bool {
    interface.description().luid.is_some() && error.kind() == ErrorKind::Io
}

/// Checks timestamps by their values, where the driver does not report its settings.
fn by_value(interface: &Interface, peer: Option<SocketAddr>, refused: &Error) -> Vec<Check> {
    let number = refused.code().unwrap_or_default();
    let text = format!(
        "the driver does not say what is active ({number}): the value of each timestamp shows its clock, the performance counter if \
         it is within a second of it, else the NIC's if a cross timestamp fits"
    );
    let mut checks = vec![Check::new("capabilities", Status::Warn, text)];
    let probe = match peer {
        Some(peer) => probe::toward(interface, peer),
        None if interface.description().simulated => probe::itself(interface),
        None => return checks,
    };
    checks.push(match probe {
        Ok(probe) => came_by_value(&probe),
        Err(error) => failed("observed", &error),
    });
    checks
}

/// Reports the clocks that the values show.
fn came_by_value(probe: &Probe) -> Check {
    let seen = probe.observed;
    let ways = [
        (seen.transmit_hardware, "the NIC's for sent"),
        (seen.receive_hardware, "the NIC's for received"),
        (seen.transmit_software, "the performance counter's for sent"),
        (
            seen.receive_software,
            "the performance counter's for received",
        ),
    ];
    let told: Vec<_> = ways
        .iter()
        .filter(|(came, _)| *came)
        .map(|(_, way)| *way)
        .collect();
    if told.is_empty() {
        let text = "no timestamp came whose value shows its clock";
        return Check::new("observed", Status::Fail, text);
    }
    let text = format!("timestamps came: {} datagrams", told.join(", "));
    Check::new("observed", Status::Ok, text)
}

/// Whether the probe had software timestamps, of each datagram that it could have: nobody need answer. On a bridge or a tunnel they are
/// those of the devices below, which its own driver cannot promise.
fn came_in_software(probe: &Probe) -> bool {
    let seen = probe.observed;
    seen.transmit_software && (seen.receive_software || probe.arrived == 0)
}

/// Whether it has software timestamps of what is sent and of what is received.
fn in_both_directions(of: &Capabilities) -> bool {
    of.software.timestamps(Direction::Receive) && of.software.timestamps(Direction::Transmit)
}

/// `came`: whether a probe had them, whatever the driver says.
fn software(
    interface: &Interface,
    supported: &Capabilities,
    active: &Capabilities,
    came: bool,
) -> Check {
    let name = interface.name();
    let is_windows = interface.description().luid.is_some() && !interface.description().simulated;
    if active.hardware.any() && is_windows {
        let text =
            "Windows makes one timestamp a packet, and the driver is set to make it in hardware";
        return Check::new("software", Status::Skip, text);
    }
    match (in_both_directions(supported), in_both_directions(active)) {
        (_, true) => Check::new(
            "software",
            Status::Ok,
            "software timestamps are active in both directions",
        ),
        (true, false) => Check::new(
            "software",
            Status::Warn,
            "software timestamps are supported and not active in both directions",
        )
        .changed_by(remedy::enable_software(name)),
        (false, false) if came => Check::new(
            "software",
            Status::Ok,
            "software timestamps came, though its driver promises none",
        ),
        (false, false) => {
            let lacking = match supported.software.timestamps(Direction::Receive) {
                true => "on transmit",
                false if supported.software.timestamps(Direction::Transmit) => "on receive",
                false => "at all",
            };
            Check::new(
                "software",
                Status::Warn,
                format!("its driver promises no software timestamps {lacking}"),
            )
            .changed_by(remedy::probe(name))
        }
    }
}

/// The checks of hardware timestamps, and the result of a probe.
struct Hardware {
    checks: Vec<Check>,
    /// Whether they are active, and a probe waited for them in vain.
    never_came: bool,
}

impl Hardware {
    /// Nothing was probed.
    fn unknown(checks: Vec<Check>) -> Self {
        Self {
            checks,
            never_came: false,
        }
    }

    fn probed(check: Check, active: &Capabilities, probe: &Probe) -> Self {
        Self {
            checks: vec![check, observed(active, probe)],
            never_came: !never_came(active, probe).is_empty(),
        }
    }
}

/// Whether hardware timestamps are supported, active, and really come.
fn hardware(
    interface: &Interface,
    probe: Option<&Result<Probe, Error>>,
    supported: &Capabilities,
    active: &Capabilities,
) -> Hardware {
    let name = interface.name();
    if !supported.hardware.any() {
        let text = "the NIC or its driver has no hardware timestamps; only software timestamps are available";
        let refused = probe.and_then(|probe| probe.as_ref().err());
        let refused = refused.map(|error| failed("observed", error));
        let check = Check::new("hardware", Status::Skip, text);
        return Hardware::unknown([check].into_iter().chain(refused).collect());
    }
    if interface.description().simulated {
        return tried(interface);
    }
    if !active.hardware.any() {
        let text = "hardware timestamps are supported and switched off, as after every start of the driver";
        let check = Check::new("hardware", Status::Warn, text);
        return Hardware::unknown(vec![check.changed_by(remedy::enable(name, supported))]);
    }
    let text =
        "active, and not probed here: whether timestamps really come shows when packets flow";
    let is_active = "hardware timestamps are supported and active";
    let check = Check::new("hardware", Status::Ok, is_active);
    let seen = match probe {
        Some(Ok(probe)) => return Hardware::probed(check, active, probe),
        None => Check::new("observed", Status::Skip, text).changed_by(remedy::probe(name)),
        Some(Err(error)) => failed("observed", error),
    };
    Hardware::unknown(vec![check, seen])
}

/// Switches the hardware timestamping of a simulated NIC on for the time being, and looks.
fn tried(interface: &Interface) -> Hardware {
    let enabled = interface
        .enable_hardware(HardwareRequest::AllPackets)
        .or_else(|_| interface.enable_hardware(HardwareRequest::Ptp))
        .or_else(|_| interface.enable_hardware(HardwareRequest::Received))
        .or_else(|_| interface.enable_hardware(HardwareRequest::Sent));
    let guard = match enabled {
        Ok(guard) => guard,
        Err(error) => {
            let check = Check::new("hardware", Status::Warn, error.to_string());
            return Hardware::unknown(vec![match error.kind() {
                ErrorKind::NotPermitted => check.changed_by(remedy::grant()),
                // `wirestamp enable` would ask for what was refused
                _ => check,
            }]);
        }
    };
    let granted = guard.granted();
    let text = format!(
        "hardware timestamps can be switched on: transmit {}, receive {}",
        if granted.transmit { "on" } else { "off" },
        granted.receive.name()
    );
    let check = Check::new("hardware", Status::Ok, text);
    let seen = interface
        .active()
        .and_then(|active| Ok((active, probe::itself(interface)?)));
    match seen {
        Ok((active, probe)) => Hardware::probed(check, &active, &probe),
        Err(error) => Hardware::unknown(vec![check, failed("observed", &error)]),
    }
}

/// Each way by which an active hardware timestamp could have come.
fn promised(active: &Capabilities, probe: &Probe) -> [(bool, bool, &'static str); 2] {
    let (hardware, seen) = (&active.hardware, probe.observed);
    let receives = hardware.timestamps_any_datagram(Direction::Receive) && probe.arrived > 0;
    let sends = hardware.timestamps_any_datagram(Direction::Transmit);
    [
        (sends, seen.transmit_hardware, "sent"),
        (receives, seen.receive_hardware, "received"),
    ]
}

/// The ways by which hardware timestamps should have come and did not.
fn never_came(active: &Capabilities, probe: &Probe) -> Vec<&'static str> {
    let promised = promised(active, probe).into_iter();
    let broken = promised.filter(|(active, seen, _)| *active && !seen);
    broken.map(|(.., way)| way).collect()
}

/// Whether the active timestamps came; of what is received, only where something was.
fn observed(active: &Capabilities, probe: &Probe) -> Check {
    let broken = never_came(active, probe);
    if !broken.is_empty() {
        let text = format!(
            "supported, active, never observed: no hardware timestamp came for {} datagrams; don't rely on them, or update the driver",
            broken.join(" and ")
        );
        return Check::new("observed", Status::Fail, text);
    }
    let seen: Vec<_> = promised(active, probe)
        .iter()
        .filter(|(_, seen, _)| *seen)
        .map(|(.., way)| *way)
        .collect();
    if seen.is_empty() {
        let text = "the filter in force timestamps PTP messages alone, and the probe sends none";
        return Check::new("observed", Status::Skip, text);
    }
    Check::new(
        "observed",
        Status::Ok,
        format!(
            "hardware timestamps came for {} datagrams",
            seen.join(" and ")
        ),
    )
}

/// Of a NIC whose promised hardware timestamps did not come: switching them on changes nothing.
fn none_came(active: &Capabilities) -> Check {
    let software = match in_both_directions(active) {
        true => "software timestamps alone",
        false => "no timestamps",
    };
    let text = format!(
        "a PTPv2 application can rely on {software}: hardware timestamps do not come in both directions"
    );
    Check::new("ptp_verdict", Status::Warn, text)
}

fn verdict(name: &str, supported: &Capabilities, active: &Capabilities, came: bool) -> Check {
    let (could, is) = (supported.ptp_verdict(), active.ptp_verdict());
    if is == PtpVerdict::None && came {
        let text = "a PTPv2 application gets software timestamps now: they came, though the driver promises none";
        return Check::new("ptp_verdict", Status::Ok, text);
    }
    let text = match is {
        PtpVerdict::None => "its driver promises a PTPv2 application no timestamps now".to_owned(),
        _ => format!("a PTPv2 application gets {} timestamps now", is.name()),
    };
    match (could, is) {
        (_, PtpVerdict::Hardware) => Check::new("ptp_verdict", Status::Ok, text),
        (PtpVerdict::Hardware, _) => Check::new(
            "ptp_verdict",
            Status::Warn,
            format!("{text}, and hardware timestamps once they are switched on"),
        )
        .changed_by(remedy::enable(name, supported)),
        _ if !supported.hardware.any() => {
            let status = if is == PtpVerdict::Software {
                Status::Ok
            } else {
                Status::Warn
            };
            Check::new(
                "ptp_verdict",
                status,
                format!("{text}; the NIC timestamps nothing"),
            )
        }
        _ => {
            let lacking = matrix(supported)
                .0
                .into_iter()
                .filter(|(path, timestamped)| path.starts_with("hardware") && !timestamped);
            let lacking: Vec<_> = lacking
                .map(|(path, _)| path.trim_start_matches("hardware_").replace('_', " "))
                .collect();
            let status = if is == PtpVerdict::Software {
                Status::Ok
            } else {
                Status::Warn
            };
            Check::new(
                "ptp_verdict",
                status,
                format!(
                    "{text}; hardware does not timestamp: {}",
                    lacking.join(", ")
                ),
            )
        }
    }
}

fn clock(interface: &Interface) -> Check {
    let number = interface.description().hardware_clock;
    match interface
        .hardware_clock()
        .and_then(|clock| clock.cross_timestamp())
    {
        Ok(reading) => read(&reading),
        Err(error) if error.kind() == ErrorKind::NotSupported && number.is_none() => {
            Check::new("cross_timestamp", Status::Skip, "no hardware clock")
        }
        Err(error) => not_read(&error, number),
    }
}

fn read(reading: &CrossTimestamp) -> Check {
    let method = reading.method();
    let Some(width) = reading.bracket() else {
        let text = format!(
            "read by the {} method, which does not tell how close the readings are",
            method.name()
        );
        return Check::new("cross_timestamp", Status::Warn, text);
    };
    let text = format!("read by the {} method within {width}", method.name());
    if width > WIDE {
        return Check::new(
            "cross_timestamp",
            Status::Warn,
            format!("{text}: a slow bus; conversions are that coarse"),
        );
    }
    if method == CrossMethod::Basic {
        return Check::new(
            "cross_timestamp",
            Status::Warn,
            format!("{text}: the driver has no closer one"),
        );
    }
    Check::new("cross_timestamp", Status::Ok, text)
}

fn not_read(error: &Error, number: Option<u32>) -> Check {
    let status = if error.kind() == ErrorKind::NotSupported {
        Status::Skip
    } else {
        Status::Fail
    };
    let check = Check::new("cross_timestamp", status, error.to_string());
    if error.kind() == ErrorKind::NotPermitted {
        check.changed_by(remedy::open_clock(number))
    } else {
        check
    }
}
