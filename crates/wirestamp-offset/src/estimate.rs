//! What an estimator takes as given, and what it knows.

use crate::feasible::Assumptions;

/// The settings of an [`Estimator`](crate::Estimator).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// What the bound holds under.
    pub assumptions: Assumptions,
    /// No packet takes less than this, in nanoseconds: the explained part of the delay.
    pub least_delay: i64,
    /// Both clocks' timestamps may be off by this in all, in nanoseconds.
    pub resolution: i64,
}

/// The offset at an instant with its error bound, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Local time that it is of.
    pub at: i64,
    /// Local clock minus reference.
    pub offset: i64,
    /// The truth lies within this distance of `offset`.
    pub bound: i64,
    /// Mean path delay of both directions.
    pub mean_path_delay: i64,
    /// Frequency offset of the local clock as it is steered; `None` until a few packets have come.
    pub rate: Option<f64>,
    /// The same of the free-running clock: without what was commanded.
    pub free_rate: Option<f64>,
    /// By how much that may be wrong.
    pub rate_bound: f64,
    /// How far apart the guesses of it are; infinite until packets came both ways. A step that the path delay
    /// explains is no contradiction, but sets them apart.
    pub rate_spread: f64,
}

/// The result of a packet from the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told {
    /// Not enough is known yet.
    Nothing,
    /// It took so long that it may as well be that a clock was stepped: the next delay
    /// exchange tells which.
    Suspect,
    /// An estimate of the instant of the newest packet.
    Estimate(Estimate),
}
