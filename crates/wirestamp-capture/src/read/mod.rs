//! A reader of capture files, pcapng and pcap, of any program. Files are untrusted input: blocks
//! have at most [`LARGEST_BLOCK`] bytes, sections at most [`MOST_INTERFACES`] interfaces, and a
//! block that cannot be parsed is an error or counted, never a plausible number.

mod block;
mod erf;
mod options;
mod sequence;
mod source;
mod time;

pub use block::MOST_INTERFACES;
pub use sequence::File;

use crate::copies::Vantage;
use crate::link::{self, Link};
use crate::run::ClockRun;
use block::{Found, Owned, Section, Wrong};
use erf::Record;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapError, create_reader};
use sequence::Sequence;
use source::{Fault, Source};
use std::io::Read;
use std::ops::RangeInclusive;
use wirestamp_core::capture::CapturedDirection;
use wirestamp_core::time::Span;
use wirestamp_core::{Error, ErrorKind, Result};

/// The largest block in bytes; a larger one is an error.
pub const LARGEST_BLOCK: usize = 16 << 20;
const BUFFER: usize = 1 << 18;

/// A packet of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePacket<'a> {
    /// The time in nanoseconds since 1970; `None` if the file has none, states that it is unknown,
    /// or has an invalid one.
    pub utc_ns: Option<i64>,
    /// The error bound of the time in nanoseconds, if the file has one.
    pub bound_ns: Option<u64>,
    /// The generation of the real-time clock, if the file has it. It counts from 0 in each section,
    /// and goes on in the next file of a capture.
    pub run: Option<ClockRun>,
    /// The section of the file. A file with several sections was concatenated from several
    /// captures. Of the files of one capture, each continues the last section of the one before.
    pub section: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// The length on the wire.
    pub length: u32,
    /// The header that it begins with (the link type).
    pub link: Link,
    /// The direction, if the file or the packet's link header has it.
    pub direction: Option<CapturedDirection>,
    /// Where it was seen.
    pub vantage: Vantage,
}

/// A reader of a capture file.
pub struct Reader<'r> {
    inner: Box<dyn PcapReaderIterator + Send + 'r>,
    name: String,
    section: Section,
    /// The number of sections before the first one of this file.
    sections_before: u32,
    sequence: Sequence<'r>,
    fault: Fault,
    largest: usize,
    /// The length of the last block, which is consumed by the next read.
    pending: usize,
    unknown_blocks: u64,
    truncated: bool,
    lasted: Option<RangeInclusive<i64>>,
    /// The period of the files before.
    lasted_before: Option<RangeInclusive<i64>>,
    dropped: Option<u64>,
    /// The packets that the capturing card lost, from the packets' own headers.
    lost_by_card: Option<u64>,
    unit_ns: u64,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<'r> Reader<'r> {
    /// Creates a reader. `name` is the file's name in error messages.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a capture file; `Io`.
    pub fn new(name: impl Into<String>, input: impl Read + Send + 'r) -> Result<Self> {
        let name = name.into();
        let fault = Fault::default();
        let source = Source::new(input, fault.clone());
        let inner = create_reader(BUFFER, source).map_err(|error| match error {
            PcapError::ReadError => failed(&name, ErrorKind::Io, fault.cause("can't be read")),
            _ => failed(&name, ErrorKind::InvalidInput, "is neither pcapng nor pcap")
                .with_remedy("give a file of wirestamp capture, tcpdump or Wireshark"),
        })?;
        Ok(Self {
            inner,
            name,
            section: Section::default(),
            sections_before: 0,
            sequence: Sequence::default(),
            fault,
            largest: BUFFER,
            pending: 0,
            unknown_blocks: 0,
            truncated: false,
            lasted: None,
            lasted_before: None,
            dropped: None,
            lost_by_card: None,
            unit_ns: 1,
        })
    }

    /// Creates a reader of several files as one capture. They are read in this order, each as soon as the one before it ends; `None` if
    /// there is none.
    ///
    /// # Errors
    /// As [`Self::new`], and those of `files`.
    pub fn of_files(
        files: impl IntoIterator<Item = Result<File<'r>>, IntoIter: Send + 'r>,
    ) -> Result<Option<Self>> {
        let mut sequence = Sequence::of(files.into_iter());
        let Some(first) = sequence.after("").transpose()? else {
            return Ok(None);
        };
        let mut reader = Self::new(first.name, first.input)?;
        reader.sequence = sequence;
        Ok(Some(reader))
    }

    /// Returns the name in error messages of the file that is read.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of skipped blocks with an unknown type, which may contain packets.
    pub fn unknown_blocks(&self) -> u64 {
        self.unknown_blocks
    }

    /// Returns the period of the capture in nanoseconds since 1970, from the file's statistics,
    /// which are at its end.
    pub fn lasted(&self) -> Option<RangeInclusive<i64>> {
        continued(self.lasted_before.clone(), self.lasted.clone())
    }

    /// Returns the number of packets dropped during the capture, from the file's statistics or from ERF's records, whichever is
    /// more.
    pub fn dropped(&self) -> Option<u64> {
        self.dropped.max(self.lost_by_card)
    }

    /// Returns the coarsest unit of the times of the packets so far, in nanoseconds rounded up.
    pub fn unit_ns(&self) -> u64 {
        self.unit_ns
    }

    /// Returns the error for a packet that is too far out of order.
    pub(crate) fn out_of_order(&self, packet: u64, early_ns: u64, window: usize) -> Error {
        let early = Span::from_nanoseconds(i128::from(early_ns));
        let (place, remedy) = match self.sequence.has_several() {
            false => (
                "",
                "sort the file: reordercap FILE SORTED (it comes with Wireshark)",
            ),
            true => (
                " of all files",
                "merge the files and sort them: mergecap -w MERGED FILES; reordercap MERGED SORTED (both come with Wireshark)",
            ),
        };
        let cause = format!(
            "packet {packet}{place} is {early} earlier than one that stands more than {window} packets before it"
        );
        failed(&self.name, ErrorKind::InvalidInput, cause).with_remedy(remedy)
    }

    /// Returns whether the file ends within a block, for example because its writer was stopped.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Reads the next packet; `None` at the end.
    ///
    /// # Errors
    /// `InvalidInput` for an inconsistent or too large block; `NotSupported` for a packet with an
    /// unsupported link type; `Io`.
    pub fn next_packet(&mut self) -> Result<Option<FilePacket<'_>>> {
        let Some(owned) = self.read_on()? else {
            return Ok(None);
        };
        self.unit_ns = self.unit_ns.max(owned.unit_ns);
        if let Some([generation, before]) = self.sequence.restart(owned.run) {
            return Err(restarted(&self.name, generation, before));
        }
        if let Some(overlap_ns) = owned
            .utc_ns
            .and_then(|utc_ns| self.sequence.overlap(utc_ns))
        {
            return Err(overlapping(
                &self.name,
                &self.sequence.latest_name,
                overlap_ns,
            ));
        }
        let data = bytes(&*self.inner, &owned).ok_or_else(|| contradiction(&self.name))?;
        let header = link::direction(owned.link, data);
        let direction = owned.direction.or(header);
        let index = owned.port.or_else(|| link::interface(owned.link, data));
        let section = self.section.number;
        // an interface has the same number in all files of a capture
        let in_file = section - self.sections_before;
        Ok(Some(FilePacket {
            utc_ns: owned.utc_ns,
            bound_ns: owned.bound_ns,
            run: owned.run,
            section,
            data,
            length: owned.length,
            link: owned.link,
            direction,
            vantage: Vantage::new(in_file, owned.interface, index, direction),
        }))
    }

    fn read_on(&mut self) -> Result<Option<Owned>> {
        loop {
            self.inner.consume(std::mem::take(&mut self.pending));
            match self.next_found()? {
                None if self.go_on()? => {}
                None => return Ok(None),
                Some(Found::Packet(owned)) if owned.link == Link::Erf => {
                    if let Some(owned) = self.record(owned)? {
                        return Ok(Some(owned));
                    }
                }
                Some(Found::Packet(owned)) => return Ok(Some(owned)),
                Some(Found::Statistics(lasted, dropped)) => {
                    self.lasted = hull(self.lasted.take(), lasted);
                    let sum = |known: u64| known.saturating_add(dropped.unwrap_or(0));
                    self.dropped = self.dropped.map(sum).or(dropped);
                }
                Some(Found::Unknown) => self.unknown_blocks += 1,
                Some(Found::Other) => {}
            }
        }
    }

    /// Begins the next file; returns whether there is one.
    fn go_on(&mut self) -> Result<bool> {
        let Some(file) = self.sequence.after(&self.name).transpose()? else {
            return Ok(false);
        };
        let next = Self::new(file.name, file.input)?;
        (self.inner, self.name, self.fault) = (next.inner, next.name, next.fault);
        (self.largest, self.pending) = (next.largest, next.pending);
        self.lasted_before = continued(self.lasted_before.take(), self.lasted.take());
        // the writer goes on counting the generations of its clock
        self.sections_before = self.section.number.saturating_sub(1);
        self.section = Section::behind(self.sections_before);
        Ok(true)
    }

    /// Returns the packet in a record of a capturing card; `None` if it has none.
    fn record(&mut self, mut packet: Owned) -> Result<Option<Owned>> {
        let data = bytes(&*self.inner, &packet).ok_or_else(|| contradiction(&self.name))?;
        let record = erf::read(data);
        let has_packet = record != Record::NoPacket;
        // what has no packet may have no number either
        if let Some(lost) = erf::lost(data).filter(|lost| has_packet || *lost > 0) {
            let before = self.lost_by_card.unwrap_or(0);
            self.lost_by_card = Some(before.saturating_add(lost.into()));
        }
        record.apply(&mut packet);
        Ok(has_packet.then_some(packet))
    }

    fn next_found(&mut self) -> Result<Option<Found>> {
        loop {
            let exhausted = self.inner.reader_exhausted();
            let error = match self.inner.next() {
                Ok((length, block)) => {
                    let found = self.section.understand(&block, length);
                    let found = found.map_err(|wrong| match wrong {
                        Wrong::Contradiction => contradiction(&self.name),
                        Wrong::LinkType(number) => unread(&self.name, number),
                    })?;
                    self.pending = length;
                    return Ok(Some(found));
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) if exhausted => None,
                Err(PcapError::Incomplete(_)) => Some(false),
                Err(PcapError::BufferTooSmall) => Some(true),
                Err(PcapError::UnexpectedEof) => None,
                Err(PcapError::ReadError) => {
                    let cause = self.fault.cause("can't be read on");
                    return Err(failed(&self.name, ErrorKind::Io, cause));
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

    /// Reads more data, into a larger buffer if necessary.
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
            Err(_) => {
                let cause = self.fault.cause("can't be read on");
                Err(failed(&self.name, ErrorKind::Io, cause))
            }
        }
    }
}

/// Returns the bytes of a packet.
fn bytes<'a>(inner: &'a dyn PcapReaderIterator, packet: &Owned) -> Option<&'a [u8]> {
    let end = packet.start.checked_add(packet.captured)?;
    inner.data().get(packet.start..end)
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

fn overlapping(name: &str, before: &str, overlap_ns: u64) -> Error {
    let overlap = Span::from_nanoseconds(i128::from(overlap_ns));
    let cause = format!(
        "begins {overlap} before {before} ends: they are of two captures, or a clock was stepped"
    );
    failed(name, ErrorKind::InvalidInput, cause).with_remedy(
        "put the files of each capture into a folder of their own, or merge all: mergecap -w MERGED FILES",
    )
}

fn restarted(name: &str, generation: u32, before: u32) -> Error {
    let cause = format!(
        "begins with clock generation {generation}, after generation {before} in the files before: it is of another run of \
         the capture, or a step of the clock put the files out of order"
    );
    failed(name, ErrorKind::InvalidInput, cause).with_remedy(
        "put the files of each run, or those before and after the step, into a folder of their own",
    )
}

fn unread(name: &str, link_type: u32) -> Error {
    let cause = format!("has packets of link type {}", link::name(link_type));
    failed(name, ErrorKind::NotSupported, cause).with_remedy(
        "capture with Ethernet, raw IP or Linux cooked headers, or leave such packets out with tshark -Y and -w",
    )
}

/// Returns the period of files that follow one another: a step of the clock may put the end before that of an earlier file.
fn continued(
    before: Option<RangeInclusive<i64>>,
    next: Option<RangeInclusive<i64>>,
) -> Option<RangeInclusive<i64>> {
    match (before, next) {
        (Some(before), Some(next)) => Some(*before.start()..=*next.end()),
        (before, next) => before.or(next),
    }
}

/// Returns the period from the earlier start to the later end.
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
