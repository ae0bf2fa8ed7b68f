//! What this host's clock is compared with: NTP servers and PTP timeTransmitters.

use super::defaults::{one_second, sixteen_seconds};
use crate::times::duration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// An NTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ntp {
    /// Name or address, and port (123 if none is given).
    pub server: String,
    /// From one request to the next; at least 1 s. Default: 16 s.
    #[serde(default = "sixteen_seconds", with = "duration")]
    pub interval: Duration,
    /// Ask in basic mode alone.
    #[serde(default)]
    pub basic: bool,
    /// How fast the two clocks may drift apart, in parts per million.
    #[serde(default = "five_hundred")]
    pub max_drift_ppm: u32,
    /// A response that takes longer is lost; 1 ms to 60 s. Default: 1 s.
    #[serde(default = "one_second", with = "duration")]
    pub timeout: Duration,
    /// Who timestamps the packets. Default: the kernel.
    #[serde(default)]
    pub source: Timestamper,
    /// Authenticate by Network Time Security: the server is that of the key exchange (port 4460 if none is given).
    #[serde(default)]
    pub nts: bool,
    /// Authorities whose certificates count for NTS (PEM), instead of the system's.
    #[serde(default)]
    pub nts_ca: Option<PathBuf>,
    /// The port of a server that names none. Default: 123.
    #[serde(skip, default = "ntp_port")]
    pub port: u16,
    /// Addresses of this family alone. Default: of either.
    #[serde(skip)]
    pub family: Option<Family>,
    /// In how many intervals it is asked. Default: for ever, and one that cannot be asked is tried again.
    #[serde(skip)]
    pub count: Option<u32>,
}

/// Who timestamps packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Timestamper {
    /// The NIC if it timestamps every packet now, else the kernel.
    Auto,
    /// The kernel or the driver, by the system's clock.
    #[default]
    Software,
    /// The NIC, by its own clock; its timestamps are switched on for the time being, which needs CAP_NET_ADMIN unless they are on already.
    Hardware,
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }
}

impl Ntp {
    /// Returns a server: name or address, and port (123 if none is given).
    pub fn of(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            interval: sixteen_seconds(),
            basic: false,
            max_drift_ppm: five_hundred(),
            timeout: one_second(),
            source: Timestamper::default(),
            nts: false,
            nts_ca: None,
            port: ntp_port(),
            family: None,
            count: None,
        }
    }
}

/// A PTP clock that measures and steers nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ptp {
    /// The interface of its port.
    pub interface: String,
    /// As in the file of `wirestamp ptp --config`.
    #[serde(default)]
    pub options: wirestamp_ptp::Configuration,
}

impl Ptp {
    /// Returns a clock with a port at an interface.
    pub fn at(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            options: wirestamp_ptp::Configuration::default(),
        }
    }
}

fn five_hundred() -> u32 {
    500
}

/// The port of NTP (RFC 5905 §7.2).
fn ntp_port() -> u16 {
    123
}
