//! Random numbers for the parameters of a run.

use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// An independent stream of random numbers for each run of a campaign.
#[derive(Debug)]
pub(super) struct Draw(SmallRng);

impl Draw {
    pub(super) fn new(seed: u64, run: u32) -> Self {
        Self(SmallRng::seed_from_u64(
            seed ^ u64::from(run).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    pub(super) fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0..1.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number between `least` and `most`, inclusive.
    pub(super) fn between(&mut self, least: i64, most: i64) -> i64 {
        least + (self.unit() * (most - least + 1) as f64) as i64
    }

    /// A number with a uniformly distributed logarithm.
    pub(super) fn spread(&mut self, least: f64, most: f64) -> f64 {
        least * (self.unit() * (most / least).ln()).exp()
    }

    /// The same, with a random sign.
    pub(super) fn signed(&mut self, least: f64, most: f64) -> i64 {
        let size = self.spread(least, most) as i64;
        if self.happens(0.5) { size } else { -size }
    }
}
