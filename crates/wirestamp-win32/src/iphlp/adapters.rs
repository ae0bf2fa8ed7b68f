//! Which adapters are listed, and what is known of each. Writes no record.

use crate::abi::adapters::{INCLUDE_ALL_INTERFACES, STATE_DOWN, STATE_LOWER_LAYER_DOWN, STATE_UP};
use crate::abi::codes::{ERROR_INVALID_PARAMETER, ERROR_NO_DATA};
use crate::adapter::{self, Adapter, native};
use crate::address::is_ipv6;
use crate::winsock::failure::win32;
use wirestamp_core::interface::{InterfaceAddress, InterfaceState};

/// One adapter, as it is listed.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) index: u32,
    pub(super) luid: u64,
    pub(super) interface_type: u32,
    pub(super) state: u32,
    pub(super) mtu: u32,
    pub(super) loopback: bool,
    pub(super) hardware_address: Vec<u8>,
    pub(super) bits_per_second: u64,
    /// Those of the family that was asked for.
    pub(super) addresses: Vec<InterfaceAddress>,
    pub(super) has_ipv4: bool,
    pub(super) has_ipv6: bool,
}

/// Lists the adapters with an address of `family`; with `INCLUDE_ALL_INTERFACES`, all.
///
/// # Errors
/// 87 for an unknown family or a wrong `WIRESTAMP_SIM`; 232 if there is no adapter.
pub(super) fn list(family: u32, flags: u32) -> Result<Vec<Listed>, u32> {
    let only_ipv6 = match family {
        0 => None,
        _ => Some(is_ipv6(family as i32).map_err(|_| ERROR_INVALID_PARAMETER)?),
    };
    let all = adapter::all().map_err(|error| win32(&error, false))?;
    let of_family =
        |known: &InterfaceAddress| only_ipv6.is_none_or(|ipv6| known.address.is_ipv6() == ipv6);
    let mut found: Vec<_> = all
        .iter()
        .map(|adapter| Listed::new(adapter, of_family))
        .collect();
    if only_ipv6.is_some() && flags & INCLUDE_ALL_INTERFACES == 0 {
        found.retain(|listed| !listed.addresses.is_empty());
    }
    if found.is_empty() {
        Err(ERROR_NO_DATA)
    } else {
        Ok(found)
    }
}

impl Listed {
    fn new(adapter: &Adapter, of_family: impl Fn(&InterfaceAddress) -> bool) -> Self {
        let described = &adapter.description;
        let link = if adapter.simulation.is_some() {
            native::Link::default()
        } else {
            native::link(described)
        };
        let has = |ipv6: bool| {
            described
                .addresses
                .iter()
                .any(|known| known.address.is_ipv6() == ipv6)
        };
        Self {
            name: described.name.clone(),
            description: match (adapter.simulation, described.loopback) {
                (Some(_), _) => format!("wirestamp simulated adapter {}", described.name),
                (None, true) => String::from("loopback"),
                (None, false) => format!("network adapter {}", described.name),
            },
            index: described.index.get(),
            luid: adapter.luid(),
            interface_type: adapter.interface_type(),
            state: match described.state {
                InterfaceState::Up => STATE_UP,
                InterfaceState::NoCarrier => STATE_LOWER_LAYER_DOWN,
                _ => STATE_DOWN,
            },
            mtu: described.mtu,
            loopback: described.loopback,
            hardware_address: link.hardware_address,
            bits_per_second: link.bits_per_second.unwrap_or(u64::MAX),
            addresses: described
                .addresses
                .iter()
                .copied()
                .filter(of_family)
                .collect(),
            has_ipv4: has(false),
            has_ipv6: has(true),
        }
    }
}
