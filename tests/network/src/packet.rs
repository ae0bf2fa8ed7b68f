//! The few fields of IPv4 and IPv6 headers that a router reads and changes.

use std::net::IpAddr;

const UDP: u8 = 17;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const ICMPV6: u8 = 58;
/// So much of a packet a router sends back.
const QUOTED: usize = 128;
/// From whom ICMP messages come; no host has these addresses.
const ROUTER_IPV4: [u8; 4] = [10, 66, 0, 254];
const ROUTER_IPV6: [u8; 16] = [0xfd, 0x66, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe];
/// So much of a UDP payload goes into the log.
const SHOWN: usize = 16;

/// An IP packet with a whole header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    bytes: Vec<u8>,
}

impl Packet {
    /// `None` if it is shorter than its header.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let least = match bytes.first()? >> 4 {
            4 => usize::from(bytes[0] & 15).max(5) * 4,
            6 => IPV6_HEADER,
            _ => return None,
        };
        (bytes.len() >= least).then(|| Self {
            bytes: bytes.to_vec(),
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn is_ipv4(&self) -> bool {
        self.bytes[0] >> 4 == 4
    }

    pub(crate) fn destination(&self) -> IpAddr {
        if self.is_ipv4() {
            let octets: [u8; 4] = self.bytes[16..20].try_into().expect("a whole header");
            octets.into()
        } else {
            let octets: [u8; 16] = self.bytes[24..40].try_into().expect("a whole header");
            octets.into()
        }
    }

    /// DSCP and ECN field.
    pub(crate) fn traffic_class(&self) -> u8 {
        if self.is_ipv4() {
            self.bytes[1]
        } else {
            self.bytes[0] << 4 | self.bytes[1] >> 4
        }
    }

    pub(crate) fn set_traffic_class(&mut self, class: u8) {
        if self.is_ipv4() {
            self.bytes[1] = class;
            self.sum();
        } else {
            self.bytes[0] = 6 << 4 | class >> 4;
            self.bytes[1] = class << 4 | self.bytes[1] & 15;
        }
    }

    /// One hop less; `false` if there is none left.
    pub(crate) fn hop(&mut self) -> bool {
        let place = if self.is_ipv4() { 8 } else { 7 };
        if self.bytes[place] <= 1 {
            return false;
        }
        self.bytes[place] -= 1;
        if self.is_ipv4() {
            self.sum();
        }
        true
    }

    /// Ports and the first bytes of the payload of an unfragmented UDP datagram.
    pub(crate) fn udp(&self) -> Option<((u16, u16), &[u8])> {
        let (header, protocol, is_fragment) = if self.is_ipv4() {
            let fragment = u16::from_be_bytes([self.bytes[6], self.bytes[7]]) & 0x3fff;
            (
                usize::from(self.bytes[0] & 15) * 4,
                self.bytes[9],
                fragment != 0,
            )
        } else {
            (IPV6_HEADER, self.bytes[6], false)
        };
        let udp = self.bytes.get(header..).filter(|udp| udp.len() >= 8)?;
        if protocol != UDP || is_fragment || header < IPV4_HEADER {
            return None;
        }
        let port = |place| u16::from_be_bytes([udp[place], udp[place + 1]]);
        let payload = &udp[8..];
        Some(((port(0), port(2)), &payload[..payload.len().min(SHOWN)]))
    }

    /// What a router whose link has this MTU sends to the sender (RFC 792 and 1191, RFC 4443).
    pub(crate) fn too_big(&self, mtu: u16) -> Self {
        let quoted = &self.bytes[..self.bytes.len().min(QUOTED)];
        if self.is_ipv4() {
            self.too_big_ipv4(mtu, quoted)
        } else {
            self.too_big_ipv6(mtu, quoted)
        }
    }

    fn too_big_ipv4(&self, mtu: u16, quoted: &[u8]) -> Self {
        let mut message = vec![3, 4, 0, 0, 0, 0, 0, 0];
        message[6..].copy_from_slice(&mtu.to_be_bytes());
        message.extend_from_slice(quoted);
        let sum = checksum(&[&message]);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let length = (IPV4_HEADER + message.len()) as u16;
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0];
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&ROUTER_IPV4);
        bytes.extend_from_slice(&self.bytes[12..16]);
        bytes.extend_from_slice(&message);
        let mut packet = Self { bytes };
        packet.sum();
        packet
    }

    fn too_big_ipv6(&self, mtu: u16, quoted: &[u8]) -> Self {
        let mut message = vec![2, 0, 0, 0, 0, 0, 0, 0];
        message[6..].copy_from_slice(&mtu.to_be_bytes());
        message.extend_from_slice(quoted);
        let length = message.len() as u16;
        let pseudo = [0, 0, 0, ICMPV6];
        let sum = checksum(&[
            &ROUTER_IPV6,
            &self.bytes[8..24],
            &[0, 0],
            &length.to_be_bytes(),
            &pseudo,
            &message,
        ]);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, ICMPV6, 64];
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&ROUTER_IPV6);
        bytes.extend_from_slice(&self.bytes[8..24]);
        bytes.extend_from_slice(&message);
        Self { bytes }
    }

    /// The checksum of an IPv4 header.
    fn sum(&mut self) {
        let header = usize::from(self.bytes[0] & 15).max(5) * 4;
        self.bytes[10..12].fill(0);
        let sum = checksum(&[&self.bytes[..header]]);
        self.bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// RFC 1071; each part but the last has an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
        .sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of a header with its checksum, 0xb861, that textbooks give, with eight bytes of UDP.
    const IPV4: [u8; 30] = [
        0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
        0xc7, 0x03, 0x5e, 0x82, 0x35, 0, 10, 0, 0, 7, 8,
    ];

    #[test]
    fn the_checksum_of_a_known_header() {
        let mut packet = Packet::new(&IPV4).expect("whole");
        packet.set_traffic_class(0);
        assert_eq!(packet.bytes(), IPV4);
        assert_eq!(packet.udp(), Some(((862, 33_333), &[7, 8][..])));
        assert_eq!(packet.destination(), IpAddr::from([192, 168, 0, 199]));
    }

    #[test]
    fn marks_and_hops_change_and_the_checksum_follows() {
        let mut packet = Packet::new(&IPV4).expect("whole");
        packet.set_traffic_class(0xb8 | 1);
        assert!(packet.hop());
        assert_eq!((packet.traffic_class(), packet.bytes()[8]), (0xb9, 0x3f));
        let words = packet.bytes()[..20].chunks_exact(2);
        let sum: u32 = words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "a right checksum");
        packet.bytes[8] = 1;
        assert!(!packet.hop(), "none left");
    }

    #[test]
    fn ipv6_keeps_its_flow_label() {
        let mut bytes = [0; 48];
        bytes[..8].copy_from_slice(&[0x60, 0x0a, 0xbc, 0xde, 0, 8, UDP, 64]);
        let mut packet = Packet::new(&bytes).expect("whole");
        packet.set_traffic_class(0xb8 | 2);
        assert_eq!(packet.traffic_class(), 0xba);
        assert_eq!(packet.bytes()[..4], [0x6b, 0xaa, 0xbc, 0xde]);
        assert!(packet.hop());
        assert_eq!(packet.bytes()[7], 63);
    }

    #[test]
    fn pieces_of_a_header_are_no_packet() {
        for length in 0..IPV4_HEADER {
            assert_eq!(Packet::new(&IPV4[..length]), None);
        }
        assert_eq!(Packet::new(&[0x60; 39]), None);
        assert_eq!(Packet::new(&[0x50; 60]), None);
        let mut short = Packet::new(&IPV4[..20]).expect("a header alone");
        assert_eq!(short.udp(), None);
        assert!(short.hop());
    }
}
