//! MAC addresses, ethertypes and VLAN tags: the header of an Ethernet frame.
//!
//! Source: IEEE 802.3-2022, 3.1 to 3.2; IEEE 802.1Q-2022, 9.6; multicast addresses of PTP: IEEE 1588-2019, annex E.

use core::fmt;
use core::str::FromStr;

/// A MAC address of 48 bits.
///
/// ```
/// use wirestamp_core::ethernet::MacAddress;
///
/// let address: MacAddress = "01:1b:19:00:00:00".parse()?;
/// assert_eq!(address, MacAddress::PTP_PRIMARY);
/// assert!(address.is_multicast());
/// # Ok::<(), wirestamp_core::ethernet::MacAddressInvalid>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// The multicast address of PTP messages except peer delay messages (IEEE 1588-2019, annex E).
    pub const PTP_PRIMARY: Self = Self([0x01, 0x1b, 0x19, 0, 0, 0]);
    /// The multicast address of PTP's peer delay messages. Bridges do not forward it (IEEE 1588-2019, annex E).
    pub const PTP_PEER_DELAY: Self = Self([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

    /// Creates an address from its octets in transmission order.
    pub const fn new(octets: [u8; 6]) -> Self {
        Self(octets)
    }

    /// Returns the octets in transmission order.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// Returns whether it is a group address: multicast or broadcast.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Returns whether it is the broadcast address.
    pub const fn is_broadcast(self) -> bool {
        matches!(self.0, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
    }

    /// Returns whether it is locally administered rather than assigned by the manufacturer.
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }
}

/// Prints as `01:1b:19:00:00:00`.
impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = self.0;
        write!(f, "{first:02x}")?;
        others
            .iter()
            .try_for_each(|octet| write!(f, ":{octet:02x}"))
    }
}

/// Prints like `Display`.
impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<[u8; 6]> for MacAddress {
    fn from(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}

/// The error for a text that is not a MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacAddressInvalid;

impl fmt::Display for MacAddressInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not a MAC address, such as 01:1b:19:00:00:00 (six pairs of hexadecimal digits)",
        )
    }
}

impl core::error::Error for MacAddressInvalid {}

/// Parses six pairs of hexadecimal digits, separated by colons or hyphens.
impl FromStr for MacAddress {
    type Err = MacAddressInvalid;

    fn from_str(text: &str) -> Result<Self, MacAddressInvalid> {
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut octets = [0; 6];
        let mut pairs = text.split(separator);
        for octet in &mut octets {
            let pair = pairs.next().ok_or(MacAddressInvalid)?;
            let is_pair = pair.len() == 2 && pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            *octet = u8::from_str_radix(pair, 16)
                .ok()
                .filter(|_| is_pair)
                .ok_or(MacAddressInvalid)?;
        }
        match pairs.next() {
            None => Ok(Self(octets)),
            Some(_) => Err(MacAddressInvalid),
        }
    }
}

/// An ethertype: the protocol of a frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ethertype(u16);

impl Ethertype {
    /// PTP over Ethernet (IEEE 1588-2019, annex E).
    pub const PTP: Self = Self(0x88f7);
    /// For private experiments (IEEE 802, "local experimental ethertype 1").
    pub const EXPERIMENTAL: Self = Self(0x88b5);

    /// Creates an ethertype from its number; `None` below 1536, where the field is a length, and
    /// for the types of VLAN tags (0x8100, 0x88a8), which are followed by the frame's own type.
    pub const fn new(number: u16) -> Option<Self> {
        match number {
            ..0x0600 | 0x8100 | 0x88a8 => None,
            _ => Some(Self(number)),
        }
    }

    /// Returns the number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Prints as `0x88f7`.
impl fmt::Display for Ethertype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// Prints like `Display`.
impl fmt::Debug for Ethertype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The tag of a frame that belongs to a VLAN or has a priority (IEEE 802.1Q-2022, 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VlanTag(u16);

impl VlanTag {
    const IDENTIFIER: u16 = 0x0fff;
    const DROP_ELIGIBLE: u16 = 0x1000;

    /// Creates a tag from the VLAN ID and the priority; `None` for an ID above 4094 (4095 is
    /// reserved) or a priority above 7. VLAN 0 means a priority without a VLAN.
    pub const fn new(vlan: u16, priority: u8) -> Option<Self> {
        if vlan >= Self::IDENTIFIER || priority > 7 {
            return None;
        }
        Some(Self((priority as u16) << 13 | vlan))
    }

    /// Creates a tag from its 16 bits in the frame ("tag control information").
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the 16 bits in the frame.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the VLAN ID; 0 for a priority without a VLAN.
    pub const fn vlan(self) -> u16 {
        self.0 & Self::IDENTIFIER
    }

    /// Returns the priority, 0 to 7 ("priority code point").
    pub const fn priority(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// Returns whether the frame is drop eligible: it may be dropped before others.
    pub const fn is_drop_eligible(self) -> bool {
        self.0 & Self::DROP_ELIGIBLE != 0
    }
}

/// The destination address of a frame, and its VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FrameDestination {
    /// The destination: a station or a group.
    pub address: MacAddress,
    /// The frame's VLAN tag, if it has one.
    pub vlan: Option<VlanTag>,
}

impl FrameDestination {
    /// Creates a destination.
    pub const fn new(address: MacAddress, vlan: Option<VlanTag>) -> Self {
        Self { address, vlan }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_mac_address_is_refused() {
        for text in [
            "",
            "1:2:3:4:5:6",
            "01:1b:19:00:00",
            "01:1b:19:00:00:00:00",
            "01:1b:19:00:00:0g",
            "01-1b:19-00:00-00",
            "01:1b:19:00:00:+1",
            "011b19000000",
            "01:1b:19:00:00:00 ",
        ] {
            assert_eq!(text.parse::<MacAddress>(), Err(MacAddressInvalid), "{text}");
        }
        assert_eq!("01-80-C2-00-00-0E".parse(), Ok(MacAddress::PTP_PEER_DELAY));
    }

    #[test]
    fn who_is_meant_by_an_address() {
        for group in [
            MacAddress::BROADCAST,
            MacAddress::PTP_PRIMARY,
            MacAddress::PTP_PEER_DELAY,
        ] {
            assert!(group.is_multicast());
            assert_eq!(group.is_broadcast(), group == MacAddress::BROADCAST);
        }
        let own = MacAddress::new([2, 0, 0, 0, 0, 1]);
        assert!(own.is_local() && !own.is_multicast());
        assert!(!MacAddress::PTP_PRIMARY.is_local());
    }

    #[test]
    fn lengths_and_tags_are_no_ethertypes() {
        for number in [0, 46, 1_500, 0x05ff, 0x8100, 0x88a8] {
            assert_eq!(Ethertype::new(number), None, "{number:#x}");
        }
        assert_eq!(Ethertype::new(0x0600).map(Ethertype::get), Some(0x0600));
        assert_eq!(Ethertype::new(0x88f7), Some(Ethertype::PTP));
        assert_eq!(Ethertype::PTP.to_string(), "0x88f7");
    }

    #[test]
    fn a_tag_is_made_of_what_fits_into_it() {
        let tag = VlanTag::new(5, 3).expect("a tag");
        assert_eq!((tag.bits(), tag.vlan(), tag.priority()), (0x6005, 5, 3));
        assert!(!tag.is_drop_eligible() && VlanTag::from_bits(0x7005).is_drop_eligible());
        assert_eq!(VlanTag::new(4_094, 7).map(VlanTag::bits), Some(0xeffe));
        assert_eq!((VlanTag::new(4_095, 0), VlanTag::new(1, 8)), (None, None));
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_prints(octets: [u8; 6]) {
            let address = MacAddress::new(octets);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }

        #[test]
        fn no_text_makes_it_panic(text: std::string::String) {
            let _ = text.parse::<MacAddress>();
        }
    }
}
