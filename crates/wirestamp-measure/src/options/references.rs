//! The options of NTP servers and PTP timeTransmitters, with which this host's clock is compared.

use super::defaults::{one_second, sixteen_seconds};
use crate::times::duration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// An NTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ntp {
    /// Name or address, and port (123 if none is given).
    #[cfg_attr(feature = "schema", schemars(example = &"192.0.2.1"))]
    pub server: String,
    /// Time between two requests; at least 1 s.
    #[serde(default = "sixteen_seconds", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::times::Text"))]
    pub interval: Duration,
    /// Use basic mode only, never interleaved.
    #[serde(default)]
    pub basic: bool,
    /// The largest drift between the two clocks, in parts per million. The error bound grows by it until the drift is
    /// learnt from answers.
    #[serde(default = "five_hundred")]
    pub max_drift_ppm: u32,
    /// The largest change of the drift in a second, in parts per billion, adjustments of this host's clock aside (they
    /// are measured). With 1000000 or more the drift is not learnt.
    #[serde(default = "thirty")]
    pub wander_ppb: u32,
    /// The largest sudden change of the drift, in parts per billion: corrections of the server's clock by its own time
    /// daemon.
    #[serde(default = "five_hundred")]
    pub jump_ppb: u32,
    /// A response that takes longer is lost; 1 ms to 60 s.
    #[serde(default = "one_second", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::times::Text"))]
    pub timeout: Duration,
    /// The source of timestamps: `software` (the kernel), `hardware` (the NIC; hardware timestamping is switched on
    /// while this runs, which needs CAP_NET_ADMIN unless it is on already) or `auto` (the NIC if it timestamps every
    /// packet now, else the kernel).
    #[serde(default)]
    pub source: Timestamper,
    /// Authenticate with Network Time Security; `server` is then the key exchange server (default port 4460).
    #[serde(default)]
    pub nts: bool,
    /// File with the certificate authorities to trust for NTS (PEM). Default: the system's.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(example = &"/etc/wirestamp/authorities.pem"))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
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
            wander_ppb: thirty(),
            jump_ppb: five_hundred(),
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

/// A PTP clock. It steers nothing, unless it is [alone](Self::alone).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(description = "A PTP clock that measures and steers nothing")
)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ptp {
    /// The interface of its port.
    #[cfg_attr(feature = "schema", schemars(example = &"eth0"))]
    pub interface: String,
    /// Options of a PTP clock that measures, as in the file of `wirestamp ptp --config`.
    #[serde(default)]
    pub options: wirestamp_ptp::Configuration,
    /// Whether it is the clock of a whole program: with a port at each interface that its options name, it steers the clock that they name,
    /// and is not opened again once it failed. Default: no.
    #[serde(skip)]
    pub alone: bool,
    /// Decides in a simulation when its random timers go off.
    #[serde(skip, default = "first")]
    pub seed: u64,
}

impl Ptp {
    /// Returns a clock with a port at an interface.
    pub fn at(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            options: wirestamp_ptp::Configuration::default(),
            alone: false,
            seed: first(),
        }
    }

    /// Returns the clock of a whole program: it has a port at each interface that the options name, and steers the clock that they name. It ends
    /// when an offset beyond the limit has lasted, or is the first, unless the options let it go on measuring. While it runs,
    /// [`Engine::ptp`](crate::Engine::ptp) asks it; [`Engine::into_ptp`](crate::Engine::into_ptp) is its report.
    pub fn alone(options: wirestamp_ptp::Configuration) -> Self {
        Self {
            interface: options.interfaces.first().cloned().unwrap_or_default(),
            options,
            alone: true,
            seed: first(),
        }
    }

    /// Where it has ports.
    pub(crate) fn interfaces(&self) -> &[String] {
        match self.alone {
            true => &self.options.interfaces,
            false => std::slice::from_ref(&self.interface),
        }
    }
}

fn first() -> u64 {
    1
}

fn five_hundred() -> u32 {
    500
}

fn thirty() -> u32 {
    30
}

/// The port of NTP (RFC 5905 §7.2).
fn ntp_port() -> u16 {
    123
}
