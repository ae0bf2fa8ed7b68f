//! NTP timestamps and their conversion to and from UTC.

use wirestamp_core::time::{Span, UtcTime};

/// Seconds from 1900, where NTP's time starts, to 1970.
const TO_1970: i64 = 2_208_988_800;
const SECOND: u64 = 1_000_000_000;

/// A timestamp of an NTP packet (RFC 5905 §6): the upper 32 bits are seconds since 1900, which start again in 2036; the
/// lower 32 bits are a fraction in units of 233 ps. Zero means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NtpTimestamp(pub u64);

impl NtpTimestamp {
    /// The value that means "unknown".
    pub const UNKNOWN: Self = Self(0);
    /// The error bound of [`to_utc`](Self::to_utc): rounding here, and truncation by the sender.
    pub const ROUNDING: Span = Span::from_nanoseconds(1);

    /// Returns the timestamp nearest to an instant. Never [unknown](Self::UNKNOWN).
    #[must_use]
    pub fn from_utc(utc: UtcTime) -> Self {
        let since_1970 = utc.nanoseconds();
        let seconds = since_1970.div_euclid(SECOND as i64) + TO_1970;
        let nanoseconds = since_1970.rem_euclid(SECOND as i64) as u64;
        let fraction = ((nanoseconds << 32) + SECOND / 2) / SECOND; // below 2³², as nanoseconds are below a second
        Self((seconds as u64) << 32 | fraction).or_nearly()
    }

    /// Returns UTC in the era nearest to `near` (within 68 years); `None` if the timestamp is unknown, or outside the
    /// range of [`UtcTime`].
    #[must_use]
    pub fn to_utc(self, near: UtcTime) -> Option<UtcTime> {
        if self == Self::UNKNOWN {
            return None;
        }
        let near = near.nanoseconds().div_euclid(SECOND as i64);
        let apart = (self.seconds().wrapping_sub((near + TO_1970) as u32)) as i32;
        let nanoseconds = (u64::from(self.fraction()) * SECOND + (1 << 31)) >> 32;
        let seconds = near.checked_add(apart.into())?;
        let whole = seconds.checked_mul(SECOND as i64)?;
        Some(UtcTime::from_nanoseconds(
            whole.checked_add(nanoseconds as i64)?,
        ))
    }

    /// Returns the seconds (the upper half).
    #[must_use]
    pub const fn seconds(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the fraction (the lower half).
    #[must_use]
    pub const fn fraction(self) -> u32 {
        self.0 as u32
    }

    /// Replaces zero by the next value, because the first instant of an era would mean "unknown".
    fn or_nearly(self) -> Self {
        Self(self.0.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64, nanoseconds: i64) -> UtcTime {
        UtcTime::from_nanoseconds(seconds * SECOND as i64 + nanoseconds)
    }

    #[test]
    fn known_instants() {
        // RFC 5905, figure 4: the first day of UNIX, and the first of era 1
        assert_eq!(NtpTimestamp::from_utc(at(0, 0)).seconds(), 2_208_988_800);
        let era_1 = at(2_085_978_496, 0); // 2036-02-07T06:28:16Z
        assert_eq!(NtpTimestamp::from_utc(era_1), NtpTimestamp(1));
        assert_eq!(
            NtpTimestamp(1 << 32).to_utc(era_1),
            Some(at(2_085_978_497, 0))
        );
        assert_eq!(
            NtpTimestamp(u64::from(u32::MAX) << 32).to_utc(era_1),
            Some(at(2_085_978_495, 0))
        );
        assert_eq!(
            NtpTimestamp(1 << 31).to_utc(era_1),
            Some(at(2_085_978_496, 500_000_000))
        );
    }

    #[test]
    fn nothing_is_not_1900() {
        assert_eq!(NtpTimestamp::UNKNOWN.to_utc(at(0, 0)), None);
        assert_eq!(
            NtpTimestamp(u64::MAX).to_utc(UtcTime::from_nanoseconds(i64::MAX)),
            None
        );
    }

    proptest! {
        #[test]
        fn there_and_back_is_exact(utc in 0..4_000_000_000_000_000_000i64, years in -60..60i64) {
            let utc = UtcTime::from_nanoseconds(utc);
            let near = UtcTime::from_nanoseconds(utc.nanoseconds() + years * 31_557_600 * SECOND as i64);
            prop_assert_eq!(NtpTimestamp::from_utc(utc).to_utc(near), Some(utc));
        }

        #[test]
        fn any_bits_are_near_or_unknown(bits: u64, near in -4_000_000_000_000_000_000..4_000_000_000_000_000_000i64) {
            let near = UtcTime::from_nanoseconds(near);
            if let Some(utc) = NtpTimestamp(bits).to_utc(near) {
                prop_assert!((utc - near).abs() <= Span::from_seconds((1 << 31) + 2));
            }
        }
    }
}
