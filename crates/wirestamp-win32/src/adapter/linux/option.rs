//! Which socket option of Linux one of Windows is. Pure; sets none.
//!
//! Source: ip(7), ipv6(7), socket(7).

use crate::winsock::setting::{Change, Place, Setting, Value};
use std::net::IpAddr;

/// Level, name and value for setsockopt(2).
pub(super) type Option = (i32, i32, Vec<u8>);

fn number(level: i32, name: i32, value: impl Into<i32>) -> Option {
    (level, name, value.into().to_ne_bytes().to_vec())
}

/// <linux/in.h>
const MCAST_BLOCK_SOURCE: i32 = 43;
const MCAST_UNBLOCK_SOURCE: i32 = 44;
const MCAST_JOIN_SOURCE_GROUP: i32 = 46;
const MCAST_LEAVE_SOURCE_GROUP: i32 = 47;

/// The options to set, in order; none for what this library does itself.
pub(super) fn of(setting: &Setting, ipv6: bool) -> Vec<Option> {
    use libc::{IPPROTO_IP, IPPROTO_IPV6, SOL_SOCKET};
    let six = setting.ipv6;
    let level = if six { IPPROTO_IPV6 } else { IPPROTO_IP };
    let either = |for_ipv4: i32, for_ipv6: i32, value: i32| {
        vec![number(level, if six { for_ipv6 } else { for_ipv4 }, value)]
    };
    match setting.value {
        Value::ReceiveTimeout(_) | Value::SendTimeout(_) | Value::ExclusiveAddress(_) => Vec::new(),
        // What Linux calls so is Windows' default; sharing an address needs the option on both.
        Value::ReuseAddress(on) => vec![number(SOL_SOCKET, libc::SO_REUSEADDR, on)],
        Value::Broadcast(on) => vec![number(SOL_SOCKET, libc::SO_BROADCAST, on)],
        Value::ReceiveBuffer(size) => vec![number(SOL_SOCKET, libc::SO_RCVBUF, clamped(size))],
        Value::SendBuffer(size) => vec![number(SOL_SOCKET, libc::SO_SNDBUF, clamped(size))],
        Value::PacketInformation(on) => either(libc::IP_PKTINFO, libc::IPV6_RECVPKTINFO, on.into()),
        Value::HopLimitReported(on) => either(libc::IP_RECVTTL, libc::IPV6_RECVHOPLIMIT, on.into()),
        Value::TrafficClassReported(true) | Value::EcnReported(true) => {
            either(libc::IP_RECVTOS, libc::IPV6_RECVTCLASS, 1)
        }
        // Stays on for the other one; no message is made of it.
        Value::TrafficClassReported(false) | Value::EcnReported(false) => Vec::new(),
        Value::OnlyIpv6(on) if ipv6 => vec![number(IPPROTO_IPV6, libc::IPV6_V6ONLY, on)],
        Value::OnlyIpv6(_) => Vec::new(),
        Value::HopLimit(hops) => either(libc::IP_TTL, libc::IPV6_UNICAST_HOPS, hops.into()),
        Value::TypeOfService(service) => either(libc::IP_TOS, libc::IPV6_TCLASS, service.into()),
        Value::DontFragment(on) => {
            let discover = if on {
                libc::IP_PMTUDISC_DO
            } else {
                libc::IP_PMTUDISC_DONT
            };
            either(libc::IP_MTU_DISCOVER, libc::IPV6_MTU_DISCOVER, discover)
        }
        Value::PathMtuDiscovery(state) => {
            let discover = match state {
                1 => libc::IP_PMTUDISC_DO,
                2 => libc::IP_PMTUDISC_DONT,
                3 => libc::IP_PMTUDISC_PROBE,
                _ => libc::IP_PMTUDISC_WANT,
            };
            either(libc::IP_MTU_DISCOVER, libc::IPV6_MTU_DISCOVER, discover)
        }
        Value::MulticastHops(hops) => either(
            libc::IP_MULTICAST_TTL,
            libc::IPV6_MULTICAST_HOPS,
            hops.into(),
        ),
        Value::MulticastLoop(on) => either(
            libc::IP_MULTICAST_LOOP,
            libc::IPV6_MULTICAST_LOOP,
            on.into(),
        ),
        Value::MulticastInterface(place) if six => {
            vec![number(
                IPPROTO_IPV6,
                libc::IPV6_MULTICAST_IF,
                place.index() as i32,
            )]
        }
        Value::MulticastInterface(place) => {
            vec![(IPPROTO_IP, libc::IP_MULTICAST_IF, mreqn([0; 4], place))]
        }
        Value::UnicastInterface(index) if six => {
            vec![(
                IPPROTO_IPV6,
                libc::IPV6_UNICAST_IF,
                index.to_be_bytes().to_vec(),
            )]
        }
        Value::UnicastInterface(index) => vec![(
            IPPROTO_IP,
            libc::IP_UNICAST_IF,
            index.to_be_bytes().to_vec(),
        )],
        Value::Membership {
            join,
            group: IpAddr::V4(group),
            place,
        } => {
            let name = if join {
                libc::IP_ADD_MEMBERSHIP
            } else {
                libc::IP_DROP_MEMBERSHIP
            };
            vec![(IPPROTO_IP, name, mreqn(group.octets(), place))]
        }
        Value::Membership {
            join,
            group: IpAddr::V6(group),
            place,
        } => {
            let name = if join {
                libc::IPV6_ADD_MEMBERSHIP
            } else {
                libc::IPV6_DROP_MEMBERSHIP
            };
            let index = place.index().to_ne_bytes();
            vec![(IPPROTO_IPV6, name, [&group.octets()[..], &index].concat())]
        }
        Value::Source {
            change,
            group,
            source,
            place,
        } => vec![of_source(change, group, source, place)],
    }
}

/// By address `ip_mreq_source` (the interface before the source), by index `group_source_req`.
fn of_source(change: Change, group: IpAddr, source: IpAddr, place: Place) -> Option {
    if let (IpAddr::V4(group), IpAddr::V4(source), Place::Address(interface)) =
        (group, source, place)
    {
        let name = match change {
            Change::Join => libc::IP_ADD_SOURCE_MEMBERSHIP,
            Change::Leave => libc::IP_DROP_SOURCE_MEMBERSHIP,
            Change::Block => libc::IP_BLOCK_SOURCE,
            Change::Unblock => libc::IP_UNBLOCK_SOURCE,
        };
        let request = [group.octets(), interface.octets(), source.octets()].concat();
        return (libc::IPPROTO_IP, name, request);
    }
    let name = match change {
        Change::Join => MCAST_JOIN_SOURCE_GROUP,
        Change::Leave => MCAST_LEAVE_SOURCE_GROUP,
        Change::Block => MCAST_BLOCK_SOURCE,
        Change::Unblock => MCAST_UNBLOCK_SOURCE,
    };
    let level = if group.is_ipv6() {
        libc::IPPROTO_IPV6
    } else {
        libc::IPPROTO_IP
    };
    let mut request = vec![0; 264];
    request[..4].copy_from_slice(&place.index().to_ne_bytes());
    write_storage(&mut request[8..136], group);
    write_storage(&mut request[136..], source);
    (level, name, request)
}

/// `sockaddr_storage` with an address alone.
fn write_storage(storage: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            storage[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
            storage[4..8].copy_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            storage[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
            storage[8..24].copy_from_slice(&address.octets());
        }
    }
}

/// The kernel doubles the value; beyond this it would be negative.
fn clamped(size: u32) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX).min(i32::MAX / 2)
}

/// `ip_mreqn`: group, local address, index.
fn mreqn(group: [u8; 4], place: Place) -> Vec<u8> {
    let address = match place {
        Place::Address(address) => address.octets(),
        _ => [0; 4],
    };
    [group, address, place.index().to_ne_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_group_is_joined_by_address_or_by_index() {
        let group = IpAddr::V4(Ipv4Addr::new(224, 0, 1, 129));
        let join = |place| Setting {
            ipv6: false,
            value: Value::Membership {
                join: true,
                group,
                place,
            },
        };
        let by_address = of(&join(Place::Address(Ipv4Addr::new(10, 0, 0, 1))), false);
        let bytes = [224, 0, 1, 129, 10, 0, 0, 1, 0, 0, 0, 0].to_vec();
        assert_eq!(
            by_address,
            vec![(libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, bytes)]
        );
        let by_index = of(&join(Place::Index(3)), false);
        assert_eq!(by_index[0].2[8..], 3u32.to_ne_bytes());
    }

    #[test]
    fn a_huge_buffer_does_not_become_negative() {
        let setting = Setting {
            ipv6: false,
            value: Value::ReceiveBuffer(u32::MAX),
        };
        let value = &of(&setting, false)[0].2;
        assert_eq!(
            i32::from_ne_bytes(value[..].try_into().expect("four bytes")),
            i32::MAX / 2
        );
    }
}
