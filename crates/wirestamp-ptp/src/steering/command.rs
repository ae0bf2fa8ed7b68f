//! Commands to the steered clock, and its state after each of them, even if one failed.

use super::servo::Correction;
use super::{Acted, FINE, OWN_SLEW, STEP_TOLERANCE, Steering};
use wirestamp::{Error, ErrorKind, MonotonicTime, Result, Span};

impl Steering {
    /// Applies a correction, by the clock's own slew if it has one and the correction is large
    /// enough.
    pub(super) fn correct(&mut self, correction: Correction, now: MonotonicTime) -> Acted {
        if !self.clock.slews_by_itself() || correction.ppm.abs() <= FINE {
            let done = self.command(correction.ppm);
            if matches!(done.result, Some(Ok(()))) {
                self.corrected_until = Some(now + correction.lasts);
            }
            return done;
        }
        let done = self.command(0.0);
        if !matches!(done.result, Some(Ok(()))) {
            return done;
        }
        // microseconds, because it lasts one second
        let by = correction.ppm.trunc();
        self.has_slew = true;
        self.corrected_until = Some(now + OWN_SLEW);
        match self.clock.slew(by as i64).and_then(|()| self.clock.now()) {
            Ok(shown) => {
                self.commands
                    .borrow_mut()
                    .moves_itself(shown.saturating_add(self.shift), by * 1e3);
                done
            }
            Err(error) => Acted {
                restarted: true,
                ..Acted::failed(error)
            },
        }
    }

    /// Checks that the clock shows the expected time after a step.
    pub(super) fn stepped(&self, before: i64, by: i64) -> Result<()> {
        let shown = self.clock.now()?;
        if shown.abs_diff(before.saturating_add(by)) <= STEP_TOLERANCE {
            return Ok(());
        }
        let moved = Span::from_nanoseconds(i128::from(shown) - i128::from(before));
        let cause = format!(
            "set by {}, it moved by {moved}",
            Span::from_nanoseconds(by.into())
        );
        Err(Error::new(
            ErrorKind::Io,
            "step the clock",
            "the steered clock",
            cause,
        ))
    }

    /// Handles a frequency change by another program, which makes the clock's movement unknown.
    pub(super) fn meddled(&mut self, rate: f64) -> Acted {
        let cause = format!(
            "another program changed its frequency adjustment from {:.3} to {rate:.3} ppm",
            self.told
        );
        self.forget(rate);
        self.is_unsettled = true;
        let error = Error::new(
            ErrorKind::Busy,
            "steer the clock",
            "the steered clock",
            cause,
        )
        .with_remedy("end it: a clock has one master; or only measure");
        Acted {
            restarted: true,
            ..Acted::failed(error)
        }
    }

    /// Sets the base frequency plus a correction, and records the resulting adjustment.
    pub(super) fn command(&mut self, correction: f64) -> Acted {
        let base = self.servo.base();
        let before = self.clock.now();
        let taken_back = if std::mem::take(&mut self.has_slew) {
            self.clock.slew(0)
        } else {
            Ok(())
        };
        let set = self.clock.set_rate(base + correction).and(taken_back);
        let told = self.clock.rate();
        let after = self.clock.now();
        self.is_unsettled = set.is_err();
        if set.is_ok() {
            self.corrected_until = None;
        }
        let result = set.and_then(|()| told.clone().map(drop));
        let asked = if result.is_ok() {
            base + correction
        } else {
            self.told
        };
        // shows whether the device has clamped or rounded the requested adjustment
        self.told = told.unwrap_or(asked);
        let restarted = match (before, after) {
            (Ok(before), Ok(after)) => {
                let is_asked = (self.told - asked).abs() <= self.clock.rate_step();
                let in_force = if is_asked { asked } else { self.told };
                let (before, after) = (
                    before.saturating_add(self.shift),
                    after.saturating_add(self.shift),
                );
                self.commands.borrow_mut().command(
                    before,
                    after,
                    base * 1e-6,
                    (in_force - base) * 1e-6,
                );
                false
            }
            _ => {
                self.forget(self.told);
                true
            }
        };
        Acted {
            restarted,
            result: Some(result),
        }
    }

    /// Replaces the history by `rate`, as if it had always been set.
    pub(super) fn forget(&mut self, rate: f64) {
        self.told = rate;
        self.commands.borrow_mut().forget(rate * 1e-6);
    }

    /// Discards the history after a step, because earlier times of the clock are no longer valid.
    pub(crate) fn restart_history(&mut self) {
        if let Ok(shown) = self.clock.now() {
            self.commands
                .borrow_mut()
                .restart(shown.saturating_add(self.shift));
        }
    }
}
