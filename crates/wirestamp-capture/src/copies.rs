//! Copies of a packet in one file. A capture of all interfaces (`tcpdump -i any`), of several
//! interfaces or of loopback has a packet each time that it passes one: when it arrives, in a
//! bridge, and when it leaves.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU64;
use wirestamp_core::capture::CapturedDirection;

/// The longest time from a packet to its copy, in nanoseconds, if other packets may look the same.
const USUAL: i64 = 10_000_000;
/// The same for a packet with an IPv4 identification, which few others have that look the same.
pub(crate) const IDENTIFIED: i64 = 1_000_000_000;
/// The number of packets that are remembered in a capture of answers.
const MOST: usize = 65_536;

/// Where a file says that a packet was seen: section, interface and direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vantage(NonZeroU64);

impl Vantage {
    /// `interface` is the number in the file, `index` the one in the packet's header.
    pub(crate) fn new(
        section: u32,
        interface: u32,
        index: Option<u32>,
        direction: Option<CapturedDirection>,
    ) -> Self {
        let direction = match direction {
            None => 0,
            Some(CapturedDirection::Sent) => 2,
            Some(_) => 1,
        };
        let section = u64::from(section & 0x1fff);
        let file = section << 50 | u64::from(interface & 0xffff) << 34;
        let header = u64::from(index.unwrap_or(0)) << 2 | direction;
        Self(NonZeroU64::MIN | (file | header) << 1)
    }

    /// A short form; those of two places differ, but for one in 2³².
    pub(crate) fn short(self) -> u32 {
        (self.0.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }
}

/// The longest time from a packet to its copy in nanoseconds.
pub(crate) fn longest(identification: Option<u16>) -> i64 {
    match identification {
        Some(1..) => IDENTIFIED,
        _ => USUAL,
    }
}

/// Whether a packet with the same content, again at the same place `after` nanoseconds, is the same packet: no other one has its IPv4
/// identification so soon. A mirror port that copies a packet when it arrives and when it leaves sends it twice.
pub(crate) fn is_mirrored(identification: Option<u16>, after: i64) -> bool {
    identification.is_some_and(|number| number != 0) && (0..=USUAL).contains(&after)
}

/// The latest packets of a capture.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Whether those of a mirror port count once.
    mirrored_once: bool,
    mirrored: u64,
    latest: HashMap<i64, (Vantage, i64)>,
    order: VecDeque<i64>,
    count: u64,
}

impl Copies {
    pub(crate) fn new(mirrored_once: bool) -> Self {
        Self {
            mirrored_once,
            ..Self::default()
        }
    }

    /// Returns the number of packets that a mirror port seems to have sent again.
    pub(crate) fn mirrored(&self) -> u64 {
        self.mirrored
    }

    /// Whether the packet with this number was just seen elsewhere; packets come in order of time.
    /// `line_ns`: its time; `None`: it has none, so that nothing is known of it.
    pub(crate) fn is_copy(
        &mut self,
        number: i64,
        at: Vantage,
        line_ns: Option<i64>,
        identification: Option<u16>,
    ) -> bool {
        let Some(line_ns) = line_ns else {
            return false;
        };
        if let Some((known, since)) = self.latest.get_mut(&number) {
            let after = line_ns.saturating_sub(*since);
            let is_elsewhere = *known != at && after <= longest(identification);
            let is_mirrored = *known == at && is_mirrored(identification, after);
            self.mirrored += u64::from(is_mirrored);
            self.count += u64::from(is_elsewhere);
            if is_elsewhere || is_mirrored && self.mirrored_once {
                return true;
            }
            (*known, *since) = (at, line_ns);
            return false;
        }
        if self.order.len() == MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.latest.remove(&oldest);
            }
        }
        self.order.push_back(number);
        self.latest.insert(number, (at, line_ns));
        false
    }

    /// Returns the number of copies.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(interface: u32) -> Vantage {
        Vantage::new(1, interface, None, None)
    }

    #[test]
    fn a_copy_is_the_same_packet_elsewhere_soon_after() {
        let mut copies = Copies::default();
        for (number, interface, line_ns, identification, expected) in [
            (1, 0, 0, None, false),
            (1, 1, USUAL, None, true),
            (1, 0, USUAL + 1, None, false), // at the same place: another one that looks the same
            (1, 1, 2 * USUAL + 2, None, false),
            (2, 0, 3 * USUAL, Some(7), false),
            (2, 1, 3 * USUAL + IDENTIFIED, Some(7), true),
            (3, 1, 5 * USUAL, Some(0), false),
            (3, 0, 6 * USUAL + 1, Some(0), false),
        ] {
            let found = copies.is_copy(number, at(interface), Some(line_ns), identification);
            assert_eq!(found, expected, "{number} {interface} {line_ns}");
        }
        assert_eq!(copies.count(), 2);
    }

    #[test]
    fn a_mirror_port_sends_a_packet_again_with_its_identification() {
        for (once, expected) in [(false, [false, false]), (true, [true, true])] {
            let mut copies = Copies::new(once);
            let mut is_copy =
                |line_ns, identification| copies.is_copy(1, at(0), Some(line_ns), identification);
            assert!(!is_copy(0, Some(7)));
            assert_eq!([is_copy(1, Some(7)), is_copy(2, Some(7))], expected);
            // without an identification, and later, it may be another one
            assert!(!is_copy(3, Some(0)));
            assert!(!is_copy(4, None));
            assert!(!is_copy(5 + USUAL, Some(7)));
            assert_eq!((copies.mirrored(), copies.count()), (2, 0));
        }
    }

    #[test]
    fn a_packet_without_a_time_is_no_copy() {
        let mut copies = Copies::new(true);
        for place in [0, 0, 1] {
            assert!(!copies.is_copy(1, at(place), None, Some(7)));
        }
        assert_eq!((copies.mirrored(), copies.count()), (0, 0));
    }

    #[test]
    fn no_more_packets_are_remembered_than_there_is_room_for() {
        let mut copies = Copies::default();
        for number in 0..3 * MOST as i64 {
            assert!(!copies.is_copy(number, at(0), Some(number), None));
        }
        assert_eq!((copies.latest.len(), copies.order.len()), (MOST, MOST));
    }

    #[test]
    fn places_differ_by_section_interface_index_and_direction() {
        let sent = Some(CapturedDirection::Sent);
        let all = [
            Vantage::new(0, 0, None, None),
            Vantage::new(1, 0, None, None),
            Vantage::new(0, 1, None, None),
            Vantage::new(0, 0, Some(1), None),
            Vantage::new(0, 0, Some(u32::MAX), None),
            Vantage::new(0, 0, None, sent),
            Vantage::new(0, 65_535, None, sent),
            Vantage::new(8_191, 65_535, Some(u32::MAX), sent),
        ];
        for (place, one) in all.iter().enumerate() {
            for other in &all[place + 1..] {
                assert_ne!(one, other);
                assert_ne!(one.short(), other.short());
            }
        }
    }
}
