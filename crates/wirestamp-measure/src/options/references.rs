//! What this host's clock is compared with: NTP servers and PTP timeTransmitters.

use super::defaults::sixteen_seconds;
use crate::times::duration;
use serde::{Deserialize, Serialize};
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
}

impl Ntp {
    /// Returns a server: name or address, and port (123 if none is given).
    pub fn of(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            interval: sixteen_seconds(),
            basic: false,
            max_drift_ppm: five_hundred(),
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
