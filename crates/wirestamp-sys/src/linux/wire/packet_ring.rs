//! The ring that a packet socket shares with the kernel (`TPACKET_V3`): what its blocks and the packets in them say,
//! and the requests that make it. Pure: blocks come in as bytes, and nothing in them is trusted.
//!
//! Source: packet(7), `linux/if_packet.h`, the kernel's `Documentation/networking/packet_mmap.rst`.

use wirestamp_core::capture::{CaptureStatistics, CapturedDirection, Fanout, LinkType};
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::UtcTime;

/// Where in a block (`tpacket_block_desc`) its status stands.
pub const STATUS: usize = 8;
/// `TP_STATUS_USER`: the block is the program's until it gives it back.
pub const OURS: u32 = 1;
/// Where in a block the number of packets stands, and where the first of them begins.
const COUNT: usize = 12;
const FIRST: usize = 16;
/// Bytes of `tpacket3_hdr`; the packet's `sockaddr_ll` follows.
const HEADER: usize = 48;
/// Bytes of both.
const HEAD: usize = HEADER + super::link::ADDRESS;
/// `TP_STATUS_VLAN_VALID`, `TP_STATUS_VLAN_TPID_VALID`, `TP_STATUS_TS_RAW_HARDWARE`.
const VLAN: u32 = 1 << 4;
const VLAN_TYPE: u32 = 1 << 6;
const HARDWARE: u32 = 1 << 31;
/// Bytes of `tpacket_req3`.
const REQUEST: usize = 28;
/// `tp_frame_size`: has no meaning in this version, but must be plausible.
const FRAME: u32 = 2_048;
const _: () = assert!(FRAME % 16 == 0);

/// Asks for a ring of `blocks` blocks of `block` bytes, each of which the kernel holds back for `hold` milliseconds at
/// most: `tpacket_req3`.
pub fn request(block: u32, blocks: u32, hold: u32) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    let frames = (block / FRAME).saturating_mul(blocks);
    let words = [block, blocks, FRAME, frames, hold, 0, 0];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Reads what a packet begins with from the `sockaddr_ll` that the socket is bound to.
///
/// # Errors
/// The kind of interface (`ARPHRD_*`), if it is not known.
pub fn link_type(bound: &[u8; super::link::ADDRESS]) -> Result<LinkType, u16> {
    match u16::from_ne_bytes([bound[8], bound[9]]) {
        1 | 772 => Ok(LinkType::Ethernet), // ARPHRD_ETHER, ARPHRD_LOOPBACK
        0xfffe | 768 | 769 | 776 => Ok(LinkType::Ip), // ARPHRD_NONE, _TUNNEL, _TUNNEL6, _SIT
        other => Err(other),
    }
}

/// Asks for what is sent to others, too: `packet_mreq` of type `PACKET_MR_PROMISC`.
pub fn promiscuous(interface: InterfaceIndex) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&interface.get().to_ne_bytes());
    bytes[4..6].copy_from_slice(&1u16.to_ne_bytes());
    bytes
}

/// A group of captures that the kernel has yet to number (`PACKET_FANOUT_FLAG_UNIQUEID`).
pub const NEW_GROUP: u32 = 0x2000 << 16;

/// Asks for a place in a group.
pub fn fanout(group: u32, mode: Fanout) -> i32 {
    let mode: u32 = match mode {
        Fanout::Turn => 1,      // PACKET_FANOUT_LB
        Fanout::Processor => 2, // PACKET_FANOUT_CPU
        _ => 0,                 // PACKET_FANOUT_HASH
    };
    (group | mode << 16) as i32
}

/// The group, from what the kernel says of a member.
pub fn group(told: i32) -> u32 {
    told as u32 & 0xffff
}

/// Reads `tpacket_stats_v3`.
pub fn statistics(bytes: &[u8; 12]) -> CaptureStatistics {
    let count = |at| word(bytes, at).map_or(0, u64::from);
    CaptureStatistics::new(count(0), count(4), count(8))
}

/// The timestamp of the last packet of a block, whichever clock made it.
pub fn last(block: &[u8]) -> Option<UtcTime> {
    let (seconds, nanoseconds) = (word(block, 40)?, word(block, 44)?);
    let time = UtcTime::from_seconds_and_nanoseconds(i64::from(seconds), nanoseconds).ok()?;
    (time.nanoseconds() != 0).then_some(time)
}

/// The packets of a block, in order. Ends early where the block contradicts itself.
#[derive(Debug, Clone)]
pub struct Packets<'a> {
    block: &'a [u8],
    at: usize,
    left: u32,
}

/// A packet in a block.
#[derive(Debug, Clone, Copy)]
pub struct RingPacket<'a> {
    head: &'a [u8; HEAD],
    data: &'a [u8],
}

impl<'a> Packets<'a> {
    /// Of a whole block. A block that is shorter than its header has none.
    #[inline]
    pub fn of(block: &'a [u8]) -> Self {
        Self {
            block,
            at: word(block, FIRST).unwrap_or(0) as usize,
            left: word(block, COUNT).unwrap_or(0),
        }
    }

    /// How many packets the block still has, by its own account.
    #[inline]
    pub fn left(&self) -> u32 {
        self.left
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = RingPacket<'a>;

    #[inline]
    fn next(&mut self) -> Option<RingPacket<'a>> {
        if self.left == 0 {
            return None;
        }
        let packet = self.block.get(self.at..)?;
        let head: &[u8; HEAD] = packet.first_chunk()?;
        let (next, captured) = (field(head, 0) as usize, field(head, 12) as usize);
        let start = usize::from(short(head, 24));
        let data = packet.get(start..)?.get(..captured)?;
        self.left -= 1;
        if next < HEAD {
            self.left = 0; // the last of its block, or nonsense: never the same one again
        }
        self.at += next;
        Some(RingPacket { head, data })
    }
}

impl<'a> RingPacket<'a> {
    /// Returns the captured bytes, without the VLAN tag that the kernel has removed.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// How long it was on the wire, without that tag.
    #[inline]
    pub fn length(&self) -> u32 {
        field(self.head, 16)
    }

    /// Its timestamp: nanoseconds since 1970 on the clock that [`is_hardware`](Self::is_hardware) names. `None`: none, or no time.
    #[inline]
    pub fn timestamp(&self) -> Option<UtcTime> {
        let (seconds, nanoseconds) = (field(self.head, 4), field(self.head, 8));
        let time = UtcTime::from_seconds_and_nanoseconds(i64::from(seconds), nanoseconds).ok()?;
        (time.nanoseconds() != 0).then_some(time)
    }

    /// Whether the NIC made the timestamp.
    #[inline]
    pub fn is_hardware(&self) -> bool {
        self.status() & HARDWARE != 0
    }

    /// The VLAN tag that the kernel has removed, behind its type: 0x8100 or 0x88a8.
    #[inline]
    pub fn vlan(&self) -> Option<(u16, VlanTag)> {
        if self.status() & VLAN == 0 {
            return None;
        }
        let kind = if self.status() & VLAN_TYPE == 0 {
            0x8100
        } else {
            short(self.head, 36)
        };
        Some((kind, VlanTag::from_bits(short(self.head, 32))))
    }

    /// Which way it went.
    #[inline]
    pub fn direction(&self) -> CapturedDirection {
        match self.head[HEADER + 10] {
            4 => CapturedDirection::Sent,   // PACKET_OUTGOING
            3 => CapturedDirection::Others, // PACKET_OTHERHOST
            _ => CapturedDirection::Received,
        }
    }

    #[inline]
    fn status(&self) -> u32 {
        field(self.head, 20)
    }
}

#[inline]
fn field(head: &[u8; HEAD], at: usize) -> u32 {
    u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

#[inline]
fn short(head: &[u8; HEAD], at: usize) -> u16 {
    u16::from_ne_bytes([head[at], head[at + 1]])
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block with packets as the kernel lays them out.
    fn block(packets: &[(&[u8], u32, u8)]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[COUNT..COUNT + 4].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
        block[FIRST..FIRST + 4].copy_from_slice(&48u32.to_ne_bytes());
        for (place, (data, status, kind)) in packets.iter().enumerate() {
            let mut head = [0u8; HEAD];
            let length = (HEAD + 2 + data.len()).next_multiple_of(16);
            let next = if place + 1 < packets.len() { length } else { 0 };
            let captured = data.len() as u32;
            for (at, value) in [
                (0, next as u32),
                (4, 7),
                (8, 9),
                (12, captured),
                (16, captured + 100),
                (20, *status),
            ] {
                head[at..at + 4].copy_from_slice(&u32::to_ne_bytes(value));
            }
            head[24..26].copy_from_slice(&(HEAD as u16 + 2).to_ne_bytes());
            head[32..34].copy_from_slice(&0x2005u16.to_ne_bytes());
            head[36..38].copy_from_slice(&0x88a8u16.to_ne_bytes());
            head[HEADER + 10] = *kind;
            let start = block.len();
            block.extend(head);
            block.extend([0, 0]);
            block.extend(*data);
            block.resize(start + length, 0);
        }
        block
    }

    #[test]
    fn packets_come_in_order_with_what_their_headers_say() {
        let bytes = block(&[
            (b"one", 0, 0),
            (b"second", HARDWARE | VLAN, 4),
            (b"", VLAN | VLAN_TYPE, 3),
        ]);
        let packets: Vec<_> = Packets::of(&bytes).collect();
        let [one, second, third] = packets[..] else {
            panic!("three packets: {packets:?}");
        };
        assert_eq!(
            (one.data(), one.length(), one.vlan()),
            (&b"one"[..], 103, None)
        );
        assert_eq!(
            one.timestamp(),
            Some(UtcTime::from_nanoseconds(7_000_000_009))
        );
        assert_eq!(
            (one.is_hardware(), one.direction()),
            (false, CapturedDirection::Received)
        );
        assert_eq!(second.data(), b"second");
        assert_eq!(
            (second.is_hardware(), second.direction()),
            (true, CapturedDirection::Sent)
        );
        let tag = |packet: RingPacket<'_>| packet.vlan().map(|(kind, tag)| (kind, tag.bits()));
        assert_eq!(tag(second), Some((0x8100, 0x2005)));
        assert_eq!(tag(third), Some((0x88a8, 0x2005)));
        assert_eq!(third.direction(), CapturedDirection::Others);
    }

    #[test]
    fn a_block_that_contradicts_itself_ends_early() {
        let whole = block(&[(b"one", 0, 0), (b"second", 0, 0)]);
        assert_eq!(Packets::of(&whole[..whole.len() - 16]).count(), 1);
        assert_eq!(Packets::of(&[]).count(), 0);
        let mut again = whole.clone();
        again[48..52].copy_from_slice(&16u32.to_ne_bytes()); // the next one would begin within this one
        assert_eq!(Packets::of(&again).count(), 1);
        let mut long = whole.clone();
        long[48 + 12..48 + 16].copy_from_slice(&u32::MAX.to_ne_bytes());
        let mut packets = Packets::of(&long);
        assert!(packets.next().is_none() && packets.left() == 2);
    }

    #[test]
    fn a_time_that_is_none_is_no_timestamp() {
        let mut bytes = block(&[(b"one", 0, 0)]);
        bytes[48 + 8..48 + 12].copy_from_slice(&1_000_000_000u32.to_ne_bytes());
        assert_eq!(
            Packets::of(&bytes)
                .next()
                .and_then(|packet| packet.timestamp()),
            None
        );
        bytes[48 + 4..48 + 12].fill(0);
        assert_eq!(
            Packets::of(&bytes)
                .next()
                .and_then(|packet| packet.timestamp()),
            None
        );
    }

    #[test]
    fn the_request_has_the_kernels_layout() {
        let request = request(1 << 20, 32, 20);
        let words: Vec<_> = request.chunks_exact(4).map(|word| word[0]).collect();
        assert_eq!(request[..4], (1u32 << 20).to_ne_bytes());
        assert_eq!((words[1], words[4], words[5], words[6]), (32, 20, 0, 0));
        assert_eq!(request[12..16], (512u32 * 32).to_ne_bytes());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_read_beyond_the_block_or_never_end(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let most = bytes.len() / HEAD + 1;
            let seen: usize = Packets::of(&bytes).map(|packet| { let _ = (packet.timestamp(), packet.vlan(), packet.direction()); 1 }).sum();
            prop_assert!(seen <= most);
        }
    }
}
