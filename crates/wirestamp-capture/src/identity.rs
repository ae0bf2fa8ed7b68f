//! A number that identifies a packet, the same on every host that captures it.

use crate::packet::{Flow, Ip};
use std::net::IpAddr;

/// The number of payload bytes that are hashed.
const DIGESTED: usize = 64;
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns the number of a packet in its flow: FNV-1a (64 bits) over source and destination with
/// their ports, protocol, IPv4 identification, fragment offset, payload length, TCP sequence
/// numbers and flags, and the first 64 bytes of the payload. `None` if too little of it was
/// captured.
///
/// Identical packets have the same number, and an attacker can create different packets with the
/// same number.
pub fn number(packet: &Ip<'_>) -> Option<i64> {
    let needed = DIGESTED.min(packet.payload_length as usize);
    let payload = packet.payload.get(..needed)?;
    Some(numbered(packet, payload))
}

/// Returns a number that the copies of a packet in the same file have, too. TCP's numbers are
/// enough without the payload, and so is an IPv4 identification if too little of it was captured.
/// `None` if there is nothing else that distinguishes the packet.
pub(crate) fn copied(packet: &Ip<'_>) -> Option<i64> {
    let is_identified = packet.identification.is_some_and(|number| number != 0);
    let without = || numbered(packet, &[]);
    match packet.tcp {
        Some(_) => Some(without()),
        None => number(packet).or_else(|| is_identified.then(without)),
    }
}

fn numbered(packet: &Ip<'_>, payload: &[u8]) -> i64 {
    let mut hash = OFFSET;
    let mut add = |bytes: &[u8]| {
        hash = bytes.iter().fold(hash, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(PRIME)
        });
    };
    let flow = &packet.flow;
    for (address, port) in [
        (flow.source, flow.source_port),
        (flow.destination, flow.destination_port),
    ] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
        add(&port.to_be_bytes());
    }
    add(&[flow.protocol]);
    add(&packet.identification.unwrap_or(0).to_be_bytes());
    add(&packet.fragment.to_be_bytes());
    add(&packet.payload_length.to_be_bytes());
    if let Some(tcp) = packet.tcp {
        add(&tcp.sequence.to_be_bytes());
        add(&tcp.acknowledgment.to_be_bytes());
        add(&[tcp.syn, tcp.ack, tcp.fin, tcp.rst].map(u8::from));
    }
    add(payload);
    hash as i64
}

/// Returns the addresses and ports of both ends of a flow: `192.0.2.1:319`, `[2001:db8::1]:319`;
/// only the address if the protocol has no ports.
pub fn endpoints(flow: &Flow) -> [String; 2] {
    let name = |address: IpAddr, port: u16| match (flow.protocol, address) {
        (6 | 17, IpAddr::V6(address)) => format!("[{address}]:{port}"),
        (6 | 17, IpAddr::V4(address)) => format!("{address}:{port}"),
        _ => address.to_string(),
    };
    [
        name(flow.source, flow.source_port),
        name(flow.destination, flow.destination_port),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::ip;
    use wirestamp_core::capture::LinkType;

    fn datagram(identification: u16, payload: &[u8]) -> Vec<u8> {
        let total = 28 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend(identification.to_be_bytes());
        packet.extend([0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0, 5, 0, 6]);
        packet.extend((total - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        packet
    }

    fn number_of(data: &[u8]) -> Option<i64> {
        number(&ip(LinkType::Ip, data)?)
    }

    #[test]
    fn a_packet_has_its_number_wherever_it_is_seen() {
        let packet = datagram(7, b"payload");
        let mut later = packet.clone();
        later[8] = 63; // a router has counted a hop
        assert_eq!(number_of(&packet), number_of(&later));
        assert_eq!(number_of(&packet), Some(KNOWN));
        for other in [
            datagram(8, b"payload"),
            datagram(7, b"pazload"),
            datagram(7, b"payload."),
        ] {
            assert_ne!(number_of(&packet), number_of(&other));
        }
        let long = datagram(7, &[1; 200]);
        let mut beyond = long.clone();
        beyond[28 + 64] = 2;
        assert_eq!(number_of(&long), number_of(&beyond));
        assert!(number_of(&long[..28 + 64]).is_some());
        assert_eq!(number_of(&long[..28 + 63]), None);
    }

    /// Files of other versions contain it.
    const KNOWN: i64 = 4_833_645_929_072_049_210;

    #[test]
    fn endpoints_are_written_as_people_write_them() {
        let packet = datagram(7, b"");
        let flow = ip(LinkType::Ip, &packet).expect("is IP").flow;
        assert_eq!(endpoints(&flow), ["10.0.0.1:5", "10.0.0.2:6"]);
    }
}
