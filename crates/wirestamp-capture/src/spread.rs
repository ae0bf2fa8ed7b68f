//! The distribution of times, in little memory for few values.

use wirestamp_core::latency::Histogram;
use wirestamp_core::time::Span;

/// The number of values that are kept individually.
const FEW: usize = 512;

/// A distribution of times in nanoseconds. Up to 512 values are exact. Beyond that, quantiles are
/// within 1/128 of the true value, and minimum, maximum and mean exact.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    few: Vec<i64>,
    many: Option<Box<Histogram>>,
    widest_bound: Option<u64>,
    without_bound: u64,
}

/// The summary statistics of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The number of values.
    pub count: u64,
    /// The minimum.
    pub minimum_ns: i64,
    /// The median.
    pub p50_ns: i64,
    /// The 90th percentile.
    pub p90_ns: i64,
    /// The 99th percentile.
    pub p99_ns: i64,
    /// The maximum.
    pub maximum_ns: i64,
    /// The mean.
    pub mean_ns: i64,
    /// The error bound that holds for every value; `None` if it is not known for all.
    pub error_bound_ns: Option<u64>,
}

impl Spread {
    /// Records a value with its error bound, if known.
    pub fn record(&mut self, nanoseconds: i64, bound: Option<u64>) {
        match bound {
            Some(bound) => self.widest_bound = self.widest_bound.max(Some(bound)),
            None => self.without_bound += 1,
        }
        let span = |value| Span::from_nanoseconds(i128::from(value));
        match &mut self.many {
            Some(histogram) => histogram.record(span(nanoseconds)),
            None if self.few.len() < FEW => self.few.push(nanoseconds),
            None => {
                let mut histogram = Box::new(Histogram::new());
                let all = std::mem::take(&mut self.few).into_iter();
                all.chain([nanoseconds])
                    .for_each(|value| histogram.record(span(value)));
                self.many = Some(histogram);
            }
        }
    }

    /// Summarises the values, or their negatives; `None` if there are none.
    pub fn summary(&self, negative: bool) -> Option<Summary> {
        let signed = |time: i64| {
            if negative {
                time.saturating_neg()
            } else {
                time
            }
        };
        let error_bound_ns = self.error_bound();
        let at = |fraction: f64| self.quantile(if negative { 1.0 - fraction } else { fraction });
        let (lowest, highest) = (self.quantile(0.0)?, self.quantile(1.0)?);
        let (minimum, maximum) = if negative {
            (highest, lowest)
        } else {
            (lowest, highest)
        };
        Some(Summary {
            count: self.count(),
            minimum_ns: signed(minimum),
            p50_ns: signed(at(0.5)?),
            p90_ns: signed(at(0.9)?),
            p99_ns: signed(at(0.99)?),
            maximum_ns: signed(maximum),
            mean_ns: signed(self.mean()?),
            error_bound_ns,
        })
    }

    /// Returns the error bound that holds for every value; `None` if it is not known for all.
    pub fn error_bound(&self) -> Option<u64> {
        self.widest_bound.filter(|_| self.without_bound == 0)
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.many
            .as_ref()
            .map_or(self.few.len() as u64, |histogram| histogram.count())
    }

    /// Returns the median; `None` if there are no values.
    pub fn median(&self) -> Option<i64> {
        self.quantile(0.5)
    }

    fn quantile(&self, fraction: f64) -> Option<i64> {
        if let Some(histogram) = &self.many {
            let found = match fraction {
                f if f <= 0.0 => histogram.minimum(),
                f if f >= 1.0 => histogram.maximum(),
                _ => histogram.quantile(fraction),
            };
            return found.map(Span::saturating_nanoseconds);
        }
        let mut sorted = self.few.clone();
        sorted.sort_unstable();
        let rank = (fraction * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    }

    fn mean(&self) -> Option<i64> {
        if let Some(histogram) = &self.many {
            return histogram.mean().map(Span::saturating_nanoseconds);
        }
        let sum: i128 = self.few.iter().copied().map(i128::from).sum();
        let count = i128::try_from(self.few.len())
            .ok()
            .filter(|count| *count > 0)?;
        i64::try_from(sum / count).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_told_alike_and_so_are_their_negatives() {
        for count in [100, 10_000_i64] {
            let mut spread = Spread::default();
            (1..=count).for_each(|value| spread.record(value * 1_000, Some(value as u64 % 7)));
            let told = spread.summary(false).expect("recorded");
            assert_eq!(
                (told.count, told.minimum_ns, told.maximum_ns),
                (count as u64, 1_000, count * 1_000)
            );
            assert_eq!(
                (told.mean_ns, told.error_bound_ns),
                ((count + 1) * 500, Some(6))
            );
            let near = |told: i64, truth: i64| {
                assert!(
                    (told - truth).abs() <= truth.abs() / 64 + 1_000,
                    "{told} {truth}"
                );
            };
            near(told.p50_ns, count * 500);
            near(told.p99_ns, count * 990);
            let negative = spread.summary(true).expect("recorded");
            assert_eq!(
                (negative.minimum_ns, negative.maximum_ns),
                (-count * 1_000, -1_000)
            );
            near(negative.p99_ns, -count * 10);
            spread.record(1, None);
            assert_eq!(
                spread.summary(false).and_then(|told| told.error_bound_ns),
                None
            );
        }
        assert_eq!(Spread::default().summary(false), None);
    }

    #[test]
    fn the_ends_of_the_range_of_times_have_negatives() {
        let mut spread = Spread::default();
        for count in [2, 1_000] {
            (0..count).for_each(|_| spread.record(i64::MIN, Some(u64::MAX)));
            spread.record(i64::MAX, Some(1));
            let told = spread.summary(true).expect("recorded");
            assert_eq!((told.minimum_ns, told.maximum_ns), (-i64::MAX, i64::MAX));
            assert_eq!(told.error_bound_ns, Some(u64::MAX));
            let told = spread.summary(false).expect("recorded");
            assert_eq!((told.minimum_ns, told.maximum_ns), (i64::MIN, i64::MAX));
        }
    }
}
