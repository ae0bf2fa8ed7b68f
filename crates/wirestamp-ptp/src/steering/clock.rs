//! What a clock must offer to be steered.

use std::fmt;
use wirestamp::{Result, Span};

/// A clock that can be moved. Populated on: Linux and Windows, by
/// [`Node::steer`](crate::Node::steer); tests bring their own.
pub trait SteeredClock: fmt::Debug {
    /// What it shows, in nanoseconds, as its stamps do.
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
}
