//! A histogram of signed time spans in fixed memory.

use crate::time::Span;
use alloc::boxed::Box;

/// Buckets for values of one sign: 128 exact values, then 64 buckets for each power of two from 2⁷
/// to 2⁶².
const SIDE: usize = 128 + 64 * 56;

/// The resolution of fractions.
const PARTS: u64 = 1_000_000_000_000;

/// A log-linear histogram of signed nanoseconds, within ±292 years (values beyond count as the
/// nearest limit).
///
/// Below 128 ns every value has its own bucket. Above, a bucket is 1/64 of a power of two wide and
/// is reported as its middle, so reported values are within 1/128 of the true ones. Count, minimum,
/// maximum and mean are exact. Recording does not allocate.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Negative values from the largest magnitude down, then zero and positive values.
    counts: Box<[u64; 2 * SIDE]>,
    count: u64,
    /// The sum of all values is this plus `recent`: adding to one word is faster than to two.
    earlier: i128,
    recent: i64,
    minimum: i64,
    maximum: i64,
}

/// A non-empty bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value of the bucket.
    pub lowest: Span,
    /// The largest value of the bucket.
    pub highest: Span,
    /// The number of recorded values in it.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self {
            counts: Box::new([0; 2 * SIDE]),
            count: 0,
            earlier: 0,
            recent: 0,
            minimum: i64::MAX,
            maximum: i64::MIN,
        }
    }

    /// Records a value.
    #[inline]
    pub fn record(&mut self, span: Span) {
        let value = span.saturating_nanoseconds();
        self.counts[index(value)] += 1;
        self.count += 1;
        match self.recent.checked_add(value) {
            Some(sum) => self.recent = sum,
            None => self.carry(value),
        }
        // only if necessary: a store to a word that every `record` reads would delay the next one
        if value < self.minimum {
            self.minimum = value;
        }
        if value > self.maximum {
            self.maximum = value;
        }
    }

    #[cold]
    fn carry(&mut self, value: i64) {
        self.earlier += i128::from(self.recent);
        self.recent = value;
    }

    fn sum(&self) -> i128 {
        self.earlier + i128::from(self.recent)
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts[..]) {
            *count += more;
        }
        self.count += other.count;
        self.earlier += other.sum();
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact minimum; `None` if nothing was recorded.
    pub fn minimum(&self) -> Option<Span> {
        (self.count > 0).then(|| nanoseconds(self.minimum))
    }

    /// Returns the exact maximum; `None` if nothing was recorded.
    pub fn maximum(&self) -> Option<Span> {
        (self.count > 0).then(|| nanoseconds(self.maximum))
    }

    /// Returns the mean, rounded to the nearest nanosecond (halves up); `None` if nothing was
    /// recorded.
    pub fn mean(&self) -> Option<Span> {
        let count = i128::from(self.count);
        (count > 0).then(|| Span::from_nanoseconds((2 * self.sum() + count).div_euclid(2 * count)))
    }

    /// Returns the quantile for `fraction` (0 to 1): of n values in order, the one at position ⌈n ·
    /// fraction⌉, within 1/128 of the true value. NaN counts as 0. `None` if nothing was recorded.
    pub fn quantile(&self, fraction: f64) -> Option<Span> {
        let rank = rank(self.count, fraction)?;
        let mut below = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(nanoseconds(middle(index).clamp(self.minimum, self.maximum)));
            }
        }
        self.maximum()
    }

    /// Returns the non-empty buckets, lowest first.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let full = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        full.map(|(index, &count)| {
            let (lowest, highest) = limits(index);
            Bucket {
                lowest: nanoseconds(lowest),
                highest: nanoseconds(highest),
                count,
            }
        })
    }
}

/// Compares the recorded values, not how their sum is stored.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let figures = |one: &Self| (one.count, one.sum(), one.minimum, one.maximum);
        figures(self) == figures(other) && self.counts == other.counts
    }
}

impl Eq for Histogram {}

fn nanoseconds(value: i64) -> Span {
    Span::from_nanoseconds(i128::from(value))
}

/// The position, from 1, of a quantile among `count` values. The float only selects; it never
/// becomes a value.
fn rank(count: u64, fraction: f64) -> Option<u64> {
    if count == 0 {
        return None;
    }
    // in whole parts: 0.9 as a float is slightly more than 0.9, and would select the next value
    let parts = (fraction.clamp(0.0, 1.0) * PARTS as f64 + 0.5) as u64;
    let rank = (u128::from(count) * u128::from(parts)).div_ceil(PARTS.into()) as u64;
    Some(rank.clamp(1, count))
}

#[inline]
fn index(value: i64) -> usize {
    match u64::try_from(value) {
        Ok(magnitude) => SIDE + side(magnitude),
        // -1 has magnitude 0 here, so that i64::MIN has one too
        Err(_) => SIDE - 1 - side((!value) as u64),
    }
}

#[inline]
fn side(magnitude: u64) -> usize {
    let shift = (magnitude | 64).ilog2() as usize - 6; // 0 below 128, at most 56
    shift * 64 + (magnitude >> shift) as usize
}

/// The smallest and largest magnitude of bucket `side`.
fn magnitudes(side: usize) -> (u64, u64) {
    if side < 128 {
        return (side as u64, side as u64);
    }
    let (power, step) = ((side - 128) / 64 + 7, (side - 128) % 64);
    let shift = power - 6;
    let lowest = (64 + step as u64) << shift;
    (lowest, lowest + ((1 << shift) - 1))
}

fn limits(index: usize) -> (i64, i64) {
    if index >= SIDE {
        let (lowest, highest) = magnitudes(index - SIDE);
        return (lowest as i64, highest as i64);
    }
    let (nearest, farthest) = magnitudes(SIDE - 1 - index);
    (!(farthest as i64), !(nearest as i64))
}

fn middle(index: usize) -> i64 {
    let (lowest, highest) = limits(index);
    lowest + (highest - lowest) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn of(values: &[i64]) -> Histogram {
        let mut histogram = Histogram::new();
        values
            .iter()
            .for_each(|value| histogram.record(nanoseconds(*value)));
        histogram
    }

    /// Every order of magnitude, both signs.
    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![
            -300i64..300,
            -5_000_000i64..5_000_000,
            any::<i64>(),
            (any::<i64>(), 0u32..63).prop_map(|(v, s)| v >> s)
        ]
    }

    #[test]
    fn nothing_recorded() {
        let empty = Histogram::new();
        assert_eq!(
            (
                empty.minimum(),
                empty.maximum(),
                empty.mean(),
                empty.quantile(0.5)
            ),
            (None, None, None, None)
        );
        assert_eq!(empty.buckets().count(), 0);
    }

    #[test]
    fn the_ends_of_the_range_have_buckets() {
        let both = of(&[i64::MIN, i64::MAX, 0, -1]);
        let limits: Vec<_> = both
            .buckets()
            .map(|bucket| (bucket.lowest, bucket.highest))
            .collect();
        assert_eq!(limits[0].0, nanoseconds(i64::MIN));
        assert_eq!(
            limits[1..3],
            [
                (nanoseconds(-1), nanoseconds(-1)),
                (nanoseconds(0), nanoseconds(0))
            ]
        );
        assert_eq!(limits[3].1, nanoseconds(i64::MAX));
        assert_eq!(both.mean(), Some(nanoseconds(0)), "-0.5 rounds up");
        let mut beyond = Histogram::new();
        beyond.record(Span::from_nanoseconds(i128::MAX));
        assert_eq!(beyond.maximum(), Some(nanoseconds(i64::MAX)));
    }

    #[test]
    fn buckets_cover_every_value_once() {
        let mut expected = i128::from(i64::MIN);
        for index in 0..2 * SIDE {
            let (lowest, highest) = limits(index);
            assert_eq!(i128::from(lowest), expected, "no gap before {index}");
            assert!((super::index(lowest), super::index(highest)) == (index, index));
            expected = i128::from(highest) + 1;
        }
        assert_eq!(expected, i128::from(i64::MAX) + 1);
    }

    proptest! {
        #[test]
        fn figures_agree_with_the_sorted_samples(mut values in prop::collection::vec(value(), 1..300), per_mille in 0usize..=1_000) {
            let histogram = of(&values);
            values.sort_unstable();
            prop_assert_eq!(histogram.minimum(), Some(nanoseconds(values[0])));
            prop_assert_eq!(histogram.maximum(), values.last().map(|value| nanoseconds(*value)));
            let place = (values.len() * per_mille).div_ceil(1_000).max(1);
            let (truth, found) = (i128::from(values[place - 1]), histogram.quantile(per_mille as f64 / 1_000.0).expect("not empty"));
            prop_assert!((found.nanoseconds() - truth).abs() * 128 <= truth.abs(), "{found:?} for {truth}");
            let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
            let mean = histogram.mean().expect("not empty").nanoseconds();
            prop_assert!((2 * (mean * values.len() as i128 - sum)).abs() <= values.len() as i128);
            prop_assert_eq!(histogram.buckets().map(|bucket| bucket.count).sum::<u64>(), values.len() as u64);
        }

        #[test]
        fn merging_is_recording_everything(mut values in prop::collection::vec(value(), 0..100), more in prop::collection::vec(value(), 0..100)) {
            let mut merged = of(&values);
            merged.merge(&of(&more));
            values.extend(more);
            prop_assert_eq!(merged, of(&values));
        }
    }
}
