//! Cross timestamps: a reading of a NIC's clock between two readings of the monotonic clock, and
//! the rules that a valid one satisfies. [`crate::correlate`] converts with them.
//!
//! Source: `CaptureInterfaceHardwareCrossTimestamp` (`iphlpapi.h`) and the driver contract
//! of `NDIS_HARDWARE_CROSSTIMESTAMP`; `PTP_SYS_OFFSET_*` (`linux/ptp_clock.h`).

use crate::time::{HardwareTicks, MonotonicTime, Span, UtcModel, UtcTime};
use core::fmt;

/// The method of a cross timestamp, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CrossMethod {
    /// Hardware latches both clocks at the same instant (`PTP_SYS_OFFSET_PRECISE`).
    Precise,
    /// The driver reads the system clock just before and after the NIC's register
    /// (`PTP_SYS_OFFSET_EXTENDED`).
    Extended,
    /// The kernel reads the system clock before and after the whole call to the driver
    /// (`PTP_SYS_OFFSET`).
    Basic,
    /// The driver's choice (Windows).
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

/// A reading of the hardware clock between two readings of the monotonic clock, the bracket. It
/// states only that the hardware clock was read between the two.
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

/// The reason why three numbers are not a valid cross timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrossInvalid {
    /// One of the three is zero, which no driver may return.
    Zero,
    /// The second system time is before the first.
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
    /// Creates a cross timestamp from three readings, if they are valid.
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

    /// Creates a cross timestamp like [`new`](Self::new) from values of the real-time clock,
    /// converted to the monotonic clock by `offset`, which must be valid throughout the reading.
    /// The error bound of `offset` widens the bracket, except of a pair that was latched at the
    /// same instant.
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

    /// Returns the monotonic clock's value before the hardware clock was read.
    pub const fn monotonic_before(&self) -> MonotonicTime {
        self.monotonic_before
    }

    /// Returns the hardware clock's value.
    pub const fn hardware(&self) -> HardwareTicks {
        self.hardware
    }

    /// Returns the monotonic clock's value after the hardware clock was read.
    pub const fn monotonic_after(&self) -> MonotonicTime {
        self.monotonic_after
    }

    /// Returns the method.
    pub const fn method(&self) -> CrossMethod {
        self.method
    }

    /// Returns the width of the bracket: the time between the two readings of the monotonic clock.
    /// `None` if it is unknown: a driver that has only one system time returns it twice, which does
    /// *not* mean zero uncertainty. The width of a [`Precise`](CrossMethod::Precise) cross
    /// timestamp is zero.
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

/// Returns the cross timestamp with the narrowest bracket; unknown widths come last.
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
