//! Options of pcapng blocks, in the section's byte order.

use crate::note;
use crate::run::ClockRun;
use pcap_parser::{OptionCode, PcapNGOption};
use std::borrow::Cow;
use wirestamp_core::capture::CapturedDirection;

/// The options of a packet.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) bound_ns: Option<u64>,
    pub(super) run: Option<ClockRun>,
    pub(super) is_without_utc: bool,
    pub(super) direction: Option<CapturedDirection>,
}

impl Options {
    /// Parses the options; `None` if one is longer than its block.
    pub(super) fn of(options: &[PcapNGOption<'_>], big_endian: bool) -> Option<Self> {
        let mut said = Self::default();
        for option in options {
            let value = option.value.get(..usize::from(option.len))?;
            match option.code {
                OptionCode::Comment => said.comment(std::str::from_utf8(value).unwrap_or_default()),
                OptionCode(2) => said.direction = flags(value, big_endian),
                _ => {}
            }
        }
        Some(said)
    }

    fn comment(&mut self, text: &str) {
        self.is_without_utc |= note::is_without_utc(text);
        self.bound_ns = self.bound_ns.or_else(|| note::bound(text));
        self.run = self.run.or_else(|| note::clock_run(text));
    }
}

/// Parses the options at the end of a block; `None` if one is longer than the block.
pub(super) fn parse(mut bytes: &[u8], big_endian: bool) -> Option<Vec<PcapNGOption<'_>>> {
    let mut options = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let (code, length) = ([head[0], head[1]], [head[2], head[3]]);
        let half = |two| {
            if big_endian {
                u16::from_be_bytes(two)
            } else {
                u16::from_le_bytes(two)
            }
        };
        let (code, len) = (OptionCode(half(code)), half(length));
        if code == OptionCode::EndOfOpt {
            break;
        }
        let value = Cow::Borrowed(rest.get(..usize::from(len))?);
        options.push(PcapNGOption { code, len, value });
        bytes = rest
            .get(usize::from(len).next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Some(options)
}

/// Returns the value of an option, if present; `None` if it is longer than its block.
pub(super) fn value<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<Option<&'a [u8]>> {
    let found = options.iter().find(|option| option.code.0 == code);
    found.map_or(Some(None), |option| {
        let value = option.value.get(..usize::from(option.len));
        value.map(Some)
    })
}

pub(super) fn word(four: [u8; 4], big_endian: bool) -> u32 {
    if big_endian {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    }
}

/// Decodes a number of eight bytes.
pub(super) fn double_word(value: &[u8], big_endian: bool) -> Option<u64> {
    let eight = *value.first_chunk()?;
    Some(if big_endian {
        u64::from_be_bytes(eight)
    } else {
        u64::from_le_bytes(eight)
    })
}

/// Decodes a time, whose upper half comes first in either byte order.
pub(super) fn time(value: &[u8], big_endian: bool) -> Option<u64> {
    let (high, low) = value.first_chunk::<8>()?.split_at(4);
    let half = |half: &[u8]| Some(u64::from(word(*half.first_chunk()?, big_endian)));
    Some(half(high)? << 32 | half(low)?)
}

/// Returns the direction in `epb_flags`, or in the identical `pack_flags` of obsolete blocks.
fn flags(value: &[u8], big_endian: bool) -> Option<CapturedDirection> {
    let flags = word(*value.first_chunk()?, big_endian);
    match (flags & 3, flags >> 2 & 7) {
        (1, 4) => Some(CapturedDirection::Others),
        (1, _) => Some(CapturedDirection::Received),
        (2, _) => Some(CapturedDirection::Sent),
        _ => None,
    }
}
