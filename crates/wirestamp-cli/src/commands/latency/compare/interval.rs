//! Confidence intervals of quantiles and of their differences, without assuming a distribution.
//!
//! A quantile's interval has two of the values as its ends: how many of n independent values lie below the true quantile
//! has a binomial distribution, whatever they are. Between two values the end is interpolated (Beran and Hall, 1993).
//! The difference's interval follows from both quantiles' (MOVER: Zou and Donner, 2008).

use super::sample::Sample;

/// An estimate and what it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) estimate: i64,
    /// `None`: too few values to say.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// How much of it comes from the buckets of histograms, in each direction.
    rounding: f64,
}

/// Of the value that the share `fraction` of all does not exceed. `None`: there is no value.
pub(super) fn quantile(sample: &Sample, fraction: f64, confidence: f64) -> Option<Interval> {
    let estimate = sample.quantile(fraction)?;
    let independent = sample.independent(estimate);
    let tail = (1.0 - confidence) / 2.0;
    let scale = sample.count() as f64 / independent as f64;
    let (lowest, highest) = sample.bucket_of(estimate)?;
    let rounding = (highest as f64 - lowest as f64) / 2.0;
    let middle = |rank: f64| {
        let (lowest, highest) = sample.at(rank as u64)?;
        Some(lowest.midpoint(highest) as f64)
    };
    let value = |place: f64| {
        if place < 1.0 || place > independent as f64 {
            return None;
        }
        // a place among independent values is one among all of them
        let place = place * scale;
        let (below, above) = (middle(place.floor())?, middle(place.ceil())?);
        Some(below + (above - below) * place.fract())
    };
    let binomial = Binomial::new(independent, fraction);
    Some(Interval {
        estimate,
        low: value(binomial.place(tail)).map(|low| low - rounding),
        high: value(binomial.place(1.0 - tail)).map(|high| high + rounding),
        rounding,
    })
}

/// Of `b` minus `a`.
pub(super) fn difference(a: &Interval, b: &Interval) -> Interval {
    let between = b.estimate as f64 - a.estimate as f64;
    // chances combine as squares; what buckets hide adds up
    let rounding = a.rounding + b.rounding;
    let reach = |one: f64, other: f64| (one - b.rounding).hypot(other - a.rounding) + rounding;
    Interval {
        estimate: b.estimate.saturating_sub(a.estimate),
        low: b.low.zip(a.high).map(|(b_low, a_high)| {
            between - reach(b.estimate as f64 - b_low, a_high - a.estimate as f64)
        }),
        high: b.high.zip(a.low).map(|(b_high, a_low)| {
            between + reach(b_high - b.estimate as f64, a.estimate as f64 - a_low)
        }),
        rounding,
    }
}

/// How many of n values lie below the true quantile.
struct Binomial {
    /// The first number that has a chance at all.
    first: u64,
    /// The chance of at most this many, from `first` on.
    up_to: Vec<f64>,
}

impl Binomial {
    /// Weights relative to the likeliest number: they need no factorials.
    fn new(count: u64, fraction: f64) -> Self {
        const NEGLIGIBLE: f64 = 1e-15;
        let odds = fraction / (1.0 - fraction);
        let likeliest = (((count + 1) as f64 * fraction) as u64).min(count);
        let (mut below, mut weight, mut number) = (Vec::new(), 1.0, likeliest);
        while number > 0 && weight > NEGLIGIBLE {
            weight *= number as f64 / ((count - number + 1) as f64 * odds);
            number -= 1;
            below.push(weight);
        }
        let first = number;
        let mut weights: Vec<f64> = below.into_iter().rev().chain([1.0]).collect();
        (weight, number) = (1.0, likeliest);
        while number < count && weight > NEGLIGIBLE {
            weight *= (count - number) as f64 * odds / (number + 1) as f64;
            number += 1;
            weights.push(weight);
        }
        let sum: f64 = weights.iter().sum();
        let mut up_to = 0.0;
        for weight in &mut weights {
            up_to += *weight / sum;
            *weight = up_to;
        }
        Self {
            first,
            up_to: weights,
        }
    }

    /// The place among the ordered values (from 1) that is above the quantile with this chance: 0 and n + 1 are
    /// beyond all values.
    fn place(&self, chance: f64) -> f64 {
        // the value at place k is above the quantile if fewer than k lie below it
        let index = self.up_to.partition_point(|up_to| *up_to < chance);
        let before = index
            .checked_sub(1)
            .map_or(0.0, |before| self.up_to[before]);
        let here = self.up_to.get(index).copied().unwrap_or(1.0);
        let part = if here > before {
            (chance - before) / (here - before)
        } else {
            0.0
        };
        (self.first + index as u64) as f64 + part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random; the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (radius, angle) = (1.0 - self.uniform(), self.uniform());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        }
    }

    /// A latency in nanoseconds with a long tail: the quantile function of its distribution.
    fn latency(share: f64) -> f64 {
        2_000.0 + 1_500.0 * -(1.0 - share).ln() + 400.0 * (1.0 - share).powf(-0.4)
    }

    /// Another one, with another count.
    fn slower(share: f64) -> f64 {
        300.0 + 1.2 * latency(share)
    }

    /// In how many of 100 cases the stated interval of the difference has the truth.
    fn coverage(count: usize, fraction: f64, sample: fn(Vec<i64>) -> Sample) -> f64 {
        const CASES: u32 = 1_000;
        let mut numbers = Numbers(count as u64);
        let mut draw = |count: usize, of: fn(f64) -> f64| {
            let values = (0..count).map(|_| of(numbers.uniform()).round() as i64);
            quantile(&sample(values.collect()), fraction, 0.95).expect("values")
        };
        let truth = slower(fraction) - latency(fraction);
        let covered = (0..CASES).filter(|_| {
            let difference = difference(&draw(count, latency), &draw(count * 3 / 2, slower));
            let (low, high) = (
                difference.low.expect("enough"),
                difference.high.expect("enough"),
            );
            (low..=high).contains(&truth)
        });
        f64::from(covered.count() as u32) * 100.0 / f64::from(CASES)
    }

    #[test]
    fn stated_intervals_have_the_true_difference_in_95_of_100_cases() {
        let cases = [(300, 0.5), (300, 0.9), (2_000, 0.99)];
        let covered = cases.map(|(count, fraction)| coverage(count, fraction, Sample::exact));
        let mean = covered.iter().sum::<f64>() / covered.len() as f64;
        // a little more in the tails, where intervals are lopsided
        assert!((93.0..=97.0).contains(&mean), "{covered:?}");
        assert!(
            covered
                .iter()
                .all(|covered| (93.0..=98.0).contains(covered)),
            "{covered:?}"
        );
    }

    fn rounded(mut values: Vec<i64>) -> Sample {
        values.sort_unstable();
        Sample::counted(values.into_iter().map(|value| (value, 1)))
    }

    #[test]
    fn intervals_from_histograms_have_it_more_often() {
        for (count, fraction) in [(300, 0.5), (1_000, 0.99)] {
            let covered = coverage(count, fraction, rounded);
            assert!((94.0..=100.0).contains(&covered), "{fraction}: {covered} %");
        }
    }

    #[test]
    fn neighbours_that_resemble_each_other_widen_the_interval() {
        const CASES: u32 = 300;
        let mut numbers = Numbers(7);
        // each value has half of what it is from the one before
        let mut run = || {
            let mut state = numbers.normal();
            let values = (0..4_000).map(|_| {
                state = 0.8 * state + 0.6 * numbers.normal();
                (state * 1_000.0).round() as i64
            });
            quantile(&Sample::exact(values.collect()), 0.5, 0.95).expect("values")
        };
        let covered = (0..CASES).filter(|_| {
            let difference = difference(&run(), &run());
            difference.low.is_some_and(|low| low <= 0.0)
                && difference.high.is_some_and(|high| high >= 0.0)
        });
        let covered = f64::from(covered.count() as u32) * 100.0 / f64::from(CASES);
        assert!((91.0..=98.5).contains(&covered), "{covered} %");
    }

    #[test]
    fn too_few_values_have_no_upper_end() {
        let sample = Sample::exact((0..1_000).collect());
        let found = quantile(&sample, 0.999, 0.95).expect("values");
        assert!(found.high.is_none() && found.low.is_some(), "{found:?}");
        assert_eq!(difference(&found, &found).low, None);
        let found = quantile(&Sample::exact(vec![1]), 0.5, 0.95).expect("a value");
        assert_eq!((found.low, found.high), (None, None));
    }

    #[test]
    fn the_ends_are_those_of_the_binomial_distribution() {
        // of 100 values, the 40th and the 61st enclose the median with 96.5 %; a little closer is 95 %
        let sample = Sample::exact((1..=100).map(|number| number * 1_000).collect());
        let found = quantile(&sample, 0.5, 0.95).expect("values");
        assert!(
            (40_000.0..41_000.0).contains(&found.low.expect("known")),
            "{found:?}"
        );
        assert!(
            (60_000.0..61_000.0).contains(&found.high.expect("known")),
            "{found:?}"
        );
    }
}
