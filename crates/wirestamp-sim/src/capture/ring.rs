//! The buffer of a simulated capture, as Linux' `TPACKET_V3` has it: blocks that the kernel fills and the program gives back.
//! Knows no clock: its owner says when a block has been held back long enough.
//!
//! Source: packet(7), the kernel's `Documentation/networking/packet_mmap.rst`; the sizes of headers are those of
//! `linux/if_packet.h`.

use std::collections::VecDeque;
use wirestamp_core::capture::{Blocks, CaptureStatistics, CapturedDirection, CapturedTime};
use wirestamp_core::ethernet::VlanTag;

/// Bytes of a block's own header (`tpacket_block_desc`).
const BLOCK_HEADER: usize = 48;
/// Bytes before a packet with an Ethernet header: `tpacket3_hdr` and `sockaddr_ll`, aligned.
const PACKET_HEADER: usize = 82;
/// Packets begin at multiples of this.
const ALIGNMENT: usize = 8;
/// Buffers of blocks that are kept for the next ones.
const SPARE: usize = 4;

/// A packet on its way into the captures of an interface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) vlan: Option<VlanTag>,
    pub(crate) direction: CapturedDirection,
    pub(crate) time: CapturedTime,
}

/// A packet in a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    start: usize,
    captured: usize,
    pub(crate) length: u32,
    pub(crate) vlan: Option<VlanTag>,
    pub(crate) direction: CapturedDirection,
    pub(crate) time: CapturedTime,
}

/// A block with its packets.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    /// Of its memory.
    taken: usize,
}

/// All blocks of one capture.
#[derive(Debug)]
pub(crate) struct Ring {
    blocks: Blocks,
    snap_length: usize,
    /// The block that is being filled, and its number.
    open: Option<(u64, Held)>,
    /// Blocks that were opened.
    opened: u64,
    ready: VecDeque<Held>,
    lent: u32,
    /// Since they were asked for.
    counted: CaptureStatistics,
    spare: Vec<Held>,
}

impl Held {
    pub(crate) fn data(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + entry.captured]
    }
}

impl Ring {
    pub(crate) fn new(blocks: Blocks, snap_length: u32) -> Self {
        Self {
            blocks,
            snap_length: snap_length as usize,
            open: None,
            opened: 0,
            ready: VecDeque::new(),
            lent: 0,
            counted: CaptureStatistics::default(),
            spare: Vec::new(),
        }
    }

    /// Takes a packet in, or counts it as dropped; returns the number of the block that it begins, for which a timer is to run.
    pub(crate) fn put(&mut self, passing: &Passing<'_>) -> Option<u64> {
        let room = self.blocks.size as usize - BLOCK_HEADER;
        let captured = passing.bytes.len().min(self.snap_length);
        let captured = captured.min(room - PACKET_HEADER); // a packet that does not fit into a block is cut
        let takes = (PACKET_HEADER + captured).next_multiple_of(ALIGNMENT);
        self.counted.received += 1;
        // Linux leaves at least one byte of a block that has packets
        if (self.open.as_ref()).is_some_and(|(_, open)| open.taken + takes >= room) {
            self.retire();
        }
        let begins = self.open.is_none();
        if begins && !self.begin() {
            self.counted.dropped += 1;
            return None;
        }
        let (number, open) = self.open.as_mut()?;
        let start = open.bytes.len();
        open.bytes.extend_from_slice(&passing.bytes[..captured]);
        open.taken += takes;
        open.entries.push(Entry {
            start,
            captured,
            length: u32::try_from(passing.bytes.len()).unwrap_or(u32::MAX),
            vlan: passing.vlan,
            direction: passing.direction,
            time: passing.time,
        });
        begins.then_some(*number)
    }

    /// Opens the next block; `false` if it is still the program's.
    fn begin(&mut self) -> bool {
        if self.is_full() {
            return false;
        }
        self.opened += 1;
        self.open = Some((self.opened, self.spare.pop().unwrap_or_default()));
        true
    }

    /// Hands over the block that is being filled.
    fn retire(&mut self) {
        let Some((_, open)) = self.open.take() else {
            return;
        };
        self.ready.push_back(open);
        if self.is_full() {
            self.counted.freezes += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.ready.len() + self.lent as usize >= self.blocks.count as usize
    }

    /// The block of this number has been held back long enough.
    pub(crate) fn expire(&mut self, number: u64) {
        if self.open.as_ref().is_some_and(|(open, _)| *open == number) {
            self.retire();
        }
    }

    /// Lends the next block.
    pub(crate) fn lend(&mut self) -> Option<Held> {
        let held = self.ready.pop_front()?;
        self.lent += 1;
        Some(held)
    }

    pub(crate) fn give_back(&mut self, mut held: Held) {
        self.lent -= 1;
        held.bytes.clear();
        held.entries.clear();
        held.taken = 0;
        if self.spare.len() < SPARE {
            self.spare.push(held);
        }
    }

    /// Returns the counts since the last call.
    pub(crate) fn count(&mut self) -> CaptureStatistics {
        std::mem::take(&mut self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wirestamp_core::time::UtcTime;

    fn ring(size: u32, count: u32, snap_length: u32) -> Ring {
        Ring::new(Blocks { size, count }, snap_length)
    }

    fn passing(bytes: &[u8]) -> Passing<'_> {
        Passing {
            bytes,
            vlan: None,
            direction: CapturedDirection::Sent,
            time: CapturedTime {
                at: Some(UtcTime::from_nanoseconds(7)),
                is_hardware: false,
                is_sent: true,
            },
        }
    }

    #[test]
    fn a_block_is_handed_over_when_it_is_full_or_its_time_is_over() {
        let mut ring = ring(4_096, 2, 65_536);
        // 82 + 918 bytes each: four in a block
        let begun: Vec<_> = (0..5).map(|_| ring.put(&passing(&[1; 918]))).collect();
        assert_eq!(begun, [Some(1), None, None, None, Some(2)]);
        let first = ring.lend().expect("full");
        assert_eq!(first.entries.len(), 4);
        assert!(ring.lend().is_none(), "the second is being filled");
        ring.expire(1);
        assert!(ring.lend().is_none(), "that was the timer of the first");
        ring.expire(2);
        assert_eq!(ring.lend().map(|held| held.entries.len()), Some(1));
    }

    #[test]
    fn packets_begin_at_multiples_of_8_bytes() {
        let mut ring = ring(4_096, 2, 65_536);
        // 82 + 50 bytes are 136: one less in a block than there were of 132
        let begun = (0..40).map(|_| ring.put(&passing(&[1; 50])));
        let second = begun.skip(1).position(|begins| begins.is_some());
        assert_eq!(second, Some(28));
    }

    #[test]
    fn a_packet_that_would_fill_its_block_exactly_begins_the_next_one() {
        let half = (4_096 - 48) / 2 - 82;
        for (length, second) in [(half, Some(2)), (half - ALIGNMENT, None)] {
            let mut ring = ring(4_096, 2, 65_536);
            ring.put(&passing(&vec![1; length]));
            assert_eq!(ring.put(&passing(&vec![1; length])), second, "{length}");
        }
    }

    #[test]
    fn what_comes_while_all_blocks_are_the_programs_is_dropped_and_counted() {
        let mut ring = ring(4_096, 2, 65_536);
        for _ in 0..11 {
            ring.put(&passing(&[1; 918]));
        }
        assert_eq!(ring.count(), CaptureStatistics::new(11, 3, 1));
        assert_eq!(ring.count(), CaptureStatistics::default(), "since then");
        let first = ring.lend().expect("full");
        ring.put(&passing(&[2; 918]));
        assert_eq!(ring.count().dropped, 1, "a block that is lent is no room");
        ring.give_back(first);
        assert_eq!(ring.put(&passing(&[3; 918])), Some(3));
        let second = ring.lend().expect("full");
        assert_eq!(second.entries.len(), 4);
        assert_eq!(ring.count(), CaptureStatistics::new(1, 0, 0));
        // the memory of the first is used again, and all of it is free
        for _ in 0..3 {
            assert_eq!(ring.put(&passing(&[3; 918])), None);
        }
        ring.expire(3);
        let third = ring.lend().expect("full");
        assert_eq!(third.entries.len(), 4);
    }

    #[test]
    fn a_snap_length_cuts_the_bytes_and_keeps_the_length() {
        for (size, snap, captured) in [(4_096, 50, 50), (4_096, 65_536, 4_096 - 48 - 82)] {
            let mut ring = ring(size, 2, snap);
            ring.put(&passing(&[9; 9_000]));
            ring.expire(1);
            let held = ring.lend().expect("one");
            let entry = held.entries[0];
            assert_eq!((held.data(&entry).len(), entry.length), (captured, 9_000));
        }
    }

    proptest! {
        /// Whatever is done, each packet is handed over once and in order, or counted as dropped.
        #[test]
        fn no_packet_is_lost_uncounted(steps in proptest::collection::vec((0u8..4, 1usize..3_000), 1..400)) {
            let mut ring = ring(4_096, 3, 1_000);
            let (mut sent, mut seen, mut lent) = (0u32, Vec::new(), Vec::new());
            let mut counted = CaptureStatistics::default();
            let read = |held: &Held| -> Vec<u32> {
                let number = |entry| u32::from_le_bytes(held.data(entry)[..4].try_into().expect("four"));
                held.entries.iter().map(number).collect()
            };
            for (what, length) in steps {
                match what {
                    0 | 1 => {
                        let mut bytes = sent.to_le_bytes().to_vec();
                        bytes.resize(4 + length, 0);
                        ring.put(&passing(&bytes));
                        sent += 1;
                    }
                    2 => lent.extend(ring.lend().inspect(|held| seen.extend(read(held)))),
                    _ => lent.pop().into_iter().for_each(|held| ring.give_back(held)),
                }
                counted = counted.plus(ring.count());
            }
            ring.expire(ring.opened);
            while let Some(held) = ring.lend() {
                seen.extend(read(&held));
            }
            prop_assert_eq!(counted.received, u64::from(sent));
            prop_assert_eq!(seen.len() as u64 + counted.dropped, u64::from(sent));
            prop_assert!(seen.is_sorted_by(|one, next| one < next), "{:?}", seen);
        }
    }
}
