//! The checks that are Windows' alone: its build, the properties of a NIC's driver,
//! virtual switches, and the PTP client of its time service. Where they are read is `registry`.
//!
//! Source: the reference page "Standardized INF keywords for packet timestamping"; the time
//! service's own PTP client, "W32Time".

use super::check::{Check, Commands, Status};
use super::{registry, remedy};
use wirestamp::Interface;

/// The first build with the interface for packet timestamps.
const FIRST_BUILD: u32 = 20_348;
/// What a host's own NIC on a virtual switch is called.
const VIRTUAL: &str = "Hyper-V Virtual Ethernet NIC";

/// The two properties that switch timestamping in a driver; `None`: the driver does not have it, or
/// nobody has ever set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Properties {
    /// `*PtpHardwareTimestamp`: 0 off, 1 on.
    pub(super) hardware: Option<u32>,
    /// `*SoftwareTimestamp`: 0 off, 1 receive, 2 transmit, 3 both, 4 tagged transmit, 5 receive
    /// and tagged transmit.
    pub(super) software: Option<u32>,
}

/// Checks this Windows; nothing elsewhere.
pub(super) fn system() -> Vec<Check> {
    let Some(build) = registry::build() else {
        return Vec::new();
    };
    vec![version(build), time_service(registry::ptp_client())]
}

fn version(build: u32) -> Check {
    if build >= FIRST_BUILD {
        return Check::new(
            "windows",
            Status::Ok,
            format!("build {build} has the interface for packet timestamps"),
        );
    }
    let text = format!(
        "build {build} has no packet timestamps: they came with build {FIRST_BUILD} and Windows 11"
    );
    Check::new("windows", Status::Warn, text)
}

fn time_service(enabled: Option<bool>) -> Check {
    const NAME: &str = "w32time_ptp";
    if enabled != Some(true) {
        return Check::new(
            NAME,
            Status::Ok,
            "the PTP client of the time service is off: ports 319 and 320 are free of it",
        );
    }
    let key = r"HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\TimeProviders\PtpClient";
    let text = "the PTP client of the time service is on and holds ports 319 and 320: another PTP program can't bind them";
    Check::new(NAME, Status::Warn, text).changed_by(Commands {
        linux: Vec::new(),
        windows: vec![
            format!("Set-ItemProperty '{key}' Enabled 0"),
            "Restart-Service W32Time".to_owned(),
        ],
    })
}

/// Checks a NIC's driver; nothing elsewhere than on Windows.
pub(super) fn nic(interface: &Interface) -> Vec<Check> {
    let (name, names) = (interface.name(), &interface.description().alternative_names);
    let switched = names
        .iter()
        .any(|name| name.starts_with(VIRTUAL))
        .then(virtual_switch);
    switched
        .into_iter()
        .chain(registry::properties(names).map(|found| properties(name, found)))
        .collect()
}

fn virtual_switch() -> Check {
    let text = "this NIC is behind a virtual switch, which is not known to let timestamps through: measure on a NIC \
                that is not bound to the switch";
    Check::new("virtual_switch", Status::Warn, text)
}

fn properties(interface: &str, found: Properties) -> Check {
    let check = |status, text: String| Check::new("driver_properties", status, text);
    let on = |value: Option<u32>| value.is_some_and(|value| value != 0);
    match (on(found.hardware), on(found.software)) {
        (true, true) => {
            let text =
                "*PtpHardwareTimestamp and *SoftwareTimestamp are both on: the driver then timestamps in hardware alone";
            check(Status::Warn, text.to_owned()).changed_by(remedy::disable_software(interface))
        }
        (true, false) => check(Status::Ok, "*PtpHardwareTimestamp is on".to_owned()),
        (false, true) => {
            let value = found.software.unwrap_or(0);
            let one_way = matches!(value, 1 | 2 | 4);
            let text = format!("*SoftwareTimestamp is {value}: {}", software(value));
            let check = check(if one_way { Status::Warn } else { Status::Ok }, text);
            if one_way { check.changed_by(remedy::enable_software(interface)) } else { check }
        }
        (false, false) if found == Properties::default() => check(
            Status::Skip,
            "the driver has neither *PtpHardwareTimestamp nor *SoftwareTimestamp set: it may not offer them".to_owned(),
        ),
        (false, false) => {
            let commands = if found.hardware.is_some() {
                remedy::enable_hardware(interface)
            } else {
                remedy::enable_software(interface)
            };
            check(Status::Warn, "the driver offers timestamps, and they are off".to_owned()).changed_by(commands)
        }
    }
}

const fn software(value: u32) -> &'static str {
    match value {
        1 => "received packets alone",
        2 => "sent packets alone",
        3 => "received and sent packets",
        4 => "sent packets that ask for it, alone",
        5 => "received packets, and sent ones that ask for it",
        _ => "no value that the driver can know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(hardware: Option<u32>, software: Option<u32>) -> (Status, Vec<String>) {
        let check = properties("Ethernet 2", Properties { hardware, software });
        (check.status, check.commands.windows)
    }

    #[test]
    fn the_line_is_for_this_nic_and_this_driver() {
        let set = |keyword, value| {
            format!(
                "Set-NetAdapterAdvancedProperty -Name \"Ethernet 2\" -RegistryKeyword '{keyword}' -RegistryValue {value}"
            )
        };
        let restart = "Restart-NetAdapter -Name \"Ethernet 2\"".to_owned();
        let (status, lines) = judged(Some(0), Some(0));
        assert_eq!(
            (status, lines),
            (
                Status::Warn,
                vec![set("*PtpHardwareTimestamp", 1), restart.clone()]
            )
        );
        let (status, lines) = judged(None, Some(0));
        assert_eq!(
            (status, lines),
            (
                Status::Warn,
                vec![set("*SoftwareTimestamp", 5), restart.clone()]
            )
        );
        let (status, lines) = judged(Some(1), Some(5));
        assert_eq!(
            (status, lines),
            (
                Status::Warn,
                vec![set("*SoftwareTimestamp", 0), restart.clone()]
            )
        );
        let (status, lines) = judged(None, Some(1));
        assert_eq!(
            (status, lines),
            (Status::Warn, vec![set("*SoftwareTimestamp", 5), restart])
        );
        assert_eq!(judged(Some(1), None), (Status::Ok, Vec::new()));
        assert_eq!(judged(Some(1), Some(0)), (Status::Ok, Vec::new()));
        assert_eq!(judged(None, Some(5)), (Status::Ok, Vec::new()));
        assert_eq!(judged(None, None).0, Status::Skip);
    }

    #[test]
    fn old_builds_and_the_time_service_are_named() {
        assert_eq!(
            (version(19_045).status, version(20_348).status),
            (Status::Warn, Status::Ok)
        );
        assert_eq!(time_service(None).status, Status::Ok);
        assert_eq!(time_service(Some(false)).status, Status::Ok);
        let check = time_service(Some(true));
        assert_eq!(
            (check.status, check.commands.windows.len()),
            (Status::Warn, 2)
        );
    }
}
