//! Control buffers made from a fuzzer's bytes, and a plain reading of them by offsets
//! to hold the parser against. Shares no code with the parser.

use arbitrary::Arbitrary;
use libc::{
    IP_PKTINFO, IP_RECVERR, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, IPV6_RECVERR, SOL_SOCKET,
};

const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

/// Levels and types that the parser knows, written out: a wrong constant there is found here.
pub const TIMESTAMPING_NEW: (i32, i32) = (SOL_SOCKET, 65);
pub const TIMESTAMPING_OLD: (i32, i32) = (SOL_SOCKET, 37);
pub const TIMESTAMPING_INTERFACE: (i32, i32) = (SOL_SOCKET, 58);
pub const DROPPED: (i32, i32) = (SOL_SOCKET, 40);
pub const IPV4_PACKET: (i32, i32) = (IPPROTO_IP, IP_PKTINFO);
pub const IPV6_PACKET: (i32, i32) = (IPPROTO_IPV6, IPV6_PKTINFO);
pub const IPV4_ERROR: (i32, i32) = (IPPROTO_IP, IP_RECVERR);
pub const IPV6_ERROR: (i32, i32) = (IPPROTO_IPV6, IPV6_RECVERR);

const KNOWN: [(i32, i32); 8] = [
    TIMESTAMPING_NEW,
    TIMESTAMPING_OLD,
    TIMESTAMPING_INTERFACE,
    DROPPED,
    IPV4_PACKET,
    IPV6_PACKET,
    IPV4_ERROR,
    IPV6_ERROR,
];

/// A control buffer to be: well-formed messages, then damage.
#[derive(Arbitrary, Debug)]
pub struct Buffer<'a> {
    messages: Vec<Content<'a>>,
    /// Bytes to overwrite.
    damage: Vec<(u8, u8)>,
    /// Bytes to cut off.
    cut: u8,
}

#[derive(Arbitrary, Debug)]
enum Content<'a> {
    Known(u8, &'a [u8]),
    Unknown(i32, i32, &'a [u8]),
    /// `scm_timestamping`, in the range where the parser's limits are.
    Timestamps([(Seconds, Nanoseconds); 3]),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Seconds {
    Zero,
    Small(i8),
    /// Near the largest and smallest instants that nanoseconds can count.
    Limit(bool, i8),
    Any(i64),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Nanoseconds {
    Zero,
    Valid(u32),
    Limit(i8),
    Any(i64),
}

impl Seconds {
    fn value(self) -> i64 {
        let furthest = i64::MAX / 1_000_000_000;
        match self {
            Self::Zero => 0,
            Self::Small(value) => value.into(),
            Self::Limit(negative, off) => {
                (if negative { -furthest } else { furthest }) + i64::from(off)
            }
            Self::Any(value) => value,
        }
    }
}

impl Nanoseconds {
    fn value(self) -> i64 {
        match self {
            Self::Zero => 0,
            Self::Valid(value) => (value % 1_000_000_000).into(),
            Self::Limit(off) => 1_000_000_000 + i64::from(off),
            Self::Any(value) => value,
        }
    }
}

impl Buffer<'_> {
    /// The bytes, as a kernel would write them but for the damage.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for content in &self.messages {
            match content {
                Content::Known(which, data) => {
                    append(&mut bytes, KNOWN[usize::from(*which) % KNOWN.len()], data)
                }
                Content::Unknown(level, kind, data) => append(&mut bytes, (*level, *kind), data),
                Content::Timestamps(pairs) => {
                    let words = pairs.iter().flat_map(|(s, n)| [s.value(), n.value()]);
                    append(
                        &mut bytes,
                        TIMESTAMPING_NEW,
                        &words.flat_map(i64::to_ne_bytes).collect::<Vec<_>>(),
                    );
                }
            }
        }
        for (at, byte) in &self.damage {
            if let Some(place) = bytes.get_mut(usize::from(*at)) {
                *place = *byte;
            }
        }
        bytes.truncate(bytes.len().saturating_sub(self.cut.into()));
        bytes
    }
}

fn append(bytes: &mut Vec<u8>, (level, kind): (i32, i32), data: &[u8]) {
    bytes.extend((HEADER + data.len()).to_ne_bytes());
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(WORD), 0);
}

/// One message: level and type, and where its payload begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub what: (i32, i32),
    pub begin: usize,
    pub end: usize,
}

/// The messages of a buffer, found by offsets.
pub fn walk(bytes: &[u8]) -> Vec<Found> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at + HEADER <= bytes.len() {
        let length = usize::from_ne_bytes(bytes[at..at + WORD].try_into().expect("a word"));
        if length < HEADER || length > bytes.len() - at {
            break;
        }
        let [level, kind] = [WORD, WORD + 4]
            .map(|o| i32::from_ne_bytes(bytes[at + o..at + o + 4].try_into().expect("four bytes")));
        found.push(Found {
            what: (level, kind),
            begin: at + HEADER,
            end: at + length,
        });
        at += length.next_multiple_of(WORD);
    }
    found
}

/// The 32-bit word at an offset.
pub fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// The timestamp in the pair at an offset, in nanoseconds; `None` if it is none.
pub fn timestamp(data: &[u8], at: usize) -> Option<i64> {
    let part = |at: usize| Some(i64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?));
    let (seconds, nanoseconds) = (part(at)?, part(at + 8)?);
    if !(0..1_000_000_000).contains(&nanoseconds) {
        return None;
    }
    let whole = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    i64::try_from(whole).ok().filter(|whole| *whole != 0)
}

/// Software and hardware timestamp of the last timestamp message.
pub fn last_timestamps(bytes: &[u8], found: &[Found]) -> (Option<i64>, Option<i64>) {
    let is_timestamp = |found: &&Found| [TIMESTAMPING_NEW, TIMESTAMPING_OLD].contains(&found.what);
    let data = found
        .iter()
        .rfind(is_timestamp)
        .map_or(&[][..], |found| &bytes[found.begin..found.end]);
    (timestamp(data, 0), timestamp(data, 32))
}
