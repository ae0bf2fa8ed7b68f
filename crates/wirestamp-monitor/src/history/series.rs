//! Splits records into a series, which they share, and the numbers in which they differ.

use super::Record;
use std::borrow::Cow;
use wirestamp::UtcTime;

/// A record with more segments is kept as text.
pub(super) const MOST_SEGMENTS: usize = 32;
/// So is one with a longer name, in bytes.
pub(super) const LONGEST_NAME: usize = 255;

/// The kind of numbers of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Stamp,
    Ntp,
    Ptp,
    Clock,
    /// A clock with an error bound and no offset.
    ClockBound,
    Path,
    /// A clock whose offset holds if this many NTP servers are right.
    ClockIf,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Stamp,
        Self::Ntp,
        Self::Ptp,
        Self::Clock,
        Self::ClockBound,
        Self::Path,
        Self::ClockIf,
    ];

    /// Numbers beside those of segments.
    pub(super) const fn numbers(self) -> usize {
        match self {
            Self::Path => 0,
            Self::Stamp | Self::ClockBound => 1,
            Self::Clock => 2,
            Self::Ntp | Self::Ptp | Self::ClockIf => 3,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stamp => "stamp",
            Self::Ntp => "ntp",
            Self::Ptp => "ptp",
            Self::Clock | Self::ClockBound | Self::ClockIf => "clock",
            Self::Path => "path",
        }
    }
}

/// What entries have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Series {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) segments: Vec<Cow<'static, str>>,
}

pub(super) fn text_of(at: i64) -> String {
    UtcTime::from_nanoseconds(at).rfc3339().to_string()
}

/// Series and numbers of a record; `None` for one that is kept as text.
pub(super) fn split(record: &Record) -> Option<(Series, Vec<i64>)> {
    let series = |kind, name: &str, segments| Series {
        kind,
        name: name.to_owned(),
        segments,
    };
    let plain = |kind, name, numbers: &[i64]| (series(kind, name, Vec::new()), numbers.to_vec());
    let with = |kind, name, first: &[i64], delays: &[(Cow<'static, str>, i64, i64)]| {
        let mut numbers = first.to_vec();
        numbers.extend(delays.iter().flat_map(|(_, delay, bound)| [*delay, *bound]));
        let segments = delays.iter().map(|(segment, ..)| segment.clone()).collect();
        (delays.len() <= MOST_SEGMENTS).then(|| (series(kind, name, segments), numbers))
    };
    let found = match record {
        Record::Stamp {
            peer,
            sequence,
            delays,
            ..
        } => with(Kind::Stamp, peer, &[i64::from(*sequence)], delays),
        Record::Path {
            interface, delays, ..
        } => with(Kind::Path, interface, &[], delays),
        Record::Ntp {
            server,
            offset_ns,
            bound_ns,
            path_delay_ns,
            ..
        } => Some(plain(
            Kind::Ntp,
            server,
            &[*offset_ns, *bound_ns, *path_delay_ns],
        )),
        Record::Ptp {
            interface,
            offset_ns,
            bound_ns,
            path_delay_ns,
            ..
        } => Some(plain(
            Kind::Ptp,
            interface,
            &[*offset_ns, *bound_ns, *path_delay_ns],
        )),
        Record::Clock {
            clock,
            offset_ns,
            bound_ns,
            right_servers,
            ..
        } => match (offset_ns, right_servers) {
            (Some(offset), Some(right)) => i64::try_from(*right)
                .ok()
                .map(|right| plain(Kind::ClockIf, clock, &[*offset, *bound_ns, right])),
            (Some(offset), None) => Some(plain(Kind::Clock, clock, &[*offset, *bound_ns])),
            (None, None) => Some(plain(Kind::ClockBound, clock, &[*bound_ns])),
            (None, Some(_)) => None,
        },
        Record::Event(_) => None,
    };
    found.filter(|(series, _)| {
        let mut segments = series.segments.iter();
        series.name.len() <= LONGEST_NAME && segments.all(|segment| segment.len() <= LONGEST_NAME)
    })
}

impl Series {
    /// The record that [`split`] made this series and these numbers of.
    pub(super) fn record(&self, at: i64, numbers: &[i64]) -> Option<Record> {
        let (first, delays) = numbers.split_at_checked(self.kind.numbers())?;
        let (time, name) = (text_of(at), self.name.clone());
        let delays = || {
            let pairs = delays.chunks_exact(2);
            let named = self.segments.iter().zip(pairs);
            named
                .map(|(segment, pair)| (segment.clone(), pair[0], pair[1]))
                .collect()
        };
        Some(match (self.kind, first) {
            (Kind::Stamp, [sequence]) => Record::Stamp {
                time,
                peer: name,
                sequence: u32::try_from(*sequence).ok()?,
                delays: delays(),
            },
            (Kind::Path, []) => Record::Path {
                time,
                interface: name,
                delays: delays(),
            },
            (Kind::Ntp, [offset_ns, bound_ns, path_delay_ns]) => Record::Ntp {
                time,
                server: name,
                offset_ns: *offset_ns,
                bound_ns: *bound_ns,
                path_delay_ns: *path_delay_ns,
            },
            (Kind::Ptp, [offset_ns, bound_ns, path_delay_ns]) => Record::Ptp {
                time,
                interface: name,
                offset_ns: *offset_ns,
                bound_ns: *bound_ns,
                path_delay_ns: *path_delay_ns,
            },
            (Kind::Clock, [offset, bound_ns]) => Record::Clock {
                time,
                clock: name,
                offset_ns: Some(*offset),
                bound_ns: *bound_ns,
                right_servers: None,
            },
            (Kind::ClockIf, [offset, bound_ns, right]) => Record::Clock {
                time,
                clock: name,
                offset_ns: Some(*offset),
                bound_ns: *bound_ns,
                right_servers: Some(u64::try_from(*right).ok()?),
            },
            (Kind::ClockBound, [bound_ns]) => Record::Clock {
                time,
                clock: name,
                offset_ns: None,
                bound_ns: *bound_ns,
                right_servers: None,
            },
            _ => return None,
        })
    }
}
