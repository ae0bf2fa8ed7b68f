//! Owns how coarsely a counter counts. Knows no time.

/// The finest step that a counter of nanoseconds is trusted to make: one period of 125 MHz,
/// the usual core clock of an adapter.
const NANOSECOND_COUNTER_STEP: f64 = 8.0;
/// The coarsest step that is looked for in the readings.
const COARSEST_STEP: f64 = 100.0;

/// A counter's step, told from the differences of its values.
#[derive(Debug, Clone)]
pub(super) struct Step {
    scale: f64,
    /// Greatest common divisor of all counter differences; 0 while there is none.
    divisor: u64,
    nanoseconds: f64,
}

impl Step {
    /// `scale`: nanoseconds per tick.
    pub(super) fn new(scale: f64) -> Self {
        let mut step = Self { scale, divisor: 0, nanoseconds: 0.0 };
        step.nanoseconds = step.believed();
        step
    }

    /// A difference between two values.
    pub(super) fn see(&mut self, ticks: u64) {
        if self.divisor == 1 || (self.divisor != 0 && ticks.is_multiple_of(self.divisor)) {
            return;
        }
        self.divisor = greatest_common_divisor(self.divisor, ticks);
        self.nanoseconds = self.believed();
    }

    /// At least one tick.
    pub(super) fn nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    fn believed(&self) -> f64 {
        let seen = if self.divisor == 0 { COARSEST_STEP } else { self.divisor as f64 * self.scale };
        let counts_nanoseconds = (0.99..1.01).contains(&self.scale);
        let least = if counts_nanoseconds { NANOSECOND_COUNTER_STEP } else { self.scale };
        seen.min(COARSEST_STEP).max(least)
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

    #[test]
    fn the_step_is_what_all_differences_are_multiples_of() {
        let mut step = Step::new(1.0);
        assert!(step.nanoseconds() > 99.0, "nothing seen: the worst");
        for (ticks, expected) in [(400, 100.0), (120, 40.0), (80, 40.0), (7, 8.0), (1, 8.0)] {
            step.see(ticks);
            assert!((step.nanoseconds() - expected).abs() < 1e-9, "{ticks}: {}", step.nanoseconds());
        }
        assert!((Step::new(1e6).nanoseconds() - 1e6).abs() < 1e-9, "never less than a tick");
    }
}
