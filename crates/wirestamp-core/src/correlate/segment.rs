//! Owns the straight line by which stamps since the newest reading are converted. Does not
//! know how it was found.

use crate::time::{HardwareTicks, SystemTime};

/// 2⁵²: a float of this size has a unit in its last place of 1, so that adding it rounds to a
/// whole number, and its low bits are that number. No branch, and the same bits everywhere.
const SHIFT: f64 = 4_503_599_627_370_496.0;
const SHIFT_BITS: u64 = SHIFT.to_bits();
/// Ticks and nanoseconds that a float holds exactly, with room to spare.
const LIMIT: f64 = (1u64 << 50) as f64;

/// A second: what is known no better is not known.
const LARGEST_HALF_WIDTH: f64 = 1e9;

/// A line with a bound that grows with the distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    ticks: HardwareTicks,
    at: i64,
    /// From `at` to the system time of `ticks`: never negative.
    offset: f64,
    /// Nanoseconds per tick.
    slope: f64,
    half_width: f64,
    /// Per tick, and per tick squared.
    spread: f64,
    curve: f64,
    /// How far it reaches, in ticks.
    reach: u64,
}

/// What a line is made of. Nanoseconds, and fractions of the scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) ticks: HardwareTicks,
    pub(super) at: SystemTime,
    pub(super) offset: f64,
    pub(super) rate: f64,
    pub(super) half_width: f64,
    pub(super) spread: f64,
    /// Per nanosecond.
    pub(super) wander: f64,
    pub(super) scale: f64,
}

impl Segment {
    /// Reaches nothing.
    pub(super) const NONE: Self = Self {
        ticks: HardwareTicks::new(0),
        at: 0,
        offset: 0.0,
        slope: 0.0,
        half_width: 0.0,
        spread: 0.0,
        curve: 0.0,
        reach: 0,
    };

    pub(super) const WORDS: usize = 8;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let Self { ticks, at, offset, slope, half_width, spread, curve, reach } = self;
        let [offset, slope, half_width, spread, curve] = [offset, slope, half_width, spread, curve].map(f64::to_bits);
        [ticks.raw(), at.cast_unsigned(), offset, slope, half_width, spread, curve, reach]
    }

    #[inline]
    pub(super) fn from_words(words: &[u64; Self::WORDS]) -> Self {
        let [ticks, at, offset, slope, half_width, spread, curve, reach] = *words;
        let [offset, slope, half_width, spread, curve] = [offset, slope, half_width, spread, curve].map(f64::from_bits);
        Self { ticks: HardwareTicks::new(ticks), at: at.cast_signed(), offset, slope, half_width, spread, curve, reach }
    }

    /// `reach`: in nanoseconds.
    pub(super) fn new(line: &Line, reach: f64) -> Self {
        let whole = line.offset as i64 - i64::from(line.offset < 0.0);
        let at = line.at.nanoseconds().checked_add(whole);
        let room = i64::MAX.saturating_sub(at.unwrap_or(i64::MAX));
        let fits = reach * 2.0 < room as f64 && line.half_width < LARGEST_HALF_WIDTH;
        let reach = if fits { (reach / line.scale).min(LIMIT).min(LIMIT / line.scale) } else { 0.0 };
        Self {
            ticks: line.ticks,
            at: at.unwrap_or(0),
            offset: line.offset - whole as f64,
            slope: line.scale * (1.0 + line.rate),
            half_width: line.half_width,
            spread: line.spread * line.scale,
            curve: line.wander / 2.0 * line.scale * line.scale,
            reach: reach as u64,
        }
    }

    /// Ticks since its start; `None` beyond its reach.
    #[inline]
    pub(super) fn distance(&self, ticks: HardwareTicks) -> Option<u64> {
        let distance = self.way(ticks);
        (distance < self.reach).then_some(distance)
    }

    /// Ticks since its start, for one that is known to be within its reach.
    #[inline]
    pub(super) fn way(&self, ticks: HardwareTicks) -> u64 {
        ticks.since(self.ticks).cast_unsigned()
    }

    /// The system time, in nanoseconds. `distance` lies within its reach.
    #[inline]
    pub(super) fn at(&self, distance: u64) -> i64 {
        self.at.wrapping_add(whole(self.offset + self.slope * float(distance)).cast_signed())
    }

    /// The same before rounding: an instant, from there to the system time, and how far that
    /// can be off, in nanoseconds.
    pub(super) fn unrounded(&self, distance: u64) -> (SystemTime, f64, f64) {
        let distance = float(distance);
        let half_width = self.half_width + distance * (self.spread + distance * self.curve);
        (SystemTime::from_nanoseconds(self.at), self.offset + self.slope * distance, half_width)
    }

    /// How far that can be off, in nanoseconds, rounded up.
    #[inline]
    pub(super) fn bound(&self, distance: u64) -> u64 {
        let distance = float(distance);
        whole(self.half_width + distance * (self.spread + distance * self.curve) + 0.5)
    }
}

/// Exact below 2⁵².
#[inline]
fn float(value: u64) -> f64 {
    f64::from_bits(value | SHIFT_BITS) - SHIFT
}

/// To the nearest whole number; `value` from 0 to 2⁵¹.
#[inline]
fn whole(value: f64) -> u64 {
    (value + SHIFT).to_bits() & !SHIFT_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn floats_are_exact_and_rounding_is_to_the_nearest(value in 0u64..1 << 51) {
            prop_assert_eq!(float(value) as u64, value);
            prop_assert_eq!(whole(float(value)), value);
            prop_assert_eq!(whole(float(value >> 8) + 0.4), value >> 8);
            prop_assert_eq!(whole(float(value >> 8) + 0.6), (value >> 8) + 1);
        }
    }
}
