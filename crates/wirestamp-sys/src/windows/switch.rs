//! Hardware timestamping of a NIC: reads whether it is on, and explains how to switch it. Windows has
//! no function for that: it is a property of the driver.

use super::capability;
use wirestamp_core::capability::{AddressFamily, Capabilities, Direction};
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::{Error, ErrorKind, Result};

pub(super) fn configuration(interface: &InterfaceDescription) -> Result<HardwareConfiguration> {
    let supported = capability::supported(interface)?;
    if !supported.hardware.any() {
        let operation = "read the hardware timestamping configuration";
        let cause = "the adapter has no hardware timestamps";
        return Err(
            Error::new(ErrorKind::NotSupported, operation, &interface.name, cause)
                .with_remedy("software timestamps may work: see the capabilities"),
        );
    }
    Ok(of(&capability::active(interface)?))
}

/// The configuration that these active capabilities amount to.
fn of(active: &Capabilities) -> HardwareConfiguration {
    let families = [AddressFamily::Ipv4, AddressFamily::Ipv6];
    let events = |direction| {
        families
            .iter()
            .any(|family| active.hardware.timestamps_ptp_events(direction, *family))
    };
    let receive = if active.hardware.timestamps_any_datagram(Direction::Receive) {
        ReceiveFilter::All
    } else if events(Direction::Receive) {
        ReceiveFilter::PtpV2Udp
    } else {
        ReceiveFilter::None
    };
    HardwareConfiguration {
        transmit: events(Direction::Transmit),
        receive,
    }
}

/// Grants what is in force already; anything else only the driver's properties can change.
pub(super) fn configure(
    interface: &InterfaceDescription,
    wanted: HardwareConfiguration,
) -> Result<HardwareConfiguration> {
    let operation = "configure hardware timestamping";
    let now = configuration(interface)?;
    let covered = now.receive == wanted.receive || now.receive == ReceiveFilter::All;
    if now == wanted
        || wanted != HardwareConfiguration::OFF && covered && (now.transmit || !wanted.transmit)
    {
        return Ok(now);
    }
    let value = u8::from(wanted != HardwareConfiguration::OFF);
    let name = interface.name.replace('\'', "''");
    let cause = "programs can't switch this: it is a property of the adapter's driver";
    Err(Error::new(ErrorKind::NotSupported, operation, &interface.name, cause).with_remedy(format!(
        "in an elevated PowerShell: Set-NetAdapterAdvancedProperty -Name '{name}' -RegistryKeyword \
         '*PtpHardwareTimestamp' -RegistryValue {value}; Restart-NetAdapter -Name '{name}'"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::capability::HardwareCapabilities;

    #[test]
    fn the_flags_amount_to_a_filter() {
        let hardware = HardwareCapabilities {
            all_receive: true,
            tagged_transmit: true,
            ..Default::default()
        };
        let all = Capabilities {
            hardware,
            ..Default::default()
        };
        assert_eq!(
            of(&all),
            HardwareConfiguration {
                transmit: true,
                receive: ReceiveFilter::All
            }
        );
        let hardware = HardwareCapabilities {
            ptp_v2_over_udp_ipv4_event_message_receive: true,
            ..Default::default()
        };
        let events = Capabilities {
            hardware,
            ..Default::default()
        };
        assert_eq!(
            of(&events),
            HardwareConfiguration {
                transmit: false,
                receive: ReceiveFilter::PtpV2Udp
            }
        );
        assert_eq!(of(&Capabilities::default()), HardwareConfiguration::OFF);
    }
}
