//! The servo: decides whether to step, how much to correct the frequency and for how long, or not
//! to follow.
//!
//! The base frequency, which compensates the clock's frequency offset, and the temporary
//! correction, which removes the offset, are separate. Only the base frequency is learnt, and it
//! remains when the correction ends.

use crate::configuration::Steering;
use wirestamp::{MonotonicTime, Span};
use wirestamp_offset::Estimate;

/// The seconds in which a certain offset is removed,
const QUICK: f64 = 1.5;
/// and those for an offset that may be only network jitter.
const SLOW: f64 = 4.0;
/// The longest duration of a correction in seconds, even if an offset remains.
const LONGEST: f64 = 4.0;
/// The largest correction in ppm if no limit is configured: that of the kernel's own slews.
pub(crate) const USUAL_LIMIT: f64 = 500.0;
/// If messages contradict each other after a correction larger than this, in ppm, the limit of the
/// next one is halved. A smaller correction is within the drift of any oscillator, so it was not
/// the cause.
const SUSPECT: f64 = 10.0;
/// The factor by which the limit grows again with each correction without a contradiction.
const REGAINED: f64 = 1.1;

/// A decision about the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision {
    /// Step it by this many nanoseconds.
    Step { by: i64 },
    /// Correct its frequency temporarily.
    Correct(Correction),
    /// Do nothing: the offset exceeds the limit, in nanoseconds.
    Refuse { limit: u64, first: bool },
}

/// A temporary change of the frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Correction {
    /// The change relative to the base frequency, in ppm.
    pub(crate) ppm: f64,
    /// Its duration.
    pub(crate) lasts: Span,
}

/// The base frequency and its uncertainty, in ppm.
#[derive(Debug, Clone, Copy)]
struct Base {
    ppm: f64,
    bound: f64,
    /// The spread of the guesses that it was learnt from, in ppm.
    spread: f64,
    at: MonotonicTime,
}

/// A servo that compensates the learnt drift, and removes the offset over some seconds.
#[derive(Debug, Clone)]
pub(crate) struct Servo {
    settings: Steering,
    base: Base,
    /// The clock's largest adjustment in ppm.
    most: f64,
    /// The current limit of a correction in ppm.
    limit: f64,
    /// The last correction, in ppm.
    corrected: f64,
    /// The largest change of the base frequency in a second, in ppm.
    wander: f64,
    /// Since when the guesses of the drift have agreed as well as those that the base frequency was
    /// learnt from.
    agreeing_since: Option<MonotonicTime>,
    started: bool,
}

impl Servo {
    /// Creates a servo. `frequency` is the current adjustment, `most` the clock's largest one, in
    /// ppm.
    pub(crate) fn new(settings: Steering, frequency: f64, most: f64, wander: f64) -> Self {
        let base = Base {
            ppm: frequency,
            bound: f64::INFINITY,
            spread: f64::INFINITY,
            at: MonotonicTime::MIN,
        };
        let servo = Self {
            settings,
            base,
            most,
            limit: 0.0,
            corrected: 0.0,
            wander,
            agreeing_since: None,
            started: false,
        };
        Self {
            limit: servo.configured_limit(),
            ..servo
        }
    }

    /// Returns the base frequency in ppm.
    pub(crate) fn base(&self) -> f64 {
        self.base.ppm
    }

    /// Notes that messages contradicted each other during a correction, which the clock may not
    /// have followed.
    pub(crate) fn contradicted(&mut self) {
        if self.corrected.abs() > SUSPECT {
            self.limit /= 2.0;
        }
    }

    /// Returns the decision for an estimate; `None` if the frequency is not known yet.
    pub(crate) fn decide(&mut self, estimate: &Estimate, now: MonotonicTime) -> Option<Decision> {
        estimate.free_rate?;
        let first = !self.started;
        let (threshold, limit) = if first {
            (
                Some(self.settings.first_step_ns),
                self.settings.max_first_step_ns,
            )
        } else {
            (
                Some(self.settings.step_ns).filter(|step| *step > 0),
                self.settings.max_step_ns,
            )
        };
        let offset = estimate.offset.unsigned_abs();
        if limit > 0 && offset > limit {
            return Some(Decision::Refuse { limit, first });
        }
        self.started = true;
        self.learn(estimate, now);
        if threshold.is_some_and(|threshold| offset > threshold) {
            return Some(Decision::Step {
                by: estimate.offset.saturating_neg(),
            });
        }
        let correction = self.correction(estimate);
        self.corrected = correction.ppm;
        self.limit = (self.limit * REGAINED).min(self.configured_limit());
        Some(Decision::Correct(correction))
    }

    /// Uses the estimated drift as the base frequency, unless the previous one is much better
    /// known: after a contradiction the first messages show little, and after a step that the path
    /// delay explains they are misleading. Such a step also moves the bounds of the drift: a value
    /// at a bound that excludes the messages' drift is used only if there is no other.
    ///
    /// The error bound covers a misleading step, not the error of the guess, and on a path that
    /// became longer it stays wide. It is therefore used only until messages have agreed for as
    /// long as any of them is remembered.
    fn learn(&mut self, estimate: &Estimate, now: MonotonicTime) {
        let Some(rate) = estimate.free_rate else {
            return;
        };
        let (wanted, bound, spread) = (
            -rate * 1e6,
            estimate.rate_bound * 1e6,
            estimate.rate_spread * 1e6,
        );
        let elapsed = if self.base.bound.is_finite() {
            (now - self.base.at).saturating_nanoseconds() as f64 / 1e9
        } else {
            0.0
        };
        let wandered = self.wander * elapsed;
        let aged = |known: f64| 2.0 * known + wandered;
        let agrees = spread <= aged(self.base.spread);
        let is_better = self.have_all_agreed(estimate, agrees, now)
            || (agrees && bound <= aged(self.base.bound));
        let may_mislead = estimate.is_rate_limited && self.base.spread.is_finite();
        let ppm = if is_better && !may_mislead {
            self.base = Base {
                ppm: wanted,
                bound,
                spread,
                at: now,
            };
            wanted
        } else if spread.is_finite() {
            self.base.ppm.clamp(wanted - bound, wanted + bound)
        } else {
            self.base.ppm // a few messages may be misleading: a step between two of them looks like a frequency
        };
        self.base.ppm = ppm.clamp(-self.most, self.most);
    }

    /// Whether the guesses of the drift have agreed since before the oldest message that they use.
    fn have_all_agreed(&mut self, estimate: &Estimate, agrees: bool, now: MonotonicTime) -> bool {
        let since = self.agreeing_since.unwrap_or(now);
        self.agreeing_since = agrees.then_some(since);
        let whole = |memory: i64| agrees && (now - since).saturating_nanoseconds() >= memory;
        estimate.rate_memory.is_some_and(whole)
    }

    fn correction(&self, estimate: &Estimate) -> Correction {
        let is_certain = estimate.offset.saturating_abs() > estimate.bound;
        let time_constant = if is_certain { QUICK } else { SLOW };
        let offset = followed(estimate) as f64 / 1e3; // in ppm and seconds
        let wanted = (-offset / time_constant).clamp(-self.limit, self.limit);
        let ppm = (self.base.ppm + wanted).clamp(-self.most, self.most) - self.base.ppm;
        let seconds = if ppm.abs() > 0.0 {
            (offset / ppm).abs().min(LONGEST)
        } else {
            0.0
        };
        Correction {
            ppm,
            lasts: Span::from_nanoseconds((seconds * 1e9).round() as i128),
        }
    }

    fn configured_limit(&self) -> f64 {
        self.settings
            .slew_limit_ppm
            .map_or(USUAL_LIMIT, f64::from)
            .min(self.most)
    }
}

/// Returns the part of the offset to correct: all of it once the messages agree on the frequency,
/// before that only the certain part, because the guess from a few messages may be anywhere in the
/// possible interval.
fn followed(estimate: &Estimate) -> i64 {
    if estimate.rate_spread.is_finite() {
        return estimate.offset;
    }
    let certain = estimate
        .offset
        .saturating_abs()
        .saturating_sub(estimate.bound)
        .max(0);
    certain * estimate.offset.signum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: MonotonicTime = MonotonicTime::from_nanoseconds(0);

    fn estimate(offset: i64, rate: Option<f64>) -> Estimate {
        Estimate {
            at: 0,
            offset,
            bound: 5_000,
            mean_path_delay: 1,
            rate,
            free_rate: rate,
            rate_bound: 1e-7,
            rate_spread: 0.0,
            rate_memory: Some(32_000_000_000),
            is_rate_limited: false,
        }
    }

    fn servo(change: impl FnOnce(&mut Steering)) -> Servo {
        let mut settings = Steering {
            slew_limit_ppm: Some(100),
            ..Steering::default()
        };
        change(&mut settings);
        Servo::new(settings, 0.0, 500.0, 0.03)
    }

    fn corrected(servo: &mut Servo, offset: i64, rate: f64) -> (f64, f64) {
        let Some(Decision::Correct(correction)) = servo.decide(&estimate(offset, Some(rate)), NOW)
        else {
            panic!("no correction")
        };
        (
            correction.ppm,
            correction.lasts.saturating_nanoseconds() as f64 / 1e9,
        )
    }

    fn near(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-9, "{value} and not {wanted}");
    }

    #[test]
    fn steps_first_and_slews_then() {
        let mut servo = servo(|_| {});
        assert_eq!(
            servo.decide(&estimate(1_000_000, None), NOW),
            None,
            "no rate, no decision"
        );
        let stepped = servo.decide(&estimate(1_000_000, Some(30e-6)), NOW);
        assert_eq!(stepped, Some(Decision::Step { by: -1_000_000 }));
        near(servo.base(), -30.0);
        let (ppm, lasts) = corrected(&mut servo, 4_000, 30e-6);
        near(ppm, -1.0); // 1 µs per second for 4 s
        near(lasts, 4.0);
        let (ppm, lasts) = corrected(&mut servo, 6_000, 30e-6);
        near(ppm, -4.0); // beyond its bound: 4 µs per second for 1.5 s
        near(lasts, 1.5);
        let (ppm, lasts) = corrected(&mut servo, -900_000_000, 30e-6);
        near(ppm, 100.0); // never stepped again, and limited
        near(lasts, 4.0);
        near(servo.base(), -30.0);
    }

    #[test]
    fn steps_later_where_that_is_allowed() {
        let mut servo = servo(|settings| settings.step_ns = 500_000);
        assert!(matches!(
            servo.decide(&estimate(10, Some(0.0)), NOW),
            Some(Decision::Correct(_))
        ));
        assert_eq!(
            servo.decide(&estimate(600_000, Some(0.0)), NOW),
            Some(Decision::Step { by: -600_000 })
        );
    }

    #[test]
    fn what_is_beyond_the_limits_is_not_followed() {
        const SECOND: i64 = 1_000_000_000;
        let mut servo = servo(|_| {});
        let refused = |limit, first| Some(Decision::Refuse { limit, first });
        let years = 40 * 365 * 86_400 * SECOND;
        assert_eq!(
            servo.decide(&estimate(years, Some(0.0)), NOW),
            refused(1_000_000_000_000, true)
        );
        assert_eq!(
            servo.decide(&estimate(999 * SECOND, Some(0.0)), NOW),
            Some(Decision::Step { by: -999 * SECOND })
        );
        assert_eq!(
            servo.decide(&estimate(2 * SECOND, Some(90e-6)), NOW),
            refused(1_000_000_000, false)
        );
        near(servo.base(), 0.0); // nothing is learnt from it either
        let mut servo = self::servo(|settings| settings.max_first_step_ns = 0);
        assert_eq!(
            servo.decide(&estimate(years, Some(0.0)), NOW),
            Some(Decision::Step { by: -years })
        );
    }

    #[test]
    fn the_base_frequency_is_kept_until_the_messages_tell_as_much_again() {
        let mut servo = servo(|_| {});
        corrected(&mut servo, 0, 30e-6);
        let vague = Estimate {
            rate_bound: 100e-6,
            ..estimate(0, Some(-60e-6))
        };
        servo.decide(&vague, NOW);
        near(servo.base(), -30.0);
        // the possible range limits it nevertheless
        let other = Estimate {
            rate_bound: 10e-6,
            ..estimate(0, Some(80e-6))
        };
        servo.decide(&other, NOW);
        near(servo.base(), -70.0);
        corrected(&mut servo, 0, 80e-6);
        near(servo.base(), -80.0);
    }

    /// Its bound is permanently a thousand times the base frequency's.
    #[test]
    fn a_longer_path_ends_no_learning_from_messages_that_have_all_agreed() {
        let vague = Estimate {
            rate_bound: 100e-6,
            ..estimate(0, Some(31e-6))
        };
        let apart = Estimate {
            rate_spread: 10e-6,
            ..vague
        };
        let mut servo = servo(|_| {});
        corrected(&mut servo, 0, 30e-6);
        let mut learnt = |estimate: Estimate, second: i64| {
            servo.decide(&estimate, NOW + Span::from_seconds(second));
            -servo.base()
        };
        near(learnt(vague, 10), 30.0);
        near(learnt(vague, 31), 30.0); // the oldest message is from before they agreed
        near(learnt(apart, 32), 30.0);
        near(learnt(vague, 33), 30.0);
        near(learnt(vague, 64), 30.0);
        let young = Estimate {
            rate_memory: None,
            ..vague
        };
        near(learnt(young, 65), 30.0); // everything restarts after a contradiction
        let limited = Estimate {
            is_rate_limited: true,
            ..vague
        };
        near(learnt(limited, 65), 30.0);
        near(learnt(vague, 66), 31.0);
    }

    #[test]
    fn the_base_frequency_is_kept_while_the_guesses_of_the_drift_disagree() {
        let mut servo = servo(|_| {});
        corrected(&mut servo, 0, 30e-6);
        let apart = Estimate {
            rate_spread: 5e-6,
            ..estimate(0, Some(34e-6))
        };
        servo.decide(
            &Estimate {
                rate_bound: 10e-6,
                ..apart
            },
            NOW,
        );
        near(servo.base(), -30.0);
        // a real change of the frequency is learnt once they agree or the old value has aged
        let vague = Estimate {
            rate_bound: 10e-6,
            ..apart
        };
        servo.decide(&vague, NOW + Span::from_seconds(100));
        near(servo.base(), -30.0);
        servo.decide(&vague, NOW + Span::from_seconds(400));
        near(servo.base(), -34.0);
    }

    #[test]
    fn the_base_frequency_does_not_become_a_bound_that_excludes_the_guesses() {
        let limited = Estimate {
            rate_bound: 10e-6,
            is_rate_limited: true,
            ..estimate(0, Some(34e-6))
        };
        let mut servo = servo(|_| {});
        servo.decide(&limited, NOW);
        near(servo.base(), -34.0); // nothing better is known
        corrected(&mut servo, 0, 30e-6);
        // regardless of its age
        servo.decide(&limited, NOW + Span::from_seconds(1_000));
        near(servo.base(), -30.0);
        let agreed = Estimate {
            is_rate_limited: false,
            ..limited
        };
        servo.decide(&agreed, NOW + Span::from_seconds(1_000));
        near(servo.base(), -34.0);
    }

    #[test]
    fn a_few_messages_move_neither_the_base_frequency_nor_the_clock_beyond_what_is_certain() {
        let mut servo = servo(|_| {});
        corrected(&mut servo, 0, 30e-6);
        let young = Estimate {
            rate_spread: f64::INFINITY,
            rate_bound: 10e-6,
            ..estimate(0, Some(80e-6))
        };
        let by = |servo: &mut Servo, estimate: Estimate| match servo.decide(&estimate, NOW) {
            Some(Decision::Correct(correction)) => correction.ppm,
            other => panic!("{other:?}"),
        };
        near(by(&mut servo, young), 0.0);
        near(servo.base(), -30.0);
        near(
            by(
                &mut servo,
                Estimate {
                    offset: -4_000,
                    ..young
                },
            ),
            0.0,
        );
        near(
            by(
                &mut servo,
                Estimate {
                    offset: -8_000,
                    ..young
                },
            ),
            2.0,
        ); // 5,000 ns of it may not be there
        near(servo.base(), -30.0);
    }

    #[test]
    fn base_and_correction_together_stay_within_what_the_clock_takes() {
        let mut servo = Servo::new(Steering::default(), 0.0, 100.0, 0.03);
        let (ppm, _) = corrected(&mut servo, -19_000, 70e-6);
        near(servo.base(), -70.0);
        near(ppm, 19.0 / 1.5);
        servo.started = true;
        let (ppm, _) = corrected(&mut servo, 1_000_000, 70e-6);
        near(ppm, -30.0);
        servo.decide(
            &Estimate {
                rate_bound: 1e-7,
                ..estimate(0, Some(190e-6))
            },
            NOW,
        );
        near(servo.base(), -100.0);
    }

    #[test]
    fn contradictions_make_corrections_smaller_for_a_while() {
        let mut servo = servo(|_| {});
        servo.started = true;
        for _ in 0..10 {
            corrected(&mut servo, -1_000_000, 0.0);
            servo.contradicted();
        }
        assert!(corrected(&mut servo, -1_000_000, 0.0).0 < 12.0);
        (0..60).for_each(|_| assert!(servo.decide(&estimate(0, Some(0.0)), NOW).is_some()));
        near(corrected(&mut servo, -1_000_000, 0.0).0, 100.0);
    }

    #[test]
    fn a_small_correction_is_not_what_made_messages_contradict_each_other() {
        let mut servo = servo(|_| {});
        servo.started = true;
        near(corrected(&mut servo, -14_000, 0.0).0, 14.0 / 1.5);
        (0..3).for_each(|_| servo.contradicted());
        near(corrected(&mut servo, -1_000_000, 0.0).0, 100.0);
        servo.contradicted();
        near(corrected(&mut servo, -1_000_000, 0.0).0, 50.0);
    }
}
