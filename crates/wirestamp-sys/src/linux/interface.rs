//! The list of interfaces, asked over rtnetlink: right in any network namespace (which
//! `/sys` is not). Their capabilities are elsewhere.

use super::capability::{asking_socket, timestamping_information};
use super::error::system_error;
use super::netlink;
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoPortKind, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, Prop, State,
};
use netlink_sys::protocols::NETLINK_ROUTE;
use std::io;
use wirestamp_core::Result;
use wirestamp_core::ethernet::MacAddress;
use wirestamp_core::interface::{
    InterfaceAddress, InterfaceDescription, InterfaceIndex, InterfaceState,
};

/// Lists the interfaces of the calling thread's network namespace.
pub(super) fn list() -> Result<Vec<InterfaceDescription>> {
    let failed =
        |error: io::Error| system_error("list interfaces", "this network namespace", &error);
    let links = dump(RouteNetlinkMessage::GetLink(LinkMessage::default())).map_err(failed)?;
    let addresses =
        dump(RouteNetlinkMessage::GetAddress(AddressMessage::default())).map_err(failed)?;
    let mut interfaces: Vec<_> = links
        .iter()
        .filter_map(|message| match message {
            RouteNetlinkMessage::NewLink(link) => describe(link),
            _ => None,
        })
        .collect();
    for message in &addresses {
        if let RouteNetlinkMessage::NewAddress(address) = message {
            add_address(&mut interfaces, address);
        }
    }
    let asking = asking_socket().map_err(failed)?;
    for interface in &mut interfaces {
        // No answer means no timestamping: the interface is listed all the same.
        interface.hardware_clock = timestamping_information(&asking, &interface.name)
            .ok()
            .and_then(|info| info.hardware_clock());
    }
    Ok(interfaces)
}

pub(super) fn dump(request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    netlink::ask(
        NETLINK_ROUTE,
        NetlinkMessage::new(header, NetlinkPayload::from(request)),
        true,
    )
}

/// Reads one link; `None` if it has no name or number.
pub(super) fn describe(link: &LinkMessage) -> Option<InterfaceDescription> {
    let name = link
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        })?;
    let mut interface = InterfaceDescription::new(name, InterfaceIndex::new(link.header.index)?);
    interface.loopback = link.header.flags.contains(LinkFlags::Loopback);
    let (mut operational, mut upper, mut is_port) = (None, None, false);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Mtu(mtu) => interface.mtu = *mtu,
            LinkAttribute::Address(bytes)
                if link.header.link_layer_type == LinkLayerType::Ether =>
            {
                interface.mac_address = bytes.as_slice().try_into().ok().map(MacAddress::new);
            }
            LinkAttribute::OperState(state) => operational = Some(*state),
            LinkAttribute::Controller(index) => upper = InterfaceIndex::new(*index),
            LinkAttribute::LinkInfo(information) => is_port = information.iter().any(is_taken),
            LinkAttribute::PropList(properties) => {
                interface
                    .alternative_names
                    .extend(properties.iter().filter_map(|property| match property {
                        Prop::AltIfName(name) => Some(name.clone()),
                        _ => None,
                    }));
            }
            _ => {}
        }
    }
    interface.state = state(link.header.flags, operational);
    interface.port_of = upper.filter(|_| is_port);
    Some(interface)
}

/// A port of a VRF keeps what arrives.
fn is_taken(information: &LinkInfo) -> bool {
    let LinkInfo::PortKind(kind) = information else {
        return false;
    };
    matches!(
        kind,
        InfoPortKind::Bridge | InfoPortKind::Bond | InfoPortKind::Team
    )
}

/// Loopback and tunnels say "unknown" of their carrier and pass packets.
fn state(flags: LinkFlags, operational: Option<State>) -> InterfaceState {
    match operational {
        _ if !flags.contains(LinkFlags::Up) => InterfaceState::Down,
        Some(State::Up | State::Unknown) | None if flags.contains(LinkFlags::LowerUp) => {
            InterfaceState::Up
        }
        _ => InterfaceState::NoCarrier,
    }
}

fn add_address(interfaces: &mut [InterfaceDescription], message: &AddressMessage) {
    let find = |wanted: fn(&AddressAttribute) -> Option<std::net::IpAddr>| {
        message.attributes.iter().find_map(wanted)
    };
    // On point-to-point links "address" is the peer's; "local" is ours where there is one.
    let local = find(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let address = local.or_else(|| {
        find(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    });
    let owner = interfaces
        .iter_mut()
        .find(|interface| interface.index.get() == message.header.index);
    if let (Some(address), Some(owner)) = (address, owner) {
        owner.addresses.push(InterfaceAddress {
            address,
            prefix_length: message.header.prefix_len,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::System;
    use std::net::{IpAddr, Ipv4Addr};
    use wirestamp_core::backend::Backend;

    #[test]
    fn the_loopback_interface_is_there_with_its_address() {
        let interfaces = list().expect("a list");
        let loopback = interfaces
            .iter()
            .find(|interface| interface.loopback)
            .expect("loopback");
        assert_eq!(loopback.name, "lo");
        assert_eq!(loopback.mtu, 65_536);
        assert_eq!(loopback.state, InterfaceState::Up);
        assert!(
            loopback
                .addresses
                .iter()
                .any(|known| known.address == IpAddr::V4(Ipv4Addr::LOCALHOST))
        );
        let known = System::new().loopback();
        assert_eq!(known, Ok(Some(loopback.index)), "without a list");
        assert_eq!(loopback.hardware_clock, None);
        assert_eq!(loopback.mac_address, None);
    }

    #[test]
    fn an_interface_of_ethernet_has_its_mac_address() {
        let described = |kind: LinkLayerType, bytes: &[u8]| {
            let mut link = LinkMessage::default();
            link.header.index = 7;
            link.header.link_layer_type = kind;
            link.attributes = vec![
                LinkAttribute::IfName("x".into()),
                LinkAttribute::Address(bytes.to_vec()),
            ];
            describe(&link).expect("described").mac_address
        };
        let own = MacAddress::new([2, 0, 0, 0, 0, 1]);
        assert_eq!(described(LinkLayerType::Ether, &own.octets()), Some(own));
        assert_eq!(described(LinkLayerType::Ether, &[1, 2]), None);
        // a tunnel's is the address of its end
        assert_eq!(described(LinkLayerType::Ipgre, &own.octets()), None);
        // and the kernel's own answer
        for interface in list().expect("a list") {
            let path = format!("/sys/class/net/{}", interface.name);
            let read = |file| std::fs::read_to_string(format!("{path}/{file}"));
            let (Ok(kind), Ok(address)) = (read("type"), read("address")) else {
                continue; // of another network namespace than /sys
            };
            let expected = (kind.trim() == "1")
                .then(|| address.trim().parse().ok())
                .flatten();
            assert_eq!(interface.mac_address, expected, "{}", interface.name);
        }
    }

    #[test]
    fn a_port_names_the_bridge_or_bond_that_takes_what_arrives() {
        let described = |kind: Option<InfoPortKind>| {
            let mut link = LinkMessage::default();
            link.header.index = 7;
            let information = kind.map(|kind| vec![LinkInfo::PortKind(kind)]);
            link.attributes = vec![
                LinkAttribute::IfName("x".into()),
                LinkAttribute::Controller(9),
                LinkAttribute::LinkInfo(information.unwrap_or_default()),
            ];
            let port_of = describe(&link).expect("described").port_of;
            port_of.map(InterfaceIndex::get)
        };
        for kind in [InfoPortKind::Bridge, InfoPortKind::Bond, InfoPortKind::Team] {
            assert_eq!(described(Some(kind.clone())), Some(9), "{kind:?}");
        }
        assert_eq!(described(Some(InfoPortKind::Vrf)), None, "it keeps them");
        assert_eq!(described(None), None);
    }

    #[test]
    fn up_without_carrier_is_told_from_down() {
        let up = LinkFlags::Up;
        assert_eq!(
            state(up | LinkFlags::LowerUp, Some(State::Up)),
            InterfaceState::Up
        );
        assert_eq!(
            state(up | LinkFlags::LowerUp, Some(State::Unknown)),
            InterfaceState::Up
        );
        assert_eq!(state(up, Some(State::Down)), InterfaceState::NoCarrier);
        assert_eq!(
            state(LinkFlags::empty(), Some(State::Up)),
            InterfaceState::Down
        );
    }
}
