//! Parsing of the headers before the IP header: the link types of capture files, VLAN tags, MPLS
//! labels, PPP and PPPoE, LLC and SNAP.

use crate::packet::Unreadable;
use wirestamp_core::capture::{CapturedDirection, LinkType};

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
    /// PPP, with or without the address and control bytes of HDLC framing (9).
    Ppp,
    /// PPP in HDLC framing, or Cisco's HDLC (50, 104).
    PppHdlc,
    /// PPPoE without the Ethernet header (51).
    PppEther,
    /// PPP after a byte that is 0 for received and another for sent packets (166, 204).
    PppDirection,
    /// A record of Endace's cards that has none of the headers above in it (197). The reader removes the records' own headers.
    Erf,
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
            9 => Self::Ppp,
            50 | 104 => Self::PppHdlc,
            51 => Self::PppEther,
            166 | 204 => Self::PppDirection,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            108 => Self::Loop,
            113 => Self::Sll,
            276 => Self::Sll2,
            197 => Self::Erf,
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
        105 => "IEEE802_11",
        127 => "IEEE802_11_RADIOTAP",
        147..=162 => "reserved for private use",
        163 => "IEEE802_11_AVS",
        192 => "PPI",
        195 => "IEEE802_15_4_WITHFCS",
        187 | 201 => "BLUETOOTH_HCI_H4",
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

/// Finds the IP header after the link header. `missing`: the bytes on the wire that were not captured.
pub(crate) fn network(link: Link, data: &[u8], missing: usize) -> Result<Network<'_>, Unreadable> {
    let (ether_type, data) = match link {
        Link::Ip => return by_version(data, None),
        Link::Ethernet => (word(data, 12)?, behind(data, 14)?),
        Link::Sll => (cooked(word(data, 14)?)?, behind(data, 16)?),
        Link::Sll2 => (cooked(word(data, 0)?)?, behind(data, 20)?),
        Link::Null | Link::Loop => {
            let family: [u8; 4] = *data.first_chunk().ok_or(Unreadable::CutOff)?;
            let orders = [u32::from_be_bytes(family), u32::from_le_bytes(family)];
            return if orders.into_iter().any(is_ip_family) {
                by_version(&data[4..], None)
            } else {
                Err(Unreadable::NotIp)
            };
        }
        // the Cisco form has the type of Ethernet
        Link::PppHdlc if matches!(data, [0x0f | 0x8f, ..]) => (word(data, 2)?, behind(data, 4)?),
        Link::Ppp | Link::PppHdlc => return ppp(unframed(data), 0, missing),
        Link::PppDirection => return ppp(unframed_after_direction(data)?, 0, missing),
        Link::PppEther => (0x8864, data),
        Link::Erf => return Err(Unreadable::Encapsulated),
    };
    unwrap(ether_type, data, 0, missing)
}

/// Returns the type of Ethernet for a protocol number of Linux. Those of other packets than
/// Ethernet's are small; 4 is LLC. A switch's tag (DSA, XDSA) and MAP's header have frames behind
/// them.
const fn cooked(protocol: u16) -> Result<u16, Unreadable> {
    match protocol {
        4 => Ok(1_500),
        0x1b | 0xf8 | 0xf9 => Err(Unreadable::Encapsulated),
        0..=1_535 => Ok(0),
        _ => Ok(protocol),
    }
}

/// Returns the direction that a link header has.
pub(crate) fn direction(link: Link, data: &[u8]) -> Option<CapturedDirection> {
    let kind = match link {
        Link::Sll => word(data, 0).ok()?,
        Link::Sll2 => u16::from(*data.get(10)?),
        Link::PppDirection => match *data.first()? {
            0 => 0,
            _ => 4,
        },
        _ => return None,
    };
    match kind {
        0..=2 => Some(CapturedDirection::Received),
        3 => Some(CapturedDirection::Others),
        4 => Some(CapturedDirection::Sent),
        _ => None,
    }
}

/// Returns the index of the interface that a link header has.
pub(crate) fn interface(link: Link, data: &[u8]) -> Option<u32> {
    let four = data.get(4..).filter(|_| link == Link::Sll2)?;
    four.first_chunk().map(|four| u32::from_be_bytes(*four))
}

/// Whether it is the address family of IPv4 or IPv6 on Linux, a BSD, Darwin or Windows.
fn is_ip_family(family: u32) -> bool {
    matches!(family, 2 | 10 | 23 | 24 | 28 | 30)
}

/// Removes the address and control bytes of HDLC framing.
fn unframed(data: &[u8]) -> &[u8] {
    data.strip_prefix(&[0xff, 3]).unwrap_or(data)
}

/// Removes the direction, which is before these bytes (204) or in the place of the first (166).
fn unframed_after_direction(data: &[u8]) -> Result<&[u8], Unreadable> {
    let rest = behind(data, 1)?;
    let is_control = rest.first() == Some(&3);
    Ok(if is_control {
        &rest[1..]
    } else {
        unframed(rest)
    })
}

/// Parses PPP from its protocol field, which has one byte if the first one is odd. `tags`: the
/// number of headers before it.
fn ppp(data: &[u8], tags: usize, missing: usize) -> Result<Network<'_>, Unreadable> {
    let first = *data.first().ok_or(Unreadable::CutOff)?;
    let (protocol, data) = match first & 1 {
        1 => (u16::from(first), &data[1..]),
        _ => (word(data, 0)?, behind(data, 2)?),
    };
    let ether_type = match protocol {
        0x0021 => 0x0800,
        0x0057 => 0x86dd,
        0x0281 => 0x8847,
        0x0283 => 0x8848,
        // control of the link and of the network protocols
        0x8000.. => return Err(Unreadable::NotIp),
        // compressed, in fragments or bridged
        _ => return Err(Unreadable::Encapsulated),
    };
    unwrap(ether_type, data, tags + 1, missing)
}

/// Removes tags and labels; `tags`: the number of those before.
fn unwrap(
    mut ether_type: u16,
    mut data: &[u8],
    tags: usize,
    missing: usize,
) -> Result<Network<'_>, Unreadable> {
    let mut vlan = None;
    for tag in tags..MOST_TAGS {
        match ether_type {
            tag if is_tag(tag) => {
                vlan = vlan.or(Some(word(data, 0)? & 0xfff));
                (ether_type, data) = (word(data, 2)?, behind(data, 4)?);
            }
            0x8847 | 0x8848 => {
                let is_last = *data.get(2).ok_or(Unreadable::CutOff)? & 1 == 1;
                data = behind(data, 4)?;
                if is_last {
                    return behind_labels(data, vlan, missing);
                }
            }
            // PPPoE; its header is followed by PPP's protocol field. Code 0 is for packets of a
            // session, others for its discovery.
            0x8864 => {
                if *data.get(1).ok_or(Unreadable::CutOff)? != 0 {
                    return Err(Unreadable::NotIp);
                }
                let mut found = ppp(behind(data, 6)?, tag + 1, missing)?;
                found.vlan = vlan.or(found.vlan);
                return Ok(found);
            }
            // a length, followed by LLC; a SNAP header has a type again, also that of a bridge
            3..=1_500 => match data.get(..6).ok_or(Unreadable::CutOff)? {
                [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8] => {
                    (ether_type, data) = (word(data, 6)?, behind(data, 8)?);
                }
                [6, 6, 3, ..] => return by_version(behind(data, 3)?, vlan),
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

/// Whether a VLAN tag follows.
fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, 0x8100 | 0x88a8 | 0x9100 | 0x9200)
}

/// Returns the outermost VLAN ID of an Ethernet frame, its type or length after all tags, and the
/// bytes after that.
pub(crate) fn untagged(data: &[u8]) -> Option<(Option<u16>, u16, &[u8])> {
    let mut vlan = None;
    let (mut ether_type, mut rest) = (word(data, 12).ok()?, data.get(14..)?);
    for _ in 0..MOST_TAGS {
        if !is_tag(ether_type) {
            return Some((vlan, ether_type, rest));
        }
        vlan = vlan.or(Some(word(rest, 0).ok()? & 0xfff));
        (ether_type, rest) = (word(rest, 2).ok()?, rest.get(4..)?);
    }
    None
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

/// Parses what the last label has in front of it: an IP packet, or anything else, such as an
/// Ethernet frame whose address begins as one.
fn behind_labels(
    data: &[u8],
    vlan: Option<u16>,
    missing: usize,
) -> Result<Network<'_>, Unreadable> {
    let found = by_version(data, vlan)?;
    let is_ip = match found.ether_type {
        0x0800 => data
            .get(..usize::from(data[0] & 0xf) * 4)
            .is_none_or(has_checksum),
        _ => data
            .get(4..6)
            .filter(|_| data.len() >= 40)
            .is_none_or(|length| {
                let stated = usize::from(u16::from_be_bytes([length[0], length[1]]));
                40 + stated <= data.len().saturating_add(missing)
            }),
    };
    is_ip.then_some(found).ok_or(Unreadable::Encapsulated)
}

/// Whether the checksum of an IPv4 header is right.
fn has_checksum(header: &[u8]) -> bool {
    let words = header
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    header.len() >= 20 && (sum & 0xffff) + (sum >> 16) == 0xffff
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
        let network = network(link, &whole, 0)?;
        Ok((network.vlan, network.ether_type, network.data.to_vec()))
    }

    /// An Ethernet frame, with an IP packet in it, behind labels: its address begins as IPv4 or IPv6 does.
    #[test]
    fn a_frame_behind_labels_is_no_ip_packet() {
        for first in [0x4c, 0x45, 0x60, 0x6c] {
            let mut frame = [7; 12].to_vec();
            frame.extend([0x88, 0x47, 0, 1, 1, 64, first, 0x5e, 0xc, 1, 2, 3]);
            frame.extend([0, 1, 2, 3, 4, 5, 8, 0, 0x45, 0, 0, 40]);
            frame.resize(80, 0);
            assert_eq!(
                network(Link::Ethernet, &frame, 0).map(|found| found.ether_type),
                Err(Unreadable::Encapsulated),
                "{first:x}"
            );
        }
    }

    /// 1,000 bytes of IPv6, of which the first 128 were captured.
    #[test]
    fn ipv6_behind_labels_may_be_longer_than_the_captured_part() {
        let mut frame = [7; 12].to_vec();
        frame.extend([0x88, 0x47, 0, 1, 1, 64, 0x60, 0, 0, 0]);
        frame.extend(960_u16.to_be_bytes());
        frame.extend([17, 64]);
        frame.resize(128, 0);
        let kind = |missing| {
            let found = network(Link::Ethernet, &frame, missing);
            found.map(|found| found.ether_type)
        };
        assert_eq!(kind(18 + 1_000 - 128), Ok(0x86dd));
        assert_eq!(kind(18 + 999 - 128), Err(Unreadable::Encapsulated));
        assert_eq!(kind(usize::MAX), Ok(0x86dd));
    }

    #[test]
    fn what_may_have_ip_inside_is_not_said_to_have_none() {
        let bridged = [
            [7; 12].as_slice(),
            &[0, 60, 0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0],
        ]
        .concat();
        let of_llc = [[7; 12].as_slice(), &[0, 60, 6, 6, 3]].concat();
        for header in [bridged, of_llc] {
            let ip = (None, 0x0800, IP.to_vec());
            assert_eq!(found(Link::Ethernet, &header), Ok(ip));
        }
        for protocol in [0x1b, 0xf8, 0xf9] {
            let cooked = [[0; 14].as_slice(), &[0, protocol]].concat();
            assert_eq!(found(Link::Sll, &cooked), Err(Unreadable::Encapsulated));
        }
    }

    #[test]
    fn an_ip_packet_is_found_behind_every_header() {
        let ethernet = |rest: &[u8]| [&[7; 12], rest].concat();
        let cooked = [[0; 14].as_slice(), &[8, 0]].concat();
        let snap = [[0; 14].as_slice(), &[0, 4, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat();
        let cooked_2 = [[8, 0].as_slice(), &[0; 18]].concat();
        for (link, header, vlan) in [
            (Link::Ip, Vec::new(), None),
            (Link::Null, vec![2, 0, 0, 0], None),
            (Link::Null, vec![0, 0, 0, 2], None),
            (Link::Null, vec![23, 0, 0, 0], None),
            (Link::Ppp, vec![0, 0x21], None),
            (Link::Ppp, vec![0xff, 3, 0, 0x21], None),
            (Link::Ppp, vec![0x21], None),
            (Link::Ppp, vec![2, 0x81, 0, 0, 0x11, 64], None),
            (Link::PppHdlc, vec![0xff, 3, 0, 0x21], None),
            (Link::PppHdlc, vec![0x0f, 0, 8, 0], None),
            (Link::PppHdlc, vec![0x8f, 0, 8, 0], None),
            (Link::PppEther, vec![0x11, 0, 0, 7, 0, 5, 0, 0x21], None),
            (Link::PppDirection, vec![1, 3, 0, 0x21], None),
            (Link::PppDirection, vec![1, 0xff, 3, 0, 0x21], None),
            (Link::PppDirection, vec![0, 0, 0x21], None),
            (Link::Sll, snap, None),
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
                ethernet(&[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 5, 0, 0x21]),
                Some(7),
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
        // LCP, compressed TCP, and the discovery of PPPoE
        let ppp = |header: &[u8]| found(Link::Ppp, header);
        assert_eq!(ppp(&[0xc0, 0x21]), Err(Unreadable::NotIp));
        assert_eq!(ppp(&[0, 0x2d]), Err(Unreadable::Encapsulated));
        assert_eq!(
            ethernet(&[0x88, 0x64, 0x11, 9, 0, 0, 0, 0, 0, 0]),
            Err(Unreadable::NotIp)
        );
        // CAN and Netlink, which Linux captures with Ethernet
        for protocol in [0x0c, 0] {
            let header = [&[0; 14], &[0, protocol][..]].concat();
            assert_eq!(found(Link::Sll, &header), Err(Unreadable::NotIp));
        }
        let tags = [0x81, 0, 0, 1].repeat(MOST_TAGS + 1);
        assert_eq!(ethernet(&tags), Err(Unreadable::Encapsulated));
        let cut = network(Link::Sll2, &[8, 0], 0);
        assert_eq!(cut.err(), Some(Unreadable::CutOff));
        for link in [Link::Ppp, Link::PppHdlc, Link::PppDirection, Link::PppEther] {
            for header in [&[][..], &[0], &[0xff, 3]] {
                assert!(network(link, header, 0).is_err(), "{link:?} {header:?}");
            }
        }
        assert_eq!(network(Link::Ip, &[], 0).err(), Some(Unreadable::CutOff));
    }

    #[test]
    fn cooked_headers_have_direction_and_interface() {
        use CapturedDirection::{Others, Received, Sent};
        let cooked = |kind: u8| [[0, kind].as_slice(), &[0; 14]].concat();
        let second = |kind: u8| [&[8, 0, 0, 0, 0, 0, 1, 2, 0, 1, kind][..], &[0; 9]].concat();
        for (kind, expected) in [
            (0, Some(Received)),
            (1, Some(Received)),
            (2, Some(Received)),
            (3, Some(Others)),
            (4, Some(Sent)),
            (5, None),
        ] {
            assert_eq!(direction(Link::Sll, &cooked(kind)), expected);
            assert_eq!(direction(Link::Sll2, &second(kind)), expected);
        }
        assert_eq!(direction(Link::PppDirection, &[0]), Some(Received));
        assert_eq!(direction(Link::PppDirection, &[1]), Some(Sent));
        assert_eq!(direction(Link::Ethernet, &cooked(4)), None);
        assert_eq!(direction(Link::Sll2, &[0; 10]), None);
        assert_eq!(interface(Link::Sll2, &second(4)), Some(0x0102));
        assert_eq!(interface(Link::Sll, &second(4)), None);
        assert_eq!(interface(Link::Sll2, &[0; 7]), None);
    }
}
