//! A packet's timestamp on one host.

use crate::tlv::Method;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};

/// A timestamp on both of a host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTimestamp {
    /// On the monotonic clock, for differences, because nobody steps it. The error bound is to when the packet passed the point that was
    /// timestamped.
    pub at: Bounded<MonotonicTime>,
    /// On the real-time clock, for packets, with the same error bound. It does not include the error of the real-time clock.
    pub utc: UtcTime,
    /// Who made it.
    pub method: Method,
}

impl HostTimestamp {
    /// UTC − monotonic, as this timestamp shows it.
    pub(crate) fn offset(&self) -> Span {
        Span::from_nanoseconds(
            i128::from(self.utc.nanoseconds()) - i128::from(self.at.value.nanoseconds()),
        )
    }
}

/// An instant of the monotonic clock, as UTC by a known offset.
pub(crate) fn utc_of(at: MonotonicTime, offset: Span) -> UtcTime {
    UtcTime::from_nanoseconds(at.nanoseconds()) + offset
}
