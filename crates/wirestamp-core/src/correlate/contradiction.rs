//! Contradictions between cross timestamps, and which clock caused them.

use super::GenerationCause;
use super::reading::magnitude;

/// Fractions of a step: the largest deviation from the usual interval of a clock that was not
/// stepped, and the smallest of the one that was.
const KEPT_PACE: f64 = 0.25;
const LOST_PACE: f64 = 0.5;
/// A larger change is a step, not a new frequency.
const NO_RATE: f64 = 2e-3;

/// A contradiction between cross timestamps, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contradiction {
    pub(super) by: f64,
    /// The time since the previous batch, by the hardware clock and by the system clock.
    pub(super) after: f64,
    pub(super) elapsed: f64,
    /// The time between the two batches before; 0 if there are not two.
    pub(super) usual: f64,
}

impl Contradiction {
    /// Determines which clock was stepped: one of them agrees with the usual interval much better
    /// than the other.
    pub(super) fn cause(self) -> GenerationCause {
        let (system, hardware) = (
            magnitude(self.elapsed - self.usual),
            magnitude(self.after - self.usual),
        );
        match self.by {
            by if self.usual <= 0.0 || by < NO_RATE * self.after.min(self.elapsed) => {
                GenerationCause::Contradiction
            }
            by if hardware < by * KEPT_PACE && system > by * LOST_PACE => {
                GenerationCause::SystemStep
            }
            by if system < by * KEPT_PACE && hardware > by * LOST_PACE => {
                GenerationCause::HardwareStep
            }
            _ => GenerationCause::Contradiction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cross timestamps one second apart and a step of 100 ms. The shares of it that each clock's
    /// frequency does not explain.
    fn cause(system: f64, hardware: f64) -> GenerationCause {
        let contradiction = |sign: f64| Contradiction {
            by: 1e8,
            after: 1e9 + sign * hardware * 1e8,
            elapsed: 1e9 + sign * system * 1e8,
            usual: 1e9,
        };
        let found = contradiction(1.0).cause();
        assert_eq!(found, contradiction(-1.0).cause());
        found
    }

    #[test]
    fn the_clock_that_kept_the_pace_was_not_stepped() {
        use GenerationCause::{HardwareStep, SystemStep};
        assert_eq!(cause(0.51, 0.24), SystemStep);
        assert_eq!(cause(0.24, 0.51), HardwareStep);
        for (one, other) in [(0.5, 0.24), (0.51, 0.25), (0.49, 0.1), (0.9, 0.3)] {
            assert_eq!(cause(one, other), GenerationCause::Contradiction);
            assert_eq!(cause(other, one), GenerationCause::Contradiction);
        }
        assert_eq!(cause(0.0, 0.0), GenerationCause::Contradiction);
        assert_eq!(cause(1.0, 1.0), GenerationCause::Contradiction);
    }

    /// A step of less than 2000 ppm of the time since the last batch can also be a new frequency.
    #[test]
    fn what_a_frequency_explains_is_no_step() {
        let found = |by: f64, usual| {
            let contradiction = Contradiction {
                by,
                after: 1e9,
                elapsed: 1e9 + by,
                usual,
            };
            contradiction.cause()
        };
        assert_eq!(found(1.9e6, 1e9), GenerationCause::Contradiction);
        assert_eq!(found(2e6, 1e9), GenerationCause::SystemStep);
        assert_eq!(
            found(2e6, 0.0),
            GenerationCause::Contradiction,
            "no pace yet"
        );
        let hardware = Contradiction {
            by: 2e6,
            after: 1e9 + 2e6,
            elapsed: 1e9,
            usual: 1e9,
        };
        assert_eq!(hardware.cause(), GenerationCause::HardwareStep);
    }
}
