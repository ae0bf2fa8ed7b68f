//! Minimum, median, mean and maximum of any number of values, in bounded memory.

use wirestamp::Span;
use wirestamp::latency::Histogram;

/// So many values are kept, and their median is exact. With more, it is within 1/128 of itself.
const KEPT: usize = 1 << 16;

/// Values, as many as come.
#[derive(Debug, Default)]
pub(crate) struct Distribution {
    /// Empty once there are too many.
    kept: Vec<i128>,
    counted: Option<Histogram>,
    count: u64,
    sum: i128,
    minimum: Option<i128>,
    maximum: Option<i128>,
}

impl Distribution {
    pub(crate) fn record(&mut self, value: i128) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.minimum = Some(self.minimum.map_or(value, |known| known.min(value)));
        self.maximum = Some(self.maximum.map_or(value, |known| known.max(value)));
        match &mut self.counted {
            Some(histogram) => histogram.record(Span::from_nanoseconds(value)),
            None if self.kept.len() < KEPT => self.kept.push(value),
            None => {
                let mut histogram = Histogram::new();
                let values = std::mem::take(&mut self.kept).into_iter().chain([value]);
                values.for_each(|value| histogram.record(Span::from_nanoseconds(value)));
                self.counted = Some(histogram);
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn minimum(&self) -> Option<i128> {
        self.minimum
    }

    pub(crate) fn maximum(&self) -> Option<i128> {
        self.maximum
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Of an even number of values, the higher one in the middle.
    pub(crate) fn median(&self) -> Option<i128> {
        if let Some(histogram) = &self.counted {
            return histogram.quantile(0.5).map(Span::nanoseconds);
        }
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_told_exactly() {
        let mut distribution = Distribution::default();
        assert_eq!((distribution.median(), distribution.mean()), (None, None));
        [5, -7, 3, i128::from(u64::MAX)]
            .into_iter()
            .for_each(|value| distribution.record(value));
        assert_eq!(
            (distribution.minimum(), distribution.median()),
            (Some(-7), Some(5))
        );
        assert_eq!(
            (distribution.maximum(), distribution.count()),
            (Some(u64::MAX.into()), 4)
        );
    }

    #[test]
    fn of_many_values_the_median_is_close_and_the_rest_exact_in_bounded_memory() {
        let mut distribution = Distribution::default();
        // 7 has no common factor with a million: every value from 0 to 999,999 comes once
        (0..1_000_000).for_each(|number| distribution.record(number * 7 % 1_000_000 - 200_000));
        let median = distribution.median().expect("recorded");
        assert!((median - 300_000).abs() <= 300_000 / 128 + 1, "{median}");
        assert_eq!(
            (distribution.minimum(), distribution.maximum()),
            (Some(-200_000), Some(799_999))
        );
        assert!(
            distribution
                .mean()
                .is_some_and(|mean| (mean - 299_999.5).abs() < 1e-6)
        );
        assert_eq!(distribution.kept.capacity(), 0);
    }
}
