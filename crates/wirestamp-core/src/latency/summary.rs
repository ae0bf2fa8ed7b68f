//! The figures that a report prints of a histogram. Formats nothing.

use super::Histogram;
use crate::time::Span;

/// Count, extremes, quantiles and mean. Extremes and mean are exact; quantiles are within
/// 1/128 of the true value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How many were recorded.
    pub count: u64,
    /// The smallest.
    pub minimum: Span,
    /// Half of them are at most this.
    pub p50: Span,
    /// 90 % of them are at most this.
    pub p90: Span,
    /// 99 % of them are at most this.
    pub p99: Span,
    /// 99.9 % of them are at most this.
    pub p99_9: Span,
    /// The largest.
    pub maximum: Span,
    /// Their sum by their count, rounded to the nearest nanosecond.
    pub mean: Span,
}

impl Summary {
    /// Of everything recorded; `None` if nothing was.
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
