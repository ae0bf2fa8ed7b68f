//! What a clock must offer to be steered.

use std::fmt;
use wirestamp::{Result, Span};

/// A clock that can be moved. Populated on: Linux and Windows, by
/// [`Node::steer`](crate::Node::steer); tests bring their own.
pub trait SteeredClock: fmt::Debug {
    /// What it shows, in nanoseconds, as its timestamps do.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn now(&self) -> Result<i64>;

    /// Sets the clock forward by `by`, or back.
    ///
    /// # Errors
    /// `NotPermitted`; `NotSupported`; `NoSuchDevice`.
    fn step(&mut self, by: Span) -> Result<()>;

    /// Makes it run faster than by itself, in millionths; negative: slower. It stays so.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn set_rate(&mut self, ppm: f64) -> Result<()>;

    /// The frequency adjustment that is in force, in ppm: before the first [`set_rate`](Self::set_rate) what another program left, after it
    /// what the clock made of what it was asked for.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn rate(&self) -> Result<f64>;

    /// The rate that is in force differs from the one that was asked for by no more than this,
    /// in millionths.
    fn rate_step(&self) -> f64;

    /// The largest frequency adjustment that the clock takes, either way, in ppm.
    fn max_frequency_adjustment(&self) -> f64 {
        500.0
    }
    /// Whether [`slew`](Self::slew) works.
    fn slews_by_itself(&self) -> bool {
        false
    }

    /// Moves the clock by so many microseconds, at most 500, evenly over its next whole second, by itself: also if
    /// this program is killed before. Another call before that second begins takes its place; 0 takes it back.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn slew(&mut self, microseconds: i64) -> Result<()> {
        let _ = microseconds;
        Ok(())
    }

    /// Reports to the system how good the clock is, where the system has a place for it.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn tell(&mut self, status: ClockStatus) -> Result<()> {
        let _ = status;
        Ok(())
    }
}

/// The quality of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ClockStatus {
    /// The clock may be off by this; `None`: it is not synchronised.
    pub error_bound: Option<Span>,
    /// The clock is probably off by this.
    pub offset: Span,
    /// Whether a leap second comes at the end of the UTC day.
    pub leap: Leap,
}

/// A leap second at the end of the UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leap {
    /// None.
    #[default]
    None,
    /// The last minute has 61 seconds.
    Insert,
    /// The last minute has 59 seconds.
    Delete,
}
