//! An encoder of pcapng: times in UTC with nanoseconds, and a [`Note`] for each. It encodes into
//! memory; the caller writes the file.
//!
//! It is our own because it encodes packets into the buffer that is written, without an allocation
//! or a copy in between, which no existing crate does.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 4.1 to 4.6.

use crate::note::Note;
use wirestamp_core::capture::{CaptureStatistics, CapturedDirection, LinkType};
use wirestamp_core::ethernet::VlanTag;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The position of the VLAN tag of an Ethernet frame, after both addresses.
const TAG: usize = 12;

/// The properties of a capture for the head of a file.
#[derive(Debug, Clone)]
pub struct Head<'a> {
    /// The program that writes the file.
    pub program: &'a str,
    /// The interface's name.
    pub interface: &'a str,
    /// The filter expression.
    pub filter: Option<&'a str>,
    /// The header that packets begin with (the link type).
    pub link_type: LinkType,
    /// The largest number of bytes captured of each packet.
    pub snap_length: u32,
    /// The number of captures that share the packets: each is an interface of the file with its own
    /// statistics. 1 if they are not shared.
    pub queues: u32,
}

/// A packet to write.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The capture that it comes from, below [`Head::queues`].
    pub queue: u32,
    /// The time in nanoseconds since 1970; `None` if unknown, as the note explains.
    pub utc: Option<u64>,
    /// The captured bytes, without the VLAN tag.
    pub data: &'a [u8],
    /// The length on the wire without the VLAN tag.
    pub length: u32,
    /// The type of the VLAN tag, and the tag.
    pub vlan: Option<(u16, VlanTag)>,
    /// The direction.
    pub direction: CapturedDirection,
    /// The note about the timestamp.
    pub note: Note,
}

/// The counts of a queue for one file.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    /// The capture, below [`Head::queues`].
    pub queue: u32,
    /// The numbers of packets received and dropped.
    pub counted: CaptureStatistics,
    /// The number of its packets in the file.
    pub packets: u64,
    /// The begin of the file, in nanoseconds since 1970.
    pub begun: u64,
    /// The end of the file, in nanoseconds since 1970.
    pub ended: u64,
}

/// An encoder of pcapng files, one after another, into [`bytes`](Self::bytes).
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    /// The end of a packet's block: the options for the last packet's note and direction.
    tail: Vec<u8>,
    tail_of: Option<(Note, CapturedDirection)>,
}

impl Encoder {
    /// Creates an encoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the bytes encoded since the last [`clear`](Self::clear).
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Discards the encoded bytes after they are written.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Takes the encoded bytes.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Encodes the head of a file.
    pub fn head(&mut self, head: &Head<'_>) {
        let start = self.begin(SECTION);
        self.word(BYTE_ORDER);
        self.word(1); // version 1.0
        self.bytes.extend([0xff; 8]); // a section of any length
        self.option(4, head.program.as_bytes());
        self.end(start);
        for queue in 0..head.queues.max(1) {
            self.interface(head, queue);
        }
    }

    fn interface(&mut self, head: &Head<'_>, queue: u32) {
        let start = self.begin(INTERFACE);
        let link_type: u32 = match head.link_type {
            LinkType::Ip => 101, // LINKTYPE_RAW
            _ => 1,              // LINKTYPE_ETHERNET
        };
        self.word(link_type);
        self.word(head.snap_length);
        self.option(2, head.interface.as_bytes());
        if head.queues > 1 {
            self.option(3, format!("queue {queue} of {}", head.queues).as_bytes());
        }
        self.option(9, &[9]); // times are in nanoseconds
        if let Some(filter) = head.filter {
            self.option(11, &[&[0], filter.as_bytes()].concat());
        }
        self.end(start);
    }

    /// Encodes a packet.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) {
        if self.tail_of != Some((packet.note, packet.direction)) {
            self.make_tail(packet.note, packet.direction);
        }
        let tag = packet.vlan.filter(|_| packet.data.len() >= TAG);
        let added = if tag.is_some() { 4 } else { 0 };
        let captured = packet.data.len() + added;
        let padding = captured.next_multiple_of(4) - captured;
        let total = 28 + captured + padding + self.tail.len() + 4;
        let utc = packet.utc.unwrap_or(0);
        let mut head = [0; 28];
        let words = [
            PACKET,
            total as u32,
            packet.queue,
            (utc >> 32) as u32,
            utc as u32,
            captured as u32,
            packet.length.saturating_add(added as u32),
        ];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.bytes.reserve(total);
        self.bytes.extend_from_slice(&head);
        match tag {
            None => self.bytes.extend_from_slice(packet.data),
            Some((kind, tag)) => {
                let (addresses, rest) = packet.data.split_at(TAG);
                self.bytes.extend_from_slice(addresses);
                self.bytes.extend_from_slice(&kind.to_be_bytes());
                self.bytes.extend_from_slice(&tag.bits().to_be_bytes());
                self.bytes.extend_from_slice(rest);
            }
        }
        self.bytes.extend_from_slice(&[0; 3][..padding]);
        self.bytes.extend_from_slice(&self.tail);
        self.bytes.extend_from_slice(&(total as u32).to_le_bytes());
    }

    /// Encodes the statistics of a queue at the end of a file.
    pub fn statistics(&mut self, of: &Statistics) {
        let start = self.begin(STATISTICS);
        self.word(of.queue);
        self.time(of.ended);
        for (code, time) in [(2, of.begun), (3, of.ended)] {
            let halves = [(time >> 32) as u32, time as u32].map(u32::to_le_bytes);
            self.option(code, halves.as_flattened());
        }
        let counts = [
            (4, of.counted.received),
            (5, of.counted.dropped),
            (6, of.counted.received),
            (7, of.counted.dropped),
            (8, of.packets),
        ];
        for (code, count) in counts {
            self.option(code, &count.to_le_bytes());
        }
        self.end(start);
    }

    fn make_tail(&mut self, note: Note, direction: CapturedDirection) {
        let whole = std::mem::take(&mut self.bytes);
        self.option(1, note.to_string().as_bytes());
        let flags: u32 = match direction {
            CapturedDirection::Received => 1,
            CapturedDirection::Sent => 2,
            _ => 1 | 4 << 2, // received, but addressed to another host
        };
        self.option(2, &flags.to_le_bytes());
        self.word(0); // no more options
        self.tail = std::mem::replace(&mut self.bytes, whole);
        self.tail_of = Some((note, direction));
    }

    /// Begins a block whose length is not known yet, and returns its position.
    fn begin(&mut self, kind: u32) -> usize {
        let start = self.bytes.len();
        self.word(kind);
        self.word(0);
        start
    }

    fn end(&mut self, start: usize) {
        self.word(0); // no more options
        let total = (self.bytes.len() - start + 4) as u32;
        self.word(total);
        self.bytes[start + 4..start + 8].copy_from_slice(&total.to_le_bytes());
    }

    fn time(&mut self, utc: u64) {
        self.word((utc >> 32) as u32);
        self.word(utc as u32);
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.bytes.extend_from_slice(&code.to_le_bytes());
        self.bytes
            .extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(value);
        let padding = value.len().next_multiple_of(4) - value.len();
        self.bytes.extend_from_slice(&[0; 3][..padding]);
    }
}
