//! The identity of a clock, from its interface.

use wirestamp::Interface;
use wirestamp::ethernet::MacAddress;
use wirestamp::interface::InterfaceDescription;

/// Returns the clock identity for an interface: derived from its MAC address if there is one, else
/// a stable identity from its other properties (IEEE 1588-2008, 7.5.2.2).
///
/// The ports of a bond have the bond's MAC address, and a bridge has that of one of its ports: a port
/// with the address of its bond or bridge has an identity from all its properties. Other interfaces that
/// share a MAC address (a VLAN and the interface below it; ipvlan without IPv6) have one identity.
pub fn identity_of(interface: &Interface) -> [u8; 8] {
    let described = interface.description();
    let all = || Interface::list().unwrap_or_default();
    let above = described.port_of.and_then(|index| {
        let one = all().into_iter().find(|one| one.index() == index)?;
        one.description().mac_address
    });
    from(described, above)
}

/// `above`: the MAC address of the bond or bridge that it is a port of.
fn from(described: &InterfaceDescription, above: Option<MacAddress>) -> [u8; 8] {
    let mac = described.mac_address.map(MacAddress::octets);
    let mac = mac.filter(|octets| *octets != [0; 6]);
    if mac.is_some() && above.map(MacAddress::octets) == mac {
        return hashed(described, mac);
    }
    from_address(described, mac)
        .or_else(|| mac.map(extended))
        .unwrap_or_else(|| hashed(described, None))
}

/// Returns a MAC address as an EUI-64.
const fn extended([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    [a, b, c, 0xff, 0xfe, d, e, f]
}

/// Returns the EUI-64 from which the link-local address was made, if it was. Where interfaces share a
/// MAC address (ipvlan), the kernel puts a number in its middle, which differs from interface to interface, and
/// leaves the bit that says "universal" as it is (`addrconf_ifid_eui48`).
fn from_address(described: &InterfaceDescription, mac: Option<[u8; 6]>) -> Option<[u8; 8]> {
    described.addresses.iter().find_map(|address| {
        let std::net::IpAddr::V6(v6) = address.address else {
            return None;
        };
        let octets = v6.octets();
        let mut identity: [u8; 8] = octets[8..].try_into().ok()?;
        let [a, b, c, middle @ .., d, e, f] = identity;
        let is_modified = middle == [0xff, 0xfe];
        if is_modified {
            identity[0] ^= 0x02; // EUI-64 as IPv6 modifies it
        }
        let from_hardware = is_modified || mac == Some([a, b, c, d, e, f]);
        (octets[..2] == [0xfe, 0x80] && from_hardware).then_some(identity)
    })
}

/// Returns the FNV-1a of the properties that distinguish this interface on its host, as an identity that
/// is locally administered.
fn hashed(described: &InterfaceDescription, mac: Option<[u8; 6]>) -> [u8; 8] {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let addresses = described.addresses.iter();
    let addresses = addresses.map(|address| address.address.to_string());
    for byte in std::iter::once(described.name.clone())
        .chain(addresses)
        .flat_map(String::into_bytes)
        .chain(mac.into_iter().flatten())
    {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut identity = hash.to_be_bytes();
    identity[0] = identity[0] & 0xfc | 0x02;
    identity
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::interface::{InterfaceAddress, InterfaceIndex};

    const MAC: [u8; 6] = [0x52, 0x54, 0, 0x12, 0x34, 0x56];
    const IDENTITY: [u8; 8] = [0x52, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56];

    fn identity(mac: Option<[u8; 6]>, addresses: &[&str]) -> [u8; 8] {
        named("eth0", mac, addresses, None)
    }

    fn named(
        name: &str,
        mac: Option<[u8; 6]>,
        addresses: &[&str],
        above: Option<[u8; 6]>,
    ) -> [u8; 8] {
        let index = InterfaceIndex::new(2).expect("not zero");
        let mut described = InterfaceDescription::new(name, index);
        described.mac_address = mac.map(MacAddress::new);
        let address = |text: &&str| InterfaceAddress {
            address: text.parse().expect("an address"),
            prefix_length: 64,
        };
        described.addresses = addresses.iter().map(address).collect();
        from(&described, above.map(MacAddress::new))
    }

    /// They all have its address, and hear the same answers where both links are on one network.
    #[test]
    fn the_ports_of_a_bond_have_identities_of_their_own() {
        let port = |name, mac| named(name, Some(mac), &[], Some(MAC));
        assert_ne!(port("eth0", MAC), IDENTITY);
        assert_ne!(port("eth0", MAC), port("eth1", MAC));
        assert_eq!(port("eth0", MAC)[0] & 3, 2, "locally administered");
        let other = [0x52, 0x54, 0, 0x12, 0x34, 0x57];
        let elsewhere = named("eth0", Some(other), &[], Some(other));
        assert_ne!(port("eth0", MAC), elsewhere, "of another host");
        assert_eq!(port("eth1", other), extended(other), "of a bridge");
    }

    /// On every host it may be called eth0: two clocks of one identity ignore each other, or take each
    /// other's answers.
    #[test]
    fn interfaces_without_addresses_have_identities_of_their_own() {
        assert_eq!(identity(Some(MAC), &[]), IDENTITY);
        let other = [0x52, 0x54, 0, 0x12, 0x34, 0x57];
        assert_ne!(identity(Some(other), &[]), IDENTITY);
    }

    #[test]
    fn an_identity_does_not_depend_on_the_addresses() {
        for addresses in [
            &["192.0.2.1"][..],
            &["fe80::5054:ff:fe12:3456"],
            &["192.0.2.1", "2001:db8::1", "fe80::1"],
        ] {
            assert_eq!(identity(Some(MAC), addresses), IDENTITY, "{addresses:?}");
        }
    }

    #[test]
    fn interfaces_with_one_mac_address_are_told_apart() {
        let shared = identity(Some(MAC), &["fe80::5254:0:112:3456"]);
        assert_eq!(shared, [0x52, 0x54, 0, 0, 1, 0x12, 0x34, 0x56]);
    }

    #[test]
    fn without_a_mac_address_it_is_locally_administered() {
        let hashed = [None, Some([0; 6])].map(|mac| identity(mac, &["192.0.2.1"]));
        assert_eq!(hashed[0], hashed[1]);
        assert_eq!(hashed[0][0] & 3, 2);
        assert_ne!(hashed[0], identity(None, &["192.0.2.2"]));
        assert_eq!(identity(None, &["fe80::5054:ff:fe12:3456"]), IDENTITY);
    }
}
