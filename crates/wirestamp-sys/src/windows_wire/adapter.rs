//! Converts an entry of `GetAdaptersAddresses`. Pure: the list is walked elsewhere.

use crate::abi::adapters::{
    STATE_DORMANT, STATE_DOWN, STATE_LOWER_LAYER_DOWN, STATE_UP, TYPE_ETHERNET, TYPE_LOOPBACK,
    TYPE_WIRELESS,
};
use wirestamp_core::ethernet::MacAddress;
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
    /// `PhysicalAddress`, as long as it is.
    pub physical_address: Vec<u8>,
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
        let has_frames = matches!(self.kind, TYPE_ETHERNET | TYPE_WIRELESS);
        let address = self.physical_address.as_slice().try_into();
        interface.mac_address = address.ok().filter(|_| has_frames).map(MacAddress::new);
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
            kind: TYPE_ETHERNET,
            physical_address: vec![2, 0, 0, 0, 0, 1],
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
        let own = MacAddress::new([2, 0, 0, 0, 0, 1]);
        assert_eq!(interface.mac_address, Some(own));
        assert!(
            interface.is_called("ETHERNET 2"),
            "friendly names have no case"
        );
        assert!(interface.is_called("intel(R) ethernet controller i226-v"));
        assert_eq!(AdapterRecord::default().describe(), None);
    }

    #[test]
    fn only_what_has_ethernet_frames_has_a_mac_address() {
        for (kind, length, has_one) in [
            (TYPE_ETHERNET, 6, true),
            (TYPE_WIRELESS, 6, true),
            (TYPE_ETHERNET, 8, false),
            (TYPE_LOOPBACK, 6, false),
            (131, 6, false), // a tunnel
        ] {
            let record = AdapterRecord {
                index: 1,
                kind,
                physical_address: vec![2; length],
                ..AdapterRecord::default()
            };
            let described = record.describe().expect("it has an index");
            assert_eq!(described.mac_address.is_some(), has_one, "{kind} {length}");
        }
    }
}
