//! Moves a clock towards the timeTransmitter's: when, how far, and who else may be doing it. Measures nothing.
//!
//! Whatever ends a correction (its time, the loss of the timeTransmitter, an error, a panic, the end of the program),
//! the base frequency is what remains.

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

/// From one change to the next, at least.
const PAUSE: Span = Span::from_seconds(1);
/// An offset beyond the limit may last so long before steering is given up: longer than somebody's short lie.
const PATIENCE: Span = Span::from_seconds(60);
/// After a step the clock shows what it should, but for this and what the call took, in nanoseconds.
const STEP_TOLERANCE: u64 = 1_000_000_000;
/// A larger correction, in ppm, is left to the clock's own slews, where it has them: they end even if this program is
/// killed. Theirs begin and end at whole seconds only, and count microseconds.
const FINE: f64 = 10.0;
/// How long a slew of the clock's own takes at most until it is over.
const OWN_SLEW: Span = Span::from_seconds(2);
/// Frequencies closer than this are the same, in ppm: less than any clock's smallest change.
const SAME: f64 = 1e-3;

/// An offset that is not followed, because it is beyond the configured limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedOffset {
    /// Local clock minus the timeTransmitter's, in nanoseconds (positive: the local clock is ahead).
    pub offset_ns: i64,
    /// What would have been followed, in nanoseconds.
    pub limit_ns: u64,
    /// Whether this would have been the first step.
    pub is_first: bool,
    /// Whether it lasted so long that steering has ended. The base frequency stays in force.
    pub is_final: bool,
}

/// The result of an attempt to steer.
#[derive(Debug, Default)]
pub(crate) struct Acted {
    /// The clock was stepped, or what it did is not known: earlier messages mean nothing.
    pub(crate) restarted: bool,
    /// Something was commanded, or should have been.
    pub(crate) result: Option<Result<()>>,
}

/// A clock being steered.
#[derive(Debug)]
pub(crate) struct Steering {
    clock: Box<dyn SteeredClock>,
    commands: SharedCommands,
    servo: Servo,
    /// Added to the clock's own time in messages.
    shift: i64,
    /// What the clock said after the last command, in ppm.
    told: f64,
    /// Until when a correction is in force; `None`: only the base frequency is.
    corrected_until: Option<MonotonicTime>,
    /// The last command failed, so something else than what was asked for may be in force.
    is_unsettled: bool,
    /// A slew of the clock's own was asked for and may be to come.
    has_slew: bool,
    /// Whether the clock counts as synchronised, for the system.
    is_synchronised: bool,
    leap: Leap,
    /// The estimate that was acted on last, by its local time.
    acted_on: Option<i64>,
    next_at: MonotonicTime,
    /// When the clock is asked again what is in force.
    verify_at: MonotonicTime,
    refused: Option<(RefusedOffset, MonotonicTime)>,
    has_ended: bool,
    /// Another clock timestamps now.
    is_absent: bool,
}

impl Steering {
    /// `commands` becomes the history of this clock.
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

    /// The clock that the configuration names; an error if another process steers it.
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

    /// Between which values the drift of the free-running clock may lie (1: by all): about zero, or about what
    /// was in force when this began, since either may be what the clock's oscillator needs.
    pub(crate) fn possible_drift(&self, most: f64) -> (f64, f64) {
        let begun = -self.told * 1e-6;
        (begun.min(0.0) - most, begun.max(0.0) + most)
    }

    /// Returns the offset that is too large to follow now, if there is one.
    pub(crate) fn refused(&self) -> Option<RefusedOffset> {
        self.refused.map(|(refused, _)| refused)
    }

    /// When there is something to do even without a message.
    pub(crate) fn next_at(&self) -> MonotonicTime {
        // a correction that could not be ended is over: only the next attempt is waited for
        if self.is_unsettled {
            self.next_at
        } else {
            self.corrected_until.unwrap_or(MonotonicTime::MAX)
        }
    }

    /// What times in messages have more than the clock shows.
    pub(crate) fn set_shift(&mut self, shift: i64) {
        if shift != self.shift {
            self.commands
                .borrow_mut()
                .rescale(shift.saturating_sub(self.shift));
            self.shift = shift;
        }
    }

    /// What the timeTransmitter says about the end of this day.
    pub(crate) fn set_leap(&mut self, leap: Leap) {
        self.leap = leap;
    }

    /// Does what is due. `reference` is what is known of the timeTransmitter that is followed.
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

    /// Puts the base frequency in force, if something else is, and does nothing more.
    ///
    /// # Errors
    /// Those of the clock.
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

    /// The bound, and the offset that is not yet taken out.
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

    /// Puts the base frequency in force if something else is; what failed is tried again after a pause.
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

    /// While nothing is followed no command finds out that the clock lost the last one: once in a while it is asked, and
    /// if messages contradict each other the base frequency is commanded again, for a clock that does not know. `None`:
    /// nothing was found out.
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
                done.result = done.result.filter(Result::is_err); // an earlier error is not over
                Some(done)
            }
            _ => None,
        }
    }

    /// Whether a frequency that the clock says is in force is another one than it said after the last command.
    fn is_other(&self, rate: f64) -> bool {
        (rate - self.told).abs() > SAME.max(self.clock.rate_step())
    }

    /// After an error nobody knows what is in force: the base frequency shall be.
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
                self.servo = servo; // it is stepped, whatever happens now
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
    /// Also while a panic unwinds.
    fn drop(&mut self) {
        // nobody is left to be told
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

    /// With what came of something else that counts only if it failed.
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

/// Returns an error for a configured limit that the clock does not have.
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
