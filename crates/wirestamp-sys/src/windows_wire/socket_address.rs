//! Which address a socket means: a dual-stack one names IPv4 addresses as IPv6. Pure.

use crate::abi::address;
use crate::abi::numbers::{AF_INET, AF_INET6};
use std::net::{IpAddr, SocketAddr};

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
/// dual-stack socket gives as IPv6 comes back as IPv4; the flow of an IPv6 one is left out.
pub fn read(bytes: &[u8]) -> Option<SocketAddr> {
    let mut address = match address::family(bytes)? {
        AF_INET => address::read(bytes, false)?,
        AF_INET6 => address::read(bytes, true)?,
        _ => return None,
    };
    if let SocketAddr::V6(address) = &mut address {
        address.set_flowinfo(0);
    }
    Some(canonical(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::address::AddressBytes;
    use proptest::prelude::*;

    #[test]
    fn a_mapped_address_is_ipv4() {
        let address: SocketAddr = "192.0.2.1:319".parse().expect("an address");
        let mapped = AddressBytes::new(address, true);
        assert_eq!(canonical(super::mapped(address, true)), address);
        assert!(super::mapped(address, true).is_ipv6());
        assert_eq!(read(mapped.bytes()), Some(address));
    }

    #[test]
    fn an_address_comes_back_without_its_flow_and_of_no_other_family() {
        let address: SocketAddr = "[fe80::1%7]:9".parse().expect("an address");
        let mut bytes = AddressBytes::new(address, true).bytes().to_vec();
        bytes[4..8].fill(1);
        assert_eq!(read(&bytes), Some(address));
        bytes[0] = 10; // as Linux numbers it
        assert_eq!(read(&bytes), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&bytes);
        }
    }
}
