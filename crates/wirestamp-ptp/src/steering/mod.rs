//! Steering of a clock towards the timeTransmitter's: when and how far to adjust it, and the
//! detection of other programs that do.
//!
//! Whenever a correction ends (after its time, or because of the loss of the timeTransmitter, an
//! error, a panic or the end of the program), the base frequency remains.

mod absent;
mod clock;
mod command;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod linux;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
use linux as native;
#[cfg(all(windows, not(wirestamp_unsupported)))]
mod windows;
#[cfg(all(windows, not(wirestamp_unsupported)))]
use windows as native;
#[cfg(any(not(any(target_os = "linux", windows)), wirestamp_unsupported))]
mod elsewhere;
#[cfg(any(not(any(target_os = "linux", windows)), wirestamp_unsupported))]
use elsewhere as native;
mod servo;

use crate::configuration::{self, Configuration};
pub use clock::{ClockStatus, Leap, SteeredClock};
pub(crate) use servo::USUAL_LIMIT;
use servo::{Decision, Servo};
use wirestamp::{Error, ErrorKind, Interface, MonotonicTime, Result, Span};
use wirestamp_offset::{Commands, Estimate, Estimator, SharedCommands};

/// The shortest time between changes.
const PAUSE: Span = Span::from_seconds(1);
/// How long an offset beyond the limit may last before steering ends: longer than a
/// timeTransmitter's temporary error.
const PATIENCE: Span = Span::from_seconds(60);
/// The largest deviation from the expected time after a step, in nanoseconds, in addition to the
/// duration of the call.
const STEP_TOLERANCE: u64 = 1_000_000_000;
/// Larger corrections, in ppm, use the clock's own slews if it has them, which end even if this
/// program is killed. They begin and end at whole seconds, and have a resolution of a microsecond.
const FINE: f64 = 10.0;
/// The longest time until a slew of the clock itself is over.
const OWN_SLEW: Span = Span::from_seconds(2);
/// The difference in ppm below which frequencies count as equal: less than any clock's resolution.
const SAME: f64 = 1e-3;

/// An offset that is not followed because it exceeds the configured limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedOffset {
    /// Local clock minus the timeTransmitter's, in nanoseconds (positive: the local clock is ahead).
    pub offset_ns: i64,
    /// The limit in nanoseconds.
    pub limit_ns: u64,
    /// Whether following it would have been the first step.
    pub is_first: bool,
    /// Whether steering has ended because the offset lasted too long. The base frequency stays set.
    pub is_final: bool,
}

/// The result of an attempt to steer.
#[derive(Debug, Default)]
pub(crate) struct Acted {
    /// Whether the clock was stepped or its movement is unknown, so that earlier messages are
    /// invalid.
    pub(crate) restarted: bool,
    /// The result of a command, if there was one.
    pub(crate) result: Option<Result<()>>,
}

/// A clock being steered.
#[derive(Debug)]
pub(crate) struct Steering {
    clock: Box<dyn SteeredClock>,
    commands: SharedCommands,
    servo: Servo,
    /// The shift from the clock's own time to the time in messages.
    shift: i64,
    /// The adjustment that the clock reported after the last command, in ppm.
    told: f64,
    /// The end of the current correction; `None` if only the base frequency is set.
    corrected_until: Option<MonotonicTime>,
    /// Whether the last command failed, so that the adjustment is unknown.
    is_unsettled: bool,
    /// Whether a slew of the clock itself was requested and may not be over.
    has_slew: bool,
    /// Whether the clock was reported to the system as synchronised.
    is_synchronised: bool,
    leap: Leap,
    /// The local time of the last used estimate.
    acted_on: Option<i64>,
    next_at: MonotonicTime,
    /// When to verify the clock's adjustment again.
    verify_at: MonotonicTime,
    refused: Option<(RefusedOffset, MonotonicTime)>,
    has_ended: bool,
    /// Whether another clock timestamps now.
    is_absent: bool,
}

impl Steering {
    /// Creates a steering whose history is `commands`.
    pub(crate) fn new(
        clock: Box<dyn SteeredClock>,
        configuration: &Configuration,
        commands: &SharedCommands,
    ) -> Result<Self> {
        let (told, most) = (clock.rate()?, clock.max_frequency_adjustment());
        within_limit(&configuration.steering, most)?;
        let wander = f64::from(configuration.wander_ppb) * 1e-3;
        let drift = f64::from(configuration.max_drift_ppm) * 1e-6;
        *commands.borrow_mut() = Commands::new(told * 1e-6, clock.rate_step() * 1e-6, drift);
        Ok(Self {
            servo: Servo::new(configuration.steering, told, most, wander),
            clock,
            commands: SharedCommands::clone(commands),
            shift: 0,
            told,
            corrected_until: None,
            is_unsettled: false,
            has_slew: false,
            is_synchronised: false,
            leap: Leap::None,
            acted_on: None,
            next_at: MonotonicTime::MIN,
            verify_at: MonotonicTime::MIN,
            refused: None,
            has_ended: false,
            is_absent: false,
        })
    }

    /// Opens the configured clock; fails if another process steers it.
    pub(crate) fn open(
        interface: &Interface,
        configuration: &Configuration,
        commands: &SharedCommands,
    ) -> Result<Option<Self>> {
        if configuration.clock == configuration::Clock::Measure {
            return Ok(None);
        }
        if interface.description().simulated {
            let cause = "its time is virtual, and the clocks of this machine are real";
            return Err(Error::new(
                ErrorKind::NotSupported,
                "steer the clock",
                interface.name(),
                cause,
            )
            .with_remedy("only measure; a program can bring a simulated clock of its own"));
        }
        let clock = native::open(interface, configuration.clock)?;
        Self::new(clock, configuration, commands).map(Some)
    }

    /// Returns the limits of the free-running clock's drift, as fractions: around zero, or around
    /// the adjustment that was set at the start, because either may be what the oscillator needs.
    pub(crate) fn possible_drift(&self, most: f64) -> (f64, f64) {
        let begun = -self.told * 1e-6;
        (begun.min(0.0) - most, begun.max(0.0) + most)
    }

    /// Returns the offset that is currently too large to follow, if there is one.
    pub(crate) fn refused(&self) -> Option<RefusedOffset> {
        self.refused.map(|(refused, _)| refused)
    }

    /// Returns when to act again even without a message.
    pub(crate) fn next_at(&self) -> MonotonicTime {
        // after a failed attempt to end a correction, only the next attempt is due
        if self.is_unsettled {
            self.next_at
        } else {
            self.corrected_until.unwrap_or(MonotonicTime::MAX)
        }
    }

    /// Sets the shift from the clock's time to the times in messages.
    pub(crate) fn set_shift(&mut self, shift: i64) {
        if shift != self.shift {
            self.commands
                .borrow_mut()
                .rescale(shift.saturating_sub(self.shift));
            self.shift = shift;
        }
    }

    /// Sets the timeTransmitter's leap second announcement.
    pub(crate) fn set_leap(&mut self, leap: Leap) {
        self.leap = leap;
    }

    /// Does all that is due. `reference` is the estimator of the followed timeTransmitter.
    pub(crate) fn act(&mut self, reference: Option<&Estimator>, now: MonotonicTime) -> Acted {
        let usable = |known: &Estimator| {
            known
                .latest()
                .filter(|latest| latest.rate.is_some() && !self.has_ended)
        };
        let Some((known, latest)) = reference.and_then(|known| Some((known, usable(known)?)))
        else {
            if reference.is_some() && self.corrected_until.is_some() {
                self.servo.contradicted();
            }
            let restored = match self.verify(reference.is_some(), now) {
                Some(done) => done,
                None => self.restore(now),
            };
            let told = if reference.is_none() {
                self.tell_unsynchronised()
            } else {
                Ok(())
            };
            return restored.and(told);
        };
        if self.acted_on != Some(latest.at) && now >= self.next_at && !self.is_slew_beginning() {
            self.acted_on = Some(latest.at);
            self.next_at = now + PAUSE;
            let done = self.followed(known, now);
            return self.mended(done);
        }
        let is_in_force =
            !self.is_unsettled && self.corrected_until.is_some_and(|until| until > now);
        if is_in_force {
            Acted::default()
        } else {
            self.restore(now)
        }
    }

    /// Restores the base frequency, and does nothing afterwards.
    ///
    /// # Errors
    /// The clock's own errors.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.has_ended = true;
        let told = self.tell_unsynchronised();
        if self.corrected_until.is_none() && !self.is_unsettled && !self.has_slew {
            return told;
        }
        self.command(0.0).result.unwrap_or(Ok(())).and(told)
    }

    fn is_slew_beginning(&self) -> bool {
        let shown = || {
            self.clock
                .now()
                .map(|shown| shown.saturating_add(self.shift))
        };
        self.has_slew && shown().is_ok_and(|shown| self.commands.borrow().is_beginning(shown))
    }

    fn tell_unsynchronised(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_synchronised) {
            return Ok(());
        }
        self.clock.tell(ClockStatus::default())
    }

    /// Reports the error bound and the remaining offset to the system.
    fn tell_errors(&mut self, estimate: &Estimate) -> Result<()> {
        let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
        let error_bound = Some(span(
            estimate
                .offset
                .saturating_abs()
                .saturating_add(estimate.bound),
        ));
        self.is_synchronised = true;
        self.clock.tell(ClockStatus {
            error_bound,
            offset: span(estimate.offset),
            leap: self.leap,
        })
    }

    /// Restores the base frequency if necessary; a failure is tried again after a pause.
    fn restore(&mut self, now: MonotonicTime) -> Acted {
        let is_due = if self.is_unsettled {
            now >= self.next_at
        } else {
            self.corrected_until.is_some()
        };
        if !is_due {
            return Acted::default();
        }
        let done = self.command(0.0);
        if self.is_unsettled {
            self.next_at = now + PAUSE;
        }
        done
    }

    /// Verifies the adjustment at intervals while there are no commands that would show that the
    /// clock has lost it. If messages contradict each other, sets the base frequency again, because
    /// a clock may not report the loss. `None` if nothing was found.
    fn verify(&mut self, is_contradicted: bool, now: MonotonicTime) -> Option<Acted> {
        if self.acted_on.is_none() || self.has_ended || self.is_unsettled || now < self.verify_at {
            return None;
        }
        self.verify_at = now + PAUSE;
        match self.clock.rate() {
            Ok(rate) if self.is_other(rate) => {
                let done = self.meddled(rate);
                Some(self.mended(done))
            }
            Ok(_) if is_contradicted => {
                let mut done = self.command(0.0);
                done.result = done.result.filter(Result::is_err); // an earlier error persists
                Some(done)
            }
            _ => None,
        }
    }

    /// Whether the adjustment that the clock reports differs from that after the last command.
    fn is_other(&self, rate: f64) -> bool {
        (rate - self.told).abs() > SAME.max(self.clock.rate_step())
    }

    /// Restores the base frequency after an error, which leaves the adjustment unknown.
    fn mended(&mut self, mut done: Acted) -> Acted {
        if matches!(done.result, Some(Err(_)))
            && (self.corrected_until.is_some() || self.is_unsettled)
        {
            done.restarted |= self.command(0.0).restarted;
        }
        done
    }

    fn followed(&mut self, known: &Estimator, now: MonotonicTime) -> Acted {
        let estimate = match self.clock.now() {
            Ok(shown) => known.held_at(shown.saturating_add(self.shift)),
            Err(error) => return Acted::failed(error),
        };
        let Some(estimate) = estimate else {
            return Acted::default();
        };
        match self.clock.rate() {
            Ok(rate) if self.is_other(rate) => return self.meddled(rate),
            Ok(_) => {}
            Err(error) => return Acted::failed(error),
        }
        let mut servo = self.servo.clone();
        let Some(decision) = servo.decide(&estimate, now) else {
            return Acted::default();
        };
        if let Decision::Refuse { limit, first } = decision {
            return self.refuse(&estimate, limit, first, now);
        }
        self.refused = None;
        match decision {
            Decision::Step { by } => {
                let before = match self.clock.now().and_then(|before| {
                    self.clock
                        .step(Span::from_nanoseconds(by.into()))
                        .map(|()| before)
                }) {
                    Ok(before) => before,
                    Err(error) => return Acted::failed(error),
                };
                self.servo = servo; // the clock was stepped, whatever happens now
                let done = self.command(0.0);
                let result = self.stepped(before, by).and(done.result.unwrap_or(Ok(())));
                Acted {
                    restarted: true,
                    result: Some(result),
                }
            }
            Decision::Correct(correction) => {
                self.servo = servo;
                let done = self.correct(correction, now);
                if matches!(done.result, Some(Err(_))) {
                    return done;
                }
                done.and(self.tell_errors(&estimate))
            }
            Decision::Refuse { .. } => Acted::default(),
        }
    }

    fn refuse(
        &mut self,
        estimate: &Estimate,
        limit_ns: u64,
        is_first: bool,
        now: MonotonicTime,
    ) -> Acted {
        let since = self.refused.map_or(now, |(_, since)| since);
        let is_final = is_first || now - since >= PATIENCE;
        self.refused = Some((
            RefusedOffset {
                offset_ns: estimate.offset,
                limit_ns,
                is_first,
                is_final,
            },
            since,
        ));
        self.has_ended |= is_final;
        let told = self.tell_unsynchronised();
        let done = if self.corrected_until.is_some() {
            self.command(0.0)
        } else {
            Acted::default()
        };
        done.and(told)
    }
}

impl Drop for Steering {
    /// Ends steering, also while a panic unwinds.
    fn drop(&mut self) {
        // a drop cannot report errors
        let _ = self.end();
    }
}

impl Acted {
    fn failed(error: Error) -> Self {
        Self {
            restarted: false,
            result: Some(Err(error)),
        }
    }

    /// Combines it with another result, which matters only if it is an error.
    fn and(self, other: Result<()>) -> Self {
        match (&self.result, other) {
            (Some(Err(_)), _) | (_, Ok(())) => self,
            (_, Err(error)) => Self {
                restarted: self.restarted,
                ..Self::failed(error)
            },
        }
    }
}

/// Returns an error for a configured limit beyond the clock's.
fn within_limit(settings: &configuration::Steering, most: f64) -> Result<()> {
    match settings.slew_limit_ppm {
        Some(limit) if f64::from(limit) > most => {
            let cause = format!("{limit} ppm is more than the {most} ppm that the clock takes");
            Err(Error::new(
                ErrorKind::InvalidInput,
                "steer the clock",
                "slew_limit_ppm",
                cause,
            )
            .with_remedy(format!("choose at most {most}, or leave it out")))
        }
        _ => Ok(()),
    }
}
