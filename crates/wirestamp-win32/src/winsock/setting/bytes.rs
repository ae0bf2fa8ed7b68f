//! What the bytes of an option mean: setsockopt's level, name and value.

use super::{Place, Setting, Value};
use crate::abi::codes::{WSAEFAULT, WSAEINVAL, WSAENOPROTOOPT};
use crate::abi::numbers as n;
use crate::winsock::group;

impl Setting {
    /// Reads what setsockopt is given.
    ///
    /// # Errors
    /// `WSAEFAULT` for too few bytes, `WSAEINVAL` for a value or level that can't be,
    /// `WSAENOPROTOOPT` for an option that is not known.
    pub(crate) fn read(level: i32, name: i32, value: &[u8]) -> Result<Self, i32> {
        let ipv6 = level == n::IPPROTO_IPV6;
        let value = match level {
            n::SOL_SOCKET => of_socket(name, value),
            n::IPPROTO_IP => of_ipv4(name, value),
            n::IPPROTO_IPV6 => of_ipv6(name, value),
            n::IPPROTO_UDP | n::IPPROTO_TCP => Err(WSAENOPROTOOPT),
            _ => Err(WSAEINVAL),
        };
        value.map(|value| Self { ipv6, value })
    }
}

/// A number: four bytes.
pub(in crate::winsock) fn number(value: &[u8]) -> Result<u32, i32> {
    value
        .first_chunk()
        .map(|bytes| u32::from_ne_bytes(*bytes))
        .ok_or(WSAEFAULT)
}

/// Four bytes, or one, which Windows takes as well where it is enough.
fn number_or_byte(value: &[u8]) -> Result<u32, i32> {
    match value {
        [one] => Ok(u32::from(*one)),
        _ => number(value),
    }
}

fn flag(value: &[u8]) -> Result<bool, i32> {
    number_or_byte(value).map(|value| value != 0)
}

fn byte(value: &[u8]) -> Result<u8, i32> {
    number_or_byte(value).and_then(|value| u8::try_from(value).map_err(|_| WSAEINVAL))
}

fn path_mtu_discovery(value: &[u8]) -> Result<Value, i32> {
    match number_or_byte(value)? {
        state @ 0..=n::IP_PMTUDISC_PROBE => Ok(Value::PathMtuDiscovery(state as u8)),
        _ => Err(WSAEINVAL),
    }
}

fn of_socket(name: i32, value: &[u8]) -> Result<Value, i32> {
    Ok(match name {
        n::SO_RCVTIMEO => Value::ReceiveTimeout(number(value)?),
        n::SO_SNDTIMEO => Value::SendTimeout(number(value)?),
        n::SO_BROADCAST => Value::Broadcast(flag(value)?),
        n::SO_REUSEADDR => Value::ReuseAddress(flag(value)?),
        n::SO_EXCLUSIVEADDRUSE => Value::ExclusiveAddress(flag(value)?),
        n::SO_RCVBUF => Value::ReceiveBuffer(number(value)?),
        n::SO_SNDBUF => Value::SendBuffer(number(value)?),
        _ => return Err(WSAENOPROTOOPT),
    })
}

fn of_ipv4(name: i32, value: &[u8]) -> Result<Value, i32> {
    Ok(match name {
        n::IP_PKTINFO => Value::PacketInformation(flag(value)?),
        n::IP_TTL => Value::HopLimit(byte(value)?),
        n::IP_TOS => Value::TypeOfService(byte(value)?),
        n::IP_DONTFRAGMENT => Value::DontFragment(flag(value)?),
        n::IP_MTU_DISCOVER => path_mtu_discovery(value)?,
        n::IP_RECVTTL => Value::HopLimitReported(flag(value)?),
        n::IP_RECVTOS => Value::TrafficClassReported(flag(value)?),
        n::IP_ECN => Value::EcnReported(flag(value)?),
        n::IP_MULTICAST_TTL => Value::MulticastHops(byte(value)?),
        n::IP_MULTICAST_LOOP => Value::MulticastLoop(flag(value)?),
        n::IP_MULTICAST_IF => {
            Value::MulticastInterface(Place::of_ipv4(*value.first_chunk().ok_or(WSAEFAULT)?))
        }
        n::IP_UNICAST_IF => {
            Value::UnicastInterface(u32::from_be_bytes(*value.first_chunk().ok_or(WSAEFAULT)?))
        }
        n::IP_ADD_MEMBERSHIP | n::IP_DROP_MEMBERSHIP => {
            group::of_ipv4(name == n::IP_ADD_MEMBERSHIP, value)?
        }
        n::IP_ADD_SOURCE_MEMBERSHIP..=n::IP_UNBLOCK_SOURCE => group::source_of_ipv4(name, value)?,
        n::MCAST_JOIN_GROUP..=n::MCAST_LEAVE_SOURCE_GROUP => group::of_either(name, value, false)?,
        _ => return Err(WSAENOPROTOOPT),
    })
}

fn of_ipv6(name: i32, value: &[u8]) -> Result<Value, i32> {
    Ok(match name {
        n::IPV6_PKTINFO => Value::PacketInformation(flag(value)?),
        n::IPV6_V6ONLY => Value::OnlyIpv6(flag(value)?),
        n::IPV6_UNICAST_HOPS => Value::HopLimit(byte(value)?),
        n::IPV6_TCLASS => Value::TypeOfService(byte(value)?),
        n::IPV6_DONTFRAG => Value::DontFragment(flag(value)?),
        n::IPV6_MTU_DISCOVER => path_mtu_discovery(value)?,
        n::IPV6_HOPLIMIT => Value::HopLimitReported(flag(value)?),
        n::IPV6_RECVTCLASS => Value::TrafficClassReported(flag(value)?),
        n::IPV6_ECN => Value::EcnReported(flag(value)?),
        n::IPV6_MULTICAST_HOPS => Value::MulticastHops(byte(value)?),
        n::IPV6_MULTICAST_LOOP => Value::MulticastLoop(flag(value)?),
        n::IPV6_MULTICAST_IF => Value::MulticastInterface(Place::of_index(number(value)?)),
        n::IPV6_UNICAST_IF => Value::UnicastInterface(number(value)?),
        n::IPV6_ADD_MEMBERSHIP | n::IPV6_DROP_MEMBERSHIP => {
            group::of_ipv6(name == n::IPV6_ADD_MEMBERSHIP, value)?
        }
        n::MCAST_JOIN_GROUP..=n::MCAST_LEAVE_SOURCE_GROUP => group::of_either(name, value, true)?,
        _ => return Err(WSAENOPROTOOPT),
    })
}
