//! The time unit of a file.

const SECOND: u128 = 1_000_000_000;

/// The unit and the offset of an interface's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolution {
    units: Units,
    /// The offset in seconds.
    offset: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Units {
    /// The unit is this many decimal digits of a second.
    Digits(u32),
    /// The unit is this many bits of a second.
    Bits(u32),
}

impl Resolution {
    pub(super) fn of_pcap(nanoseconds: bool) -> Self {
        Self {
            units: Units::Digits(if nanoseconds { 9 } else { 6 }),
            offset: 0,
        }
    }

    /// Creates it from `if_tsresol` and `if_tsoffset`.
    pub(super) fn of_pcapng(resolution: u8, offset: i64) -> Self {
        let power = u32::from(resolution & 0x7f);
        let units = if resolution & 0x80 == 0 {
            Units::Digits(power)
        } else {
            Units::Bits(power)
        };
        Self { units, offset }
    }

    /// Returns the unit in nanoseconds, rounded up.
    pub(super) fn unit_ns(self) -> u64 {
        let unit = match self.units {
            Units::Digits(digits) => SECOND / 10_u128.checked_pow(digits).unwrap_or(u128::MAX),
            Units::Bits(bits) => SECOND.div_ceil(1 << bits),
        };
        unit.max(1) as u64
    }

    /// Returns the error of [`Self::nanoseconds`] in nanoseconds: a unit, but for whole nanoseconds.
    pub(super) fn error_ns(self) -> u64 {
        match self.units {
            Units::Digits(9) => 0,
            _ => self.unit_ns(),
        }
    }

    /// Returns the count of a time in a pcap file; `None` if the fraction is a second or more.
    pub(super) fn count(self, seconds: u32, fraction: u32) -> Option<u64> {
        let Units::Digits(digits) = self.units else {
            return None;
        };
        let second = 10_u64.checked_pow(digits)?;
        (u64::from(fraction) < second).then(|| u64::from(seconds) * second + u64::from(fraction))
    }

    /// Converts a count to nanoseconds since 1970, if it is from 1677 to 2262.
    pub(super) fn nanoseconds(self, count: u64) -> Option<i64> {
        let count = u128::from(count);
        let power = |digits| 10_u128.checked_pow(digits);
        let time = match self.units {
            Units::Digits(digits @ 0..=9) => count * power(9 - digits)?,
            // if the power does not fit, every count is less than a nanosecond
            Units::Digits(digits) => power(digits - 9).map_or(0, |divisor| count / divisor),
            Units::Bits(bits) => (count * SECOND) >> bits,
        };
        let offset = i128::from(self.offset) * SECOND as i128;
        i64::try_from(time as i128 + offset).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_no_finer_than_the_files() {
        for (resolution, unit, error) in [
            (0, 1_000_000_000, 1_000_000_000),
            (6, 1_000, 1_000),
            (7, 100, 100),
            (9, 1, 0),
            (12, 1, 1),
            (127, 1, 1),
            (0x80, 1_000_000_000, 1_000_000_000),
            (0x8a, 976_563, 976_563),
            (0xa0, 1, 1),
            (0xff, 1, 1),
        ] {
            let found = Resolution::of_pcapng(resolution, 0);
            assert_eq!(
                (found.unit_ns(), found.error_ns()),
                (unit, error),
                "{resolution}"
            );
        }
    }

    #[test]
    fn every_resolution_gives_nanoseconds() {
        for (resolution, offset, count, expected) in [
            (6, 0, 1_500_000, Some(1_500_000_000)),
            (0, 0, 7, Some(7_000_000_000)),
            (9, 5, 7, Some(5_000_000_007)),
            (9, -5, 7, Some(-4_999_999_993)),
            (12, 0, 1_999, Some(1)),
            (20, 0, u64::MAX, Some(184_467_440)),
            (127, 0, u64::MAX, Some(0)),
            (0x80, 0, 3, Some(3_000_000_000)),
            (0x81, 0, 3, Some(1_500_000_000)),
            (0xff, 0, u64::MAX, Some(0)),
            (0, 0, u64::MAX, None),
            (6, i64::MAX, 0, None),
        ] {
            let found = Resolution::of_pcapng(resolution, offset).nanoseconds(count);
            assert_eq!(found, expected, "{resolution} {offset} {count}");
        }
    }
}
