//! Reads captures, pcapng and pcap, of any program. Hostile input: a block is at most [`LARGEST_BLOCK`] bytes, interfaces at most
//! [`MOST_INTERFACES`], and what can't be understood is an error, never a plausible number.

use crate::note;
use pcap_parser::pcapng::{Block, EnhancedPacketBlock, InterfaceDescriptionBlock};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{
    LegacyPcapBlock, OptionCode, PcapBlockOwned, PcapError, PcapHeader, PcapNGOption, create_reader,
};
use std::io::Read;
use std::ops::RangeInclusive;
use wirestamp_core::capture::{CapturedDirection, LinkType};
use wirestamp_core::{Error, ErrorKind, Result};

/// A block that is larger is refused.
pub const LARGEST_BLOCK: usize = 16 << 20;
/// Interfaces in one section of a file.
pub const MOST_INTERFACES: usize = 65_536;
const BUFFER: usize = 1 << 18;

/// A packet of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePacket<'a> {
    /// When, in nanoseconds since 1970.
    pub utc_ns: i64,
    /// The error bound of that, where the file says it; in nanoseconds.
    pub bound_ns: Option<u64>,
    /// What was captured.
    pub data: &'a [u8],
    /// How long it was.
    pub length: u32,
    /// What it begins with; `None` for what wirestamp does not know.
    pub link_type: Option<LinkType>,
    /// Which way it went, where the file says it.
    pub direction: Option<CapturedDirection>,
}

/// What an interface's packets have in common.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: Option<LinkType>,
    units: Units,
    /// Seconds to be added.
    offset: i64,
}

/// In what a file counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Units {
    /// So many make a second.
    PerSecond(u64),
    /// As many bits stand behind the point of a second.
    Bits(u32),
}

/// A capture that is read.
pub struct Reader<'r> {
    inner: Box<dyn PcapReaderIterator + Send + 'r>,
    name: String,
    interfaces: Vec<Interface>,
    largest: usize,
    /// Read, and not returned yet.
    ahead: Option<Owned>,
    /// Of the block that was read last.
    pending: usize,
    skipped: u64,
    truncated: bool,
    lasted: Option<RangeInclusive<i64>>,
    dropped: Option<u64>,
}

/// What a block was.
enum Found {
    Packet(Owned),
    /// From when until when was captured, and what was dropped.
    Statistics(Option<RangeInclusive<i64>>, Option<u64>),
    Other,
    Skipped,
}

/// A packet, but for its bytes, which are `range` of the reader's buffer.
struct Owned {
    utc_ns: i64,
    bound_ns: Option<u64>,
    length: u32,
    link_type: Option<LinkType>,
    direction: Option<CapturedDirection>,
    start: usize,
    captured: usize,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<'r> Reader<'r> {
    /// Begins to read. `name` is for messages.
    ///
    /// # Errors
    /// `InvalidInput` if it is no capture; `Io`.
    pub fn new(name: impl Into<String>, input: impl Read + Send + 'r) -> Result<Self> {
        let name = name.into();
        let inner = create_reader(BUFFER, input).map_err(|error| match error {
            PcapError::ReadError => failed(&name, ErrorKind::Io, "can't be read"),
            _ => failed(&name, ErrorKind::InvalidInput, "is neither pcapng nor pcap")
                .with_remedy("give a file of wirestamp capture, tcpdump or Wireshark"),
        })?;
        Ok(Self {
            inner,
            name,
            interfaces: Vec::new(),
            largest: BUFFER,
            ahead: None,
            pending: 0,
            skipped: 0,
            truncated: false,
            lasted: None,
            dropped: None,
        })
    }

    /// How many packets had no time, or one that is none.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// From when until when was captured, in nanoseconds since 1970, as the file's statistics say; they stand at its end.
    pub fn lasted(&self) -> Option<RangeInclusive<i64>> {
        self.lasted.clone()
    }

    /// How many packets were dropped while it was captured, as the file's statistics say.
    pub fn dropped(&self) -> Option<u64> {
        self.dropped
    }

    /// Whether the file ends within a block, as one does whose writer was stopped.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Reads the next packet; `None` at the end.
    ///
    /// # Errors
    /// `InvalidInput` for a block that contradicts itself or is too large; `Io`.
    pub fn next_packet(&mut self) -> Result<Option<FilePacket<'_>>> {
        let owned = match self.ahead.take() {
            Some(owned) => owned,
            None => match self.read_on()? {
                Some(owned) => owned,
                None => return Ok(None),
            },
        };
        let data = self
            .inner
            .data()
            .get(owned.start..owned.start + owned.captured);
        let data = data.ok_or_else(|| contradiction(&self.name))?;
        Ok(Some(FilePacket {
            utc_ns: owned.utc_ns,
            bound_ns: owned.bound_ns,
            data,
            length: owned.length,
            link_type: owned.link_type,
            direction: owned.direction,
        }))
    }

    /// When the next packet was captured, in nanoseconds since 1970; `None` at the end.
    ///
    /// # Errors
    /// As [`next_packet`](Self::next_packet).
    pub fn peek_ns(&mut self) -> Result<Option<i64>> {
        if self.ahead.is_none() {
            self.ahead = self.read_on()?;
        }
        Ok(self.ahead.as_ref().map(|owned| owned.utc_ns))
    }

    fn read_on(&mut self) -> Result<Option<Owned>> {
        loop {
            self.inner.consume(std::mem::take(&mut self.pending));
            match self.next_found()? {
                None => return Ok(None),
                Some(Found::Packet(owned)) => return Ok(Some(owned)),
                Some(Found::Statistics(lasted, dropped)) => {
                    self.lasted = hull(self.lasted.take(), lasted);
                    let sum = |known: u64| known.saturating_add(dropped.unwrap_or(0));
                    self.dropped = self.dropped.map(sum).or(dropped);
                }
                Some(Found::Skipped) => self.skipped += 1,
                Some(Found::Other) => {}
            }
        }
    }

    fn next_found(&mut self) -> Result<Option<Found>> {
        loop {
            let exhausted = self.inner.reader_exhausted();
            let error = match self.inner.next() {
                Ok((length, block)) => {
                    let found = understand(&block, length, &mut self.interfaces)
                        .ok_or_else(|| contradiction(&self.name))?;
                    self.pending = length;
                    return Ok(Some(found));
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) if exhausted => None,
                Err(PcapError::Incomplete(_)) => Some(false),
                Err(PcapError::BufferTooSmall) => Some(true),
                Err(PcapError::UnexpectedEof) => None,
                Err(PcapError::ReadError) => {
                    return Err(failed(&self.name, ErrorKind::Io, "can't be read on"));
                }
                Err(_) => return Err(contradiction(&self.name)),
            };
            match error {
                None => {
                    self.truncated = true;
                    return Ok(None);
                }
                Some(grow) => self.more(grow)?,
            }
        }
    }

    /// Reads on, into a larger buffer if need be.
    fn more(&mut self, grow: bool) -> Result<()> {
        if grow {
            self.largest *= 2;
            if self.largest > LARGEST_BLOCK || !self.inner.grow(self.largest) {
                let cause = format!("has a block of more than {} MiB", LARGEST_BLOCK >> 20);
                return Err(failed(&self.name, ErrorKind::InvalidInput, cause));
            }
        }
        match self.inner.refill() {
            Ok(()) => Ok(()),
            Err(_) => Err(failed(&self.name, ErrorKind::Io, "can't be read on")),
        }
    }
}

fn failed(name: &str, kind: ErrorKind, cause: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, "read the capture", name, cause)
}

fn contradiction(name: &str) -> Error {
    failed(
        name,
        ErrorKind::InvalidInput,
        "has a block that contradicts itself",
    )
    .with_remedy("the packets before it can be had by editcap or tcpdump")
}

/// What a block says, `length` bytes of the file; `None` if it contradicts itself.
fn understand(
    block: &PcapBlockOwned<'_>,
    length: usize,
    known: &mut Vec<Interface>,
) -> Option<Found> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            *known = vec![of_pcap(header)];
            Some(Found::Other)
        }
        PcapBlockOwned::Legacy(packet) => legacy(packet, length, known.first()?),
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            known.clear();
            Some(Found::Other)
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
            if known.len() == MOST_INTERFACES {
                return None;
            }
            known.push(of_pcapng(description)?);
            Some(Found::Other)
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = known.get(packet.if_id as usize)?;
            enhanced(packet, interface)
        }
        PcapBlockOwned::NG(Block::InterfaceStatistics(statistics)) => {
            let interface = known.get(statistics.if_id as usize)?;
            Some(counted(
                &statistics.options,
                interface,
                statistics.block_type != 5,
            ))
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => Some(Found::Skipped),
        PcapBlockOwned::NG(_) => Some(Found::Other),
    }
}

fn link_type(number: i32) -> Option<LinkType> {
    match number {
        1 => Some(LinkType::Ethernet),
        101 | 228 | 229 => Some(LinkType::Ip), // raw IP, IPv4, IPv6
        _ => None,
    }
}

fn of_pcap(header: &PcapHeader) -> Interface {
    let units = if header.is_nanosecond_precision() {
        1_000_000_000
    } else {
        1_000_000
    };
    Interface {
        link_type: link_type(header.network.0),
        units: Units::PerSecond(units),
        offset: i64::from(header.thiszone),
    }
}

fn of_pcapng(description: &InterfaceDescriptionBlock<'_>) -> Option<Interface> {
    let resolution = description.if_tsresol;
    let power = u32::from(resolution & 0x7f);
    let units = if resolution & 0x80 == 0 {
        Units::PerSecond(10_u64.checked_pow(power)?)
    } else {
        (power < 64).then_some(Units::Bits(power))?
    };
    Some(Interface {
        link_type: link_type(description.linktype.0),
        units,
        offset: description.if_tsoffset,
    })
}

/// Nanoseconds since 1970, if that is a time until 2262.
fn nanoseconds(interface: &Interface, count: u64) -> Option<i64> {
    const SECOND: i128 = 1_000_000_000;
    let count = i128::from(count);
    let time = match interface.units {
        Units::PerSecond(units) => count * SECOND / i128::from(units),
        Units::Bits(bits) => (count * SECOND) >> bits,
    };
    i64::try_from(time + i128::from(interface.offset) * SECOND).ok()
}

fn legacy(packet: &LegacyPcapBlock<'_>, length: usize, interface: &Interface) -> Option<Found> {
    let Units::PerSecond(units) = interface.units else {
        return None;
    };
    if u64::from(packet.ts_usec) >= units {
        return Some(Found::Skipped);
    }
    let count = u64::from(packet.ts_sec) * units + u64::from(packet.ts_usec);
    let captured = packet.caplen as usize;
    Some(Found::Packet(Owned {
        utc_ns: nanoseconds(interface, count)?,
        bound_ns: None,
        length: packet.origlen,
        link_type: interface.link_type,
        direction: None,
        start: length.checked_sub(captured)?,
        captured,
    }))
}

fn enhanced(packet: &EnhancedPacketBlock<'_>, interface: &Interface) -> Option<Found> {
    let (mut bound_ns, mut direction) = (None, None);
    for option in &packet.options {
        let value = option.value.get(..usize::from(option.len))?;
        match option.code {
            OptionCode::Comment => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                if note::is_without_utc(text) {
                    return Some(Found::Skipped);
                }
                bound_ns = bound_ns.or_else(|| note::bound(text));
            }
            OptionCode(2) => direction = flags(value, packet.big_endian()),
            _ => {}
        }
    }
    let count = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
    let Some(utc_ns) = nanoseconds(interface, count) else {
        return Some(Found::Skipped);
    };
    Some(Found::Packet(Owned {
        utc_ns,
        bound_ns,
        length: packet.origlen,
        link_type: interface.link_type,
        direction,
        start: 28,
        captured: packet.packet_data().len(),
    }))
}

/// What an interface's statistics say.
fn counted(options: &[PcapNGOption<'_>], interface: &Interface, big_endian: bool) -> Found {
    let word = |four: [u8; 4]| {
        if big_endian {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        }
    };
    let halves = |code: u16| -> Option<[u32; 2]> {
        let option = options.iter().find(|option| option.code.0 == code)?;
        let eight: &[u8; 8] = option.value.first_chunk()?;
        let (first, second) = (eight.first_chunk()?, eight.last_chunk()?);
        Some([word(*first), word(*second)])
    };
    let time = |code| {
        let [high, low] = halves(code)?;
        nanoseconds(interface, u64::from(high) << 32 | u64::from(low))
    };
    let number = |code| {
        let [first, second] = halves(code)?;
        let (high, low) = if big_endian {
            (first, second)
        } else {
            (second, first)
        };
        Some(u64::from(high) << 32 | u64::from(low))
    };
    let lasted = time(2).zip(time(3)).map(|(begun, ended)| begun..=ended);
    Found::Statistics(lasted, number(5).or_else(|| number(7)))
}

/// From the earlier start to the later end.
fn hull(
    one: Option<RangeInclusive<i64>>,
    other: Option<RangeInclusive<i64>>,
) -> Option<RangeInclusive<i64>> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(*one.start().min(other.start())..=*one.end().max(other.end()))
        }
        (one, other) => one.or(other),
    }
}

/// The direction in `epb_flags`.
fn flags(value: &[u8], big_endian: bool) -> Option<CapturedDirection> {
    let four = *value.first_chunk()?;
    let flags = if big_endian {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    };
    match (flags & 3, flags >> 2 & 7) {
        (1, 4) => Some(CapturedDirection::Others),
        (1, _) => Some(CapturedDirection::Received),
        (2, _) => Some(CapturedDirection::Sent),
        _ => None,
    }
}
