//! A NIC's timestamping capabilities and configuration, read and set through ioctls.
//! [`super::wire::nic`] decodes the answers.

use super::call;
use super::error::system_error;
use super::hardware_clock::Clock;
use super::wire::constants::{
    ETHTOOL_GET_TS_INFO, HWTSTAMP_FLAG_BONDED_PHC_INDEX, SIOCGHWTSTAMP, SIOCSHWTSTAMP,
};
use super::wire::nic::{EthtoolTsInfo, HwtstampConfig};
use super::{device, ethtool, requested};
use socket2::{Domain, Socket, Type};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use wirestamp_core::backend::HardwareClock;
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::{Error, ErrorKind, Result};

/// A socket for asking about interfaces, in the network namespace of the calling thread.
pub(super) fn asking_socket() -> io::Result<OwnedFd> {
    Socket::new(Domain::IPV4, Type::DGRAM, None).map(OwnedFd::from)
}

/// `ETHTOOL_GET_TS_INFO` of the interface called `name`.
pub(super) fn timestamping_information(asking: &OwnedFd, name: &str) -> io::Result<EthtoolTsInfo> {
    let mut info = EthtoolTsInfo {
        command: ETHTOOL_GET_TS_INFO,
        so_timestamping: 0,
        phc_index: -1,
        tx_types: 0,
        tx_reserved: [0; 3],
        rx_filters: 0,
        rx_reserved: [0; 3],
    };
    call::ethtool_ts_info(asking.as_fd(), name, &mut info)?;
    Ok(info)
}

fn information(operation: &'static str, interface: &InterfaceDescription) -> Result<EthtoolTsInfo> {
    asking_socket()
        .and_then(|asking| timestamping_information(&asking, &interface.name))
        .map_err(|error| system_error(operation, &interface.name, &error))
}

/// The number of the clock that is behind `interface` now.
pub(super) fn hardware_clock(
    asking: &OwnedFd,
    interface: &InterfaceDescription,
) -> Result<Option<u32>> {
    let operation = "ask for the hardware clock";
    timestamping_information(asking, &interface.name)
        .map(|info| info.hardware_clock())
        .map_err(|error| system_error(operation, &interface.name, &error))
}

/// Whether the NIC's clock answers a reading now.
fn answers_readings(info: &EthtoolTsInfo) -> bool {
    let Some(number) = info.hardware_clock() else {
        return false;
    };
    let Ok(mut clock) = Clock::open(number) else {
        return false;
    };
    clock.cross_timestamps(1, &mut Vec::new()).is_ok()
}

pub(super) fn supported(interface: &InterfaceDescription) -> Result<Capabilities> {
    let info = information("query supported capabilities", interface)?;
    Ok(info.supported(answers_readings(&info)))
}

pub(super) fn active(interface: &InterfaceDescription) -> Result<Capabilities> {
    let info = information("query active capabilities", interface)?;
    let configuration = match configuration(interface) {
        Ok(configuration) => configuration,
        // No hardware timestamping, or a driver that does not report it. The second is unknown, not
        // off; a NIC without hardware timestamping is off for certain.
        Err(error)
            if error.kind() == ErrorKind::NotSupported && info.supported(false).hardware.any() =>
        {
            return Err(error.with_remedy(
                "this driver can't tell what is switched on; switch it on again to be sure",
            ));
        }
        Err(error) if error.kind() == ErrorKind::NotSupported => HardwareConfiguration::OFF,
        Err(error) => return Err(error),
    };
    let requested = match configuration.receive {
        ReceiveFilter::Some => requested::filter(device::behind(interface)?),
        _ => None,
    };
    Ok(info.active(configuration, requested, answers_readings(&info)))
}

/// `SIOCGHWTSTAMP` of the interface called `name`.
pub(super) fn read_configuration(asking: &OwnedFd, name: &str) -> io::Result<HwtstampConfig> {
    let mut config = HwtstampConfig::default();
    call::hardware_timestamping(asking.as_fd(), SIOCGHWTSTAMP, name, &mut config)?;
    Ok(config)
}

pub(super) fn configuration(interface: &InterfaceDescription) -> Result<HardwareConfiguration> {
    let operation = "read the hardware timestamping configuration";
    let config = asking_socket()
        .and_then(|asking| read_configuration(&asking, &interface.name))
        .or_else(|error| ethtool::configuration(interface).map_err(|_| error))
        .map_err(|error| system_error(operation, &interface.name, &error))?;
    known(config, operation, interface)
}

pub(super) fn configure(
    interface: &InterfaceDescription,
    wanted: HardwareConfiguration,
) -> Result<HardwareConfiguration> {
    let operation = "configure hardware timestamping";
    let Some(config) =
        HwtstampConfig::wanted(wanted).filter(|_| wanted.receive != ReceiveFilter::Some)
    else {
        let cause = format!(
            "the receive filter \"{}\" can't be asked for",
            wanted.receive.name()
        );
        return Err(Error::new(
            ErrorKind::InvalidInput,
            operation,
            &interface.name,
            cause,
        ));
    };
    let granted = set(interface, config).map_err(|error| explain(interface, wanted, &error))?;
    // it is set: that the device can't be found now is no reason to say that it is not
    match device::behind(interface) {
        Ok(device) => requested::remember(device, wanted.receive),
        Err(_) => requested::forget(), // what was asked of it before is not in force any more
    }
    known(granted, operation, interface)
}

/// By ioctl; for a bond on its active member's clock; by netlink where there is no ioctl.
fn set(interface: &InterfaceDescription, wanted: HwtstampConfig) -> io::Result<HwtstampConfig> {
    let asking = asking_socket()?;
    let by_ioctl = |mut config: HwtstampConfig| {
        call::hardware_timestamping(asking.as_fd(), SIOCSHWTSTAMP, &interface.name, &mut config)
            .map(|()| config)
    };
    let bonded = HwtstampConfig {
        flags: HWTSTAMP_FLAG_BONDED_PHC_INDEX,
        ..wanted
    };
    match by_ioctl(wanted) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => by_ioctl(bonded)
            .or_else(|_| ethtool::configure(interface, wanted))
            .map_err(|_| error),
        other => other,
    }
}

fn known(
    config: HwtstampConfig,
    operation: &'static str,
    interface: &InterfaceDescription,
) -> Result<HardwareConfiguration> {
    config.granted().ok_or_else(|| {
        let cause = format!(
            "the driver answered with a receive filter unknown to wirestamp ({})",
            config.rx_filter
        );
        Error::new(ErrorKind::Io, operation, &interface.name, cause)
    })
}

fn explain(
    interface: &InterfaceDescription,
    wanted: HardwareConfiguration,
    error: &io::Error,
) -> Error {
    let described = system_error("configure hardware timestamping", &interface.name, error);
    match described.kind() {
        ErrorKind::NotPermitted => {
            let command = format!(
                "run as root, grant CAP_NET_ADMIN, or let root do it once: hwstamp_ctl -i {} -t {} -r {}",
                interface.name,
                u8::from(wanted.transmit),
                HwtstampConfig::wanted(wanted).map_or(0, |config| config.rx_filter),
            );
            described.with_remedy(command)
        }
        ErrorKind::NotSupported if device::is_bond(interface.index) => described.with_remedy(
            "a bond's hardware timestamps are its active member's: use mode active-backup with a member that is up, or software timestamps",
        ),
        ErrorKind::NotSupported => described
            .with_remedy("this driver has no hardware timestamping; software timestamps work"),
        ErrorKind::InvalidInput => described.with_remedy(
            "the driver does not take this receive filter: see the supported capabilities of the interface",
        ),
        _ => described,
    }
}
