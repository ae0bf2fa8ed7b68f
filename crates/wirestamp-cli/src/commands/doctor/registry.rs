//! Reads facts about Windows from its registry, for the doctor: build, the properties of NICs' drivers, the PTP client
//! of its time service.

use super::driver::Properties;
use windows_registry::{Key, LOCAL_MACHINE};

const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
/// The class of NICs: one key for each driver, numbered.
const NICS: &str = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e972-e325-11ce-bfc1-08002be10318}";
const PTP_CLIENT: &str = r"SYSTEM\CurrentControlSet\Services\W32Time\TimeProviders\PtpClient";

/// The build of Windows.
pub(super) fn build() -> Option<u32> {
    LOCAL_MACHINE
        .open(VERSION)
        .ok()?
        .get_string("CurrentBuildNumber")
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The timestamping properties of the NIC with one of these names (one is its GUID).
pub(super) fn properties(names: &[String]) -> Option<Properties> {
    let class = LOCAL_MACHINE.open(NICS).ok()?;
    let drivers = class
        .keys()
        .ok()?
        .filter_map(|number| class.open(number).ok());
    let is_meant = |driver: &Key| {
        let guid = driver.get_string("NetCfgInstanceId").unwrap_or_default();
        names.iter().any(|name| name.eq_ignore_ascii_case(&guid))
    };
    drivers.into_iter().find(is_meant).map(|driver| {
        let value = |name| {
            driver
                .get_string(name)
                .ok()
                .and_then(|value| value.trim().parse().ok())
        };
        Properties {
            hardware: value("*PtpHardwareTimestamp"),
            software: value("*SoftwareTimestamp"),
        }
    })
}

/// Whether the PTP client of the time service is switched on; it is not there by default.
pub(super) fn ptp_client() -> Option<bool> {
    let provider = LOCAL_MACHINE.open(PTP_CLIENT).ok()?;
    Some(provider.get_u32("Enabled").ok()? != 0)
}
