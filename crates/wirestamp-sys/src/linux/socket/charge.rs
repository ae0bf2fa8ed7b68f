//! How much of a socket's receive buffer a transmit timestamp takes that comes with its packet.
//!
//! The kernel charges the memory that the packet takes: its description, and a buffer for its bytes with room for headers.
//! Such a buffer has the size of a power of two. Longer ones than 16 KiB can be in pieces, which take less; whether they are
//! depends on the device and on the kernel.
//!
//! A datagram that is longer than the MTU of the way that it takes is sent in fragments, and the timestamp comes with one of
//! them. One to an address of this host takes loopback, in one packet, whatever the socket is bound to. So the length of the
//! datagrams that were sent counts, and no MTU.

/// A packet's description (256), with a margin.
const DESCRIPTION: u32 = 512;
/// In its buffer: room for headers of layers below, and the list of its pieces (320). A packet of 1,500 bytes has a buffer
/// of 2,048.
const AROUND: u32 = 540;
/// A packet with a larger buffer can be in pieces.
const MOST_IN_ONE: u32 = 16 << 10;
/// Beside the pieces: a packet's description, and a buffer of up to 1,024 bytes for headers and the list of pieces. Linux
/// 5.10 charges 33,332 bytes for 32,200, more than for a buffer of 32 KiB.
const AROUND_PIECES: u32 = 1_536;
/// Of IPv4 and UDP. The other 20 bytes of an IPv6 header fit into the room for headers.
const HEADERS: u32 = 28;
/// The payload of a packet of 1,500 bytes. Room for such a one is there for shorter ones too.
pub(super) const USUAL: u32 = 1_472;
/// No UDP datagram is longer.
pub(super) const LONGEST: u32 = 65_527;

/// What a transmit timestamp with the packet of a datagram of up to so many bytes is charged at most.
pub(super) fn with_packet(payload: u32) -> u32 {
    let bytes = payload.clamp(USUAL, LONGEST) + HEADERS;
    let in_one_buffer = (bytes + AROUND).next_power_of_two();
    let in_pieces = match in_one_buffer > MOST_IN_ONE {
        true => bytes + AROUND_PIECES,
        false => 0,
    };
    in_pieces.max(DESCRIPTION + in_one_buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_with_its_packet_is_charged_by_the_length() {
        let of = [0, 1_472, 3_000, 8_972, 20_000, 32_200, 60_000, u32::MAX].map(with_packet);
        let expected = [2_560, 2_560, 4_608, 16_896, 33_280, 33_764, 66_048, 131_584];
        assert_eq!(of, expected);
    }
}
