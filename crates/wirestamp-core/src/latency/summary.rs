//! The summary statistics of a histogram.

use super::Histogram;
use crate::time::Span;

/// Count, minimum, maximum, quantiles and mean of a histogram. Quantiles are within 1/128 of the
/// true value, the others are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The number of values.
    pub count: u64,
    /// The minimum.
    pub minimum: Span,
    /// The median: half of the values are at most this.
    pub p50: Span,
    /// 90 % of the values are at most this.
    pub p90: Span,
    /// 99 % of the values are at most this.
    pub p99: Span,
    /// 99.9 % of the values are at most this.
    pub p99_9: Span,
    /// The maximum.
    pub maximum: Span,
    /// The mean, rounded to the nearest nanosecond.
    pub mean: Span,
}

impl Summary {
    /// Summarises a histogram; `None` if it is empty.
    pub fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            minimum: histogram.minimum()?,
            p50: histogram.quantile(0.5)?,
            p90: histogram.quantile(0.9)?,
            p99: histogram.quantile(0.99)?,
            p99_9: histogram.quantile(0.999)?,
            maximum: histogram.maximum()?,
            mean: histogram.mean()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_recorded_gives_no_figures() {
        assert_eq!(Summary::of(&Histogram::new()), None);
    }

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|nanoseconds| histogram.record(Span::from_nanoseconds(nanoseconds)));
        let summary = Summary::of(&histogram).expect("something was recorded");
        let expected = [1, 50, 90, 99, 100, 100, 51].map(Span::from_nanoseconds);
        let found = [
            summary.minimum,
            summary.p50,
            summary.p90,
            summary.p99,
            summary.p99_9,
            summary.maximum,
            summary.mean,
        ];
        assert_eq!(found, expected);
        assert_eq!(summary.count, 100);
    }
}
