//! Owns what tells a stamp from every other. Keeps none of its precision or origin.

use crate::stamp::Stamps;
use crate::time::WallTime;

/// The kernel's or adapter's own figures, which stay the same when a stamp is read twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    software: i64,
    hardware: u64,
}

impl Mark {
    /// No stamp was ever made at the earliest of all times, and raw zero means "no stamp".
    pub(super) const NONE: Self = Self {
        software: i64::MIN,
        hardware: 0,
    };

    #[inline]
    pub(super) fn of(stamps: &Stamps) -> Self {
        let software = stamps.software.map(|stamp| {
            stamp
                .wall
                .map_or(stamp.at.nanoseconds(), WallTime::nanoseconds)
        });
        Self {
            software: software.unwrap_or(Self::NONE.software),
            hardware: stamps
                .hardware
                .map_or(Self::NONE.hardware, |stamp| stamp.ticks.raw()),
        }
    }

    #[inline]
    pub(super) fn to_words(self) -> [u64; 2] {
        [self.software.cast_unsigned(), self.hardware]
    }

    pub(super) fn from_words([software, hardware]: [u64; 2]) -> Self {
        Self {
            software: software.cast_signed(),
            hardware,
        }
    }

    /// Whether one of the stamps is the same one.
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
