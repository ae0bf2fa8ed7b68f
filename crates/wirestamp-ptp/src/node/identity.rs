//! The identity of a clock, from its interface.

use wirestamp::Interface;

/// Returns the clock identity for an interface: derived from its MAC address if there is one, else
/// a stable identity from its other properties (IEEE 1588-2008, 7.5.2.2).
pub fn identity_of(interface: &Interface) -> [u8; 8] {
    for address in &interface.description().addresses {
        if let std::net::IpAddr::V6(v6) = address.address {
            let octets = v6.octets();
            let from_hardware = octets[..2] == [0xfe, 0x80] && octets[11..13] == [0xff, 0xfe];
            if let (true, Ok(mut identity)) = (from_hardware, <[u8; 8]>::try_from(&octets[8..])) {
                identity[0] ^= 0x02; // EUI-64 as IPv6 modifies it
                return identity;
            }
        }
    }
    // FNV-1a over the properties that distinguish this interface
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let addresses = interface
        .description()
        .addresses
        .iter()
        .map(|address| address.address.to_string());
    for byte in std::iter::once(interface.name().to_owned())
        .chain(addresses)
        .flat_map(String::into_bytes)
    {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut identity = hash.to_be_bytes();
    identity[0] = identity[0] & 0xfc | 0x02; // locally administered
    identity
}
