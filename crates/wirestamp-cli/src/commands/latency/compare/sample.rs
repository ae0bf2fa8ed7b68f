//! The values of one path of one run, in order: each known exactly, or as the bucket of a histogram.

use wirestamp::Span;
use wirestamp::latency::Histogram;

/// Into so many pieces a series is cut to see whether neighbours resemble each other.
const PIECES: usize = 32;
/// A piece of fewer values says nothing about that.
const SMALLEST_PIECE: usize = 10;
/// Independent values differ so much from piece to piece in 4 of 100 cases (chi-squared, 31 degrees of freedom).
const BEYOND_CHANCE: f64 = 1.5;

/// Values in ascending order, and the order in which they were measured if that is known.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// Ascending; equal ones are one step.
    steps: Vec<Step>,
    /// As they were measured; empty if only a histogram is known.
    series: Vec<i64>,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    lowest: i64,
    highest: i64,
    /// How many values there are up to here.
    up_to: u64,
}

impl Sample {
    /// Exact values as they were measured.
    pub(super) fn exact(series: Vec<i64>) -> Self {
        let mut sorted = series.clone();
        sorted.sort_unstable();
        let mut sample = Self {
            steps: Vec::new(),
            series,
        };
        for group in sorted.chunk_by(|one, next| one == next) {
            sample.push(group[0], group[0], group.len() as u64);
        }
        sample
    }

    /// Ascending values, each as often as it was counted, that a [`Histogram`] has rounded.
    pub(super) fn counted(values: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let values: Vec<(i64, u64)> = values.into_iter().collect();
        let mut shape = Histogram::new();
        for (value, _) in &values {
            shape.record(Span::from_nanoseconds((*value).into()));
        }
        let (mut sample, mut rest) = (Self::default(), values.as_slice());
        for bucket in shape.buckets() {
            let [lowest, highest] =
                [bucket.lowest, bucket.highest].map(Span::saturating_nanoseconds);
            let (here, above) = rest.split_at(rest.partition_point(|(value, _)| *value <= highest));
            sample.push(lowest, highest, here.iter().map(|(_, count)| count).sum());
            rest = above;
        }
        sample
    }

    fn push(&mut self, lowest: i64, highest: i64, count: u64) {
        let up_to = self.count() + count;
        self.steps.push(Step {
            lowest,
            highest,
            up_to,
        });
    }

    pub(super) fn count(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.up_to)
    }

    /// Whether values are known as buckets only.
    pub(super) fn is_rounded(&self) -> bool {
        self.series.is_empty()
    }

    /// Between which values the one at this place (from 1) lies.
    pub(super) fn at(&self, rank: u64) -> Option<(i64, i64)> {
        let step = self.steps.partition_point(|step| step.up_to < rank);
        (rank > 0)
            .then(|| self.steps.get(step))
            .flatten()
            .map(|step| (step.lowest, step.highest))
    }

    /// The value that at least this share of all values does not exceed; of a bucket, the middle.
    pub(super) fn quantile(&self, fraction: f64) -> Option<i64> {
        let rank = ((self.count() as f64 * fraction).ceil() as u64).max(1);
        let (lowest, highest) = self.at(rank.min(self.count()))?;
        Some(lowest.midpoint(highest))
    }

    /// Between which values this quantile's value may lie.
    pub(super) fn bucket_of(&self, value: i64) -> Option<(i64, i64)> {
        let step = self.steps.partition_point(|step| step.highest < value);
        self.steps.get(step).map(|step| (step.lowest, step.highest))
    }

    /// As how many independent values these count for the share that does not exceed `threshold`.
    ///
    /// Neighbours that resemble each other (a slow second, a burst) count less than independent values. The share differs
    /// from piece to piece of the series by more than chance allows then, and by so much fewer values count.
    pub(super) fn independent(&self, threshold: i64) -> u64 {
        let size = self.series.len() / PIECES;
        if size < SMALLEST_PIECE {
            return self.count();
        }
        let shares: Vec<f64> = self
            .series
            .chunks_exact(size)
            .take(PIECES)
            .map(|piece| {
                piece.iter().filter(|value| **value <= threshold).count() as f64 / size as f64
            })
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let by_chance = mean * (1.0 - mean) / size as f64;
        let spread = shares
            .iter()
            .map(|share| (share - mean).powi(2))
            .sum::<f64>()
            / (shares.len() - 1) as f64;
        let times = spread / by_chance;
        if times.is_nan() || times < BEYOND_CHANCE {
            return self.count();
        }
        ((self.count() as f64 / times).round() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_that_latency_prints() {
        let sample = Sample::exact((1..=1_000).rev().collect());
        let found = [0.0, 0.5, 0.9, 0.999, 1.0].map(|fraction| sample.quantile(fraction));
        assert_eq!(
            found,
            [Some(1), Some(500), Some(900), Some(999), Some(1_000)]
        );
        assert_eq!(Sample::default().quantile(0.5), None);
        assert_eq!(sample.at(1_001), None);
    }

    #[test]
    fn a_rounded_value_lies_anywhere_in_its_bucket() {
        let sample = Sample::counted([(-1_000, 1), (5, 1), (1_000, 2)]);
        assert_eq!(
            (sample.at(1), sample.at(2)),
            (Some((-1_000, -993)), Some((5, 5)))
        );
        assert_eq!(
            (sample.at(3), sample.at(4)),
            (Some((1_000, 1_007)), Some((1_000, 1_007)))
        );
    }

    #[test]
    fn values_in_blocks_count_as_fewer() {
        let alternating = Sample::exact((0..10_000).map(|number| number % 2).collect());
        assert_eq!(alternating.independent(0), 10_000);
        let blocks = Sample::exact((0..10_000).map(|number| number / 1_000 % 2).collect());
        let independent = blocks.independent(0);
        assert!((20..60).contains(&independent), "{independent}");
    }
}
