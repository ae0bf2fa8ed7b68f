//! Socket addresses as bytes (`SOCKADDR_IN`, `SOCKADDR_IN6`). Looks none up.

use super::numbers::{AF_INET, AF_INET6};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Bytes of `SOCKADDR_IN`.
pub const IPV4_LENGTH: usize = 16;
/// Bytes of `SOCKADDR_IN6`: room for either family.
pub const IPV6_LENGTH: usize = 28;

/// An address as Winsock has it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub struct AddressBytes {
    bytes: [u8; IPV6_LENGTH],
    length: u32,
}

impl AddressBytes {
    /// No address.
    pub const NONE: Self = Self {
        bytes: [0; IPV6_LENGTH],
        length: 0,
    };

    /// Encodes `address`. With `mapped`, an IPv4 address is written as an IPv6 one: that is
    /// how a dual-stack socket names it.
    pub fn new(address: SocketAddr, mapped: bool) -> Self {
        let mut encoded = Self::NONE;
        match (address, mapped) {
            (SocketAddr::V4(address), false) => encoded.write_ipv4(address),
            (SocketAddr::V4(address), true) => {
                encoded.write_ipv6(SocketAddrV6::new(
                    address.ip().to_ipv6_mapped(),
                    address.port(),
                    0,
                    0,
                ));
            }
            (SocketAddr::V6(address), _) => encoded.write_ipv6(address),
        }
        encoded
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }

    fn write_ipv4(&mut self, address: SocketAddrV4) {
        self.bytes[..2].copy_from_slice(&AF_INET.to_ne_bytes());
        self.bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        self.bytes[4..8].copy_from_slice(&address.ip().octets());
        self.length = IPV4_LENGTH as u32;
    }

    fn write_ipv6(&mut self, address: SocketAddrV6) {
        self.bytes[..2].copy_from_slice(&AF_INET6.to_ne_bytes());
        self.bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        self.bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
        self.bytes[8..24].copy_from_slice(&address.ip().octets());
        self.bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
        self.length = IPV6_LENGTH as u32;
    }
}

/// The number of the family that an address begins with; `None` for fewer than two bytes.
pub fn family(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().copied().map(u16::from_ne_bytes)
}

/// Decodes an address of IPv6 or else of IPv4, whatever number its family has; what follows it is
/// ignored. `None` for too few bytes.
pub fn read(bytes: &[u8], ipv6: bool) -> Option<SocketAddr> {
    if ipv6 {
        let fixed: &[u8; IPV6_LENGTH] = bytes.first_chunk()?;
        return Some(SocketAddr::V6(SocketAddrV6::new(
            Ipv6Addr::from(part::<16>(fixed, 8)),
            u16::from_be_bytes(part(fixed, 2)),
            u32::from_be_bytes(part(fixed, 4)),
            u32::from_ne_bytes(part(fixed, 24)),
        )));
    }
    let fixed: &[u8; IPV4_LENGTH] = bytes.first_chunk()?;
    Some(SocketAddr::V4(SocketAddrV4::new(
        Ipv4Addr::from(part::<4>(fixed, 4)),
        u16::from_be_bytes(part(fixed, 2)),
    )))
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[at + index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dual_stack_socket_names_an_ipv4_address_as_a_mapped_one_of_windows_family() {
        let address: SocketAddr = "192.0.2.1:319".parse().expect("an address");
        let mapped = AddressBytes::new(address, true);
        assert_eq!((mapped.bytes().len(), mapped.bytes()[0]), (IPV6_LENGTH, 23));
        assert_eq!(
            read(mapped.bytes(), true),
            Some("[::ffff:192.0.2.1]:319".parse().expect("an address"))
        );
    }

    #[test]
    fn an_address_that_was_cut_is_none() {
        for text in ["192.0.2.1:319", "[fe80::1%7]:9"] {
            let address: SocketAddr = text.parse().expect("an address");
            let written = AddressBytes::new(address, false);
            for length in 0..written.bytes().len() {
                let cut = &written.bytes()[..length];
                assert_eq!(read(cut, address.is_ipv6()), None, "{text} cut to {length}");
            }
        }
    }

    proptest! {
        #[test]
        fn addresses_survive_the_way_there_and_back(octets: [u8; 16], port: u16, flow: u32, scope: u32) {
            let ipv6 = SocketAddr::V6(SocketAddrV6::new(octets.into(), port, flow, scope));
            let written = AddressBytes::new(ipv6, true);
            prop_assert_eq!(family(written.bytes()), Some(AF_INET6));
            prop_assert_eq!(read(written.bytes(), true), Some(ipv6));
            let ipv4 = SocketAddr::from(([octets[0], octets[1], octets[2], octets[3]], port));
            let written = AddressBytes::new(ipv4, false);
            prop_assert_eq!(family(written.bytes()), Some(AF_INET));
            prop_assert_eq!(read(written.bytes(), false), Some(ipv4));
        }
    }
}
