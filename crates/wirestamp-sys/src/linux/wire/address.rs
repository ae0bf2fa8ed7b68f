//! Socket addresses as bytes (`sockaddr_in`, `sockaddr_in6`). Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Room for either family.
pub const LENGTH: usize = 28;
const IPV4_LENGTH: usize = 16;
const _: () = assert!(
    size_of::<libc::sockaddr_in6>() == LENGTH && size_of::<libc::sockaddr_in>() == IPV4_LENGTH
);

/// An address as the kernel wants it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(4))]
pub struct AddressBytes {
    bytes: [u8; LENGTH],
    length: u32,
}

impl AddressBytes {
    /// No address.
    pub const NONE: Self = Self {
        bytes: [0; LENGTH],
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
        self.bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        self.bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        self.bytes[4..8].copy_from_slice(&address.ip().octets());
        self.length = IPV4_LENGTH as u32;
    }

    fn write_ipv6(&mut self, address: SocketAddrV6) {
        self.bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        self.bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        self.bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
        self.bytes[8..24].copy_from_slice(&address.ip().octets());
        self.bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
        self.length = LENGTH as u32;
    }
}

/// `address` as a socket names it whose family is IPv6 if `mapped`.
pub fn mapped(address: SocketAddr, mapped: bool) -> SocketAddr {
    match address {
        SocketAddr::V4(address) if mapped => (address.ip().to_ipv6_mapped(), address.port()).into(),
        other => other,
    }
}

/// `address` without that: an IPv4 address that is written as an IPv6 one comes back as IPv4.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => (ip, address.port()).into(),
        IpAddr::V6(_) => address,
    }
}

/// Decodes an address; `None` for another family or too few bytes. An IPv4 address that a
/// dual-stack socket gives as IPv6 comes back as IPv4.
#[inline]
pub fn read(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match family {
        libc::AF_INET => {
            let octets: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            Some(SocketAddr::V4(SocketAddrV4::new(
                Ipv4Addr::from(octets),
                port,
            )))
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            let scope = u32::from_ne_bytes(*bytes.get(24..)?.first_chunk()?);
            match Ipv6Addr::from(octets).to_canonical() {
                IpAddr::V4(ip) => Some(SocketAddr::V4(SocketAddrV4::new(ip, port))),
                IpAddr::V6(ip) => Some(SocketAddr::V6(SocketAddrV6::new(ip, port, 0, scope))),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mapped_address_is_read_back_as_ipv4() {
        let address: SocketAddr = "192.0.2.1:319".parse().expect("an address");
        let mapped = AddressBytes::new(address, true);
        assert_eq!(mapped.bytes().len(), LENGTH);
        assert_eq!(read(mapped.bytes()), Some(address));
        assert_eq!(canonical(super::mapped(address, true)), address);
        assert!(super::mapped(address, true).is_ipv6());
    }

    proptest! {
        #[test]
        fn addresses_survive_the_way_there_and_back(octets: [u8; 16], port: u16, scope: u32) {
            let ipv6 = SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::from(octets), port, 0, scope));
            prop_assume!(Ipv6Addr::from(octets).to_ipv4_mapped().is_none());
            prop_assert_eq!(read(AddressBytes::new(ipv6, true).bytes()), Some(ipv6));
            let ipv4 = SocketAddr::from(([octets[0], octets[1], octets[2], octets[3]], port));
            prop_assert_eq!(read(AddressBytes::new(ipv4, false).bytes()), Some(ipv4));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&bytes);
        }
    }
}
