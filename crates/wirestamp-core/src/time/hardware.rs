//! Values of a NIC's clock, which is a raw counter, and its frequency. [`crate::correlate`] relates
//! them to other clocks.

use super::Span;
use core::fmt;
use core::num::NonZeroU64;

/// A value of a NIC's 64-bit counter, as the driver returned it.
///
/// On Linux these are nanoseconds of the PTP hardware clock (nominally 10⁹ ticks per second), on
/// Windows raw ticks of a frequency that must be estimated.
///
/// Values have no order, because the counter wraps and restarts. Use [`since`](Self::since) for
/// differences within one run of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct HardwareTicks(u64);

impl HardwareTicks {
    /// Creates ticks from the raw counter value.
    pub const fn new(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Returns the raw counter value.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Returns the whole seconds since the counter's start and the remaining nanoseconds, rounded
    /// down, for a counter of this frequency. On Linux every counter has [`Frequency::GIGAHERTZ`],
    /// and the result is the PTP hardware clock's time.
    pub const fn seconds_and_nanoseconds(self, frequency: Frequency) -> (u64, u32) {
        let hertz = frequency.hertz();
        let rest = (self.0 % hertz) as u128 * 1_000_000_000 / hertz as u128;
        (self.0 / hertz, rest as u32)
    }

    /// Returns the ticks from `earlier` to `self`, across a wrap of the counter. Correct if the
    /// true difference is less than half the counter's range.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.wrapping_sub(earlier.0) as i64
    }

    /// Returns the value `ticks` later, across a wrap of the counter.
    #[must_use]
    pub const fn plus(self, ticks: i64) -> Self {
        Self(self.0.wrapping_add_signed(ticks))
    }
}

/// A frequency in whole hertz, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Frequency(NonZeroU64);

impl Frequency {
    /// 1 GHz: ticks are nanoseconds.
    pub const GIGAHERTZ: Self = Self(NonZeroU64::new(1_000_000_000).expect("not zero"));

    /// Creates a frequency; `None` for 0, which drivers use for "unknown".
    pub const fn from_hertz(hertz: u64) -> Option<Self> {
        match NonZeroU64::new(hertz) {
            Some(hertz) => Some(Self(hertz)),
            None => None,
        }
    }

    /// Returns the frequency in hertz.
    pub const fn hertz(self) -> u64 {
        self.0.get()
    }

    /// Returns the duration of `ticks`, rounded down to the nanosecond. Correct for any frequency
    /// and any 64-bit number of ticks.
    pub const fn span_of(self, ticks: i64) -> Span {
        let product = ticks as i128 * 1_000_000_000;
        Span::from_nanoseconds(product.div_euclid(self.0.get() as i128))
    }

    /// Returns the number of whole ticks in `span`, rounded down; `None` if it exceeds 64 bits.
    pub fn ticks_in(self, span: Span) -> Option<i64> {
        let product = span.nanoseconds().checked_mul(i128::from(self.0.get()))?;
        i64::try_from(product.div_euclid(1_000_000_000)).ok()
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hertz() {
            hertz if hertz % 1_000_000 == 0 => write!(f, "{} MHz", hertz / 1_000_000),
            hertz => write!(f, "{hertz} Hz"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_shows_seconds_and_nanoseconds() {
        let shown = |ticks, hertz| {
            let frequency = Frequency::from_hertz(hertz).expect("not zero");
            HardwareTicks::new(ticks).seconds_and_nanoseconds(frequency)
        };
        assert_eq!(shown(5_000_000_007, 1_000_000_000), (5, 7));
        assert_eq!(shown(25, 10), (2, 500_000_000));
        assert_eq!(shown(u64::MAX, u64::MAX - 1), (1, 0));
        assert_eq!(shown(u64::MAX - 1, u64::MAX), (0, 999_999_999));
    }

    #[test]
    fn counts_across_the_wrap() {
        let before = HardwareTicks::new(u64::MAX - 1);
        let after = HardwareTicks::new(3);
        assert_eq!(after.since(before), 5);
        assert_eq!(before.since(after), -5);
        assert_eq!(before.plus(5), after);
    }

    #[test]
    fn zero_hertz_is_no_frequency() {
        assert_eq!(Frequency::from_hertz(0), None);
    }

    #[test]
    fn ticks_and_time_are_rounded_down() {
        let frequency = Frequency::from_hertz(3).expect("not zero");
        assert_eq!(frequency.hertz(), 3);
        for (ticks, nanoseconds) in [(3, 1_000_000_000), (1, 333_333_333), (-1, -333_333_334)] {
            let span = Span::from_nanoseconds(nanoseconds);
            assert_eq!(frequency.span_of(ticks), span);
        }
        for (nanoseconds, ticks) in [(1_000_000_000, 3), (333_333_333, 0), (-1, -1)] {
            let span = Span::from_nanoseconds(nanoseconds);
            assert_eq!(frequency.ticks_in(span), Some(ticks));
        }
        let longest = Span::from_nanoseconds(i128::from(i64::MAX));
        assert_eq!(Frequency::GIGAHERTZ.ticks_in(longest), Some(i64::MAX));
        let longer = longest + Span::from_nanoseconds(1);
        assert_eq!(Frequency::GIGAHERTZ.ticks_in(longer), None);
        let longest = Span::from_nanoseconds(i128::MAX);
        assert_eq!(Frequency::GIGAHERTZ.ticks_in(longest), None);
    }

    #[test]
    fn whole_megahertz_are_shown_as_such() {
        let shown = |hertz| std::format!("{}", Frequency::from_hertz(hertz).expect("not zero"));
        assert_eq!(shown(25_000_000), "25 MHz");
        assert_eq!(shown(25_000_001), "25000001 Hz");
    }

    proptest! {
        #[test]
        fn ticks_survive_the_way_to_time_and_back(hertz in 1_000u64..10_000_000_000, seconds in 0i64..3_200_000_000) {
            let frequency = Frequency::from_hertz(hertz).expect("not zero");
            let Some(ticks) = frequency.ticks_in(Span::from_seconds(seconds)) else { return Ok(()) };
            let back = frequency.span_of(ticks);
            let error = Span::from_seconds(seconds) - back;
            // at most one tick over a hundred years, at any frequency
            prop_assert!(!error.is_negative());
            prop_assert!(error.nanoseconds() <= 1_000_000_000 / i128::from(hertz) + 1);
        }
    }
}
