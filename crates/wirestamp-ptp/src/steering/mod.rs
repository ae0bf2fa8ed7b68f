//! Owns moving a clock towards the transmitter's: when, how far, and who else may be doing it.
//! Measures nothing; without new estimates the clock keeps its last rate (holdover), and the
//! bound of what is told grows.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod native;
#[cfg(windows)]
#[path = "windows.rs"]
mod native;
#[cfg(not(any(target_os = "linux", windows)))]
#[path = "elsewhere.rs"]
mod native;
mod servo;

use crate::configuration;
use crate::estimate::Estimate;
pub(crate) use servo::Decision;
use servo::Servo;
use std::fmt;
use wirestamp::{Interface, Result, Span, SystemTime};

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

    /// Makes it run faster than by itself, in millionths; negative: slower.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn set_rate(&mut self, ppm: f64) -> Result<()>;

    /// What [`set_rate`](Self::set_rate) made of it before this program began, in millionths.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn rate(&self) -> Result<f64>;

    /// The rate that is in force differs from the one that was asked for by no more than this,
    /// in millionths.
    fn rate_step(&self) -> f64;
}

/// A clock being steered.
#[derive(Debug)]
pub(crate) struct Steering {
    clock: Box<dyn SteeredClock>,
    servo: Servo,
    /// The estimate that was acted on last, by its local time.
    acted_on: Option<i64>,
    next_at: SystemTime,
}

/// From one change to the next, at least.
const PAUSE: Span = Span::from_seconds(1);

impl Steering {
    pub(crate) fn new(clock: Box<dyn SteeredClock>, settings: configuration::Steering) -> Result<Self> {
        let servo = Servo::new(settings, clock.rate()?);
        Ok(Self { clock, servo, acted_on: None, next_at: SystemTime::MIN })
    }

    /// The clock that the configuration names: refused if somebody else steers it.
    pub(crate) fn open(interface: &Interface, configuration: &configuration::Configuration) -> Result<Option<Self>> {
        if configuration.clock == configuration::Clock::Measure {
            return Ok(None);
        }
        let clock = native::open(interface, configuration.clock)?;
        Self::new(clock, configuration.steering).map(Some)
    }

    /// How exactly the clock follows what is asked for (1: not at all).
    pub(crate) fn rate_step(&self) -> f64 {
        self.clock.rate_step() * 1e-6
    }

    /// Acts on a new estimate, at most once a second. Returns what was done, and what the clock
    /// showed then.
    pub(crate) fn act(&mut self, estimate: &Estimate, now: SystemTime) -> Result<Option<(Decision, i64)>> {
        if self.acted_on == Some(estimate.at) || now < self.next_at {
            return Ok(None);
        }
        let mut servo = self.servo.clone();
        let Some(decision) = servo.decide(estimate) else { return Ok(None) };
        self.acted_on = Some(estimate.at);
        self.next_at = now + PAUSE;
        if let Decision::Step { by, .. } = decision {
            self.clock.step(Span::from_nanoseconds(by.into()))?;
        }
        self.clock.set_rate(servo.rate())?;
        self.servo = servo; // not if the clock refused: what was in force still is
        Ok(Some((decision, self.clock.now()?)))
    }
}
