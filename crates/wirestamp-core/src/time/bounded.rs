//! A value with its error bound.

use super::{Span, display, instant};
use core::fmt;

/// A value with its error bound: the truth lies within `bound` of `value`.
///
/// `T` is a [`Span`] (a delay, an offset) or an instant.
///
/// ```
/// use wirestamp_core::time::{Bounded, Span};
/// let delay = Bounded::new(Span::from_nanoseconds(1_200), Span::from_nanoseconds(80));
/// assert!(delay.contains(Span::from_nanoseconds(1_280)));
/// assert_eq!(delay.most(), Span::from_nanoseconds(1_280));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounded<T> {
    /// The estimate.
    pub value: T,
    /// The error bound, never negative.
    pub bound: Span,
}

impl<T> Bounded<T> {
    /// Creates a value with its error bound.
    ///
    /// # Panics
    /// In debug builds if `bound` is negative, which is the result of contradictory limits.
    pub const fn new(value: T, bound: Span) -> Self {
        debug_assert!(!bound.is_negative(), "limits that contradict each other");
        Self { value, bound }
    }

    /// Creates a value without an error.
    pub const fn exact(value: T) -> Self {
        Self::new(value, Span::ZERO)
    }
}

impl Bounded<Span> {
    /// Returns the smallest possible true value: `value - bound`.
    pub fn least(&self) -> Span {
        self.value - self.bound
    }

    /// Returns the largest possible true value: `value + bound`.
    pub fn most(&self) -> Span {
        self.value + self.bound
    }

    /// Returns whether `truth` is within the error bound.
    pub fn contains(&self, truth: Span) -> bool {
        self.least() <= truth && truth <= self.most()
    }
}

impl<C: instant::Clock> Bounded<instant::Time<C>> {
    /// Returns whether `truth` is within the error bound.
    pub fn contains(&self, truth: instant::Time<C>) -> bool {
        (self.value - truth).abs() <= self.bound
    }
}

/// Adds two values and their error bounds.
impl core::ops::Add for Bounded<Span> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.value + other.value, self.bound + other.bound)
    }
}

/// Returns the time since an exactly known instant.
impl<C: instant::Clock> core::ops::Sub<instant::Time<C>> for Bounded<instant::Time<C>> {
    type Output = Bounded<Span>;

    fn sub(self, earlier: instant::Time<C>) -> Bounded<Span> {
        Bounded::new(self.value - earlier, self.bound)
    }
}

/// Prints the time span and its error bound: `12.3 µs ±80 ns`. The bound is rounded up, so that the
/// printed interval contains this one; a bound beyond 10¹⁹ years is printed as that.
impl fmt::Display for Bounded<Span> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display::span(f, self.value, self.bound)
    }
}

/// Returns the time between two instants of the same clock; the error bounds add up.
impl<C: instant::Clock> core::ops::Sub for Bounded<instant::Time<C>> {
    type Output = Bounded<Span>;

    fn sub(self, other: Self) -> Bounded<Span> {
        Bounded::new(self.value - other.value, self.bound + other.bound)
    }
}

/// Prints the instant and its error bound, rounded up so that the printed interval contains this
/// one.
impl<C: instant::Clock> fmt::Display for Bounded<instant::Time<C>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display::nanoseconds(f, self.value, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::UtcTime;
    use alloc::format;

    const fn ns(nanoseconds: i128) -> Span {
        Span::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn errors_add_up() {
        let (one, other) = (Bounded::new(ns(-5), ns(2)), Bounded::new(ns(7), ns(3)));
        assert_eq!(one + other, Bounded::new(ns(2), ns(5)));
        let at = |time, bound| Bounded::new(UtcTime::from_nanoseconds(time), ns(bound));
        assert_eq!(at(9, 1) - at(4, 2), Bounded::new(ns(5), ns(3)));
        assert_eq!(at(9, 1) - at(4, 2).value, Bounded::new(ns(5), ns(1)));
    }

    #[test]
    fn the_interval_contains_both_its_ends() {
        let value = Bounded::new(ns(10), ns(4));
        assert!(value.contains(ns(6)) && value.contains(ns(14)));
        assert!(!value.contains(ns(5)) && !value.contains(ns(15)));
        assert!(Bounded::exact(ns(3)).contains(ns(3)));
        let instant = Bounded::new(UtcTime::from_nanoseconds(10), ns(4));
        assert!(
            [6, 14]
                .map(UtcTime::from_nanoseconds)
                .iter()
                .all(|truth| instant.contains(*truth))
        );
        assert!(!instant.contains(UtcTime::from_nanoseconds(5)));
        assert!(!instant.contains(UtcTime::from_nanoseconds(15)));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "contradict")]
    fn limits_that_contradict_each_other_are_no_bound() {
        let _ = Bounded::new(ns(1), ns(-1));
    }

    #[test]
    fn a_length_of_time_is_printed_with_a_bound_that_contains_what_is_cut_off() {
        let shown = |value, bound| format!("{}", Bounded::new(ns(value), ns(bound)));
        assert_eq!(shown(687, 80), "687 ns ±80 ns");
        assert_eq!(shown(-1_172, 80), "-1.17 µs ±82 ns");
        assert_eq!(shown(12_345, 0), "12.3 µs ±45 ns");
        assert_eq!(shown(20_049_999, 1), "20.0 ms ±50.0 µs");
        assert_eq!(shown(999_999_999, 0), "999 ms ±1.00 ms");
        assert_eq!(shown(123_999_999_999, 0), "123 s ±1.00 s");
        assert_eq!(shown(4_711_999_999_999, 0), "4711 s ±1.00 s");
    }

    #[test]
    fn an_instant_is_printed_with_its_bound() {
        let at = Bounded::new(UtcTime::from_nanoseconds(1_500_000_000), ns(120));
        assert_eq!(format!("{at:.3}"), "1970-01-01T00:00:01.500Z ±120 ns");
    }
}
