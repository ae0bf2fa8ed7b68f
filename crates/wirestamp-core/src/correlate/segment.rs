//! The straight line that converts timestamps since the newest cross timestamp.

use crate::time::{HardwareTicks, MonotonicTime};

/// 2⁵²: the unit in the last place of such a float is 1, so its low bits are the whole number that
/// was added. This conversion has no branch and gives the same bits on every processor.
const COUNT: f64 = 4_503_599_627_370_496.0;
/// 2⁴²: the same with a unit of 2⁻¹⁰ in the last place. Shifting right leaves the whole
/// nanoseconds.
const LIFT: f64 = 4_398_046_511_104.0;
const FRACTION: u32 = 10;
const LIFTED: u64 = LIFT.to_bits() >> FRACTION;
/// The largest number of ticks or nanoseconds, which a float holds exactly with room to spare.
const LIMIT: f64 = (1u64 << 41) as f64;

/// The largest error bound in nanoseconds (a second); beyond, a time counts as unknown.
const LARGEST_HALF_WIDTH: f64 = 1e9;

/// A line with an error bound that grows with the distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    ticks: HardwareTicks,
    /// The start in nanoseconds, minus [`LIFTED`].
    at: i64,
    /// The time from `at` to the system time of `ticks`, plus a half for rounding, plus [`LIFT`].
    lift: f64,
    /// Nanoseconds per tick.
    slope: f64,
    /// The error bound at the start, plus one for rounding up, plus [`LIFT`].
    roof: f64,
    /// The growth of the error bound per tick, and per tick squared.
    spread: f64,
    curve: f64,
    /// The reach in ticks.
    reach: u64,
}

/// The parameters of a line, in nanoseconds and fractions of the scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) ticks: HardwareTicks,
    pub(super) at: MonotonicTime,
    pub(super) offset: f64,
    pub(super) rate: f64,
    pub(super) half_width: f64,
    pub(super) spread: f64,
    /// The wander per nanosecond.
    pub(super) wander: f64,
    pub(super) scale: f64,
}

impl Segment {
    /// A line that converts nothing.
    pub(super) const NONE: Self = Self {
        ticks: HardwareTicks::new(0),
        at: 0,
        lift: LIFT,
        slope: 0.0,
        roof: LIFT,
        spread: 0.0,
        curve: 0.0,
        reach: 0,
    };

    /// Creates a line with a reach in nanoseconds, or less if the error bound would exceed a
    /// second.
    pub(super) fn new(line: &Line, reach: f64) -> Self {
        let whole = line.offset as i64 - i64::from(line.offset < 0.0);
        let at = line.at.nanoseconds().checked_add(whole);
        let room = i64::MAX.saturating_sub(at.unwrap_or(i64::MAX));
        let fits = reach * 2.0 < room as f64 && line.half_width < LARGEST_HALF_WIDTH;
        let reach = if fits {
            (reach / line.scale).min(LIMIT).min(LIMIT / line.scale)
        } else {
            0.0
        };
        let mut segment = Self {
            ticks: line.ticks,
            at: at.unwrap_or(0).wrapping_sub_unsigned(LIFTED),
            lift: LIFT + (line.offset - whole as f64 + 0.5),
            slope: line.scale * (1.0 + line.rate),
            roof: LIFT + (line.half_width + 1.0),
            spread: line.spread * line.scale,
            curve: line.wander / 2.0 * line.scale * line.scale,
            reach: reach as u64,
        };
        while segment.reach > 0 && segment.half_width(segment.reach as f64) >= LARGEST_HALF_WIDTH {
            segment.reach /= 2;
        }
        segment
    }

    /// The system time of its start.
    pub(super) fn start(&self) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(self.at(0))
    }

    /// Limits the reach to system times up to `until`.
    #[must_use]
    pub(super) fn cut(self, until: MonotonicTime) -> Self {
        let room = (until - self.start()).saturating_nanoseconds().max(0);
        // the last distance is one less: a tick is more than the error of a float
        let reach = self.reach.min((room as f64 / self.slope) as u64);
        Self { reach, ..self }
    }

    /// Returns the ticks since its start; `None` beyond its reach.
    #[inline]
    pub(super) fn distance(&self, ticks: HardwareTicks) -> Option<u64> {
        let distance = ticks.since(self.ticks) as u64;
        (distance < self.reach).then_some(distance)
    }

    /// The system time in nanoseconds. `distance` must be within its reach.
    #[inline]
    pub(super) fn at(&self, distance: u64) -> i64 {
        self.lifted(distance as i64 as f64)
    }

    /// The error bound in nanoseconds, rounded up.
    #[inline]
    pub(super) fn bound(&self, distance: u64) -> u64 {
        let distance = distance as i64 as f64;
        let bound = self.roof + distance * (self.spread + distance * self.curve);
        (bound.to_bits() >> FRACTION) - LIFTED
    }

    /// The system time before rounding, precise to a picosecond: an instant, the nanoseconds from
    /// there, and the error bound in nanoseconds.
    pub(super) fn unrounded(&self, distance: u64) -> (MonotonicTime, f64, f64) {
        let distance = distance as f64;
        let at = MonotonicTime::from_nanoseconds(self.at.wrapping_add_unsigned(LIFTED));
        (
            at,
            self.lift - LIFT - 0.5 + self.slope * distance,
            self.half_width(distance),
        )
    }

    /// Converts a slice into one of the same length, and returns the largest distance. `None` if a
    /// timestamp is beyond the reach; the result is then unspecified.
    ///
    /// It has no branch and is inlined, so that the caller's code is vectorised. Values beyond a
    /// float's whole numbers give wrong results, which are detected afterwards.
    #[inline(always)]
    pub(super) fn convert_slice(
        &self,
        ticks: &[HardwareTicks],
        into: &mut [MonotonicTime],
    ) -> Option<u64> {
        let mut most = 0;
        for (ticks, into) in ticks.iter().zip(into) {
            let distance = ticks.since(self.ticks) as u64;
            most = most.max(distance);
            let distance = f64::from_bits(distance | COUNT.to_bits()) - COUNT;
            *into = MonotonicTime::from_nanoseconds(self.lifted(distance));
        }
        (most < self.reach).then_some(most)
    }

    #[inline(always)]
    fn lifted(&self, distance: f64) -> i64 {
        self.at
            .wrapping_add_unsigned((self.lift + self.slope * distance).to_bits() >> FRACTION)
    }

    fn half_width(&self, distance: f64) -> f64 {
        self.roof - LIFT - 1.0 + distance * (self.spread + distance * self.curve)
    }

    pub(super) const WORDS: usize = 8;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let Self {
            ticks,
            at,
            lift,
            slope,
            roof,
            spread,
            curve,
            reach,
        } = self;
        let [lift, slope, roof, spread, curve] =
            [lift, slope, roof, spread, curve].map(f64::to_bits);
        [
            ticks.raw(),
            at as u64,
            lift,
            slope,
            roof,
            spread,
            curve,
            reach,
        ]
    }

    #[inline]
    pub(super) fn from_words(words: &[u64; Self::WORDS]) -> Self {
        let [ticks, at, lift, slope, roof, spread, curve, reach] = *words;
        let [lift, slope, roof, spread, curve] =
            [lift, slope, roof, spread, curve].map(f64::from_bits);
        let (ticks, at) = (HardwareTicks::new(ticks), at as i64);
        Self {
            ticks,
            at,
            lift,
            slope,
            roof,
            spread,
            curve,
            reach,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn segment(slope: f64, offset: f64) -> Segment {
        let line = Line {
            ticks: HardwareTicks::new(u64::MAX - 1_000),
            at: MonotonicTime::from_nanoseconds(1_700_000_000_000_000_000),
            offset,
            rate: 0.0,
            half_width: 312.25,
            spread: 1e-8,
            wander: 3e-17,
            scale: slope,
        };
        Segment::new(&line, 70e9)
    }

    proptest! {
        #[test]
        fn rounding_is_to_the_nearest_and_bounds_are_rounded_up(
            part in 0.0..1.0, slope in 0.09..1e6, offset in -1e6..1e6,
        ) {
            let segment = segment(slope, offset);
            let distance = (part * segment.reach as f64) as u64;
            prop_assume!(distance < segment.reach);
            let (base, offset, half_width) = segment.unrounded(distance);
            let off = (segment.at(distance) - base.nanoseconds()) as f64 - offset;
            prop_assert!(off.abs() <= 0.502, "{off}");
            let more = segment.bound(distance) as f64 - half_width;
            prop_assert!((-0.002..1.002).contains(&more), "{more}");
        }

        /// Instants within the reach of a shortened line are before its end; one or two ticks later
        /// they are not.
        #[test]
        fn a_cut_line_reaches_its_end_and_nothing_beyond(part in 0.0..1.0, slope in 0.09..1e6, offset in -1e6..1e6) {
            let segment = segment(slope, offset);
            prop_assert_eq!(segment.distance(segment.ticks.plus(segment.reach as i64)), None);
            let wanted = (part * segment.reach as f64) as u64;
            prop_assume!(wanted > 2);
            let until = MonotonicTime::from_nanoseconds(segment.at(wanted));
            let cut = segment.cut(until);
            prop_assert!(cut.at(cut.reach - 1) <= until.nanoseconds());
            let beyond = cut.at(cut.reach + 1) - until.nanoseconds();
            prop_assert!((-1..=slope as i64 + 2).contains(&beyond), "{beyond}");
            let nowhere = segment.start() - crate::time::Span::from_nanoseconds(1);
            prop_assert_eq!(segment.cut(nowhere).reach, 0);
        }

        /// The same bits for any number of them; values beyond the reach are noticed at any place.
        #[test]
        fn a_slice_is_converted_as_its_elements_are(
            parts in prop::collection::vec(0.0..1.0, 1..40), slope in 0.09..1e6, place in any::<prop::sample::Index>(),
            beyond in prop_oneof![Just(0u64), 0u64..1 << 60, Just(u64::MAX / 2)],
        ) {
            let segment = segment(slope, 17.3);
            let mut ticks: Vec<_> =
                parts.iter().map(|part| segment.ticks.plus((part * (segment.reach - 1) as f64) as i64)).collect();
            let mut into = vec![MonotonicTime::MIN; ticks.len()];
            let most = segment.convert_slice(&ticks, &mut into);
            let distances: Vec<_> = ticks.iter().map(|ticks| segment.distance(*ticks).expect("within")).collect();
            prop_assert_eq!(most, distances.iter().copied().max());
            for (into, distance) in into.iter().zip(&distances) {
                prop_assert_eq!(into.nanoseconds(), segment.at(*distance));
            }
            *place.get_mut(&mut ticks) = segment.ticks.plus((segment.reach + beyond) as i64);
            prop_assert_eq!(segment.convert_slice(&ticks, &mut into), None);
            *place.get_mut(&mut ticks) = segment.ticks.plus(-1 - beyond as i64);
            prop_assert_eq!(segment.convert_slice(&ticks, &mut into), None);
        }
    }
}
