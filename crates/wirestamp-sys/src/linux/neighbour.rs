//! The kernel's entry of the neighbour by which packets to an address leave, over rtnetlink.

use super::netlink;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage};
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
    wanted.header.family = family(next.address);
    wanted.header.ifindex = next.interface;
    let destination = NeighbourAttribute::Destination(next.address.into());
    wanted.attributes.push(destination);
    // one entry alone (Linux 5.0): a table can have thousands
    let answers = match ask(RouteNetlinkMessage::GetNeighbour(wanted)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        answers => answers?,
    };
    let mut states = answers.into_iter().filter_map(|message| match message {
        RouteNetlinkMessage::NewNeighbour(entry) => Some(entry.header.state.into()),
        _ => None,
    });
    Ok(states.next())
}

/// Where packets are passed to.
#[derive(Debug, PartialEq, Eq)]
struct NextHop {
    /// By its number. It may be another than the one that was asked for: a port of a VRF, or loopback for an address of this host.
    interface: u32,
    /// The router, or the address itself.
    address: IpAddr,
}

impl NextHop {
    /// The last that is said holds.
    fn note(&mut self, attribute: &RouteAttribute) {
        match attribute {
            RouteAttribute::Oif(interface) => self.interface = *interface,
            RouteAttribute::Gateway(RouteAddress::Inet(address))
            | RouteAttribute::Via(RouteVia::Inet(address)) => self.address = (*address).into(),
            RouteAttribute::Gateway(RouteAddress::Inet6(address))
            | RouteAttribute::Via(RouteVia::Inet6(address)) => self.address = (*address).into(),
            _ => {}
        }
    }
}

/// By which packets to the address leave, if they leave by the interface or one of its ports.
fn next_hop(interface: InterfaceIndex, address: IpAddr) -> io::Result<NextHop> {
    let mut wanted = RouteMessage::default();
    wanted.header.address_family = family(address);
    wanted.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
    let interface = interface.get();
    wanted.attributes = vec![
        RouteAttribute::Destination(address.into()),
        RouteAttribute::Oif(interface),
    ];
    let mut next = NextHop { interface, address };
    for message in ask(RouteNetlinkMessage::GetRoute(wanted))? {
        if let RouteNetlinkMessage::NewRoute(route) = message {
            route.attributes.iter().for_each(|one| next.note(one));
        }
    }
    Ok(next)
}

/// Asks for one thing.
fn ask(request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let request = NetlinkMessage::new(header, NetlinkPayload::from(request));
    netlink::ask(NETLINK_ROUTE, request, false)
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::interface;
    use crate::linux::namespace::{in_namespace, ip};

    const NOARP: u16 = 0x40;
    const PERMANENT: u16 = 0x80;

    fn number(name: &str) -> InterfaceIndex {
        let all = interface::list().expect("a list");
        let found = all.into_iter().find(|one| one.name == name);
        found.expect("it was just made").index
    }

    /// The same addresses are on two cables, whose neighbours have different states.
    #[test]
    fn the_next_hops_entry_on_the_interface_is_found() {
        in_namespace("neighbours", || {
            for (name, own, state) in [("one", 1, "permanent"), ("two", 3, "noarp")] {
                for line in [
                    format!("link add {name} type veth peer name {name}-far"),
                    format!("link set {name}-far up"),
                    format!("link set {name} up"),
                    format!("addr add 10.0.0.{own}/24 dev {name}"),
                    format!("addr add fd00::{own}/64 dev {name} nodad"),
                ] {
                    ip(&line).expect("iproute2");
                }
                for neighbour in ["10.0.0.2", "fd00::2", "10.0.0.254", "fe80::99"] {
                    let entry = format!("{neighbour} lladdr 02:00:00:00:00:02 nud {state}");
                    ip(&format!("neigh add {entry} dev {name}")).expect("iproute2");
                }
                for route in [
                    format!("fd0{own}::/64 via fe80::99"),
                    format!("10.{own}.0.0/24 via inet6 fe80::99"),
                    format!("10.1{own}.0.0/24 via 10.0.0.254"),
                ] {
                    ip(&format!("route add {route} dev {name}")).expect("iproute2");
                }
            }
            for (name, own, expected) in [("one", 1, PERMANENT), ("two", 3, NOARP)] {
                let interface = number(name);
                let found = |address: &str| {
                    let address = address.parse().expect("an address");
                    state(interface, address).expect("it is asked")
                };
                for address in ["10.0.0.2", "fd00::2", "fe80::99"] {
                    assert_eq!(found(address), Some(expected), "{address} of {name}");
                }
                for address in [
                    format!("fd0{own}::7"),
                    format!("10.{own}.0.7"),
                    format!("10.1{own}.0.7"),
                ] {
                    assert_eq!(found(&address), Some(expected), "{address} of {name}");
                }
                // without a route, Linux takes an IPv4 address to be on the link
                for address in ["10.0.0.77", "fd00::77", "fe80::77", "192.0.2.1"] {
                    assert_eq!(found(address), None, "{address} of {name}");
                }
            }
        });
    }

    /// The kernel's route to an address of this host leads to loopback, whichever interface is asked for. (An address that is added has
    /// this route some time later.)
    #[test]
    fn the_entry_on_the_routes_interface_is_found() {
        in_namespace("neighbours on another interface", || {
            ip("link add one type veth peer name far").expect("iproute2");
            ip("link set far up").expect("iproute2");
            ip("link set one up").expect("iproute2");
            ip("-6 route add local fd00::1 dev one").expect("iproute2");
            ip("neigh add fd00::1 lladdr 02:00:00:00:00:01 nud permanent dev lo")
                .expect("iproute2");
            let own = "fd00::1".parse().expect("an address");
            let next = next_hop(number("one"), own).expect("it is asked");
            assert_eq!(next.interface, number("lo").get(), "the route's interface");
            let found = state(number("one"), own).expect("it is asked");
            assert_eq!(found, Some(PERMANENT), "the entry on loopback");
        });
    }

    /// A socket that is bound to a VRF sends by one of its ports.
    #[test]
    fn the_routes_interface_and_router_are_taken() {
        let (asked, address) = (7, [10, 0, 0, 2].into());
        let next = |attributes: &[RouteAttribute]| {
            let interface = asked;
            let mut next = NextHop { interface, address };
            attributes.iter().for_each(|one| next.note(one));
            (next.interface, next.address)
        };
        let router = [10, 0, 0, 254].into();
        let by = RouteAttribute::Oif(9);
        let via = RouteAttribute::Gateway(RouteAddress::Inet(router));
        assert_eq!(next(&[]), (asked, address));
        assert_eq!(next(std::slice::from_ref(&by)), (9, address));
        assert_eq!(next(&[via, by]), (9, router.into()));
    }
}
