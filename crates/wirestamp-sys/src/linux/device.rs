//! The device that makes an interface's hardware timestamps: the one below a VLAN, and of a bond the active member, which
//! another one can become at any time.
//!
//! Source: `IFLA_LINK`, `IFLA_BOND_ACTIVE_SLAVE` (`linux/if_link.h`); bonds take and give hardware timestamping of their
//! active member alone (`HWTSTAMP_FLAG_BONDED_PHC_INDEX`).

use super::capability::{asking_socket, hardware_clock};
use super::error::system_error;
use super::interface::describe;
use super::netlink;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBond, InfoData, InfoKind, LinkAttribute, LinkInfo, LinkMessage,
};
use netlink_sys::protocols::NETLINK_ROUTE;
use std::io;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::{Error, ErrorKind, Result};

/// So many interfaces stand on one another at most (the kernel: 8).
pub(super) const DEEPEST: usize = 8;
const OPERATION: &str = "find the device behind the interface";

/// The interfaces that packets of `interface` pass, from itself to the device.
pub(super) fn path(interface: &InterfaceDescription) -> Result<Vec<InterfaceDescription>> {
    let failed = |error: io::Error| system_error(OPERATION, &interface.name, &error);
    let mut path = vec![interface.clone()];
    let mut next = below(&link(interface.index).map_err(failed)?);
    while let Some(lower) = next.filter(|_| path.len() <= DEEPEST) {
        let link = link(lower.index).map_err(failed)?;
        let mut one = describe(&link).ok_or_else(|| {
            let cause = "one that it stands on has no name";
            Error::new(ErrorKind::Io, OPERATION, &interface.name, cause)
        })?;
        one.hardware_clock = hardware_clock(&asking_socket().map_err(failed)?, &one)?;
        path.push(one);
        next = below(&link);
    }
    Ok(path)
}

/// The number of the device behind `interface` now.
pub(super) fn behind(interface: &InterfaceDescription) -> Result<InterfaceIndex> {
    last(interface.index, |_| true)
        .map_err(|error| system_error(OPERATION, &interface.name, &error))
}

/// Who makes the hardware timestamps of an interface's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// This device.
    Device(InterfaceIndex),
    /// This interface, or what is below it where the kernel's numbers mean nothing here: in another network namespace.
    Itself(InterfaceIndex),
    /// The active member of this bond, which another one can become.
    Member(InterfaceIndex),
    /// With each packet another device below its interface: a bridge's port.
    Several,
    /// With each packet any device of this network namespace: a tunnel's packets and a VRF's leave by routes, and who takes
    /// packets at the other end of a veth can pass them on.
    Routed,
}

impl Maker {
    /// What timestamps are named by that the kernel does not name: a correlator knows what is behind a bond.
    pub(super) fn interface(self) -> Option<InterfaceIndex> {
        match self {
            Self::Device(index) | Self::Itself(index) | Self::Member(index) => Some(index),
            Self::Several | Self::Routed => None,
        }
    }
}

/// Who makes the hardware timestamps of packets of `interface`.
pub(super) fn maker(interface: InterfaceIndex) -> io::Result<Maker> {
    let index = last(interface, |lower| lower.is_fixed)?;
    Ok(maker_of(index, &link(index)?))
}

pub(super) fn maker_of(index: InterfaceIndex, last: &LinkMessage) -> Maker {
    let of_driver = |kind: &InfoKind| {
        matches!(
            kind,
            InfoKind::Dummy
                | InfoKind::Ifb
                | InfoKind::Tun
                | InfoKind::Nlmon
                | InfoKind::Ipoib
                | InfoKind::Netdevsim
        )
    };
    let of_ports = |kind: &InfoKind| {
        matches!(
            kind,
            InfoKind::Bridge
                | InfoKind::Team
                | InfoKind::Hsr
                | InfoKind::IpVlan
                | InfoKind::IpVtap
                | InfoKind::MacVtap
                | InfoKind::MacSec
        )
    };
    match kind(last) {
        _ if is_itself(last) => Maker::Itself(index),
        Some(InfoKind::Bond) => Maker::Member(index),
        Some(kind) if of_ports(kind) => Maker::Several,
        Some(kind) if !of_driver(kind) => Maker::Routed,
        _ => Maker::Device(index),
    }
}

/// Whether the kernel's number of a device below it is no number of that device here: its packets pass another network
/// namespace, or a switch whose ports make the timestamps of what comes through the host's NIC.
pub(super) fn is_itself(link: &LinkMessage) -> bool {
    let is_elsewhere = |one: &LinkAttribute| matches!(one, LinkAttribute::LinkNetNsId(_));
    link.attributes.iter().any(is_elsewhere) || kind(link) == Some(&InfoKind::Dsa)
}

fn last(
    interface: InterfaceIndex,
    is_followed: impl Fn(&Lower) -> bool,
) -> io::Result<InterfaceIndex> {
    let mut last = interface;
    for _ in 0..DEEPEST {
        match below(&link(last)?).filter(&is_followed) {
            Some(lower) => last = lower.index,
            None => break,
        }
    }
    Ok(last)
}

/// The interface by which packets leave that pass another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lower {
    pub(super) index: InterfaceIndex,
    /// Whether it stays that one; the active member of a bond does not.
    pub(super) is_fixed: bool,
}

fn link(index: InterfaceIndex) -> io::Result<LinkMessage> {
    let mut wanted = LinkMessage::default();
    wanted.header.index = index.get();
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let request = NetlinkPayload::from(RouteNetlinkMessage::GetLink(wanted));
    let answers = netlink::ask(NETLINK_ROUTE, NetlinkMessage::new(header, request), false)?;
    let is_link = |answer| match answer {
        RouteNetlinkMessage::NewLink(link) => Some(link),
        _ => None,
    };
    let found = answers.into_iter().find_map(is_link);
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
}

/// Whether the interface is a bond, which has no hardware of its own.
pub(super) fn is_bond(interface: InterfaceIndex) -> bool {
    link(interface).is_ok_and(|link| kind(&link) == Some(&InfoKind::Bond))
}

pub(super) fn kind(link: &LinkMessage) -> Option<&InfoKind> {
    let informations = link.attributes.iter().filter_map(|one| match one {
        LinkAttribute::LinkInfo(information) => Some(information),
        _ => None,
    });
    informations.flatten().find_map(|one| match one {
        LinkInfo::Kind(kind) => Some(kind),
        _ => None,
    })
}

/// The interface by which packets of this one leave, if that is another one of this network namespace.
pub(super) fn below(link: &LinkMessage) -> Option<Lower> {
    let (mut kind, mut lower, mut active, mut is_elsewhere) = (None, None, None, false);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Link(index) => lower = Some(*index),
            LinkAttribute::LinkNetNsId(_) => is_elsewhere = true,
            LinkAttribute::LinkInfo(information) => {
                for one in information {
                    match one {
                        LinkInfo::Kind(found) => kind = Some(found),
                        LinkInfo::Data(InfoData::Bond(bond)) => {
                            active = bond.iter().find_map(|field| match field {
                                InfoBond::ActivePort(index) => Some(*index),
                                _ => None,
                            });
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let (next, is_fixed) = match kind? {
        InfoKind::Bond => (active, false),
        InfoKind::Vlan | InfoKind::MacVlan if !is_elsewhere => (lower, true),
        _ => (None, true),
    };
    let index = InterfaceIndex::new(next?)?;
    Some(Lower { index, is_fixed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::interface;
    use crate::native::namespace::{in_namespace, ip};

    fn message(
        kind: InfoKind,
        attributes: Vec<LinkAttribute>,
        data: Option<InfoData>,
    ) -> LinkMessage {
        let mut link = LinkMessage::default();
        let information = std::iter::once(LinkInfo::Kind(kind)).chain(data.map(LinkInfo::Data));
        link.attributes = attributes;
        link.attributes
            .push(LinkAttribute::LinkInfo(information.collect()));
        link
    }

    /// There is no bond in this machine's kernel: a message of one, as rtnetlink(7) has it.
    #[test]
    fn a_bond_is_its_active_member_and_a_vlan_what_it_is_on() {
        let bond = |index| {
            let fields = vec![InfoBond::MiiMon(100), InfoBond::ActivePort(index)];
            below(&message(
                InfoKind::Bond,
                Vec::new(),
                Some(InfoData::Bond(fields)),
            ))
        };
        let lower = |index, is_fixed| {
            let index = InterfaceIndex::new(index).expect("not zero");
            Some(Lower { index, is_fixed })
        };
        assert_eq!(bond(7), lower(7, false));
        assert_eq!(bond(0), None, "no member is active");
        assert_eq!(below(&message(InfoKind::Bond, Vec::new(), None)), None);
        let on = |kind, more: Vec<LinkAttribute>| {
            let attributes = [LinkAttribute::Link(3)].into_iter().chain(more).collect();
            below(&message(kind, attributes, None))
        };
        assert_eq!(on(InfoKind::Vlan, Vec::new()), lower(3, true));
        let elsewhere = on(InfoKind::Vlan, vec![LinkAttribute::LinkNetNsId(0)]);
        assert_eq!(elsewhere, None, "3 is another interface here");
        assert_eq!(on(InfoKind::Veth, Vec::new()), None, "3 is its peer");
    }

    #[test]
    fn the_kernel_names_the_device_where_it_can_be_another_one_with_each_packet() {
        let index = InterfaceIndex::new(7).expect("not zero");
        let of = |kind, attributes| maker_of(index, &message(kind, attributes, None));
        for kind in [InfoKind::Bridge, InfoKind::Team, InfoKind::IpVlan] {
            assert_eq!(of(kind.clone(), Vec::new()), Maker::Several, "{kind}");
        }
        for kind in [InfoKind::Vrf, InfoKind::Vxlan, InfoKind::Wireguard] {
            assert_eq!(of(kind.clone(), Vec::new()), Maker::Routed, "{kind}");
        }
        assert_eq!(of(InfoKind::Bond, Vec::new()), Maker::Member(index));
        assert_eq!(of(InfoKind::Tun, Vec::new()), Maker::Device(index));
        assert_eq!(
            maker_of(index, &LinkMessage::default()),
            Maker::Device(index)
        );
        assert_eq!(
            of(InfoKind::Dsa, vec![LinkAttribute::Link(3)]),
            Maker::Itself(index)
        );
        let elsewhere = || vec![LinkAttribute::Link(3), LinkAttribute::LinkNetNsId(0)];
        for kind in [InfoKind::Veth, InfoKind::Vlan, InfoKind::MacVlan] {
            assert_eq!(
                of(kind.clone(), elsewhere()),
                Maker::Itself(index),
                "{kind}"
            );
        }
    }

    #[test]
    fn below_a_macvlan_is_the_interface_that_it_is_on() {
        in_namespace("devices behind interfaces", || {
            ip("link add near type veth peer name far").expect("made");
            ip("link add link near name above type macvlan").expect("made");
            let all = interface::list().expect("a list");
            let number = |name: &str| {
                let found = all.iter().find(|interface| interface.name == name);
                found.expect("it is there")
            };
            for (name, device) in [("above", "near"), ("near", "near"), ("lo", "lo")] {
                let (interface, device) = (number(name), number(device).index);
                assert_eq!(behind(interface).expect("found"), device, "{name}");
            }
            let maker_of = |name: &str| maker(number(name).index).expect("found");
            assert_eq!(maker_of("lo"), Maker::Device(number("lo").index));
            // packets can pass the other end of a veth that is here
            assert_eq!(maker_of("above"), Maker::Routed);
            let gone = InterfaceIndex::new(9_999).expect("not zero");
            assert!(maker(gone).is_err());
        });
    }
}
