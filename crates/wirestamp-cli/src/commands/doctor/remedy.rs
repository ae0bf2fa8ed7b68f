//! The exact commands that would change something, with names quoted for their shells.
//! Runs none of them.

use super::check::Commands;
use wirestamp::Capabilities;
use wirestamp::interface::Direction;

/// Timestamps that a socket's queue should hold; the kernel needs up to this many bytes for each.
const QUEUE: u32 = 4_096;
const BYTES_PER_TIMESTAMP: u32 = 1_024;

/// Switches hardware timestamping on.
pub(super) fn enable(interface: &str, supported: &Capabilities) -> Commands {
    let name = in_shell(interface);
    let (transmit, filter) = (transmit(supported), filter(supported));
    Commands {
        linux: vec![
            format!("sudo wirestamp enable {name}"),
            format!("sudo hwstamp_ctl -i {name} -t {transmit} -r {filter}"),
        ],
        ..enable_hardware(interface)
    }
}

/// Switches hardware timestamping on in a Windows driver.
pub(super) fn enable_hardware(interface: &str) -> Commands {
    Commands {
        linux: Vec::new(),
        windows: vec![
            property(interface, "*PtpHardwareTimestamp", 1),
            restart(interface),
        ],
    }
}

/// Whether transmit timestamps are switched on: some drivers refuse that. Of what is not known they are.
fn transmit(supported: &Capabilities) -> u32 {
    let hardware = &supported.hardware;
    let receives_alone = hardware.timestamps_any_datagram(Direction::Receive)
        && !hardware.timestamps_any_datagram(Direction::Transmit);
    u32::from(!receives_alone)
}

/// The kernel's number of the narrowest filter that covers PTPv2 over UDP.
fn filter(supported: &Capabilities) -> u32 {
    const ALL: u32 = 1;
    const PTP_V2_L4_EVENT: u32 = 6;
    const PTP_V2_EVENT: u32 = 12;
    let advertised = supported
        .kernel_masks
        .map_or(0, |masks| masks.receive_filters);
    let has = |filter: &u32| advertised & (1 << filter) != 0;
    [PTP_V2_L4_EVENT, PTP_V2_EVENT, ALL]
        .into_iter()
        .find(has)
        .unwrap_or(PTP_V2_EVENT)
}

/// Switches timestamping in the driver on, for all packets.
pub(super) fn enable_software(interface: &str) -> Commands {
    Commands {
        linux: Vec::new(),
        windows: vec![
            property(interface, "*SoftwareTimestamp", 5),
            restart(interface),
        ],
    }
}

/// Leaves timestamping to the hardware alone.
pub(super) fn disable_software(interface: &str) -> Commands {
    Commands {
        linux: Vec::new(),
        windows: vec![
            property(interface, "*SoftwareTimestamp", 0),
            restart(interface),
        ],
    }
}

/// Sends to somebody to see whether timestamps come.
pub(super) fn probe(interface: &str) -> Commands {
    let line = |name: String| vec![format!("wirestamp doctor {name} --probe ADDRESS")];
    Commands {
        linux: line(in_shell(interface)),
        windows: line(in_powershell(interface)),
    }
}

/// Lets this program configure NICs, and measure PTP: the command replaces what the file had before, so that
/// it names all of it, as `wirestamp ptp` does.
pub(super) fn grant() -> Commands {
    Commands {
        linux: vec![
            "sudo setcap cap_net_admin,cap_net_bind_service,cap_net_raw=ep \"$(command -v wirestamp)\""
                .to_owned(),
        ],
        windows: vec!["Start-Process powershell -Verb RunAs".to_owned()],
    }
}

/// Lets this user read clocks.
pub(super) fn open_clock(number: Option<u32>) -> Commands {
    let device = number.map_or_else(
        || "/dev/ptp*".to_owned(),
        |number| format!("/dev/ptp{number}"),
    );
    Commands {
        linux: vec![format!("sudo chmod a+r {device}")],
        windows: Vec::new(),
    }
}

/// Lets sockets hold more timestamps.
pub(super) fn larger_queue() -> Commands {
    let bytes = QUEUE * BYTES_PER_TIMESTAMP;
    Commands {
        linux: vec![format!("sudo sysctl -w net.core.rmem_max={bytes}")],
        windows: Vec::new(),
    }
}

fn property(interface: &str, keyword: &str, value: u32) -> String {
    let name = in_powershell(interface);
    format!(
        "Set-NetAdapterAdvancedProperty -Name {name} -RegistryKeyword '{keyword}' -RegistryValue {value}"
    )
}

fn restart(interface: &str) -> String {
    format!("Restart-NetAdapter -Name {}", in_powershell(interface))
}

/// A name as a POSIX shell takes it.
fn in_shell(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-@:+".contains(character);
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// A name as PowerShell takes it.
fn in_powershell(name: &str) -> String {
    let mut quoted = String::from("\"");
    for character in name.chars() {
        if matches!(character, '"' | '$' | '`') {
            quoted.push('`');
        }
        quoted.push(character);
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::interface::KernelMasks;

    #[test]
    fn the_lines_are_those_of_the_two_systems() {
        let with = |receive_filters| Capabilities {
            kernel_masks: Some(KernelMasks {
                receive_filters,
                ..KernelMasks::default()
            }),
            ..Capabilities::default()
        };
        let commands = enable("eth0", &with(1 << 12 | 1));
        assert_eq!(
            commands.linux,
            [
                "sudo wirestamp enable eth0",
                "sudo hwstamp_ctl -i eth0 -t 1 -r 12"
            ]
        );
        assert_eq!(
            enable("eth0", &with(1 << 1 | 1)).linux[1],
            "sudo hwstamp_ctl -i eth0 -t 1 -r 1"
        );
        let commands = enable("Ethernet 2", &Capabilities::default());
        assert_eq!(
            commands.windows,
            [
                "Set-NetAdapterAdvancedProperty -Name \"Ethernet 2\" -RegistryKeyword '*PtpHardwareTimestamp' -RegistryValue 1",
                "Restart-NetAdapter -Name \"Ethernet 2\"",
            ]
        );
        assert_eq!(
            larger_queue().linux,
            ["sudo sysctl -w net.core.rmem_max=4194304"]
        );
    }

    #[test]
    fn a_name_can_not_become_a_command() {
        assert_eq!(in_shell("a;reboot"), "'a;reboot'");
        assert_eq!(in_shell("it's"), r"'it'\''s'");
        assert_eq!(in_powershell("a\"; $(x)"), "\"a`\"; `$(x)\"");
    }
}
