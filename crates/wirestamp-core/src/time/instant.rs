//! Instants of clocks that count nanoseconds. For a NIC's raw counter see
//! [`HardwareTicks`](super::HardwareTicks).

use super::Span;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Add, Sub};

mod sealed {
    pub trait Sealed {
        /// Whether its instants are dates and times of day.
        const IS_TIME_OF_DAY: bool;
    }
}

/// A clock that an instant can belong to: [`Monotonic`], [`Utc`] or [`Ptp`].
pub trait Clock: sealed::Sealed + Copy + Ord + fmt::Debug {
    /// The clock's name in messages.
    const NAME: &'static str;
}

macro_rules! clock {
    ($(#[$doc:meta])* $marker:ident, $alias:ident, $name:literal, $is_time_of_day:literal, $(#[$alias_doc:meta])*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $marker {}
        impl sealed::Sealed for $marker {
            const IS_TIME_OF_DAY: bool = $is_time_of_day;
        }
        impl Clock for $marker {
            const NAME: &'static str = $name;
        }
        $(#[$alias_doc])*
        pub type $alias = Time<$marker>;
    };
}

clock!(
    /// The system's monotonic clock. It is never stepped; its frequency may be adjusted.
    ///
    /// Linux: `CLOCK_MONOTONIC`. Windows: the performance counter, in nanoseconds.
    Monotonic, MonotonicTime, "monotonic", false,
    /// An instant of the monotonic clock, in nanoseconds since an arbitrary start (boot). Latencies
    /// are measured and timestamps converted on this clock.
);
clock!(
    /// The system's real-time clock (UTC). Privileged programs can step it.
    ///
    /// Linux: `CLOCK_REALTIME`. Windows: the precise system time.
    Utc, UtcTime, "UTC", true,
    /// An instant of the real-time clock, in nanoseconds since 1970-01-01T00:00:00 UTC.
);
clock!(
    /// The PTP timescale, which is TAI.
    Ptp, PtpTime, "PTP", false,
    /// An instant of the PTP timescale, in nanoseconds since 1970-01-01T00:00:00 TAI
    /// (IEEE 1588-2008, clause 7.2).
);

/// An instant of clock `C`: signed nanoseconds since the clock's start, within ±292 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time<C> {
    nanoseconds: i64,
    clock: PhantomData<C>,
}

impl<C: Clock> Time<C> {
    /// The earliest instant.
    pub const MIN: Self = Self::from_nanoseconds(i64::MIN);
    /// The latest instant.
    pub const MAX: Self = Self::from_nanoseconds(i64::MAX);

    /// Creates an instant from nanoseconds since the clock's start. Every value is valid.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self {
            nanoseconds,
            clock: PhantomData,
        }
    }

    /// Creates an instant from seconds and nanoseconds, the form of system calls and wire formats.
    ///
    /// # Errors
    /// [`TimeOutOfRange`] if `nanoseconds` is 10⁹ or more, or the instant is outside ±292 years.
    #[inline]
    pub const fn from_seconds_and_nanoseconds(
        seconds: i64,
        nanoseconds: u32,
    ) -> Result<Self, TimeOutOfRange> {
        if nanoseconds >= 1_000_000_000 {
            return Err(TimeOutOfRange);
        }
        let whole = match seconds.checked_mul(1_000_000_000) {
            Some(whole) => whole.checked_add(nanoseconds as i64),
            None => None,
        };
        if let Some(whole) = whole {
            return Ok(Self::from_nanoseconds(whole));
        }
        // in i128, because the range's first second overflows i64 nanoseconds before the addition
        let whole = seconds as i128 * 1_000_000_000 + nanoseconds as i128;
        if whole < i64::MIN as i128 || whole > i64::MAX as i128 {
            return Err(TimeOutOfRange);
        }
        Ok(Self::from_nanoseconds(whole as i64))
    }

    /// Returns the nanoseconds since the clock's start.
    pub const fn nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// Returns the whole seconds since the clock's start, rounded down, and the remaining
    /// nanoseconds: the inverse of
    /// [`from_seconds_and_nanoseconds`](Self::from_seconds_and_nanoseconds).
    pub const fn seconds_and_nanoseconds(self) -> (i64, u32) {
        (
            self.nanoseconds.div_euclid(1_000_000_000),
            self.nanoseconds.rem_euclid(1_000_000_000) as u32,
        )
    }

    /// Returns the nanoseconds from `earlier` to `self`, saturating at 64 bits.
    #[inline]
    pub(crate) const fn saturating_since(self, earlier: Self) -> i64 {
        self.nanoseconds.saturating_sub(earlier.nanoseconds)
    }

    /// Returns the instant `span` later, for spans of more than 292 years, saturating at the range.
    #[cold]
    fn far_from(self, span: Span) -> Self {
        let end = if span.is_negative() {
            Self::MIN
        } else {
            Self::MAX
        };
        self.checked_add(span).unwrap_or(end)
    }

    /// Returns the instant `span` later; `None` if it is outside ±292 years.
    pub fn checked_add(self, span: Span) -> Option<Self> {
        let sum = i128::from(self.nanoseconds).checked_add(span.nanoseconds())?;
        i64::try_from(sum).ok().map(Self::from_nanoseconds)
    }
}

/// Returns the time from `earlier` to `self`; negative if `self` is earlier.
impl<C: Clock> Sub for Time<C> {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span::from_nanoseconds(i128::from(self.nanoseconds) - i128::from(earlier.nanoseconds))
    }
}

/// Returns the instant `span` later. Saturates at the ends of the range, so that deadlines can be
/// infinite.
impl<C: Clock> Add<Span> for Time<C> {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        match span.narrow() {
            Some(nanoseconds) => {
                Self::from_nanoseconds(self.nanoseconds.saturating_add(nanoseconds))
            }
            None => self.far_from(span),
        }
    }
}

/// Returns the instant `span` earlier. Saturates at the ends of the range.
impl<C: Clock> Sub<Span> for Time<C> {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        match span.narrow() {
            Some(nanoseconds) => {
                Self::from_nanoseconds(self.nanoseconds.saturating_sub(nanoseconds))
            }
            None => self.far_from(-span),
        }
    }
}

impl<C: Clock> fmt::Debug for Time<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns ({})", self.nanoseconds, C::NAME)
    }
}

/// The error for an instant outside the range of [`Time`], or for 10⁹ nanoseconds or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOutOfRange;

impl fmt::Display for TimeOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an instant: nanoseconds must be below 1,000,000,000 and the time within ±292 years")
    }
}

impl core::error::Error for TimeOutOfRange {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_outside_the_range_is_none() {
        let (time, nanosecond) = (UtcTime::from_nanoseconds(5), Span::from_nanoseconds(1));
        let sum = time.checked_add(Span::from_nanoseconds(-8));
        assert_eq!(sum, Some(UtcTime::from_nanoseconds(-3)));
        assert_eq!(UtcTime::MAX.checked_add(nanosecond), None);
        assert_eq!(UtcTime::MIN.checked_add(-nanosecond), None);
    }

    #[test]
    fn a_whole_billion_of_nanoseconds_is_refused_everywhere() {
        assert_eq!(
            UtcTime::from_seconds_and_nanoseconds(1, 1_000_000_000),
            Err(TimeOutOfRange)
        );
        assert_eq!(
            UtcTime::from_seconds_and_nanoseconds(i64::MAX, 0),
            Err(TimeOutOfRange)
        );
        let time = UtcTime::from_seconds_and_nanoseconds(-1, 999_999_999).expect("in range");
        assert_eq!(time.nanoseconds(), -1);
        let earliest = UtcTime::from_seconds_and_nanoseconds(-9_223_372_037, 145_224_192);
        assert_eq!(earliest, Ok(UtcTime::MIN));
        assert_eq!(
            UtcTime::from_seconds_and_nanoseconds(-9_223_372_037, 145_224_191),
            Err(TimeOutOfRange)
        );
        assert_eq!(
            UtcTime::from_seconds_and_nanoseconds(9_223_372_036, 854_775_807),
            Ok(UtcTime::MAX)
        );
        assert_eq!(
            UtcTime::from_seconds_and_nanoseconds(9_223_372_036, 854_775_808),
            Err(TimeOutOfRange)
        );
    }

    #[test]
    fn seconds_and_nanoseconds_are_read_back() {
        for (nanoseconds, expected) in [
            (0, (0, 0)),
            (-1, (-1, 999_999_999)),
            (1_000_000_007, (1, 7)),
            (i64::MIN, (-9_223_372_037, 145_224_192)),
            (i64::MAX, (9_223_372_036, 854_775_807)),
        ] {
            let time = UtcTime::from_nanoseconds(nanoseconds);
            let (seconds, rest) = time.seconds_and_nanoseconds();
            assert_eq!((seconds, rest), expected);
            assert_eq!(
                UtcTime::from_seconds_and_nanoseconds(seconds, rest),
                Ok(time)
            );
        }
    }

    #[test]
    fn differences_are_exact_over_the_whole_range() {
        assert_eq!(
            (MonotonicTime::MAX - MonotonicTime::MIN).nanoseconds(),
            i128::from(u64::MAX)
        );
        assert_eq!(
            MonotonicTime::MAX + Span::from_nanoseconds(1),
            MonotonicTime::MAX
        );
        assert_eq!(
            MonotonicTime::MIN - Span::from_nanoseconds(1),
            MonotonicTime::MIN
        );
        assert_eq!(
            MonotonicTime::MAX.checked_add(Span::from_nanoseconds(1)),
            None
        );
        let at = MonotonicTime::from_nanoseconds;
        assert_eq!((at(5) - at(7)).nanoseconds(), -2);
        assert_eq!(at(5).saturating_since(at(7)), -2);
        assert_eq!(MonotonicTime::MIN.saturating_since(at(1)), i64::MIN);
    }

    /// Deadlines that mean "for ever" are spans longer than the range.
    #[test]
    fn a_span_beyond_64_bits_leads_to_the_end_of_the_range_or_across_it() {
        let ages = Span::from_nanoseconds(i128::MAX);
        let at = MonotonicTime::from_nanoseconds(5);
        assert_eq!(
            (at + ages, at - ages),
            (MonotonicTime::MAX, MonotonicTime::MIN)
        );
        assert_eq!(
            (at + -ages, at - -ages),
            (MonotonicTime::MIN, MonotonicTime::MAX)
        );
        let whole = MonotonicTime::MAX - MonotonicTime::MIN;
        assert_eq!(MonotonicTime::MIN + whole, MonotonicTime::MAX);
        assert_eq!(MonotonicTime::MAX - whole, MonotonicTime::MIN);
    }

    #[test]
    fn an_instant_says_which_clock_it_is_of() {
        let shown = std::format!("{:?}", PtpTime::from_nanoseconds(-7));
        assert_eq!(shown, "-7 ns (PTP)");
    }
}
