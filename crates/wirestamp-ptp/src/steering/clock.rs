//! The interface of a clock that can be steered.

use std::fmt;
use wirestamp::{Result, Span};

/// A clock that can be steered. [`Node::steer`](crate::Node::steer) provides those of Linux and
/// Windows; tests implement their own.
pub trait SteeredClock: fmt::Debug {
    /// Reads the clock in nanoseconds, on the scale of its timestamps.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn now(&self) -> Result<i64>;

    /// Steps the clock by `by` (positive: forward).
    ///
    /// # Errors
    /// `NotPermitted`; `NotSupported`; `NoSuchDevice`.
    fn step(&mut self, by: Span) -> Result<()>;

    /// Sets the frequency adjustment in ppm (positive: the clock runs faster). It stays set until
    /// the next call.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn set_rate(&mut self, ppm: f64) -> Result<()>;

    /// Returns the current frequency adjustment in ppm: before the first
    /// [`set_rate`](Self::set_rate) the one that another program left, afterwards the clock's
    /// rounded or clamped value.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn rate(&self) -> Result<f64>;

    /// Returns the largest difference between the requested and the resulting frequency adjustment,
    /// in ppm.
    fn rate_step(&self) -> f64;

    /// Returns the largest frequency adjustment in either direction, in ppm.
    fn max_frequency_adjustment(&self) -> f64 {
        500.0
    }
    /// Returns whether [`slew`](Self::slew) is supported.
    fn slews_by_itself(&self) -> bool {
        false
    }

    /// Lets the clock slew by itself, by up to 500 microseconds, evenly over its next whole second,
    /// even if this program is killed. Another call before that second begins replaces it; 0
    /// cancels it.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn slew(&mut self, microseconds: i64) -> Result<()> {
        let _ = microseconds;
        Ok(())
    }

    /// Reports the quality of the clock to the system, if it supports this.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn tell(&mut self, status: ClockStatus) -> Result<()> {
        let _ = status;
        Ok(())
    }
}

/// The quality of a steered clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ClockStatus {
    /// The error bound of the clock; `None` if it is not synchronised.
    pub error_bound: Option<Span>,
    /// The estimated offset of the clock.
    pub offset: Span,
    /// Whether a leap second comes at the end of the UTC day.
    pub leap: Leap,
}

/// A leap second at the end of the UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leap {
    /// No leap second.
    #[default]
    None,
    /// The last minute has 61 seconds.
    Insert,
    /// The last minute has 59 seconds.
    Delete,
}
