//! Packets that a capture has under several VLANs, as a capture of a NIC and its VLAN interface does. Only one of them may be in the
//! other capture.

use super::Side;
use std::collections::{HashMap, VecDeque};

/// The number of packets that are remembered.
const MOST: usize = 65_536;
/// The same until a capture has a second VLAN.
const FEW: usize = 1_024;

/// The latest packets of both captures.
#[derive(Debug, Default)]
pub(super) struct Tags([Latest; 2]);

/// A packet, whatever its VLAN is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tagged {
    /// The same under all VLANs.
    pub(super) bare: u128,
    pub(super) vlan: u16,
    pub(super) key: u128,
    pub(super) line_ns: i64,
}

#[derive(Debug, Default)]
struct Latest {
    first: Option<u16>,
    are_several: bool,
    order: VecDeque<Tagged>,
    /// Empty while there is one VLAN.
    known: HashMap<u128, Tagged>,
}

impl Tags {
    /// A capture has a packet. Returns the key of the same under another VLAN at most `longest` nanoseconds before.
    pub(super) fn note(&mut self, side: Side, packet: Tagged, longest: i64) -> Option<u128> {
        let latest = &mut self.0[side as usize];
        if !latest.are_several && *latest.first.get_or_insert(packet.vlan) != packet.vlan {
            latest.are_several = true;
            let known = latest.order.iter().map(|known| (known.bare, *known));
            latest.known = known.collect();
        }
        let most = if latest.are_several { MOST } else { FEW };
        if latest.order.len() == most {
            latest.drop_oldest();
        }
        latest.order.push_back(packet);
        if !latest.are_several {
            return None;
        }
        let before = latest.known.insert(packet.bare, packet)?;
        let after = packet.line_ns.saturating_sub(before.line_ns);
        (before.vlan != packet.vlan && after <= longest).then_some(before.key)
    }
}

impl Latest {
    fn drop_oldest(&mut self) {
        let Some(oldest) = self.order.pop_front() else {
            return;
        };
        let known = self.known.get(&oldest.bare);
        if known.is_some_and(|known| known.line_ns == oldest.line_ns && known.vlan == oldest.vlan) {
            self.known.remove(&oldest.bare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bare: u128, vlan: u16, line_ns: i64) -> Tagged {
        Tagged {
            bare,
            vlan,
            key: bare << 16 | u128::from(vlan),
            line_ns,
        }
    }

    #[test]
    fn the_same_packet_under_another_vlan_is_found_soon_after() {
        let mut tags = Tags::default();
        for (side, packet, expected) in [
            (Side::A, packet(1, 5, 0), None),
            (Side::B, packet(1, 6, 0), None),
            (Side::A, packet(1, 0, 10), Some(1 << 16 | 5)),
            (Side::A, packet(2, 0, 20), None),
            (Side::A, packet(2, 0, 25), None),
            (Side::A, packet(2, 5, 126), None),
            (Side::A, packet(2, 0, 200), Some(2 << 16 | 5)),
        ] {
            assert_eq!(tags.note(side, packet, 100), expected, "{packet:?}");
        }
    }

    #[test]
    fn no_more_packets_are_remembered_than_there_is_room_for() {
        let mut tags = Tags::default();
        for number in 0..3 * MOST as i64 {
            let vlan = u16::from(number > MOST as i64);
            tags.note(Side::A, packet(number as u128, vlan, number), 100);
            let latest = &tags.0[0];
            assert!(latest.order.len() <= if vlan == 0 { FEW } else { MOST });
            assert!(latest.known.len() <= latest.order.len());
        }
        assert_eq!(tags.0[0].known.len(), MOST);
    }
}
