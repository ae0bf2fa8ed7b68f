//! How readings contradict one another, and which clock that was. Opens no generation.

use super::GenerationCause;
use super::reading::magnitude;

/// Shares of a step: what a clock that kept the readings' pace deviates from it at most, and the
/// one that was stepped at least.
const KEPT_PACE: f64 = 0.25;
const LOST_PACE: f64 = 0.5;
/// More than this is no new rate but a step.
const NO_RATE: f64 = 2e-3;

/// The readings contradict one another. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contradiction {
    pub(super) by: f64,
    /// Since the batch before, by the hardware clock and by the system clock.
    pub(super) after: f64,
    pub(super) elapsed: f64,
    /// From that batch to the one before it; 0 if there is none.
    pub(super) usual: f64,
}

impl Contradiction {
    /// Which clock was stepped shows where one of them kept the usual pace of the readings far
    /// better than the other.
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
