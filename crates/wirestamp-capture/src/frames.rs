//! Frames without an IP packet, such as PTP over Ethernet, AVTP and EtherCAT, and the bytes by which
//! two captures of them are compared.

use crate::link::{self, Link};
use crate::packet::{ether_type, mac};
use std::fmt;

/// The bytes of a frame that are compared. If a frame of an unknown protocol is shorter, padding or
/// a frame check sequence may be among them, in one capture alone.
pub(crate) const COMPARED: usize = 64;
const ARP: u16 = 0x0806;
const RARP: u16 = 0x8035;
const PTP: u16 = 0x88f7;
const PTP_HEADER: usize = 34;
const ETHERCAT: u16 = 0x88a4;

/// Frames of one protocol from one station to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frames {
    /// The source address.
    pub source: [u8; 6],
    /// The destination address.
    pub destination: [u8; 6],
    /// The EtherType; 0 for frames with a length in its place (LLC).
    pub ether_type: u16,
}

/// A frame without an IP packet, as far as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The stations and the protocol.
    pub frames: Frames,
    /// The outermost VLAN ID; 0 without one.
    pub vlan: u16,
    /// The captured bytes after the header, without padding.
    pub payload: &'a [u8],
    /// The length of the message as its protocol states it, otherwise the number of bytes that are
    /// compared.
    pub length: usize,
}

/// Parses an Ethernet frame without an IP packet; `None` if its link type is another, or if its
/// length without padding is unknown. `length`: the length on the wire.
pub fn read(link: Link, data: &[u8], length: u32) -> Option<Frame<'_>> {
    if link != Link::Ethernet {
        return None;
    }
    let (vlan, kind, behind) = link::untagged(data)?;
    let on_wire = (length as usize).saturating_sub(data.len() - behind.len());
    let stated = stated(kind, behind).filter(|stated| *stated <= on_wire);
    let length = stated.or((on_wire >= COMPARED).then_some(COMPARED))?;
    let (destination, rest) = data.split_first_chunk()?;
    let frames = Frames {
        source: *rest.first_chunk()?,
        destination: *destination,
        ether_type: if kind < 1_536 { 0 } else { kind },
    };
    Some(Frame {
        frames,
        vlan: vlan.unwrap_or(0),
        payload: behind.get(..length).unwrap_or(behind),
        length,
    })
}

/// Returns the length that a message states itself.
fn stated(kind: u16, payload: &[u8]) -> Option<usize> {
    let at = |place: usize| payload.get(place).copied().map(usize::from);
    match kind {
        3..=1_500 => Some(kind.into()),
        // two hardware and two protocol addresses
        ARP | RARP => Some(8 + 2 * (at(4)? + at(5)?)),
        PTP => Some(at(2)? << 8 | at(3)?).filter(|length| *length >= PTP_HEADER),
        ETHERCAT => Some(2 + ((at(1)? << 8 | at(0)?) & 0x7ff)),
        _ => None,
    }
}

impl Frames {
    /// Whether no bridge forwards them: they end at the other end of the cable.
    ///
    /// Source: IEEE 802.1Q, table 8-1.
    pub fn are_link_local(&self) -> bool {
        self.destination[..5] == [0x01, 0x80, 0xc2, 0, 0] && self.destination[5] < 0x10
    }

    /// Whether stations alter them on their way, as those of EtherCAT do.
    pub fn are_altered(&self) -> bool {
        self.ether_type == ETHERCAT
    }

    /// Whether they are PTP messages.
    pub(crate) fn are_ptp(&self) -> bool {
        self.ether_type == PTP
    }
}

/// Returns the first bytes of a PTP message without those that transparent clocks alter: the
/// correction field, the field after it that depends on the message's type, and the flag of
/// two-step messages; and without the bytes after the message, which keep UDP's checksum.
pub(crate) fn unaltered(message: &[u8]) -> [u8; COMPARED] {
    let mut bytes = [0; COMPARED];
    let length = message.len().min(COMPARED);
    bytes[..length].copy_from_slice(&message[..length]);
    if bytes[1] & 0xf == 2 {
        let stated = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        bytes[6] &= !2;
        bytes[8..20].fill(0);
        bytes[stated.clamp(PTP_HEADER, COMPARED)..].fill(0);
    }
    bytes
}

/// Prints `PTP 02:00:00:00:00:01 > 01:1b:19:00:00:00`.
impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.ether_type {
            0 => "LLC".into(),
            kind => ether_type(kind),
        };
        write!(f, "{name} {} > {}", mac(self.source), mac(self.destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_frame(rest: &[u8], more: u32) -> Option<(u16, u16, usize, usize)> {
        let data = [&[1, 0x80, 0xc2, 0, 0, 0xe, 2, 0, 0, 0, 0, 1][..], rest].concat();
        let frame = read(Link::Ethernet, &data, data.len() as u32 + more)?;
        let Frame {
            frames,
            vlan,
            payload,
            length,
        } = frame;
        assert!(frames.are_link_local());
        Some((frames.ether_type, vlan, payload.len(), length))
    }

    #[test]
    fn a_message_ends_where_its_protocol_says_and_padding_is_none_of_it() {
        let padded = |rest: &[u8]| [rest, &[0; 70]].concat();
        let short = |rest: &[u8]| [rest, &[0; 46]].concat();
        for (rest, expected) in [
            (padded(&[0x88, 0xf7, 0, 2, 0, 44]), Some((PTP, 0, 44, 44))),
            (short(&[0x88, 0xf7, 0, 2, 0, 44]), Some((PTP, 0, 44, 44))),
            (
                short(&[0x81, 0, 0, 7, 0x88, 0xf7, 0, 2, 0, 44]),
                Some((PTP, 7, 44, 44)),
            ),
            (short(&[8, 6, 0, 1, 8, 0, 6, 4]), Some((ARP, 0, 28, 28))),
            (short(&[0x88, 0xa4, 20, 0x10]), Some((ETHERCAT, 0, 22, 22))),
            (short(&[0, 38, 0x42, 0x42, 3]), Some((0, 0, 38, 38))),
            (padded(&[0x22, 0xf0]), Some((0x22f0, 0, 64, 64))),
            (short(&[0x22, 0xf0]), None),
            // a length that is longer than the frame
            (short(&[0x88, 0xf7, 0, 2, 0xff, 44]), None),
            // and one that is shorter than any message
            (short(&[0x88, 0xf7, 0, 2, 0, 33]), None),
            (short(&[0, 2, 0x42, 0x42]), None),
            (vec![0x88, 0xf7, 0, 2], None),
            (vec![0x88], None),
        ] {
            assert_eq!(read_frame(&rest, 0), expected, "{rest:x?}");
        }
        // of which not all was captured
        let cut = read_frame(&[0x88, 0xf7, 0, 2, 0, 44, 1], 100);
        assert_eq!(cut, Some((PTP, 0, 5, 44)));
        assert_eq!(read(Link::Sll, &[0; 100], 100), None);
    }

    #[test]
    fn a_transparent_clock_alters_no_byte_that_is_compared() {
        let mut message = [1; 46];
        message[..4].copy_from_slice(&[0, 2, 0, 44]);
        let before = unaltered(&message);
        message[6] |= 2;
        message[8..20].fill(7);
        message[44] = 9;
        assert_eq!(unaltered(&message), before);
        for place in [0, 4, 5, 7, 20, 30, 43] {
            let mut other = message;
            other[place] ^= 4;
            assert_ne!(unaltered(&other), before, "{place}");
        }
    }
}
