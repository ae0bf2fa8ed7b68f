//! A packet's timestamp on a host's clocks.

use crate::tlv::Method;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};

/// A timestamp on both of a host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTimestamp {
    /// The time on the monotonic clock, which is never stepped, for differences. The error bound is
    /// relative to the packet's passage of the point of measurement.
    pub at: Bounded<MonotonicTime>,
    /// The time on the real-time clock, for packets. The same error bound applies; it does not
    /// include the offset of the real-time clock from UTC.
    pub utc: UtcTime,
    /// Whether the NIC or the kernel made it.
    pub method: Method,
}

impl HostTimestamp {
    /// UTC − monotonic by this timestamp.
    pub(crate) fn offset(&self) -> Span {
        Span::from_nanoseconds(
            i128::from(self.utc.nanoseconds()) - i128::from(self.at.value.nanoseconds()),
        )
    }
}

/// Converts an instant of the monotonic clock to UTC by a known offset.
pub(crate) fn utc_of(at: MonotonicTime, offset: Span) -> UtcTime {
    UtcTime::from_nanoseconds(at.nanoseconds()) + offset
}
