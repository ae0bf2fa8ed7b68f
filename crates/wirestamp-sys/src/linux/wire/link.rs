//! Link-layer addresses and headers as bytes: `sockaddr_ll`, `packet_mreq`, Ethernet's header. Pure.
//!
//! Source: packet(7), `linux/if_packet.h`; IEEE 802.3-2022, 3.2.

use wirestamp_core::ethernet::{Ethertype, MacAddress};
use wirestamp_core::interface::InterfaceIndex;

/// Bytes of `sockaddr_ll`.
pub const ADDRESS: usize = 20;
const _: () = assert!(size_of::<libc::sockaddr_ll>() == ADDRESS);
/// Bytes of Ethernet's header: destination, source, ethertype.
pub const HEADER: usize = 14;
/// Bytes of `packet_mreq`.
const MEMBERSHIP: usize = 16;
const _: () = assert!(size_of::<libc::packet_mreq>() == MEMBERSHIP);
/// `ARPHRD_ETHER`, `ARPHRD_LOOPBACK` (`linux/if_arp.h`).
const WITH_ETHERNET_FRAMES: [u16; 2] = [1, 772];

/// Where a packet socket is bound to: `sockaddr_ll`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(4))]
pub struct LinkAddress([u8; ADDRESS]);

impl LinkAddress {
    /// Every ethertype on `interface`.
    pub fn of_all_ethertypes(interface: InterfaceIndex) -> Self {
        let mut place = Self::of_no_ethertype(interface);
        place.0[2..4].copy_from_slice(&(libc::ETH_P_ALL as u16).to_be_bytes());
        place
    }

    /// No packet at all, on `interface`.
    pub fn of_no_ethertype(interface: InterfaceIndex) -> Self {
        let mut bytes = [0; ADDRESS];
        bytes[..2].copy_from_slice(&(libc::AF_PACKET as u16).to_ne_bytes());
        bytes[4..8].copy_from_slice(&interface.get().to_ne_bytes());
        Self(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads the own address of the interface that a packet socket is bound to; `None` if its frames are not
/// Ethernet's.
pub fn own_address(bound: &[u8; ADDRESS]) -> Option<MacAddress> {
    let kind = u16::from_ne_bytes([bound[8], bound[9]]);
    let is_ethernet = WITH_ETHERNET_FRAMES.contains(&kind) && bound[11] == 6;
    let octets: [u8; 6] = *bound[12..].first_chunk()?;
    is_ethernet.then_some(MacAddress::new(octets))
}

/// Reads the index of the interface that a packet socket is bound to; `None` after the interface went, when
/// the kernel writes -1.
pub fn index(bound: &[u8; ADDRESS]) -> Option<InterfaceIndex> {
    let index = i32::from_ne_bytes(*bound[4..].first_chunk()?);
    u32::try_from(index).ok().and_then(InterfaceIndex::new)
}

/// Asks for the frames of `group` on `interface`: `packet_mreq` of type `PACKET_MR_MULTICAST`.
pub fn membership(interface: InterfaceIndex, group: MacAddress) -> [u8; MEMBERSHIP] {
    let mut bytes = [0; MEMBERSHIP];
    bytes[..4].copy_from_slice(&interface.get().to_ne_bytes());
    bytes[4..6].copy_from_slice(&(libc::PACKET_MR_MULTICAST as u16).to_ne_bytes());
    bytes[6..8].copy_from_slice(&6u16.to_ne_bytes());
    bytes[8..14].copy_from_slice(&group.octets());
    bytes
}

/// What stands before a frame's payload.
pub fn header(to: MacAddress, from: MacAddress, ethertype: Ethertype) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..6].copy_from_slice(&to.octets());
    bytes[6..12].copy_from_slice(&from.octets());
    bytes[12..].copy_from_slice(&ethertype.get().to_be_bytes());
    bytes
}

/// Reads to whom a frame is and from whom, by its header; `None` if there are fewer bytes.
pub fn ends(header: &[u8]) -> Option<(MacAddress, MacAddress)> {
    let whole: &[u8; HEADER] = header.first_chunk()?;
    let address = |at: usize| whole[at..].first_chunk().copied().map(MacAddress::new);
    address(0).zip(address(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MacAddress = MacAddress::new([2, 0, 0, 0, 0, 1]);

    fn interface() -> InterfaceIndex {
        InterfaceIndex::new(7).expect("not zero")
    }

    #[test]
    fn a_header_is_destination_source_and_ethertype() {
        let header = header(MacAddress::PTP_PRIMARY, OWN, Ethertype::PTP);
        assert_eq!(
            header,
            [1, 0x1b, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x88, 0xf7]
        );
        assert_eq!(ends(&header), Some((MacAddress::PTP_PRIMARY, OWN)));
        assert_eq!(ends(&header[..13]), None);
    }

    #[test]
    fn an_interface_without_ethernet_frames_has_no_own_address() {
        let mut bound = [0; ADDRESS];
        bound[12..18].copy_from_slice(&OWN.octets());
        for (kind, length, expected) in [
            (1, 6, Some(OWN)),
            (772, 6, Some(OWN)),
            (65_534, 0, None),
            (1, 8, None),
        ] {
            bound[8..10].copy_from_slice(&u16::to_ne_bytes(kind));
            bound[11] = length;
            assert_eq!(own_address(&bound), expected, "{kind}");
        }
    }

    #[test]
    fn requests_have_the_kernels_layout() {
        let place = LinkAddress::of_all_ethertypes(interface());
        let [family, protocol] = [place.bytes()[..2].to_vec(), place.bytes()[2..4].to_vec()];
        assert_eq!(
            (family, protocol),
            (17u16.to_ne_bytes().to_vec(), vec![0, 3])
        );
        assert_eq!(place.bytes()[4..8], 7u32.to_ne_bytes());
        let request = membership(interface(), MacAddress::PTP_PEER_DELAY);
        assert_eq!(request[..4], 7u32.to_ne_bytes());
        assert_eq!(request[4..6], [0, 0]);
        assert_eq!(request[6..8], 6u16.to_ne_bytes());
        assert_eq!(request[8..], [1, 0x80, 0xc2, 0, 0, 0x0e, 0, 0]);
    }
}
