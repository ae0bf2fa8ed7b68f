//! Randomness: one seeded generator per concern, and integer distributions.
//! Decides nothing that a scenario does not ask for.
//!
//! ChaCha's output is specified, and everything after it is integer arithmetic (no `ln`, no
//! `cos`, which differ between systems), so a seed means the same bits everywhere. A
//! probability of zero draws nothing: switching a fault off does not shift another one.

use crate::scenario::{Delay, Length, Probability};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Fractional bits of the fixed-point numbers below.
const FRACTION: u32 = 32;
const ONE: u64 = 1 << FRACTION;
/// ln 2 in fixed point.
const LN_2: u64 = 2_977_044_472;
/// log2(1 + f) ≈ f + 0.3437 f (1 - f): off by less than 0.01.
const BEND: u64 = 1_476_395_008;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    /// Streams of one seed are independent of one another.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(stream);
        Self(generator)
    }

    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform between two lengths, the ends included.
    pub(crate) fn between(&mut self, from: Length, to: Length) -> i64 {
        let width = to
            .nanoseconds()
            .saturating_sub(from.nanoseconds())
            .max(0)
            .unsigned_abs();
        from.nanoseconds()
            .saturating_add_unsigned(self.below(width.saturating_add(1)))
    }

    /// Whether something of this probability happens.
    pub(crate) fn happens(&mut self, probability: Probability) -> bool {
        probability.threshold() > 0 && (self.bits() >> 11) < probability.threshold()
    }

    /// Exponentially distributed with this mean.
    pub(crate) fn exponential(&mut self, mean: i64) -> i64 {
        let bits = self.bits().max(1);
        let zeros = bits.leading_zeros();
        // 1 + fraction is the mantissa; -log2(bits / 2^64) = zeros + 1 - log2(1 + fraction)
        let fraction = (bits << zeros << 1) >> (64 - FRACTION);
        let bend = (((fraction * (ONE - fraction)) >> FRACTION) * BEND) >> FRACTION;
        let halvings = u64::from(zeros + 1) * ONE - (fraction + bend);
        let spans = (u128::from(halvings) * u128::from(LN_2)) >> FRACTION;
        ((spans * u128::from(mean.max(0).unsigned_abs())) >> FRACTION) as i64
    }

    /// Close to a normal distribution (the sum of twelve uniform numbers): within ±6 deviations.
    pub(crate) fn normal(&mut self, deviation: i64) -> i64 {
        let sum: u64 = (0..6)
            .map(|_| self.bits())
            .map(|bits| (bits >> FRACTION) + (bits & (ONE - 1)))
            .sum();
        let centred = i128::from(sum) - 6 * i128::from(ONE);
        ((centred * i128::from(deviation)) >> FRACTION) as i64
    }

    /// A delay in nanoseconds, never negative.
    pub(crate) fn delay(&mut self, delay: &Delay) -> i64 {
        let mut nanoseconds = delay.base.nanoseconds();
        if delay.jitter.nanoseconds() > 0 {
            nanoseconds = nanoseconds.saturating_add(self.exponential(delay.jitter.nanoseconds()));
        }
        if self.happens(delay.outliers) {
            nanoseconds = nanoseconds.saturating_add(self.exponential(delay.outlier.nanoseconds()));
        }
        nanoseconds.max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: i64 = 100_000;

    #[test]
    fn the_exponential_has_its_mean_and_its_tail() {
        let mut chance = Chance::new(1, 0);
        let draws: Vec<i64> = (0..DRAWS).map(|_| chance.exponential(1_000_000)).collect();
        let mean = draws.iter().sum::<i64>() / DRAWS;
        assert!((985_000..1_015_000).contains(&mean), "{mean}");
        let beyond = draws.iter().filter(|draw| **draw > 2_302_585).count();
        assert!(
            (9_500..10_500).contains(&beyond),
            "a tenth lies beyond 2.3 means: {beyond}"
        );
    }

    #[test]
    fn the_normal_has_its_deviation_and_no_bias() {
        let mut chance = Chance::new(1, 0);
        let draws: Vec<i64> = (0..DRAWS).map(|_| chance.normal(1_000)).collect();
        let mean = draws.iter().sum::<i64>() / DRAWS;
        let variance = draws.iter().map(|draw| draw * draw).sum::<i64>() / DRAWS;
        assert!((-15..15).contains(&mean), "{mean}");
        assert!((970_000..1_030_000).contains(&variance), "{variance}");
    }

    #[test]
    fn streams_and_seeds_differ_and_repeat() {
        let first = |seed, stream| Chance::new(seed, stream).bits();
        assert_eq!(first(7, 1), first(7, 1));
        assert_ne!(first(7, 1), first(7, 2));
        assert_ne!(first(7, 1), first(8, 1));
    }

    #[test]
    fn bounds_hold() {
        let mut chance = Chance::new(3, 0);
        assert_eq!(chance.below(0), 0);
        assert!((0..1_000).all(|_| chance.below(3) < 3));
        let (from, to) = (Length::from_nanoseconds(-2), Length::from_nanoseconds(2));
        let drawn: std::collections::BTreeSet<i64> =
            (0..1_000).map(|_| chance.between(from, to)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [-2, -1, 0, 1, 2]);
    }
}
