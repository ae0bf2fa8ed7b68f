//! Another program that disciplines a clock, as a scenario file writes it, with its defaults.

use super::length::Positive;
use serde::Deserialize;

/// The clock that the program disciplines, and its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    #[default]
    None,
    /// The NIC's clock, by the time of a distant one.
    Ptp4l,
    /// The system clock, by the NIC's.
    Phc2sys,
}

/// A proportional and integral servo, once an interval.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Program {
    pub(crate) kind: Kind,
    pub(crate) interval: Positive,
    /// How far a measured offset is off, either way at most.
    pub(crate) noise: Positive,
    /// A first offset beyond this is stepped away.
    pub(crate) first_step: Positive,
    /// The largest frequency adjustment.
    pub(crate) limit_ppb: u32,
    pub(crate) proportional: f64,
    pub(crate) integral: f64,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            kind: Kind::None,
            interval: Positive::from_seconds(1),
            noise: Positive::from_nanoseconds(20),
            first_step: Positive::from_nanoseconds(20_000),
            limit_ppb: 500_000,
            proportional: 0.7,
            integral: 0.3,
        }
    }
}
