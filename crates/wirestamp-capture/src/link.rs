//! Parsing of the headers before the IP header: the link types of capture files, VLAN tags, MPLS
//! labels, PPPoE, LLC and SNAP.

use crate::packet::Unreadable;
use wirestamp_core::capture::LinkType;

/// The most tags and labels before an IP header.
const MOST_TAGS: usize = 16;

/// The header that the packets of a capture file begin with.
///
/// Source: the registry of link types in draft-ietf-opsawg-pcaplinktype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Link {
    /// An Ethernet header (1).
    Ethernet,
    /// An IP header (12, 14, 101, 228, 229).
    Ip,
    /// BSD's loopback: the address family in the byte order of the capturing host (0).
    Null,
    /// OpenBSD's loopback: the address family in network byte order (108).
    Loop,
    /// `tcpdump -i any`: Linux' cooked header (113).
    Sll,
    /// Linux' cooked header, version 2 (276).
    Sll2,
}

impl From<LinkType> for Link {
    fn from(link_type: LinkType) -> Self {
        match link_type {
            LinkType::Ip => Self::Ip,
            _ => Self::Ethernet,
        }
    }
}

impl Link {
    /// Returns the link type with this number in capture files; `None` if it is not supported.
    pub fn numbered(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            108 => Self::Loop,
            113 => Self::Sll,
            276 => Self::Sll2,
            _ => return None,
        })
    }
}

/// A packet after its link header, tags and labels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network<'a> {
    /// The outermost VLAN ID.
    pub(crate) vlan: Option<u16>,
    /// The protocol that follows.
    pub(crate) ether_type: u16,
    pub(crate) data: &'a [u8],
}

/// Returns the name of an unsupported link type, or its number.
pub(crate) fn name(number: u32) -> String {
    let name = match number {
        9 => "PPP",
        50 => "PPP_HDLC",
        51 => "PPP_ETHER",
        105 => "IEEE802_11",
        127 => "IEEE802_11_RADIOTAP",
        147..=162 => "reserved for private use",
        163 => "IEEE802_11_AVS",
        192 => "PPI",
        195 => "IEEE802_15_4_WITHFCS",
        187 | 201 => "BLUETOOTH_HCI_H4",
        197 => "ERF",
        220 => "USB_LINUX_MMAPPED",
        227 => "CAN_SOCKETCAN",
        239 => "NFLOG",
        249 => "USBPCAP",
        252 => "WIRESHARK_UPPER_PDU",
        253 => "NETLINK",
        _ => return number.to_string(),
    };
    format!("{number} ({name})")
}

/// Finds the IP header after the link header.
pub(crate) fn network(link: Link, data: &[u8]) -> Result<Network<'_>, Unreadable> {
    let (ether_type, data) = match link {
        Link::Ip => return by_version(data, None),
        Link::Ethernet => (word(data, 12)?, behind(data, 14)?),
        Link::Sll => (word(data, 14)?, behind(data, 16)?),
        Link::Sll2 => (word(data, 0)?, behind(data, 20)?),
        Link::Null | Link::Loop => {
            let family: [u8; 4] = *data.first_chunk().ok_or(Unreadable::CutOff)?;
            return match (u32::from_be_bytes(family), u32::from_le_bytes(family)) {
                (2, _) | (_, 2) | (10 | 24 | 28 | 30, _) | (_, 10 | 24 | 28 | 30) => {
                    by_version(&data[4..], None)
                }
                _ => Err(Unreadable::NotIp),
            };
        }
    };
    unwrap(ether_type, data)
}

/// Removes tags and labels.
fn unwrap(mut ether_type: u16, mut data: &[u8]) -> Result<Network<'_>, Unreadable> {
    let mut vlan = None;
    for _ in 0..MOST_TAGS {
        match ether_type {
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                vlan = vlan.or(Some(word(data, 0)? & 0xfff));
                (ether_type, data) = (word(data, 2)?, behind(data, 4)?);
            }
            0x8847 | 0x8848 => {
                let is_last = *data.get(2).ok_or(Unreadable::CutOff)? & 1 == 1;
                data = behind(data, 4)?;
                if is_last {
                    return by_version(data, vlan);
                }
            }
            // PPPoE; its header is followed by the PPP protocol
            0x8864 => {
                ether_type = match word(data, 6)? {
                    0x0021 => 0x0800,
                    0x0057 => 0x86dd,
                    _ => return Err(Unreadable::NotIp),
                };
                data = behind(data, 8)?;
            }
            // a length, followed by LLC; a SNAP header has a type again
            3..=1_500 => match data.get(..6).ok_or(Unreadable::CutOff)? {
                [0xaa, 0xaa, 3, 0, 0, 0] => {
                    (ether_type, data) = (word(data, 6)?, behind(data, 8)?);
                }
                _ => return Err(Unreadable::NotIp),
            },
            0..1_536 => return Err(Unreadable::NotIp),
            kind if is_never_ip(kind) => return Err(Unreadable::NotIp),
            _ => {
                return Ok(Network {
                    vlan,
                    ether_type,
                    data,
                });
            }
        }
    }
    Err(Unreadable::Encapsulated)
}

/// Parses an IP packet without a preceding type.
fn by_version(data: &[u8], vlan: Option<u16>) -> Result<Network<'_>, Unreadable> {
    let ether_type = match data.first().ok_or(Unreadable::CutOff)? >> 4 {
        4 => 0x0800,
        6 => 0x86dd,
        _ => return Err(Unreadable::Encapsulated),
    };
    Ok(Network {
        vlan,
        ether_type,
        data,
    })
}

/// Whether a protocol never contains IP packets: ARP, LLDP, PTP, EAPOL, slow protocols, PPPoE
/// discovery, Wake-on-LAN, loopback tests, pause frames, CFM, AVTP, PROFINET, EtherCAT, GOOSE and
/// sampled values.
fn is_never_ip(ether_type: u16) -> bool {
    matches!(
        ether_type,
        0x0806
            | 0x8035
            | 0x88cc
            | 0x88f7
            | 0x888e
            | 0x8809
            | 0x8863
            | 0x0842
            | 0x9000
            | 0x8808
            | 0x8902
            | 0x22f0
            | 0x8892
            | 0x88a4
            | 0x88b8
            | 0x88ba
    )
}

fn word(data: &[u8], at: usize) -> Result<u16, Unreadable> {
    let two = data.get(at..).and_then(<[u8]>::first_chunk);
    two.map(|two| u16::from_be_bytes(*two))
        .ok_or(Unreadable::CutOff)
}

fn behind(data: &[u8], header: usize) -> Result<&[u8], Unreadable> {
    data.get(header..).ok_or(Unreadable::CutOff)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 3] = [0x45, 1, 2];

    fn found(link: Link, header: &[u8]) -> Result<(Option<u16>, u16, Vec<u8>), Unreadable> {
        let whole = [header, &IP].concat();
        let network = network(link, &whole)?;
        Ok((network.vlan, network.ether_type, network.data.to_vec()))
    }

    #[test]
    fn an_ip_packet_is_found_behind_every_header() {
        let ethernet = |rest: &[u8]| [&[7; 12], rest].concat();
        let cooked = [[0; 14].as_slice(), &[8, 0]].concat();
        let cooked_2 = [[8, 0].as_slice(), &[0; 18]].concat();
        for (link, header, vlan) in [
            (Link::Ip, Vec::new(), None),
            (Link::Null, vec![2, 0, 0, 0], None),
            (Link::Null, vec![0, 0, 0, 2], None),
            (Link::Loop, vec![0, 0, 0, 2], None),
            (Link::Sll, cooked, None),
            (Link::Sll2, cooked_2, None),
            (Link::Ethernet, ethernet(&[8, 0]), None),
            (
                Link::Ethernet,
                ethernet(&[0x81, 0, 0xa0, 42, 8, 0]),
                Some(42),
            ),
            (
                Link::Ethernet,
                ethernet(&[
                    0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 0x81, 0, 0, 4, 8, 0,
                ]),
                Some(1),
            ),
            (
                Link::Ethernet,
                ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]),
                None,
            ),
            (
                Link::Ethernet,
                ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 5, 0, 0x21]),
                None,
            ),
            (
                Link::Ethernet,
                ethernet(&[0, 60, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
                None,
            ),
        ] {
            assert_eq!(
                found(link, &header),
                Ok((vlan, 0x0800, IP.to_vec())),
                "{link:?} {header:x?}"
            );
        }
    }

    #[test]
    fn what_may_hide_an_ip_packet_is_not_called_something_else() {
        let ethernet = |rest: &[u8]| found(Link::Ethernet, &[&[7; 12], rest].concat());
        assert_eq!(ethernet(&[8, 6]), Err(Unreadable::NotIp));
        assert_eq!(
            ethernet(&[0, 60, 0x42, 0x42, 3, 0, 0, 0]),
            Err(Unreadable::NotIp)
        );
        assert_eq!(
            ethernet(&[0x88, 0x47, 0, 1, 1, 64, 0, 0, 0, 0]),
            Err(Unreadable::Encapsulated)
        );
        let tags = [0x81, 0, 0, 1].repeat(MOST_TAGS + 1);
        assert_eq!(ethernet(&tags), Err(Unreadable::Encapsulated));
        assert_eq!(network(Link::Sll2, &[8, 0]).err(), Some(Unreadable::CutOff));
        assert_eq!(network(Link::Ip, &[]).err(), Some(Unreadable::CutOff));
    }
}
