//! The settings and the results of an estimator.

use crate::feasible::Assumptions;

/// The settings of an [`Estimator`](crate::Estimator).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The assumptions under which the bound holds.
    pub assumptions: Assumptions,
    /// The minimum delay of any packet, in nanoseconds.
    pub least_delay: i64,
    /// The sum of both clocks' timestamp errors, in nanoseconds.
    pub resolution: i64,
}

/// The offset at an instant with its error bound, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Local time of the estimate.
    pub at: i64,
    /// Local clock minus reference.
    pub offset: i64,
    /// The error bound: the true offset is within `offset` ± this.
    pub bound: i64,
    /// Mean path delay of both directions.
    pub mean_path_delay: i64,
    /// Frequency offset of the local clock, adjustments included; `None` before the first few packets.
    pub rate: Option<f64>,
    /// Frequency offset of the free-running clock, without our adjustments.
    pub free_rate: Option<f64>,
    /// The error bound of the free-running frequency offset.
    pub rate_bound: f64,
    /// The spread of the frequency's guesses; infinite before there were packets in both
    /// directions. A step within the path delay is not a contradiction, but increases the spread.
    pub rate_spread: f64,
    /// The age of the oldest packet that the guesses use, in nanoseconds; `None` until the memory
    /// of 32 packets per direction is full.
    pub rate_memory: Option<i64>,
    /// Whether the bounds exclude the frequency that the packets suggest, so that `free_rate` is
    /// the nearest bound. Either the frequency has just changed, or a clock was stepped.
    pub is_rate_limited: bool,
}

/// The result of a packet from the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told {
    /// There were not enough packets yet.
    Nothing,
    /// The packet was so late that a clock may have been stepped instead; the next delay exchange decides.
    Suspect,
    /// The estimate at the instant of the newest packet.
    Estimate(Estimate),
}
