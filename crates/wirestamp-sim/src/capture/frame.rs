//! A packet as it stands on the wire: its headers are written only when somebody captures.
//!
//! A datagram is one packet however long it is, as captures show those that a NIC divides. A VLAN's tag is not in it: Linux
//! takes it out.

use crate::truth::Ends;
use etherparse::{IpHeaders, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder};
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::ethernet::MacAddress;

const UDP: etherparse::IpNumber = etherparse::IpNumber::UDP;
/// As Linux has them.
const HOP_LIMIT: u8 = 64;
const MULTICAST_HOP_LIMIT: u8 = 1;
const UDP_HEADER: usize = 8;

/// Writes it into `to`. `stations`: the MAC address of the NIC that sends it, and of the one that it is for. `number` distinguishes
/// IPv4 datagrams. `false`: it has no form on the wire.
pub(crate) fn write(
    to: &mut Vec<u8>,
    ends: &Ends,
    stations: [MacAddress; 2],
    number: u64,
    payload: &[u8],
) -> bool {
    to.clear();
    match *ends {
        Ends::Ethernet {
            source,
            destination,
            ethertype,
        } => {
            to.extend(destination.octets());
            to.extend(source.octets());
            to.extend(ethertype.get().to_be_bytes());
            to.extend(payload);
            true
        }
        Ends::Internet {
            source,
            destination,
        } => {
            let station = group(destination.ip()).unwrap_or(stations[1]);
            let ethernet = PacketBuilder::ethernet2(stations[0].octets(), station.octets());
            let Some(header) = internet(source, destination, number, payload.len()) else {
                return false;
            };
            let datagram = ethernet.ip(header).udp(source.port(), destination.port());
            datagram.write_to_vec(to, payload).is_ok()
        }
    }
}

fn internet(
    source: SocketAddr,
    destination: SocketAddr,
    number: u64,
    length: usize,
) -> Option<IpHeaders> {
    let hops = if destination.ip().is_multicast() {
        MULTICAST_HOP_LIMIT
    } else {
        HOP_LIMIT
    };
    let length = u16::try_from(UDP_HEADER + length).ok()?;
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = Ipv4Header::new(length, hops, UDP, source.octets(), destination.octets());
            let mut header = header.ok()?;
            header.identification = number as u16;
            header.dont_fragment = false;
            Some(IpHeaders::Ipv4(header, Default::default()))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = Ipv6Header {
                traffic_class: 0,
                flow_label: Ipv6FlowLabel::ZERO,
                payload_length: length,
                next_header: UDP,
                hop_limit: hops,
                source: source.octets(),
                destination: destination.octets(),
            };
            Some(IpHeaders::Ipv6(header, Default::default()))
        }
        _ => None,
    }
}

/// The MAC address of a multicast group (RFC 1112, 6.4; RFC 2464, 7).
fn group(address: IpAddr) -> Option<MacAddress> {
    if !address.is_multicast() {
        return None;
    }
    Some(MacAddress::new(match address {
        IpAddr::V4(address) => {
            let [_, second, third, last] = address.octets();
            [0x01, 0x00, 0x5e, second & 0x7f, third, last]
        }
        IpAddr::V6(address) => {
            let [.., first, second, third, last] = address.octets();
            [0x33, 0x33, first, second, third, last]
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use wirestamp_core::ethernet::Ethertype;

    const STATIONS: [MacAddress; 2] = [
        MacAddress::new([2, 0, 0, 0, 0, 1]),
        MacAddress::new([2, 0, 0, 0, 0, 2]),
    ];

    fn written(source: &str, destination: &str, payload: &[u8]) -> Vec<u8> {
        let ends = Ends::Internet {
            source: source.parse().expect("an address"),
            destination: destination.parse().expect("an address"),
        };
        let mut bytes = vec![0xff; 3];
        assert!(write(&mut bytes, &ends, STATIONS, 0x1_2345, payload));
        bytes
    }

    #[test]
    fn a_datagram_has_valid_headers_and_checksums() {
        for (source, destination, payload) in [
            ("192.0.2.1:7", "192.0.2.2:9", &b"payload"[..]),
            ("192.0.2.1:7", "192.0.2.2:9", &[1; 65_507]),
            ("[2001:db8::1]:7", "[2001:db8::2]:9", b"payload"),
            ("[2001:db8::1]:7", "[2001:db8::2]:9", &[1; 65_527]),
        ] {
            let bytes = written(source, destination, payload);
            let packet = SlicedPacket::from_ethernet(&bytes).expect("complete");
            let Some(TransportSlice::Udp(udp)) = packet.transport else {
                panic!("{packet:?}");
            };
            assert_eq!((udp.source_port(), udp.destination_port()), (7, 9));
            assert_eq!(udp.payload(), payload);
            let header = udp.to_header();
            let checksum = match packet.net {
                Some(NetSlice::Ipv4(ip)) => {
                    let ip = ip.header().to_header();
                    assert_eq!((ip.time_to_live, ip.identification), (64, 0x2345));
                    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
                    header.calc_checksum_ipv4(&ip, payload)
                }
                Some(NetSlice::Ipv6(ip)) => {
                    header.calc_checksum_ipv6(&ip.header().to_header(), payload)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(Ok(header.checksum), checksum);
            assert_eq!(
                bytes[..12],
                [STATIONS[1].octets(), STATIONS[0].octets()].concat()
            );
        }
    }

    #[test]
    fn a_group_has_its_own_station_and_one_hop() {
        let bytes = written("192.0.2.1:319", "224.0.1.129:319", b"");
        assert_eq!(bytes[..6], [0x01, 0x00, 0x5e, 0x00, 0x01, 0x81]);
        assert_eq!(bytes[14 + 8], 1);
        let bytes = written("[2001:db8::1]:319", "[ff0e::181]:319", b"");
        assert_eq!(bytes[..6], [0x33, 0x33, 0, 0, 0x01, 0x81]);
    }

    #[test]
    fn a_frame_is_its_addresses_its_type_and_its_payload() {
        let ends = Ends::Ethernet {
            source: STATIONS[0],
            destination: MacAddress::PTP_PRIMARY,
            ethertype: Ethertype::PTP,
        };
        let mut bytes = Vec::new();
        assert!(write(&mut bytes, &ends, STATIONS, 0, b"sync"));
        let expected = b"\x01\x1b\x19\0\0\0\x02\0\0\0\0\x01\x88\xf7sync";
        assert_eq!(bytes, expected);
    }
}
