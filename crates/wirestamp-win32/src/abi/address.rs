//! Socket addresses as bytes. Pure; looks none up.

use super::codes::{WSAEAFNOSUPPORT, WSAEFAULT};
use super::numbers::{AF_INET, AF_INET6, AF_INET6_LINUX};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Bytes of `sockaddr_in`.
pub const IPV4_LENGTH: usize = 16;
/// Bytes of `sockaddr_in6`.
pub const IPV6_LENGTH: usize = 28;

/// An address family, from its number on either system.
pub(crate) fn is_ipv6(family: i32) -> Result<bool, i32> {
    match family {
        AF_INET => Ok(false),
        AF_INET6 | AF_INET6_LINUX => Ok(true),
        _ => Err(WSAEAFNOSUPPORT),
    }
}

/// Reads an address; what follows it is ignored.
///
/// # Errors
/// `WSAEFAULT` for too few bytes for the family, `WSAEAFNOSUPPORT` for one that is neither.
pub fn read(bytes: &[u8]) -> Result<SocketAddr, i32> {
    let family = bytes.first_chunk().ok_or(WSAEFAULT)?;
    if is_ipv6(u16::from_ne_bytes(*family).into())? {
        let fixed: &[u8; IPV6_LENGTH] = bytes.first_chunk().ok_or(WSAEFAULT)?;
        let octets: [u8; 16] = part(fixed, 8);
        let address = SocketAddrV6::new(
            Ipv6Addr::from(octets),
            u16::from_be_bytes(part(fixed, 2)),
            u32::from_be_bytes(part(fixed, 4)),
            u32::from_ne_bytes(part(fixed, 24)),
        );
        return Ok(address.into());
    }
    let fixed: &[u8; IPV4_LENGTH] = bytes.first_chunk().ok_or(WSAEFAULT)?;
    let octets: [u8; 4] = part(fixed, 4);
    Ok(SocketAddrV4::new(Ipv4Addr::from(octets), u16::from_be_bytes(part(fixed, 2))).into())
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&bytes[at..at + N]);
    found
}

/// An address as it is written for the caller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    bytes: [u8; IPV6_LENGTH],
    length: usize,
}

impl Written {
    /// Encodes `address`; for a socket of IPv6, an IPv4 address as a mapped one.
    pub(crate) fn new(address: SocketAddr, ipv6: bool) -> Self {
        let mut bytes = [0; IPV6_LENGTH];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let octets = match address.ip() {
            IpAddr::V4(address) if !ipv6 => {
                bytes[..2].copy_from_slice(&(AF_INET as u16).to_ne_bytes());
                bytes[4..8].copy_from_slice(&address.octets());
                return Self {
                    bytes,
                    length: IPV4_LENGTH,
                };
            }
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        bytes[..2].copy_from_slice(&(AF_INET6 as u16).to_ne_bytes());
        bytes[8..24].copy_from_slice(&octets);
        if let SocketAddr::V6(address) = address {
            bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
            bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
        }
        Self {
            bytes,
            length: IPV6_LENGTH,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_way_out_and_in() {
        for text in ["192.0.2.1:319", "[2001:db8::1]:320", "[fe80::1%7]:9"] {
            let address: SocketAddr = text.parse().expect("an address");
            let written = Written::new(address, address.is_ipv6());
            assert_eq!(read(written.bytes()), Ok(address), "{text}");
            for length in 0..written.bytes().len() {
                assert_eq!(
                    read(&written.bytes()[..length]),
                    Err(WSAEFAULT),
                    "{text} cut to {length}"
                );
            }
        }
    }

    #[test]
    fn the_family_number_of_linux_is_taken_and_that_of_windows_given() {
        let mut bytes = [0; IPV6_LENGTH];
        bytes[0] = 10;
        let read_back = read(&bytes).expect("an address");
        assert_eq!(Written::new(read_back, true).bytes()[0], 23);
        bytes[0] = 1;
        assert_eq!(read(&bytes), Err(WSAEAFNOSUPPORT));
    }

    #[test]
    fn a_dual_stack_socket_names_ipv4_peers_as_mapped() {
        let written = Written::new("192.0.2.1:5".parse().expect("an address"), true);
        assert_eq!(
            read(written.bytes()),
            Ok("[::ffff:192.0.2.1]:5".parse().expect("an address"))
        );
    }
}
