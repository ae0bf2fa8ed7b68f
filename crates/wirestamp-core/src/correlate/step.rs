//! The step of a counter: the resolution of its values.

/// The smallest step that is assumed for a counter of nanoseconds: one period of 125 MHz, the usual
/// core clock of a NIC.
const NANOSECOND_COUNTER_STEP: f64 = 8.0;
/// Compensates rounding to f32.
const ROUNDED_UP: f64 = 1.0 + 1e-7;

/// A counter's step, estimated from the differences of its values. It is never less than the true
/// step, which divides all of them.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The greatest common divisor of all differences; 0 while there is none.
    divisor: u64,
    /// The upper limit of the step in nanoseconds, if larger than a tick.
    largest: f32,
    nanoseconds: f32,
}

impl Step {
    /// Creates a step. `scale` is the nanoseconds per tick, `divisor` that of an already known
    /// counter or 0, and `largest` the upper limit of the step in nanoseconds.
    pub(super) fn new(scale: f64, divisor: u64, largest: f64) -> Self {
        let mut step = Self {
            divisor,
            largest: largest as f32,
            nanoseconds: 0.0,
        };
        step.nanoseconds = step.believed(scale) as f32;
        step
    }

    /// The ticks that divide all differences; 0 if there is none.
    pub(super) fn divisor(&self) -> u64 {
        self.divisor
    }

    /// Notes a difference between two values of a counter with `scale` nanoseconds per tick.
    pub(super) fn see(&mut self, ticks: u64, scale: f64) {
        self.divisor = greatest_common_divisor(self.divisor, ticks);
        self.nanoseconds = self.believed(scale) as f32;
    }

    /// The step in nanoseconds, at least one tick.
    pub(super) fn nanoseconds(&self) -> f64 {
        f64::from(self.nanoseconds) * ROUNDED_UP
    }

    fn believed(&self, scale: f64) -> f64 {
        let largest = f64::from(self.largest);
        let seen = if self.divisor == 0 {
            largest
        } else {
            self.divisor as f64 * scale
        };
        let counts_nanoseconds = (0.99..1.01).contains(&scale);
        let least = if counts_nanoseconds {
            NANOSECOND_COUNTER_STEP
        } else {
            scale
        };
        seen.min(largest).max(least)
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regardless of how a shorter float rounds it.
    #[test]
    fn the_step_is_never_less_than_the_true_one() {
        for part in 1..200 {
            let scale = 2.0 + f64::from(part) / 7.0;
            let found = Step::new(scale, 7, 1e6).nanoseconds();
            let more = found / (7.0 * scale) - 1.0;
            assert!((0.0..2e-7).contains(&more), "{scale}: {found}");
        }
    }

    #[test]
    fn the_step_is_what_all_differences_are_multiples_of() {
        let largest = 1e4;
        let mut step = Step::new(1.0, 0, largest);
        assert!(step.nanoseconds() > 9_999.0, "nothing seen: the worst");
        for (ticks, expected) in [
            (400, 400.0),
            (120, 40.0),
            (80, 40.0),
            (0, 40.0),
            (7, 8.0),
            (1, 8.0),
        ] {
            step.see(ticks, 1.0);
            assert!(
                (step.nanoseconds() - expected).abs() < 1e-2,
                "{ticks}: {}",
                step.nanoseconds()
            );
        }
        for _ in 0..100 {
            step = Step::new(1.0, 0, largest);
            step.see(1_000_000_000, 1.0);
        }
        assert!(
            (step.nanoseconds() - 1e4).abs() < 1e-2,
            "an even pace shows nothing"
        );
        assert!(
            (Step::new(2.0, 5_000, largest).nanoseconds() - 1e4).abs() < 1e-2,
            "another scale, the same ticks"
        );
        assert!(
            (Step::new(1e6, 0, largest).nanoseconds() / 1e6 - 1.0).abs() < 1e-6,
            "never less than a tick"
        );
    }
}
