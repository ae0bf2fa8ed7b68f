//! Formatting of UTC by RFC 3339, with nanoseconds, also before 1970.

use super::UtcTime;
use alloc::string::String;
use core::fmt::{self, Write};

const DAY: i64 = 86_400;

/// Prints a [`UtcTime`] in the form of RFC 3339, like the time itself:
/// `2026-11-23T06:30:00.123456789Z`. 30 characters, unless a precision asks for fewer digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rfc3339(UtcTime);

impl UtcTime {
    /// Returns a value that prints this instant by RFC 3339, in UTC with nanoseconds.
    ///
    /// ```
    /// use wirestamp_core::time::UtcTime;
    /// let before = UtcTime::from_nanoseconds(-1);
    /// assert_eq!(before.rfc3339().to_string(), "1969-12-31T23:59:59.999999999Z");
    /// ```
    pub const fn rfc3339(self) -> Rfc3339 {
        Rfc3339(self)
    }
}

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes the date and time of a number of seconds since 1970, without fraction and zone.
pub(super) fn write_seconds(to: &mut String, seconds: i64) -> fmt::Result {
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    write!(
        to,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    )
}

/// Converts days since 1970 to year, month and day of the Gregorian calendar. Internally years
/// begin in March, so that the leap day is the last day of the year and 400 years always have
/// 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // since 1 March of the year 0
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // 0 is March
    let day = day - (153 * month + 2) / 5 + 1;
    let of_next_year = i64::from(month >= 10);
    (era * 400 + year + of_next_year, (month + 2) % 12 + 1, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn times_have_nanoseconds_before_1970_too() {
        for (nanoseconds, expected) in [
            (1_795_415_400_123_456_789, "2026-11-23T06:30:00.123456789Z"),
            (0, "1970-01-01T00:00:00.000000000Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
            (-SECOND, "1969-12-31T23:59:59.000000000Z"),
            (-DAY * SECOND - 1, "1969-12-30T23:59:59.999999999Z"),
            (951_782_400 * SECOND, "2000-02-29T00:00:00.000000000Z"),
            (i64::MAX, "2262-04-11T23:47:16.854775807Z"),
            (i64::MIN, "1677-09-21T00:12:43.145224192Z"),
        ] {
            let text = UtcTime::from_nanoseconds(nanoseconds).rfc3339().to_string();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(-1), (1969, 12, 31));
        assert_eq!(date(11_016), (2000, 2, 29));
        // every day follows the one before
        let mut last = date(-200_000);
        for days in -199_999..200_000 {
            let (year, month, day) = date(days);
            let next = match last {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == length(year, month) => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
            assert_eq!((year, month, day), next);
            last = next;
        }
    }

    fn length(year: i64, month: i64) -> i64 {
        match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}
