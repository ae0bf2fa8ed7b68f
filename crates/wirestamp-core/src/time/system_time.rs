//! Conversion between [`UtcTime`] and the standard library's `SystemTime`.

use super::{TimeOutOfRange, UtcTime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Exact on Linux. On Windows `SystemTime` has a resolution of 100 ns, and the remainder is lost.
impl From<UtcTime> for SystemTime {
    fn from(time: UtcTime) -> Self {
        let distance = Duration::from_nanos(time.nanoseconds().unsigned_abs());
        if time.nanoseconds() < 0 {
            UNIX_EPOCH - distance
        } else {
            UNIX_EPOCH + distance
        }
    }
}

impl TryFrom<SystemTime> for UtcTime {
    type Error = TimeOutOfRange;

    /// # Errors
    /// [`TimeOutOfRange`] outside ±292 years.
    fn try_from(time: SystemTime) -> Result<Self, TimeOutOfRange> {
        let nanoseconds = match time.duration_since(UNIX_EPOCH) {
            Ok(since) => i128::try_from(since.as_nanos()),
            Err(before) => i128::try_from(before.duration().as_nanos()).map(|before| -before),
        };
        let nanoseconds = nanoseconds.ok().and_then(|all| i64::try_from(all).ok());
        nanoseconds
            .map(Self::from_nanoseconds)
            .ok_or(TimeOutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_those_of_the_standard_library() {
        assert_eq!(SystemTime::from(UtcTime::from_nanoseconds(0)), UNIX_EPOCH);
        // multiples of 100 ns, the resolution of Windows
        for nanoseconds in [
            -9_000_000_000_000_000_100,
            -100,
            0,
            1_795_611_600_123_456_700,
        ] {
            let time = UtcTime::from_nanoseconds(nanoseconds);
            let stds = SystemTime::from(time);
            let since_1970 = match stds.duration_since(UNIX_EPOCH) {
                Ok(since) => since.as_nanos() as i128,
                Err(before) => -(before.duration().as_nanos() as i128),
            };
            assert_eq!(since_1970, nanoseconds.into());
            assert_eq!(UtcTime::try_from(stds), Ok(time));
        }
    }

    #[test]
    fn a_time_of_day_out_of_range_is_an_error() {
        let ages = Duration::from_secs(10_000_000_000);
        assert_eq!(UtcTime::try_from(UNIX_EPOCH + ages), Err(TimeOutOfRange));
        #[cfg(unix)] // Windows' times begin in 1601
        assert_eq!(UtcTime::try_from(UNIX_EPOCH - ages), Err(TimeOutOfRange));
    }
}
