//! The description of a network interface. Does not look any up.

use crate::ethernet::MacAddress;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use core::num::NonZeroU32;
use core::str::FromStr;

/// The system's number for an interface; never zero. Changes when a driver is rebound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct InterfaceIndex(NonZeroU32);

impl InterfaceIndex {
    /// Makes it from the system's number; `None` for 0, which systems use for "any" or "unknown".
    pub const fn new(index: u32) -> Option<Self> {
        match NonZeroU32::new(index) {
            Some(index) => Some(Self(index)),
            None => None,
        }
    }

    /// Returns the system's number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for InterfaceIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An address of an interface with the length of its network prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceAddress {
    /// The address.
    pub address: IpAddr,
    /// Bits of network prefix.
    pub prefix_length: u8,
}

/// Prints as `192.0.2.1/24`.
impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

/// A text that is no address with the length of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceAddressInvalid;

impl fmt::Display for InterfaceAddressInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an address with a prefix length, such as 192.0.2.1/24")
    }
}

impl core::error::Error for InterfaceAddressInvalid {}

/// Reads what `Display` prints.
impl FromStr for InterfaceAddress {
    type Err = InterfaceAddressInvalid;

    fn from_str(text: &str) -> Result<Self, InterfaceAddressInvalid> {
        let (address, length) = text.split_once('/').ok_or(InterfaceAddressInvalid)?;
        let address: IpAddr = address.parse().map_err(|_| InterfaceAddressInvalid)?;
        let prefix_length = length.parse().map_err(|_| InterfaceAddressInvalid)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if prefix_length > longest {
            return Err(InterfaceAddressInvalid);
        }
        Ok(Self {
            address,
            prefix_length,
        })
    }
}

/// The state of an interface: whether packets can pass now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum InterfaceState {
    /// Switched on, with carrier.
    Up,
    /// Switched on, without carrier (cable, peer or association missing).
    NoCarrier,
    /// Switched off.
    Down,
}

impl InterfaceState {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::NoCarrier => "no_carrier",
            Self::Down => "down",
        }
    }
}

/// One network interface as the system described it when asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct InterfaceDescription {
    /// The name that people use: `eth0`, `Ethernet 2` (Windows' friendly name).
    pub name: String,
    /// Other names of the same interface. Populated on: Linux (alternative names), Windows
    /// (the driver's description and the NIC's GUID).
    pub alternative_names: Vec<String>,
    /// The system's number.
    pub index: InterfaceIndex,
    /// Populated on: Windows (the interface's LUID).
    pub luid: Option<u64>,
    /// The MAC address that it sends from; `None` for an interface without Ethernet frames, and for loopback.
    pub mac_address: Option<MacAddress>,
    /// Internet addresses.
    pub addresses: Vec<InterfaceAddress>,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Whether packets can pass.
    pub state: InterfaceState,
    /// Whether it is the loopback interface.
    pub loopback: bool,
    /// Number of the hardware clock (`/dev/ptpN`). Populated on: Linux, simulator.
    pub hardware_clock: Option<u32>,
    /// Whether the interface is simulated.
    pub simulated: bool,
    /// The bridge, bond or team that this is a port of: it takes what arrives here. Populated on: Linux
    /// (`IFLA_MASTER`, `IFLA_INFO_SLAVE_KIND`).
    pub port_of: Option<InterfaceIndex>,
}

impl InterfaceDescription {
    /// Makes a description with a name and number and nothing else known.
    pub fn new(name: impl Into<String>, index: InterfaceIndex) -> Self {
        Self {
            name: name.into(),
            alternative_names: Vec::new(),
            index,
            luid: None,
            mac_address: None,
            addresses: Vec::new(),
            mtu: 0,
            state: InterfaceState::Down,
            loopback: false,
            hardware_clock: None,
            simulated: false,
            port_of: None,
        }
    }

    /// Returns whether `name` is one of this interface's names. Windows' names (of what has a LUID)
    /// have no case.
    pub fn is_called(&self, name: &str) -> bool {
        let same = |own: &str| {
            own == name || self.luid.is_some() && own.to_lowercase() == name.to_lowercase()
        };
        same(&self.name) || self.alternative_names.iter().any(|other| same(other))
    }
}
