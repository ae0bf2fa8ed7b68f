//! The meaning of the control messages of a received datagram. Does not know which clock
//! a timestamp is of: nothing in the message says.
//!
//! Source: `ws2def.h`, `mstcpip.h`, `ws2ipdef.h`.

use crate::abi::numbers::{
    IP_PKTINFO, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, SO_TIMESTAMP, SOL_SOCKET,
};
use crate::cmsg::messages;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU64;
use wirestamp_core::interface::InterfaceIndex;

/// What the control messages of a received datagram say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceivedControl {
    /// Its timestamp: the raw value of whichever clock the adapter is set to. Zero is "no timestamp".
    pub timestamp: Option<NonZeroU64>,
    /// The interface that delivered it.
    pub interface: Option<InterfaceIndex>,
    /// To which address it came.
    pub destination: Option<IpAddr>,
}

/// Reads the control messages of a received datagram.
pub fn received(control: &[u8]) -> ReceivedControl {
    let mut found = ReceivedControl::default();
    for message in messages(control) {
        match (message.level, message.kind) {
            (SOL_SOCKET, SO_TIMESTAMP) => {
                found.timestamp = message.data.first_chunk().and_then(timestamp);
            }
            (IPPROTO_IP, IP_PKTINFO) => ipv4_packet_information(message.data, &mut found),
            (IPPROTO_IPV6, IPV6_PKTINFO) => ipv6_packet_information(message.data, &mut found),
            _ => {}
        }
    }
    found
}

fn timestamp(bytes: &[u8; 8]) -> Option<NonZeroU64> {
    NonZeroU64::new(u64::from_ne_bytes(*bytes))
}

/// `IN_PKTINFO`: destination address, index. (Linux has the index first.)
fn ipv4_packet_information(data: &[u8], found: &mut ReceivedControl) {
    let Some([a, b, c, d, index @ ..]) = data.first_chunk::<8>() else {
        return;
    };
    found.interface = InterfaceIndex::new(u32::from_ne_bytes(*index));
    found.destination = Some(IpAddr::V4(Ipv4Addr::new(*a, *b, *c, *d)));
}

/// `IN6_PKTINFO`: destination address, index. A dual-stack socket gives IPv4 addresses as
/// mapped ones.
fn ipv6_packet_information(data: &[u8], found: &mut ReceivedControl) {
    let Some((octets, index)) = data.split_first_chunk::<16>() else {
        return;
    };
    let Some(index) = index.first_chunk() else {
        return;
    };
    found.interface = InterfaceIndex::new(u32::from_ne_bytes(*index));
    found.destination = Some(Ipv6Addr::from(*octets).to_canonical());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmsg::ControlBuffer;
    use proptest::prelude::*;

    #[test]
    fn timestamp_and_packet_information_are_read_in_any_order() {
        let value = 0x1234_5678_9abc_def0u64;
        let information = [192, 0, 2, 1]
            .into_iter()
            .chain(7u32.to_ne_bytes())
            .collect::<Vec<_>>();
        for timestamp_first in [true, false] {
            let mut buffer = ControlBuffer::<128>::new();
            let mut parts = vec![
                (SOL_SOCKET, SO_TIMESTAMP, value.to_ne_bytes().to_vec()),
                (IPPROTO_IP, 50, vec![2, 0, 0, 0]), // ECN, which is no business of ours
                (IPPROTO_IP, IP_PKTINFO, information.clone()),
            ];
            if !timestamp_first {
                parts.reverse();
            }
            for (level, kind, data) in parts {
                assert!(buffer.push(level, kind, &data));
            }
            let found = received(buffer.written());
            assert_eq!(found.timestamp, NonZeroU64::new(value));
            assert_eq!(found.interface, InterfaceIndex::new(7));
            assert_eq!(found.destination, Some([192, 0, 2, 1].into()));
        }
    }

    #[test]
    fn zero_short_and_absent_are_no_timestamp() {
        for data in [&[0u8; 8][..], &[1; 4], &[]] {
            let mut buffer = ControlBuffer::<64>::new();
            assert!(buffer.push(SOL_SOCKET, SO_TIMESTAMP, data));
            assert_eq!(received(buffer.written()).timestamp, None, "{data:?}");
        }
        assert_eq!(received(&[]), ReceivedControl::default());
    }

    #[test]
    fn a_mapped_destination_is_ipv4() {
        let mut data = Ipv4Addr::new(127, 0, 0, 1)
            .to_ipv6_mapped()
            .octets()
            .to_vec();
        data.extend(1u32.to_ne_bytes());
        let mut buffer = ControlBuffer::<64>::new();
        assert!(buffer.push(IPPROTO_IPV6, IPV6_PKTINFO, &data));
        let found = received(buffer.written());
        assert_eq!(
            (found.destination, found.interface),
            (Some([127, 0, 0, 1].into()), InterfaceIndex::new(1))
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = received(&bytes);
        }
    }
}
