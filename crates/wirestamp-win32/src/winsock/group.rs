//! The structures by which programs join groups and choose their sources. Pure.

use crate::abi::address::family;
use crate::abi::codes::{WSAEADDRNOTAVAIL, WSAEFAULT, WSAEINVAL};
use crate::abi::numbers as n;
use crate::address::decode;
use crate::winsock::setting::{Change, Place, Value, number};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of a `SOCKADDR_STORAGE`.
const STORAGE: usize = 128;
/// Where the first one lies in `GROUP_REQ` and `GROUP_SOURCE_REQ`, behind the index.
const FIRST: usize = 8;

fn a_group(address: IpAddr) -> Result<IpAddr, i32> {
    if address.is_multicast() {
        Ok(address)
    } else {
        Err(WSAEINVAL)
    }
}

/// `IP_MREQ`: group, interface.
pub(super) fn of_ipv4(join: bool, value: &[u8]) -> Result<Value, i32> {
    let request: &[u8; 8] = value.first_chunk().ok_or(WSAEFAULT)?;
    let [a, b, c, d, interface @ ..] = *request;
    Ok(Value::Membership {
        join,
        group: a_group(Ipv4Addr::new(a, b, c, d).into())?,
        place: Place::of_ipv4(interface),
    })
}

/// `IPV6_MREQ`: group, index.
pub(super) fn of_ipv6(join: bool, value: &[u8]) -> Result<Value, i32> {
    let octets: &[u8; 16] = value.first_chunk().ok_or(WSAEFAULT)?;
    Ok(Value::Membership {
        join,
        group: a_group(Ipv6Addr::from(*octets).into())?,
        place: Place::of_index(number(&value[16..])?),
    })
}

/// `IP_MREQ_SOURCE`: group, source, interface.
pub(super) fn source_of_ipv4(name: i32, value: &[u8]) -> Result<Value, i32> {
    let request: &[u8; 12] = value.first_chunk().ok_or(WSAEFAULT)?;
    let [a, b, c, d, e, f, g, h, interface @ ..] = *request;
    let change = match name {
        n::IP_ADD_SOURCE_MEMBERSHIP => Change::Join,
        n::IP_DROP_SOURCE_MEMBERSHIP => Change::Leave,
        n::IP_BLOCK_SOURCE => Change::Block,
        _ => Change::Unblock,
    };
    Ok(Value::Source {
        change,
        group: a_group(Ipv4Addr::new(a, b, c, d).into())?,
        source: Ipv4Addr::new(e, f, g, h).into(),
        place: Place::of_ipv4(interface),
    })
}

/// `GROUP_REQ` and `GROUP_SOURCE_REQ`: index, group, source.
pub(super) fn of_either(name: i32, value: &[u8], ipv6: bool) -> Result<Value, i32> {
    let place = Place::of_index(number(value)?);
    let address = |at: usize| {
        let storage = value.get(at..at + STORAGE).ok_or(WSAEFAULT)?;
        family(storage).ok_or(WSAEFAULT)?;
        let address = decode(storage)?.ip();
        if address.is_ipv6() == ipv6 {
            Ok(address)
        } else {
            Err(WSAEADDRNOTAVAIL)
        }
    };
    let group = a_group(address(FIRST)?)?;
    let change = match name {
        n::MCAST_JOIN_GROUP | n::MCAST_LEAVE_GROUP => {
            let join = name == n::MCAST_JOIN_GROUP;
            return Ok(Value::Membership { join, group, place });
        }
        n::MCAST_BLOCK_SOURCE => Change::Block,
        n::MCAST_UNBLOCK_SOURCE => Change::Unblock,
        n::MCAST_JOIN_SOURCE_GROUP => Change::Join,
        _ => Change::Leave,
    };
    Ok(Value::Source {
        change,
        group,
        source: address(FIRST + STORAGE)?,
        place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_lies_before_the_interface_as_on_windows() {
        let bytes = [232, 1, 2, 3, 10, 0, 0, 9, 10, 0, 0, 1];
        let value = source_of_ipv4(n::IP_ADD_SOURCE_MEMBERSHIP, &bytes).expect("a source");
        let expected = Value::Source {
            change: Change::Join,
            group: Ipv4Addr::new(232, 1, 2, 3).into(),
            source: Ipv4Addr::new(10, 0, 0, 9).into(),
            place: Place::Address(Ipv4Addr::new(10, 0, 0, 1)),
        };
        assert_eq!(value, expected);
        let short = source_of_ipv4(n::IP_BLOCK_SOURCE, &bytes[..11]);
        assert_eq!(short, Err(WSAEFAULT));
    }

    #[test]
    fn a_group_of_the_other_family_is_refused() {
        let mut bytes = [0; FIRST + 2 * STORAGE];
        bytes[0] = 7;
        bytes[FIRST] = 2;
        bytes[FIRST + 4..FIRST + 8].copy_from_slice(&[239, 0, 0, 1]);
        let joined = of_either(n::MCAST_JOIN_GROUP, &bytes, false);
        let group = IpAddr::from([239, 0, 0, 1]);
        let place = Place::Index(7);
        assert_eq!(
            joined,
            Ok(Value::Membership {
                join: true,
                group,
                place
            })
        );
        let other = of_either(n::MCAST_JOIN_GROUP, &bytes, true);
        assert_eq!(other, Err(WSAEADDRNOTAVAIL));
        let short = of_either(n::MCAST_JOIN_SOURCE_GROUP, &bytes[..FIRST + STORAGE], false);
        assert_eq!(short, Err(WSAEFAULT));
    }
}
