//! The kernel's entry of the neighbour by which packets to an address leave, over rtnetlink.

use super::interface::dump;
use super::netlink;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteVia};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use std::io;
use std::net::IpAddr;
use wirestamp_core::interface::InterfaceIndex;

/// Returns the bits `NUD_…` of the neighbour; `None`: the kernel has no entry.
pub(super) fn state(interface: InterfaceIndex, address: IpAddr) -> io::Result<Option<u16>> {
    let next = next_hop(interface, address)?;
    let mut wanted = NeighbourMessage::default();
    wanted.header.family = family(next);
    wanted.header.ifindex = interface.get();
    wanted
        .attributes
        .push(NeighbourAttribute::IfIndex(interface.get()));
    let answers = dump(RouteNetlinkMessage::GetNeighbour(wanted))?;
    let is_it = |entry: &NeighbourMessage| {
        let mut attributes = entry.attributes.iter();
        entry.header.ifindex == interface.get() && attributes.any(|one| is_of(one, next))
    };
    let entries = answers.into_iter().filter_map(|message| match message {
        RouteNetlinkMessage::NewNeighbour(entry) => Some(entry),
        _ => None,
    });
    let mut found = entries.filter(is_it);
    Ok(found.next().map(|entry| entry.header.state.into()))
}

/// The router by which packets leave the interface, or the address itself.
fn next_hop(interface: InterfaceIndex, address: IpAddr) -> io::Result<IpAddr> {
    let mut wanted = RouteMessage::default();
    wanted.header.address_family = family(address);
    wanted.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
    wanted.attributes = vec![
        RouteAttribute::Destination(address.into()),
        RouteAttribute::Oif(interface.get()),
    ];
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let request = NetlinkPayload::from(RouteNetlinkMessage::GetRoute(wanted));
    let answers = netlink::ask(NETLINK_ROUTE, NetlinkMessage::new(header, request), false)?;
    let routes = answers.into_iter().filter_map(|message| match message {
        RouteNetlinkMessage::NewRoute(route) => Some(route),
        _ => None,
    });
    let mut attributes = routes.flat_map(|route| route.attributes);
    Ok(attributes.find_map(|one| gateway(&one)).unwrap_or(address))
}

fn gateway(attribute: &RouteAttribute) -> Option<IpAddr> {
    match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(address))
        | RouteAttribute::Via(RouteVia::Inet(address)) => Some((*address).into()),
        RouteAttribute::Gateway(RouteAddress::Inet6(address))
        | RouteAttribute::Via(RouteVia::Inet6(address)) => Some((*address).into()),
        _ => None,
    }
}

fn is_of(attribute: &NeighbourAttribute, next: IpAddr) -> bool {
    match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => *address == next,
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => *address == next,
        _ => false,
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
