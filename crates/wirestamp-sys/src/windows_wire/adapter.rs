//! The meaning of what `GetAdaptersAddresses` says of an adapter. Pure: the list is
//! walked elsewhere.

use crate::abi::adapters::{
    STATE_DORMANT, STATE_DOWN, STATE_LOWER_LAYER_DOWN, STATE_UP, TYPE_LOOPBACK,
};
use wirestamp_core::interface::{
    InterfaceAddress, InterfaceDescription, InterfaceIndex, InterfaceState,
};

/// One record of the list, its strings and addresses copied out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdapterRecord {
    /// `FriendlyName`: what people call it, and may change.
    pub friendly_name: String,
    /// `Description`: what the driver calls it.
    pub description: String,
    /// `AdapterName`: its GUID.
    pub guid: String,
    /// `IfIndex`: 0 where IPv4 is not bound.
    pub index: u32,
    /// `Ipv6IfIndex`: 0 where IPv6 is not bound.
    pub ipv6_index: u32,
    /// `Luid`
    pub luid: u64,
    /// `IfType`
    pub kind: u32,
    /// `OperStatus`
    pub oper_status: u32,
    /// `Mtu`
    pub mtu: u32,
    /// The unicast addresses.
    pub addresses: Vec<InterfaceAddress>,
}

impl AdapterRecord {
    /// The interface; `None` for an adapter that neither protocol is bound to.
    pub fn describe(self) -> Option<InterfaceDescription> {
        let index =
            InterfaceIndex::new(self.index).or_else(|| InterfaceIndex::new(self.ipv6_index))?;
        let mut interface = InterfaceDescription::new(self.friendly_name, index);
        interface.alternative_names = [self.description, self.guid]
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        interface
            .alternative_names
            .retain(|name| *name != interface.name);
        interface.luid = Some(self.luid);
        interface.addresses = self.addresses;
        interface.mtu = self.mtu;
        interface.state = state(self.oper_status);
        interface.loopback = self.kind == TYPE_LOOPBACK;
        Some(interface)
    }
}

/// Disabled adapters are not listed: one that is listed and down lacks its cable or association.
const fn state(oper_status: u32) -> InterfaceState {
    match oper_status {
        STATE_UP => InterfaceState::Up,
        STATE_DOWN | STATE_DORMANT | STATE_LOWER_LAYER_DOWN => InterfaceState::NoCarrier,
        _ => InterfaceState::Down,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_without_ipv4_is_known_by_its_ipv6_index() {
        let record = AdapterRecord {
            friendly_name: "Ethernet 2".into(),
            description: "Intel(R) Ethernet Controller I226-V".into(),
            ipv6_index: 12,
            oper_status: STATE_DOWN,
            luid: 0x0006_0080_0400_0000,
            ..AdapterRecord::default()
        };
        let interface = record.describe().expect("it has an index");
        assert_eq!(
            (interface.index.get(), interface.luid),
            (12, Some(0x0006_0080_0400_0000))
        );
        assert_eq!(
            (interface.state, interface.loopback),
            (InterfaceState::NoCarrier, false)
        );
        assert!(
            interface.is_called("ETHERNET 2"),
            "friendly names have no case"
        );
        assert!(interface.is_called("intel(R) ethernet controller i226-v"));
        assert_eq!(AdapterRecord::default().describe(), None);
    }
}
