//! Descriptions of network interfaces.

mod neighbour;

pub use neighbour::{NeighbourState, NeighbourWatch};

use crate::ethernet::MacAddress;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use core::num::NonZeroU32;
use core::str::FromStr;

/// The index of an interface (`ifindex`), never zero. It changes when the driver is bound again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct InterfaceIndex(NonZeroU32);

impl InterfaceIndex {
    /// Creates an index; `None` for 0, which systems use for "any" or "unknown".
    pub const fn new(index: u32) -> Option<Self> {
        match NonZeroU32::new(index) {
            Some(index) => Some(Self(index)),
            None => None,
        }
    }

    /// Returns the index as a number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for InterfaceIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An address of an interface, with the length of its network prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceAddress {
    /// The address.
    pub address: IpAddr,
    /// The length of the network prefix in bits.
    pub prefix_length: u8,
}

/// Prints as `192.0.2.1/24`.
impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

/// The error for a text that is not an address with a prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceAddressInvalid;

impl fmt::Display for InterfaceAddressInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an address with a prefix length, such as 192.0.2.1/24")
    }
}

impl core::error::Error for InterfaceAddressInvalid {}

/// Parses the form that `Display` prints.
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

/// The state of an interface: whether it can send and receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum InterfaceState {
    /// Set up, with a carrier.
    Up,
    /// Set up, without a carrier (no cable, peer or association).
    NoCarrier,
    /// Set down.
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

/// The description of a network interface, as the system reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct InterfaceDescription {
    /// The name: `eth0`, or Windows' friendly name `Ethernet 2`.
    pub name: String,
    /// Other names of the same interface: alternative names on Linux, the driver's description and
    /// the NIC's GUID on Windows.
    pub alternative_names: Vec<String>,
    /// The interface index.
    pub index: InterfaceIndex,
    /// The interface's LUID (Windows only).
    pub luid: Option<u64>,
    /// The MAC address; `None` for loopback and for interfaces without Ethernet frames.
    pub mac_address: Option<MacAddress>,
    /// The IP addresses.
    pub addresses: Vec<InterfaceAddress>,
    /// The MTU: the largest IP packet, in bytes.
    pub mtu: u32,
    /// Whether it can send and receive.
    pub state: InterfaceState,
    /// Whether it is the loopback interface.
    pub loopback: bool,
    /// The number of the hardware clock (the N of `/dev/ptpN`). Set on Linux and in the simulator.
    pub hardware_clock: Option<u32>,
    /// Whether the interface is simulated.
    pub simulated: bool,
    /// The bridge, bond or team that this interface is a port of, and that takes all packets
    /// arriving here. Set on Linux (`IFLA_MASTER`, `IFLA_INFO_SLAVE_KIND`).
    pub port_of: Option<InterfaceIndex>,
}

impl InterfaceDescription {
    /// Creates a description with a name and an index, and defaults for the rest.
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

    /// Returns whether `name` is one of this interface's names. On Windows (if it has a LUID) case
    /// is ignored.
    pub fn is_called(&self, name: &str) -> bool {
        let same = |own: &str| {
            own == name || self.luid.is_some() && own.to_lowercase() == name.to_lowercase()
        };
        same(&self.name) || self.alternative_names.iter().any(|other| same(other))
    }
}
