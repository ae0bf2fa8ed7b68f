//! Timestamps in STAMP packets: 64 bits, in NTP format or truncated PTPv2 format.

use wirestamp_core::time::UtcTime;

/// The seconds from 1900, the start of NTP time, to 1970.
const FROM_1900: i64 = 2_208_988_800;
const SECOND: i64 = 1_000_000_000;

/// The format of a packet's timestamps (the Z bit of its Error Estimate).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimestampFormat {
    /// Seconds since 1900 and a fraction of 232.8 ps, UTC (RFC 5905, section 6).
    #[default]
    Ntp,
    /// Seconds since 1970 and nanoseconds, TAI (RFC 8877, section 4.3).
    Ptp,
}

impl TimestampFormat {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ntp => "ntp",
            Self::Ptp => "ptp",
        }
    }
}

/// The eight octets of a timestamp in a packet. All zeros mean no timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WireTimestamp(pub [u8; 8]);

impl WireTimestamp {
    /// No timestamp.
    pub const NONE: Self = Self([0; 8]);

    /// Returns the seconds, which are at the same position in both formats.
    pub(crate) fn seconds(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Encodes a time, rounded to the nearest unit of the format. Decoding returns the same
    /// nanosecond.
    ///
    /// `tai_offset` is TAI − UTC in seconds (37 since 2017), used in PTP format only.
    pub fn encode(time: UtcTime, format: TimestampFormat, tai_offset: i32) -> Self {
        let (seconds, nanoseconds) = split(time);
        let (seconds, fraction) = match format {
            TimestampFormat::Ntp => {
                let fraction =
                    ((u128::from(nanoseconds) << 32) + SECOND as u128 / 2) / SECOND as u128;
                (seconds.wrapping_add(FROM_1900), fraction as u32)
            }
            TimestampFormat::Ptp => (seconds.wrapping_add(tai_offset.into()), nanoseconds),
        };
        // the first unit of an era would mean no timestamp
        let fraction = if seconds as u32 == 0 {
            fraction.max(1)
        } else {
            fraction
        };
        Self::of(seconds as u32, fraction)
    }

    /// Decodes a time in the era nearest to `near` (±68 years). `None` if there is no timestamp, or
    /// an invalid one with 10⁹ nanoseconds or more.
    pub fn decode(
        self,
        format: TimestampFormat,
        tai_offset: i32,
        near: UtcTime,
    ) -> Option<UtcTime> {
        if self == Self::NONE {
            return None;
        }
        let [s0, s1, s2, s3, f0, f1, f2, f3] = self.0;
        let (seconds, fraction) = (
            u32::from_be_bytes([s0, s1, s2, s3]),
            u32::from_be_bytes([f0, f1, f2, f3]),
        );
        let (start, nanoseconds) = match format {
            TimestampFormat::Ntp => {
                let scaled = u128::from(fraction) * SECOND as u128;
                (-FROM_1900, ((scaled + (1 << 31)) >> 32) as u32)
            }
            TimestampFormat::Ptp if i64::from(fraction) >= SECOND => return None,
            TimestampFormat::Ptp => (-i64::from(tai_offset), fraction),
        };
        let near = split(near).0 - start;
        let seconds = near + i64::from(seconds.wrapping_sub(near as u32).cast_signed()) + start;
        let whole = i128::from(seconds) * i128::from(SECOND) + i128::from(nanoseconds);
        Some(UtcTime::from_nanoseconds(i64::try_from(whole).ok()?))
    }

    fn of(seconds: u32, fraction: u32) -> Self {
        let mut octets = [0; 8];
        octets[..4].copy_from_slice(&seconds.to_be_bytes());
        octets[4..].copy_from_slice(&fraction.to_be_bytes());
        Self(octets)
    }
}

fn split(time: UtcTime) -> (i64, u32) {
    let nanoseconds = time.nanoseconds();
    (
        nanoseconds.div_euclid(SECOND),
        nanoseconds.rem_euclid(SECOND) as u32,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAI: i32 = 37;

    fn utc(seconds: i64, nanoseconds: u32) -> UtcTime {
        UtcTime::from_seconds_and_nanoseconds(seconds, nanoseconds).expect("a time")
    }

    /// 2026-11-22T08:05:06.537403631Z; the octets were computed by another program.
    #[test]
    fn both_formats_of_a_known_time() {
        let time = utc(1_795_334_706, 537_403_631);
        let ntp = WireTimestamp([0xee, 0xad, 0x20, 0xb2, 0x89, 0x93, 0x48, 0xcc]);
        let ptp = WireTimestamp([0x6b, 0x02, 0xa2, 0x57, 0x20, 0x08, 0x20, 0xef]);
        for (format, octets) in [(TimestampFormat::Ntp, ntp), (TimestampFormat::Ptp, ptp)] {
            assert_eq!(WireTimestamp::encode(time, format, TAI), octets);
            assert_eq!(octets.decode(format, TAI, time), Some(time));
        }
    }

    #[test]
    fn zero_and_too_many_nanoseconds_are_no_time() {
        let near = utc(1_795_334_706, 0);
        let none = WireTimestamp::NONE;
        assert_eq!(none.decode(TimestampFormat::Ntp, TAI, near), None);
        let billion = WireTimestamp([1, 2, 3, 4, 0x3b, 0x9a, 0xca, 0]);
        assert_eq!(billion.decode(TimestampFormat::Ptp, TAI, near), None);
        assert!(billion.decode(TimestampFormat::Ntp, TAI, near).is_some());
    }

    /// Era 1 begins at 2036-02-07T06:28:16Z; its first instant must not look like "no timestamp".
    #[test]
    fn an_era_ends_without_a_gap() {
        for nanoseconds in [-1, 0, 1, 999_999_999] {
            let time = UtcTime::from_nanoseconds(2_085_978_496 * SECOND + nanoseconds);
            let octets = WireTimestamp::encode(time, TimestampFormat::Ntp, TAI);
            assert_ne!(octets, WireTimestamp::NONE);
            for near in [
                time.nanoseconds() - SECOND * 1_000_000_000,
                time.nanoseconds(),
            ] {
                let near = UtcTime::from_nanoseconds(near);
                assert_eq!(octets.decode(TimestampFormat::Ntp, TAI, near), Some(time));
            }
        }
    }

    proptest! {
        #[test]
        fn every_nanosecond_survives(time in 0..i64::MAX / 2, away in -2_000_000_000i64..2_000_000_000) {
            let time = UtcTime::from_nanoseconds(time);
            let near = UtcTime::from_nanoseconds(time.nanoseconds() + away * SECOND);
            for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
                let octets = WireTimestamp::encode(time, format, TAI);
                prop_assert_eq!(octets.decode(format, TAI, near), Some(time));
            }
        }
    }
}
