//! One reading of a NIC's clock against the system clock, and its validity rules.
//! Does not fit anything: that is [`crate::correlate`].
//!
//! Source: `CaptureInterfaceHardwareCrossTimestamp` (`iphlpapi.h`) and the driver contract
//! of `NDIS_HARDWARE_CROSSTIMESTAMP`; `PTP_SYS_OFFSET_*` (`linux/ptp_clock.h`).

use crate::time::{HardwareTicks, MonotonicTime, Span, UtcModel, UtcTime};
use core::fmt;

/// The method by which a cross timestamp was made, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CrossMethod {
    /// Both clocks latched by hardware at one instant (`PTP_SYS_OFFSET_PRECISE`).
    Precise,
    /// The system clock read around the register read (`PTP_SYS_OFFSET_EXTENDED`).
    Extended,
    /// The system clock read around a whole call for the time (`PTP_SYS_OFFSET`).
    Basic,
    /// As the driver chose to do it (Windows).
    Driver,
}

impl CrossMethod {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::Extended => "extended",
            Self::Basic => "basic",
            Self::Driver => "driver",
        }
    }
}

/// A reading of the hardware clock between two readings of the system clock. Says that the
/// hardware instant lies between them, and nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "crate::serialized::Reading",
        into = "crate::serialized::Reading"
    )
)]
pub struct CrossTimestamp {
    monotonic_before: MonotonicTime,
    hardware: HardwareTicks,
    monotonic_after: MonotonicTime,
    method: CrossMethod,
}

/// The reason that three numbers are no cross timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrossInvalid {
    /// One of the three is zero, which no driver may return.
    Zero,
    /// The second system time lies before the first.
    Backwards,
}

impl fmt::Display for CrossInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "a cross timestamp with a zero in it",
            Self::Backwards => "a cross timestamp whose second system time lies before the first",
        })
    }
}

impl core::error::Error for CrossInvalid {}

impl CrossTimestamp {
    /// Makes a cross timestamp, if the three numbers can be one.
    ///
    /// # Errors
    /// [`CrossInvalid`] if any of the three is zero or the system times run backwards.
    pub const fn new(
        monotonic_before: MonotonicTime,
        hardware: HardwareTicks,
        monotonic_after: MonotonicTime,
        method: CrossMethod,
    ) -> Result<Self, CrossInvalid> {
        if monotonic_before.nanoseconds() == 0
            || hardware.raw() == 0
            || monotonic_after.nanoseconds() == 0
        {
            return Err(CrossInvalid::Zero);
        }
        if monotonic_after.nanoseconds() < monotonic_before.nanoseconds() {
            return Err(CrossInvalid::Backwards);
        }
        Ok(Self {
            monotonic_before,
            hardware,
            monotonic_after,
            method,
        })
    }

    /// As [`new`](Self::new), of a reading whose system times are the real-time clock's: they are placed
    /// on the monotonic clock by `offset`, which must hold for all of the reading. What it may be off by
    /// widens the bracket; a pair that was latched at one instant stays one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_utc(
        offset: &UtcModel,
        before: UtcTime,
        hardware: HardwareTicks,
        after: UtcTime,
        method: CrossMethod,
    ) -> Result<Self, CrossInvalid> {
        let widen = if method == CrossMethod::Precise {
            Span::ZERO
        } else {
            offset.bound()
        };
        Self::new(
            offset.place(before) - widen,
            hardware,
            offset.place(after) + widen,
            method,
        )
    }

    /// Returns the monotonic clock before the hardware clock was read.
    pub const fn monotonic_before(&self) -> MonotonicTime {
        self.monotonic_before
    }

    /// Returns the hardware clock.
    pub const fn hardware(&self) -> HardwareTicks {
        self.hardware
    }

    /// Returns the monotonic clock after the hardware clock was read.
    pub const fn monotonic_after(&self) -> MonotonicTime {
        self.monotonic_after
    }

    /// Returns how the reading was made.
    pub const fn method(&self) -> CrossMethod {
        self.method
    }

    /// Returns the time between the two readings of the monotonic clock. `None` where it is unknown: a driver that has only a pair
    /// returns the same system time twice, which does *not* mean no uncertainty. A
    /// [`Precise`](CrossMethod::Precise) reading has width zero.
    pub fn bracket(&self) -> Option<Span> {
        let width = self.monotonic_after - self.monotonic_before;
        (width > Span::ZERO || self.method == CrossMethod::Precise).then_some(width)
    }

    /// Returns the middle between the two readings of the monotonic clock.
    pub fn middle(&self) -> MonotonicTime {
        let width = self.monotonic_after - self.monotonic_before;
        self.monotonic_before + Span::from_nanoseconds(width.nanoseconds() / 2)
    }
}

/// Returns the reading with the narrowest bracket; unknown brackets come last.
pub fn narrowest(readings: &[CrossTimestamp]) -> Option<&CrossTimestamp> {
    readings
        .iter()
        .min_by_key(|reading| reading.bracket().map_or(i128::MAX, Span::nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(
        before: i64,
        hardware: u64,
        after: i64,
        method: CrossMethod,
    ) -> Result<CrossTimestamp, CrossInvalid> {
        CrossTimestamp::new(
            MonotonicTime::from_nanoseconds(before),
            HardwareTicks::new(hardware),
            MonotonicTime::from_nanoseconds(after),
            method,
        )
    }

    #[test]
    fn zeros_and_backward_brackets_are_no_readings() {
        assert_eq!(
            reading(0, 5, 9, CrossMethod::Driver),
            Err(CrossInvalid::Zero)
        );
        assert_eq!(
            reading(1, 0, 9, CrossMethod::Driver),
            Err(CrossInvalid::Zero)
        );
        assert_eq!(
            reading(1, 5, 0, CrossMethod::Driver),
            Err(CrossInvalid::Zero)
        );
        assert_eq!(
            reading(9, 5, 8, CrossMethod::Driver),
            Err(CrossInvalid::Backwards)
        );
    }

    #[test]
    fn equal_system_times_mean_an_unknown_bracket_unless_latched() {
        let pair = reading(7, 5, 7, CrossMethod::Driver).expect("valid");
        assert_eq!(pair.bracket(), None);
        let latched = reading(7, 5, 7, CrossMethod::Precise).expect("valid");
        assert_eq!(latched.bracket(), Some(Span::ZERO));
        let wide = reading(10, 5, 30, CrossMethod::Extended).expect("valid");
        assert_eq!(wide.middle(), MonotonicTime::from_nanoseconds(20));
        assert_eq!(narrowest(&[pair, wide]), Some(&wide));
    }
}
