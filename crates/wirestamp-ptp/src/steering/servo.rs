//! Owns the decision: step, or by how much to change the rate. Moves no clock.

use crate::configuration::Steering;
use crate::estimate::Estimate;

/// In so many seconds an offset would be gone if nothing else happened: one that is certainly there,
const QUICK: f64 = 1.5;
/// and one that may be nothing but the network's jitter.
const SLOW: f64 = 4.0;

/// What to do with the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision {
    /// Set it by so many nanoseconds, and change its rate by `change` (1: by all).
    Step { by: i64, change: f64 },
    /// Change its rate.
    Rate { change: f64 },
}

/// Takes the known rate out at once, and the offset over some seconds.
#[derive(Debug, Clone)]
pub(crate) struct Servo {
    settings: Steering,
    /// In force, in millionths.
    rate: f64,
    started: bool,
}

impl Servo {
    pub(crate) fn new(settings: Steering, rate: f64) -> Self {
        Self { settings, rate, started: false }
    }

    /// The rate that shall be in force, in millionths.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// `None`: the rate is not known yet, so nothing is done.
    pub(crate) fn decide(&mut self, estimate: &Estimate) -> Option<Decision> {
        let drift = estimate.rate? * 1e6;
        let threshold = match (self.started, self.settings.step_ns) {
            (false, _) => Some(self.settings.first_step_ns),
            (true, 0) => None,
            (true, step) => Some(step),
        };
        self.started = true;
        let steps = threshold.is_some_and(|threshold| estimate.offset.unsigned_abs() > threshold);
        let is_certain = estimate.offset.saturating_abs() > estimate.bound;
        let time_constant = if is_certain { QUICK } else { SLOW };
        let catching_up = if steps { 0.0 } else { estimate.offset as f64 / 1e3 / time_constant };
        let limit = f64::from(self.settings.slew_limit_ppm);
        let wanted = (self.rate - drift - catching_up).clamp(-limit, limit);
        let change = (wanted - self.rate) * 1e-6;
        self.rate = wanted;
        Some(if steps { Decision::Step { by: -estimate.offset, change } } else { Decision::Rate { change } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(offset: i64, rate: Option<f64>) -> Estimate {
        Estimate { at: 0, offset, bound: 5_000, mean_path_delay: 1, rate }
    }

    fn settings() -> Steering {
        Steering { first_step_ns: 20_000, step_ns: 0, slew_limit_ppm: 100 }
    }

    #[test]
    fn steps_first_and_slews_then() {
        let mut servo = Servo::new(settings(), 0.0);
        assert_eq!(servo.decide(&estimate(1_000_000, None)), None, "no rate, no decision");
        let Some(Decision::Step { by: -1_000_000, change }) = servo.decide(&estimate(1_000_000, Some(30e-6))) else {
            panic!("a step")
        };
        assert!((change + 30e-6).abs() < 1e-12 && (servo.rate() + 30.0).abs() < 1e-9);
        let Some(Decision::Rate { change }) = servo.decide(&estimate(4_000, Some(0.0))) else { panic!("no step") };
        assert!((change + 1e-6).abs() < 1e-12, "1 µs a second for 4 s: {change}");
        let Some(Decision::Rate { change }) = servo.decide(&estimate(6_000, Some(0.0))) else { panic!("no step") };
        assert!((change + 4e-6).abs() < 1e-12, "beyond its bound: 4 µs a second for 1.5 s: {change}");
        assert!(
            matches!(servo.decide(&estimate(1_000_000_000, Some(0.0))), Some(Decision::Rate { .. })),
            "never again"
        );
        assert!((servo.rate() + 100.0).abs() < 1e-9, "limited");
    }

    #[test]
    fn steps_later_where_that_is_allowed() {
        let mut servo = Servo::new(Steering { step_ns: 500_000, ..settings() }, 0.0);
        assert!(matches!(servo.decide(&estimate(10, Some(0.0))), Some(Decision::Rate { .. })));
        assert!(matches!(servo.decide(&estimate(600_000, Some(0.0))), Some(Decision::Step { by: -600_000, .. })));
    }
}
