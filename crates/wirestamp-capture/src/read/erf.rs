//! Records of Endace's cards (ERF) as the packets of a capture file: a header with the card's time and port, and the packet behind it.
//!
//! Source: Endace, "Extensible Record Format", and the data formats in the user guides of DAG cards.

use super::block::Owned;
use crate::link::Link;

const HEADER: usize = 16;
const EXTENSION: usize = 8;
/// Whether an extension follows, in the type of a header or of an extension.
const MORE: u8 = 0x80;
/// Flags of a frame that the card received with an error, or could not write as it came.
const DAMAGED: u8 = 0x30;
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
    },
    /// It describes the card, counts packets, or fills a block.
    NoPacket,
    /// It is of another network than those that are read, damaged, or not complete.
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
    let (record, on_wire) = (word(10), word(14));
    let (link, before) = match kind & !MORE {
        1 | 10 | 15 | 19 => (Link::PppHdlc, 0),
        5 | 17 => (Link::PppHdlc, 4),            // the channel
        2 | 11 | 16 | 20 => (Link::Ethernet, 2), // where the frame begins, and padding
        22 | 23 => (Link::Ip, 0),
        13 | 14 | 27 | 48 => return Record::NoPacket,
        _ => return Record::Unreadable,
    };
    if flags & DAMAGED != 0 {
        return Record::Unreadable;
    }
    let Some(start) = behind_extensions(data).map(|at| at + before) else {
        return Record::Unreadable;
    };
    let Some(rest) = data.len().checked_sub(start) else {
        return Record::Unreadable;
    };
    if link == Link::Ethernet && data[start - before] != 0 {
        return Record::Unreadable; // without its beginning
    }
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
    }
}

/// Returns the number of packets that the card lost before a record; `None` if it has something else in that place, or is unknown.
pub(super) fn lost(data: &[u8]) -> Option<u16> {
    let header = data.first_chunk::<HEADER>()?;
    match header[8] & !MORE {
        // a colour or a hash
        10 | 11 | 15..=17 | 19 | 20 => None,
        1..=29 | 48 => Some(u16::from_be_bytes([header[12], header[13]])),
        _ => None,
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
    /// Replaces what the file says of a packet by what the record in it says. The record's time is finer; where it contradicts that of the
    /// file, or that is stated to be unknown, a program corrected the latter.
    pub(super) fn apply(self, packet: &mut Owned) {
        let Self::Packet {
            time,
            port,
            link,
            start,
            captured,
            length,
        } = self
        else {
            return;
        };
        packet.link = link;
        packet.start += start;
        (packet.captured, packet.length) = (captured, length);
        packet.port = Some(port.into());
        let own = (time != 0).then(|| nanoseconds(time));
        let is_same = |own: &i64| match packet.utc_ns {
            Some(file) => own.abs_diff(file) <= packet.unit_ns,
            None => packet.is_timeless,
        };
        if let Some(own) = own.filter(is_same) {
            (packet.utc_ns, packet.unit_ns) = (Some(own), 1);
        }
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
        flagged(6, kind, record, on_wire, behind)
    }

    fn flagged(flags: u8, kind: u8, record: u16, on_wire: u16, behind: &[u8]) -> Vec<u8> {
        let mut data = 0x1234_5678_8000_0000_u64.to_le_bytes().to_vec();
        data.extend([kind, flags]);
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
                port: 2,
                time: 0x1234_5678_8000_0000,
            } => Some((link, start, captured, length, lost(data))),
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
    fn every_record_but_those_with_a_colour_has_the_losses() {
        for kind in [1, 2, 3, 13, 21, 22, 27, 0x80 | 2, 48, 0x80 | 48] {
            assert_eq!(lost(&record(kind, 0, 0, &[])), Some(7), "{kind}");
        }
        for kind in [0, 10, 11, 15, 16, 17, 19, 0x80 | 20, 30, 47, 49] {
            assert_eq!(lost(&record(kind, 0, 0, &[])), None, "{kind}");
        }
        assert_eq!(lost(&record(2, 0, 0, &[])[..15]), None);
    }

    #[test]
    fn what_has_no_packet_or_is_cut_off_has_none() {
        for kind in [13, 14, 27, 48] {
            let found = read(&flagged(0x14, kind, 40, 0, &[0; 24]));
            assert_eq!(found, Record::NoPacket, "{kind}");
        }
        assert_eq!(read(&record(0x80 | 48, 40, 0, &[])), Record::NoPacket);
        for unreadable in [
            record(21, 40, 60, &[0; 60]),       // InfiniBand
            flagged(0x14, 2, 88, 64, &[0; 72]), // received with an error
            flagged(0x24, 11, 88, 64, &[0; 72]),
            flagged(0x14, 22, 0, 20, &[0; 24]),
            record(2, 88, 64, &[[4].as_slice(), &[0; 71]].concat()), // from the fifth byte on
            record(
                0x80 | 20,
                88,
                64,
                &[[0; 8].as_slice(), &[1], &[0; 63]].concat(),
            ),
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
