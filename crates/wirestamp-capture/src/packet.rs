//! The parts of a captured packet: addresses, ports, payload, and the numbers that distinguish it
//! from others. `etherparse` parses them; of a truncated or malformed packet, the parts before the
//! fault are used.

use crate::link::{self, Link};
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, LinkSlice, TransportSlice};
use std::fmt;
use std::net::IpAddr;
use wirestamp_core::capture::LinkType;

/// A connection in one direction: the 5-tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The IP protocol number: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The source port; 0 in fragments, and if the protocol has none.
    pub source_port: u16,
    /// The destination port; 0 likewise.
    pub destination_port: u16,
}

impl Flow {
    /// Returns the flow in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }

    /// Returns the name of the protocol, or its number.
    pub fn protocol_name(&self) -> String {
        match self.protocol {
            1 => "ICMP".into(),
            6 => "TCP".into(),
            17 => "UDP".into(),
            58 => "ICMPv6".into(),
            other => format!("protocol {other}"),
        }
    }
}

/// Prints `UDP 192.0.2.1:7 > 192.0.2.2:9`.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.protocol_name();
        let [source, destination] = crate::identity::endpoints(self);
        write!(f, "{name} {source} > {destination}")
    }
}

/// The fields of a TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// The sequence number of the first byte.
    pub sequence: u32,
    /// The acknowledgment number: the next expected byte.
    pub acknowledgment: u32,
    /// The SYN flag.
    pub syn: bool,
    /// The ACK flag.
    pub ack: bool,
    /// The FIN flag.
    pub fin: bool,
    /// The RST flag.
    pub rst: bool,
}

/// An IP packet, as far as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip<'a> {
    /// The flow of the packet.
    pub flow: Flow,
    /// The outermost VLAN ID of a packet with the tag in its data; 0 without one.
    pub vlan: u16,
    /// The IPv4 identification.
    pub identification: Option<u16>,
    /// The fragment offset in bytes; 0 in whole packets.
    pub fragment: u16,
    /// Whether it is a fragment.
    pub is_fragment: bool,
    /// The TCP header.
    pub tcp: Option<Tcp>,
    /// The captured payload after the headers.
    pub payload: &'a [u8],
    /// The length of the payload on the wire.
    pub payload_length: u32,
}

/// The reason why a packet's IP header could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// It neither is nor contains an IP packet, such as ARP.
    NotIp,
    /// It may contain an IP packet after unsupported headers.
    Encapsulated,
    /// Too little of it was captured, or its headers contradict each other.
    CutOff,
}

/// Packets and blocks of a file that could not be used, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Unusable {
    /// Packets that are not IP. A comparison counts only those whose bytes it cannot compare: those of
    /// other link types than Ethernet, and short frames of which padding may be a part.
    pub not_ip: u64,
    /// Packets with unsupported headers.
    pub encapsulated: u64,
    /// Packets of which too little was captured.
    pub cut_off: u64,
    /// Packets without a timestamp. They are matched like others, but give no measurements.
    pub without_time: u64,
    /// Blocks of the file with an unknown type.
    pub unknown_blocks: u64,
}

impl Unusable {
    pub(crate) fn count(&mut self, why: Unreadable) {
        match why {
            Unreadable::NotIp => self.not_ip += 1,
            Unreadable::Encapsulated => self.encapsulated += 1,
            Unreadable::CutOff => self.cut_off += 1,
        }
    }
}

/// Parses an IP packet; `None` if it is not one, or too little was captured to determine its flow.
pub fn ip(link_type: LinkType, data: &[u8]) -> Option<Ip<'_>> {
    read(link_type.into(), data, 0).ok()
}

/// Parses an IP packet of a file. `length` is the length on the wire including the link header; 0
/// if unknown.
///
/// # Errors
/// The reason why the packet cannot be identified.
pub fn read(link: Link, data: &[u8], length: u32) -> Result<Ip<'_>, Unreadable> {
    // of a packet of unknown length, any number of bytes may be missing
    let missing = match length {
        0 => usize::MAX,
        _ => (length as usize).saturating_sub(data.len()),
    };
    let network = link::network(link, data, missing)?;
    let sliced = LaxSlicedPacket::from_ether_type(EtherType(network.ether_type), network.data);
    let vlan = network.vlan;
    let Some(net) = sliced.net.as_ref() else {
        return Err(match network.ether_type {
            0x0800 | 0x86dd => Unreadable::CutOff,
            _ => Unreadable::Encapsulated,
        });
    };
    let (source, destination, identification, fragment, wire) = match net {
        LaxNetSlice::Ipv4(found) => {
            let header = found.header();
            let headers = usize::from(header.ihl()) * 4
                + found
                    .extensions()
                    .auth
                    .map_or(0, |header| header.slice().len());
            let total = usize::from(header.total_len());
            let length = (total > 0).then(|| total.saturating_sub(headers));
            let offset = header.fragments_offset().byte_offset();
            let ends = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (
                ends.0,
                ends.1,
                Some(header.identification()),
                offset,
                length,
            )
        }
        LaxNetSlice::Ipv6(found) => {
            let header = found.header();
            let extensions = found.extensions().slice().len();
            let total = usize::from(header.payload_length());
            let length = (total > 0).then(|| total.saturating_sub(extensions));
            let ends: (IpAddr, IpAddr) = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (ends.0, ends.1, None, 0, length)
        }
        LaxNetSlice::Arp(_) => return Err(Unreadable::NotIp),
    };
    let whole = net.ip_payload_ref().ok_or(Unreadable::CutOff)?;
    let (protocol, is_fragment) = (whole.ip_number.0, whole.fragmented);
    if !is_fragment && is_extension(network.ether_type, protocol) {
        return Err(Unreadable::CutOff);
    }
    // a length of 0: more than the field can hold, by segmentation offload
    let wire = wire.unwrap_or_else(|| {
        let not_captured = (length as usize).saturating_sub(data.len());
        whole.payload.len().saturating_add(not_captured)
    });
    let flow = |source_port, destination_port| Flow {
        source,
        destination,
        protocol,
        source_port,
        destination_port,
    };
    let mut found = Ip {
        flow: flow(0, 0),
        vlan: vlan.unwrap_or(0),
        identification,
        fragment,
        is_fragment,
        tcp: None,
        payload: whole.payload,
        payload_length: u32::try_from(wire).map_err(|_| Unreadable::CutOff)?,
    };
    let behind = |header: usize| found.payload_length.saturating_sub(header as u32);
    match &sliced.transport {
        Some(TransportSlice::Udp(udp)) => {
            found.payload_length = behind(8);
            found.flow = flow(udp.source_port(), udp.destination_port());
            found.payload = whole.payload.get(8..).unwrap_or_default();
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let header = tcp.header_slice().len();
            found.payload_length = behind(header);
            found.flow = flow(tcp.source_port(), tcp.destination_port());
            found.payload = whole.payload.get(header..).unwrap_or_default();
            found.tcp = Some(Tcp {
                sequence: tcp.sequence_number(),
                acknowledgment: tcp.acknowledgment_number(),
                syn: tcp.syn(),
                ack: tcp.ack(),
                fin: tcp.fin(),
                rst: tcp.rst(),
            });
        }
        // without its ports the flow is unknown
        None if !is_fragment && matches!(protocol, 6 | 17) => {
            return Err(Unreadable::CutOff);
        }
        _ => {}
    }
    Ok(found)
}

/// Whether the protocol behind this header is known: it is an extension header of IPv6, or AH of
/// either version. (Mobility, HIP and Shim6 headers are packets of their own.)
const fn is_extension(ether_type: u16, protocol: u8) -> bool {
    match protocol {
        0 | 43 | 44 | 60 => ether_type == 0x86dd,
        _ => protocol == 51,
    }
}

/// Describes a packet in one line, for live output.
pub fn describe(link_type: LinkType, data: &[u8]) -> String {
    if let Some(found) = ip(link_type, data) {
        return format!("{} {} bytes", found.flow, found.payload_length);
    }
    let LinkType::Ethernet = link_type else {
        return "not IP".into();
    };
    match LaxSlicedPacket::from_ethernet(data).map(|sliced| sliced.link) {
        Ok(Some(LinkSlice::Ethernet2(ethernet))) => {
            let (from, to) = (ethernet.source(), ethernet.destination());
            format!(
                "{} {} > {}",
                ether_type(ethernet.ether_type().0),
                mac(from),
                mac(to)
            )
        }
        _ => "cut off".into(),
    }
}

pub(crate) fn ether_type(number: u16) -> String {
    match number {
        0x0806 => "ARP".into(),
        0x88f7 => "PTP".into(),
        0x88cc => "LLDP".into(),
        0x22f0 => "AVTP".into(),
        0x88a4 => "EtherCAT".into(),
        0x0800 => "IPv4".into(),
        0x86dd => "IPv6".into(),
        other => format!("{other:#06x}"),
    }
}

pub(crate) fn mac(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment routing header of 24 bytes is cut, then whole.
    #[test]
    fn a_packet_that_is_cut_in_an_extension_header_is_of_no_known_flow() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 40, 43, 64];
        packet.extend([7; 32]);
        packet.extend([17, 2, 4, 0]);
        packet.extend([0; 20]);
        packet.extend([0, 5, 0, 6, 0, 16, 0, 0]);
        packet.extend([9; 8]);
        let length = packet.len() as u32;
        let cut = read(Link::Ip, &packet[..56], length);
        assert_eq!(cut.err(), Some(Unreadable::CutOff));
        let whole = read(Link::Ip, &packet, length).expect("is UDP");
        assert_eq!((whole.flow.protocol, whole.flow.destination_port), (17, 6));
    }

    /// A binding update of Mobile IPv6, HIP over IPv4, and IPv4 protocols with the numbers of
    /// extension headers.
    #[test]
    fn a_protocol_that_is_no_extension_header_is_a_whole_packet() {
        let mut mobility = vec![0x60, 0, 0, 0, 0, 16, 135, 64];
        mobility.extend([7; 32]);
        mobility.extend([59, 1, 5, 0]);
        mobility.extend([0; 12]);
        let found = read(Link::Ip, &mobility, 56).expect("is whole");
        assert_eq!((found.flow.protocol, found.payload_length), (135, 16));
        for protocol in [139, 60, 0] {
            let mut packet = vec![0x45, 0, 0, 60, 0, 1, 0, 0, 64, protocol, 0, 0];
            packet.resize(60, 7);
            let found = read(Link::Ip, &packet, 60).expect("is whole");
            assert_eq!((found.flow.protocol, found.payload_length), (protocol, 40));
        }
    }
}
