//! Chance: one generator for each purpose, all from one seed.
//! Draws nothing by itself.

use rand::RngExt;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64;

/// What the numbers are for. Purposes don't share a generator: another polling schedule
/// meets the same oscillator and the same timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The scenario's own parameters.
    Shape,
    /// The oscillator.
    Oscillator,
    /// The delays of the readings.
    Readings,
    /// The timestamps to convert.
    Timestamps,
}

/// A source of chance.
#[derive(Debug, Clone)]
pub struct Draw(Pcg64);

impl Draw {
    /// The source for one purpose in one trial.
    pub fn new(seed: u64, trial: u32, stream: Stream) -> Self {
        let state = (u128::from(seed) << 64) | (u128::from(trial) << 32) | 0x5eed;
        Self(Pcg64::new(state, stream as u128))
    }

    /// Evenly in `[0, 1)`.
    pub fn share(&mut self) -> f64 {
        self.0.random()
    }

    /// Evenly in `[low, high)`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Evenly on a logarithmic scale.
    pub fn between_decades(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// True in `share` of all draws.
    pub fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// Normal with deviation 1.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.random()
    }
}
