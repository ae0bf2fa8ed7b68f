//! How cross timestamps are made, as a scenario file writes it, with its defaults.

use super::length::{Delay, Positive, Probability};
use serde::Deserialize;

/// How cross timestamps are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CrossKind {
    None,
    Precise,
    #[default]
    Extended,
    Basic,
    Driver,
}

/// How a cross timestamp is read, and how reading fails.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cross {
    pub(crate) method: CrossKind,
    /// Whether its system times are the real-time clock's.
    pub(crate) utc: bool,
    /// From the first system reading to the hardware clock.
    pub(crate) forward: Delay,
    /// From the hardware clock to the second system reading.
    pub(crate) back: Delay,
    /// Added to the first reading of a call.
    pub(crate) first: Delay,
    /// How often a call fails as busy.
    pub(crate) busy: Probability,
    /// How often a reading has a zero in it.
    pub(crate) zero: Probability,
    /// How often a reading's system times run backwards.
    pub(crate) backwards: Probability,
    /// How far a latched pair (`precise`) can be from one instant, either way.
    pub(crate) latch_error: Positive,
    /// How often the caller is held up between a system reading and the hardware clock, and for how long
    /// at most.
    pub(crate) held_up: Probability,
    pub(crate) held_up_by: Positive,
    /// Whether both system times are the first one.
    pub(crate) equal_brackets: bool,
    /// Calls that follow more closely fail as busy.
    pub(crate) interval: Positive,
    /// The system's answer; 0: it works.
    pub(crate) code: i32,
}

impl Default for Cross {
    fn default() -> Self {
        Self {
            method: CrossKind::Extended,
            utc: false,
            forward: Delay::jittery(600, 20),
            back: Delay::jittery(600, 20),
            first: Delay::constant(0),
            busy: Probability::default(),
            zero: Probability::default(),
            backwards: Probability::default(),
            latch_error: Positive::from_nanoseconds(0),
            held_up: Probability::default(),
            held_up_by: Positive::from_nanoseconds(0),
            equal_brackets: false,
            interval: Positive::from_nanoseconds(0),
            code: 0,
        }
    }
}
