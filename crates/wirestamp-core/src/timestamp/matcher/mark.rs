//! The identity of a timestamp, by which duplicates are recognised.

use crate::time::UtcTime;
use crate::timestamp::Timestamps;

/// The values of the kernel and the NIC, which are the same when a timestamp is read twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    software: i64,
    hardware: u64,
}

impl Mark {
    /// No timestamp: the earliest of all times never occurs, and a raw zero means "no timestamp".
    pub(super) const NONE: Self = Self {
        software: i64::MIN,
        hardware: 0,
    };

    #[inline]
    pub(super) fn of(timestamps: &Timestamps) -> Self {
        let software = timestamps.software.map(|timestamp| {
            timestamp
                .utc
                .map_or(timestamp.at.value.nanoseconds(), UtcTime::nanoseconds)
        });
        Self {
            software: software.unwrap_or(Self::NONE.software),
            hardware: timestamps
                .hardware
                .map_or(Self::NONE.hardware, |timestamp| timestamp.ticks.raw()),
        }
    }

    #[inline]
    pub(super) fn to_words(self) -> [u64; 2] {
        [self.software as u64, self.hardware]
    }

    pub(super) fn from_words([software, hardware]: [u64; 2]) -> Self {
        Self {
            software: software as i64,
            hardware,
        }
    }

    /// Whether the marks have a timestamp in common.
    #[inline]
    pub(super) fn shares(self, other: Self) -> bool {
        (self.software != Self::NONE.software && self.software == other.software)
            || (self.hardware != Self::NONE.hardware && self.hardware == other.hardware)
    }

    #[inline]
    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::NONE
    }
}
