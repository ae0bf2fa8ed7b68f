//! The blocks of a capture file.

use super::options::{self, Options};
use super::time::Resolution;
use crate::link::Link;
use crate::run::ClockRun;
use pcap_parser::pcapng::{Block, EnhancedPacketBlock, InterfaceDescriptionBlock};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{LegacyPcapBlock, PcapBlockOwned, PcapHeader, PcapNGOption};
use std::ops::RangeInclusive;
use wirestamp_core::capture::CapturedDirection;

/// The most interfaces in a section of a file.
pub const MOST_INTERFACES: usize = 65_536;
/// The position of a packet's data in its block.
const DATA: usize = 28;

/// The properties of an interface that its packets share.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Result<Link, u32>,
    resolution: Resolution,
    snap_length: u32,
}

/// The current section: its byte order and interfaces.
#[derive(Debug, Default)]
pub(super) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Whether a packet's fraction of a second was a second or more, so that the file uses another
    /// unit than it states.
    contradicts: bool,
    /// The number of earlier sections.
    pub(super) number: u32,
}

/// The meaning of a block.
pub(super) enum Found {
    Packet(Owned),
    /// The period of the capture, and the number of dropped packets.
    Statistics(Option<RangeInclusive<i64>>, Option<u64>),
    /// A block without information about packets.
    Other,
    /// Of an unknown type.
    Unknown,
}

/// A packet whose bytes are a range of the reader's buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owned {
    pub(super) utc_ns: Option<i64>,
    /// Whether the file has no time of it, not even one that is unknown or invalid.
    pub(super) is_timeless: bool,
    pub(super) bound_ns: Option<u64>,
    pub(super) run: Option<ClockRun>,
    pub(super) length: u32,
    pub(super) link: Link,
    /// The unit of its time in nanoseconds, rounded up.
    pub(super) unit_ns: u64,
    /// The number of its interface.
    pub(super) interface: u32,
    /// The port of the capturing card, if the packet has a header that names it.
    pub(super) port: Option<u32>,
    pub(super) direction: Option<CapturedDirection>,
    pub(super) start: usize,
    pub(super) captured: usize,
}

/// The reason why a block cannot be used.
#[derive(Debug)]
pub(super) enum Wrong {
    Contradiction,
    /// A packet with an unsupported link type.
    LinkType(u32),
}

impl Section {
    /// Begins a file whose first section has so many before it.
    pub(super) fn behind(number: u32) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// Returns the meaning of a block of `length` bytes.
    pub(super) fn understand(
        &mut self,
        block: &PcapBlockOwned<'_>,
        length: usize,
    ) -> Result<Found, Wrong> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.interfaces = vec![of_pcap(header)];
                Ok(Found::Other)
            }
            PcapBlockOwned::Legacy(packet) => self.legacy(packet, length),
            PcapBlockOwned::NG(Block::SectionHeader(header)) => {
                self.big_endian = header.big_endian();
                self.interfaces.clear();
                self.number = self.number.saturating_add(1);
                Ok(Found::Other)
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
                if self.interfaces.len() == MOST_INTERFACES {
                    return Err(Wrong::Contradiction);
                }
                let interface = of_pcapng(description, self.big_endian);
                self.interfaces.push(interface.ok_or(Wrong::Contradiction)?);
                Ok(Found::Other)
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => self.enhanced(packet),
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                let captured = packet
                    .origlen
                    .min(self.interface(0)?.snapped(packet.origlen));
                let captured = captured as usize;
                if captured > packet.data.len() {
                    return Err(Wrong::Contradiction);
                }
                let head = Head {
                    interface: 0,
                    count: None,
                    is_timeless: true,
                    length: packet.origlen,
                };
                self.packet(head, &[], 12, captured)
            }
            PcapBlockOwned::NG(Block::InterfaceStatistics(statistics)) => {
                // statistics of an undescribed interface, which do not concern packets
                Ok(self
                    .interface(statistics.if_id)
                    .map_or(Found::Other, |interface| {
                        counted(&statistics.options, interface, self.big_endian)
                    }))
            }
            PcapBlockOwned::NG(Block::Unknown(unknown)) => {
                let kind = unknown.block_type.to_le_bytes();
                match options::word(kind, self.big_endian) {
                    2 => self.obsolete(unknown.data),
                    _ => Ok(Found::Unknown),
                }
            }
            PcapBlockOwned::NG(_) => Ok(Found::Other),
        }
    }

    fn interface(&self, number: u32) -> Result<&Interface, Wrong> {
        let found = self.interfaces.get(number as usize);
        found.ok_or(Wrong::Contradiction)
    }

    fn legacy(&mut self, packet: &LegacyPcapBlock<'_>, length: usize) -> Result<Found, Wrong> {
        let resolution = self.interface(0)?.resolution;
        let count = resolution.count(packet.ts_sec, packet.ts_usec);
        self.contradicts |= count.is_none();
        let captured = packet.caplen as usize;
        let head = Head {
            interface: 0,
            count: count.filter(|_| !self.contradicts),
            is_timeless: false,
            length: packet.origlen,
        };
        let start = length.checked_sub(captured).ok_or(Wrong::Contradiction)?;
        self.packet(head, &[], start, captured)
    }

    fn enhanced(&self, packet: &EnhancedPacketBlock<'_>) -> Result<Found, Wrong> {
        let head = Head {
            interface: packet.if_id,
            count: Some(u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low)),
            is_timeless: false,
            length: packet.origlen,
        };
        self.packet(head, &packet.options, DATA, packet.packet_data().len())
    }

    /// Parses the obsolete Packet Block, without its type and lengths.
    ///
    /// Source: draft-ietf-opsawg-pcapng, appendix A.
    fn obsolete(&self, block: &[u8]) -> Result<Found, Wrong> {
        let (head, rest) = block
            .split_first_chunk::<20>()
            .ok_or(Wrong::Contradiction)?;
        let word = |at: usize| {
            let four = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            options::word(four, self.big_endian)
        };
        // two bytes for the interface, and two for the number of dropped packets
        let both = word(0);
        let interface = if self.big_endian {
            both >> 16
        } else {
            both & 0xffff
        };
        let captured = word(12) as usize;
        let padded = captured.next_multiple_of(4);
        let behind = rest.get(padded.min(rest.len())..).unwrap_or_default();
        if captured > rest.len() {
            return Err(Wrong::Contradiction);
        }
        let options = options::parse(behind, self.big_endian).ok_or(Wrong::Contradiction)?;
        let head = Head {
            interface,
            count: Some(u64::from(word(4)) << 32 | u64::from(word(8))),
            is_timeless: false,
            length: word(16),
        };
        self.packet(head, &options, DATA, captured)
    }

    fn packet(
        &self,
        head: Head,
        options: &[PcapNGOption<'_>],
        start: usize,
        captured: usize,
    ) -> Result<Found, Wrong> {
        let interface = self.interface(head.interface)?;
        let said = Options::of(options, self.big_endian).ok_or(Wrong::Contradiction)?;
        let count = head.count.filter(|_| !said.is_without_utc);
        Ok(Found::Packet(Owned {
            utc_ns: count.and_then(|count| interface.resolution.nanoseconds(count)),
            is_timeless: head.is_timeless,
            // the comment is about the time before the file rounded it
            bound_ns: said
                .bound_ns
                .map(|bound| bound.saturating_add(interface.resolution.error_ns())),
            unit_ns: interface.resolution.unit_ns(),
            run: said.run,
            length: head.length,
            link: interface.link.map_err(Wrong::LinkType)?,
            interface: head.interface,
            port: None,
            direction: said.direction,
            start,
            captured,
        }))
    }
}

/// The fields before a packet's data.
#[derive(Debug, Clone, Copy)]
struct Head {
    interface: u32,
    /// The time in the interface's unit; `None` if it has none.
    count: Option<u64>,
    /// Whether its block has no time, not even one that is unknown or invalid.
    is_timeless: bool,
    length: u32,
}

impl Interface {
    /// Returns the captured part of a packet of this length.
    fn snapped(&self, length: u32) -> u32 {
        match self.snap_length {
            0 => length,
            snap_length => length.min(snap_length),
        }
    }
}

fn link(number: u32) -> Result<Link, u32> {
    Link::numbered(number).ok_or(number)
}

/// The interface of a pcap file. The bits above the link type state whether the frame check
/// sequence was captured, which the lengths in IP headers exclude. `thiszone` is ignored, as by all
/// readers, because writers set it to arbitrary values.
fn of_pcap(header: &PcapHeader) -> Interface {
    Interface {
        link: link(header.network.0 as u32 & 0x03ff_ffff),
        resolution: Resolution::of_pcap(header.is_nanosecond_precision()),
        snap_length: 0,
    }
}

fn of_pcapng(description: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Option<Interface> {
    let value = |code| options::value(&description.options, code);
    let resolution = match value(9)? {
        Some(value) => *value.first()?,
        None => 6,
    };
    // pcap-parser 0.17 reads it as little-endian regardless of the section's byte order
    let offset = match value(14)? {
        Some(value) => options::double_word(value, big_endian)? as i64,
        None => 0,
    };
    Some(Interface {
        link: link(description.linktype.0 as u32),
        resolution: Resolution::of_pcapng(resolution, offset),
        snap_length: description.snaplen,
    })
}

/// The statistics of an interface.
fn counted(options: &[PcapNGOption<'_>], interface: &Interface, big_endian: bool) -> Found {
    let eight = |code| options::value(options, code).flatten();
    let time = |code| {
        let count = options::time(eight(code)?, big_endian)?;
        interface.resolution.nanoseconds(count)
    };
    let number = |code| options::double_word(eight(code)?, big_endian);
    let lasted = time(2).zip(time(3)).map(|(begun, ended)| begun..=ended);
    Found::Statistics(lasted, number(5).or_else(|| number(7)))
}
