//! How much of a socket's receive buffer a transmit timestamp takes that comes with its packet.
//!
//! The kernel charges what the packet takes in memory: its description, and a buffer for an MTU with room for headers.
//! Such a buffer has the size of a power of two up to 16 KiB, and above it where the device can't gather pieces.

use crate::native::links::Longest;
use crate::native::wire::constants::TIMESTAMP_CHARGE;

/// A packet's description (256), with a margin.
const DESCRIPTION: u32 = 512;
/// In its buffer: room for headers of layers below, and the list of its pieces (320). A packet of 1,500 bytes has a buffer
/// of 2,048.
const AROUND: u32 = 540;
/// The loopback interface takes pieces, which have the size of what is in them.
const OF_PIECES: u32 = 2_048;
/// No UDP packet is longer, with an IPv6 header.
const LONGEST: u32 = 65_575;

/// What a transmit timestamp with a packet of up to so many bytes is charged at most.
pub(super) fn with_packet(longest: Longest) -> u32 {
    let bytes = longest.bytes.min(LONGEST);
    let buffer = if longest.is_loopback {
        bytes + OF_PIECES
    } else {
        (bytes + AROUND).next_power_of_two()
    };
    (DESCRIPTION + buffer).max(TIMESTAMP_CHARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_with_its_packet_is_charged_by_the_mtu() {
        let of = |bytes, is_loopback| with_packet(Longest { bytes, is_loopback });
        assert_eq!(of(68, false), 1_536);
        assert_eq!(of(1_500, false), 2_560);
        assert_eq!(of(9_000, false), 16_896);
        assert_eq!(of(u32::MAX, false), 131_584);
        assert_eq!(of(65_536, true), 68_096);
    }
}
