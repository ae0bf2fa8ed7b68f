//! Records of Endace's cards (ERF) as the packets of a capture file: a header with the card's time and port, and the packet behind it.
//!
//! Source: Endace, "Extensible Record Format", and the data formats in the user guides of DAG cards.

use super::block::Owned;
use crate::link::Link;

const HEADER: usize = 16;
const EXTENSION: usize = 8;
/// Whether an extension follows, in the type of a header or of an extension.
const MORE: u8 = 0x80;
/// The most extensions of a record.
const MOST_EXTENSIONS: usize = 32;

/// The meaning of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    Packet {
        /// In seconds since 1970 and 2⁻³² s; 0: it has none.
        time: u64,
        port: u8,
        link: Link,
        /// The position of the packet in the record.
        start: usize,
        captured: usize,
        length: u32,
        /// The packets that the card lost before it, if the record has their number.
        lost: Option<u16>,
    },
    /// It describes the card, or fills a block.
    NoPacket,
    /// It is of another network than those that are read, or not complete.
    Unreadable,
}

/// Parses a record, as far as it was captured.
pub(super) fn read(data: &[u8]) -> Record {
    let Some(header) = data.first_chunk::<HEADER>() else {
        return Record::Unreadable;
    };
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let [time @ .., _, _, _, _, _, _, _, _] = *header;
    let (kind, flags) = (header[8], header[9]);
    let (record, lost, on_wire) = (word(10), word(12), word(14));
    let (link, before, counts) = match kind & !MORE {
        1 => (Link::PppHdlc, 0, true),
        10 | 15 | 19 => (Link::PppHdlc, 0, false),
        5 => (Link::PppHdlc, 4, true), // the channel
        17 => (Link::PppHdlc, 4, false),
        2 => (Link::Ethernet, 2, true), // padding
        11 | 16 | 20 => (Link::Ethernet, 2, false),
        22 | 23 => (Link::Ip, 0, true),
        27 | 48 => return Record::NoPacket,
        _ => return Record::Unreadable,
    };
    let Some(start) = behind_extensions(data).map(|at| at + before) else {
        return Record::Unreadable;
    };
    let Some(rest) = data.len().checked_sub(start) else {
        return Record::Unreadable;
    };
    // a record ends with padding
    let known = |length: usize| (length > 0).then_some(length);
    let in_record = known(usize::from(record).saturating_sub(start));
    let captured = [in_record, known(on_wire.into())]
        .into_iter()
        .flatten()
        .fold(rest, usize::min);
    Record::Packet {
        time: u64::from_le_bytes(time),
        port: flags & 3,
        link,
        start,
        captured,
        length: u32::from(on_wire).max(captured as u32),
        lost: counts.then_some(lost),
    }
}

/// Returns the position behind the last extension.
fn behind_extensions(data: &[u8]) -> Option<usize> {
    let mut at = HEADER;
    let mut kind = *data.get(8)?;
    for _ in 0..=MOST_EXTENSIONS {
        if kind & MORE == 0 {
            return Some(at);
        }
        kind = *data.get(at)?;
        at += EXTENSION;
    }
    None
}

impl Record {
    /// Replaces what the file says of a packet by what the record in it says; returns the number of packets that were lost before it, if
    /// it is known. The record's time is finer; where it contradicts that of the file, a program corrected the latter.
    pub(super) fn apply(self, packet: &mut Owned) -> Option<u16> {
        let Self::Packet {
            time,
            port,
            link,
            start,
            captured,
            length,
            lost,
        } = self
        else {
            return None;
        };
        packet.link = link;
        packet.start += start;
        (packet.captured, packet.length) = (captured, length);
        packet.port = Some(port.into());
        let own = (time != 0).then(|| nanoseconds(time));
        let is_same = |own: &i64| {
            let file = packet.utc_ns.unwrap_or(*own);
            own.abs_diff(file) <= packet.unit_ns
        };
        if let Some(own) = own.filter(is_same) {
            (packet.utc_ns, packet.unit_ns) = (Some(own), 1);
        }
        lost
    }
}

/// Converts a time, rounding down.
fn nanoseconds(time: u64) -> i64 {
    let (seconds, fraction) = (time >> 32, time & u64::from(u32::MAX));
    (seconds * 1_000_000_000 + ((fraction * 1_000_000_000) >> 32)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, record: u16, on_wire: u16, behind: &[u8]) -> Vec<u8> {
        let mut data = 0x1234_5678_8000_0000_u64.to_le_bytes().to_vec();
        data.extend([kind, 6]);
        data.extend([record, 7, on_wire].map(u16::to_be_bytes).concat());
        data.extend(behind);
        data
    }

    fn place(data: &[u8]) -> Option<(Link, usize, usize, u32, Option<u16>)> {
        match read(data) {
            Record::Packet {
                link,
                start,
                captured,
                length,
                lost,
                port: 2,
                time: 0x1234_5678_8000_0000,
            } => Some((link, start, captured, length, lost)),
            _ => None,
        }
    }

    #[test]
    fn a_packet_is_found_behind_its_header_extensions_and_padding() {
        let ethernet = (Link::Ethernet, 18, 64, 64, Some(7));
        assert_eq!(place(&record(2, 88, 64, &[0; 72])), Some(ethernet));
        // two extensions; the record was captured in part
        let extended = [&[0x83, 0, 0, 0, 0, 0, 0, 0, 4][..], &[0; 50]].concat();
        let found = place(&record(0x80 | 11, 2_000, 1_500, &extended));
        assert_eq!(found, Some((Link::Ethernet, 34, 41, 1_500, None)));
        assert_eq!(
            place(&record(17, 60, 0, &[0; 30])),
            Some((Link::PppHdlc, 20, 26, 26, None))
        );
        assert_eq!(
            place(&record(22, 0, 20, &[0; 24])),
            Some((Link::Ip, 16, 20, 20, Some(7)))
        );
    }

    #[test]
    fn what_has_no_packet_or_is_cut_off_has_none() {
        assert_eq!(read(&record(27, 40, 0, &[0; 24])), Record::NoPacket);
        assert_eq!(read(&record(0x80 | 48, 40, 0, &[])), Record::NoPacket);
        for unreadable in [
            record(21, 40, 60, &[0; 60]), // InfiniBand
            record(2, 40, 60, &[0]),
            record(0x80 | 2, 40, 60, &[0x80, 0, 0]),
            record(0x80 | 2, 40, 60, &[0xff; 1_000]),
            record(2, 40, 60, &[])[..15].to_vec(),
        ] {
            assert_eq!(read(&unreadable), Record::Unreadable, "{unreadable:?}");
        }
    }

    #[test]
    fn every_time_of_a_record_is_one_of_the_file() {
        assert_eq!(nanoseconds(u64::MAX), 4_294_967_295_999_999_999);
        assert_eq!(nanoseconds(1 << 32 | 1 << 31), 1_500_000_000);
    }
}
