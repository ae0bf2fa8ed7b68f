//! How much of a socket's receive buffer transmit timestamps take that come with their packets.
//!
//! The kernel charges the memory that the packet takes: its description, and a buffer for its bytes with room for headers.
//! Such a buffer has the size of a power of two. Longer ones than 16 KiB can be in pieces, which take less; whether they are
//! depends on the device and on the kernel.
//!
//! A datagram that is longer than the MTU of the way that it takes is sent in fragments, and the timestamp comes with one of
//! them. One to an address of this host takes loopback, in one packet, whatever the socket is bound to. So the length of the
//! datagrams that were sent counts, and no MTU.

use crate::native::wire::constants::TIMESTAMP_CHARGE;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A packet's description (256), with a margin.
const DESCRIPTION: u32 = 512;
/// In its buffer: room for headers of layers below, and the list of its pieces (320). A packet of 1,500 bytes has a buffer
/// of 2,048.
const AROUND: u32 = 540;
/// Of IPv4 and UDP. The other 20 bytes of an IPv6 header fit into the room for headers.
const HEADERS: u32 = 28;
/// The payload of a packet of 1,500 bytes. Room for such a one is there for shorter ones too.
const USUAL: u32 = 1_472;
/// No UDP datagram is longer.
const LONGEST: u32 = 65_527;

/// The room for a socket's transmit timestamps. All zero before it is configured.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Bytes that one timestamp takes at most; 0: without its packet.
    with_packet: AtomicU32,
    /// Entries that were asked for.
    wanted: AtomicU32,
    /// Bytes of the receive buffer.
    buffer: AtomicU32,
    /// Whether any datagram can be long: the caller sends by itself, and says no length.
    assumes_long: AtomicBool,
}

impl Room {
    /// Any datagram can be long from the next configuration on.
    pub(super) fn assume_long_datagrams(&self) {
        self.assumes_long.store(true, Ordering::Relaxed);
    }

    /// Starts anew: no datagram has been sent.
    pub(super) fn restart(&self, with_packets: bool) {
        let assumes_long = self.assumes_long.load(Ordering::Relaxed);
        let longest = if assumes_long { LONGEST } else { USUAL };
        let charge = if with_packets {
            with_packet(longest)
        } else {
            0
        };
        self.with_packet.store(charge, Ordering::Relaxed);
    }

    /// Takes over how many entries were asked for, and the size of the receive buffer.
    pub(super) fn is_made(&self, wanted: u32, buffer: u32) {
        self.wanted.store(wanted, Ordering::Relaxed);
        self.buffer.store(buffer, Ordering::Relaxed);
    }

    /// The receive buffer is larger now.
    pub(super) fn is_enlarged(&self, buffer: u32) {
        self.buffer.store(buffer, Ordering::Relaxed);
    }

    /// Takes a datagram into account that is sent with an id. If a timestamp takes more than before, returns how many bytes
    /// the receive buffer needs for all that were asked for.
    pub(super) fn sends(&self, payload: usize) -> Option<u64> {
        let charge = with_packet(u32::try_from(payload).unwrap_or(LONGEST));
        let is_less = self.with_packet.load(Ordering::Relaxed) < charge;
        let grows = is_less && self.with_packet.fetch_max(charge, Ordering::Relaxed) < charge;
        grows.then(|| u64::from(self.wanted.load(Ordering::Relaxed)) * u64::from(charge))
    }

    /// Bytes that one timestamp takes at most.
    pub(super) fn charge(&self) -> u32 {
        self.with_packet
            .load(Ordering::Relaxed)
            .max(TIMESTAMP_CHARGE)
    }

    /// How many timestamps fit.
    pub(super) fn entries(&self) -> u32 {
        self.buffer.load(Ordering::Relaxed) / self.charge()
    }
}

/// What a transmit timestamp with the packet of a datagram of up to so many bytes is charged at most.
fn with_packet(payload: u32) -> u32 {
    let bytes = payload.clamp(USUAL, LONGEST) + HEADERS;
    DESCRIPTION + (bytes + AROUND).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_with_its_packet_is_charged_by_the_length() {
        let of = [0, 1_472, 3_000, 8_972, 20_000, 60_000, u32::MAX].map(with_packet);
        assert_eq!(of, [2_560, 2_560, 4_608, 16_896, 33_280, 66_048, 131_584]);
    }

    #[test]
    fn the_longest_datagram_since_the_configuration_counts() {
        let room = Room::default();
        assert_eq!(room.charge(), TIMESTAMP_CHARGE);
        room.restart(true);
        room.is_made(64, 256_000);
        assert_eq!((room.charge(), room.entries()), (2_560, 100));
        assert_eq!(room.sends(1_000), None);
        assert_eq!(room.sends(8_972), Some(64 * 16_896));
        assert_eq!(room.sends(8_972), None);
        assert_eq!(room.sends(1), None);
        assert_eq!((room.charge(), room.entries()), (16_896, 15));
        room.restart(true);
        assert_eq!(room.charge(), 2_560);
        room.assume_long_datagrams();
        room.restart(true);
        assert_eq!(room.charge(), 131_584);
        room.restart(false);
        assert_eq!(room.charge(), TIMESTAMP_CHARGE);
    }
}
