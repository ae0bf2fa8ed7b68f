//! Owns how coarsely a counter counts. Knows no time.

/// The finest step that a counter of nanoseconds is trusted to make: one period of 125 MHz,
/// the usual core clock of an adapter.
const NANOSECOND_COUNTER_STEP: f64 = 8.0;
/// The coarsest step that few differences are believed to show: readings at an even pace have
/// many divisors in common by chance.
const COARSEST_STEP: f64 = 100.0;
/// And many of different sizes: a millisecond.
const COARSEST_KNOWN: f64 = 1e6;
/// So many times a difference was larger or smaller than all before.
const ENOUGH: u8 = 5;

/// A counter's step, told from the differences of its values.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Greatest common divisor of all counter differences; 0 while there is none.
    divisor: u64,
    /// The least and the largest of them, and how often that changed, up to [`ENOUGH`].
    least: f32,
    largest: f32,
    extremes: u8,
    nanoseconds: f64,
}

impl Step {
    /// `scale`: nanoseconds per tick. `divisor`: of a counter that is known from before, or 0.
    pub(super) fn new(scale: f64, divisor: u64) -> Self {
        let extremes = if divisor == 0 { 0 } else { ENOUGH };
        let mut step = Self { divisor, least: f32::INFINITY, largest: 0.0, extremes, nanoseconds: 0.0 };
        step.nanoseconds = step.believed(scale);
        step
    }

    /// Ticks that all differences are multiples of; 0 if too few were seen.
    pub(super) fn divisor(&self) -> u64 {
        if self.extremes < ENOUGH { 0 } else { self.divisor }
    }

    /// A difference between two values of a counter with `scale` nanoseconds per tick.
    pub(super) fn see(&mut self, ticks: u64, scale: f64) {
        if self.divisor == 1 || ticks == 0 || (self.divisor() != 0 && ticks.is_multiple_of(self.divisor)) {
            return;
        }
        let size = ticks as f32;
        if size < self.least || size > self.largest {
            (self.least, self.largest) = (self.least.min(size), self.largest.max(size));
            self.extremes = (self.extremes + 1).min(ENOUGH);
        }
        self.divisor = greatest_common_divisor(self.divisor, ticks);
        self.nanoseconds = self.believed(scale);
    }

    /// At least one tick.
    pub(super) fn nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    fn believed(&self, scale: f64) -> f64 {
        let coarsest = if self.divisor() == 0 { COARSEST_STEP } else { COARSEST_KNOWN };
        let seen = if self.divisor == 0 { COARSEST_STEP } else { self.divisor as f64 * scale };
        let counts_nanoseconds = (0.99..1.01).contains(&scale);
        let least = if counts_nanoseconds { NANOSECOND_COUNTER_STEP } else { scale };
        seen.min(coarsest).max(least)
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
        let mut step = Step::new(1.0, 0);
        assert!(step.nanoseconds() > 99.0, "nothing seen: the worst");
        for (ticks, expected) in [(400, 100.0), (120, 40.0), (80, 40.0), (7, 8.0), (1, 8.0)] {
            step.see(ticks, 1.0);
            assert!((step.nanoseconds() - expected).abs() < 1e-9, "{ticks}: {}", step.nanoseconds());
        }
        for _ in 0..100 {
            step = Step::new(1.0, 0);
            step.see(1_000_000_000, 1.0);
        }
        assert!((step.nanoseconds() - 100.0).abs() < 1e-9, "an even pace shows nothing");
        let mut coarse = Step::new(1.0, 0);
        let coarser =
            [(70_000, 1e2), (30_000, 1e2), (50_000, 1e2), (80_000, 1e2), (0, 1e2), (20_000, 1e2), (90_000, 1e4)];
        for (ticks, expected) in coarser.into_iter().chain([(15_000, 5e3)]) {
            coarse.see(ticks, 1.0);
            assert!((coarse.nanoseconds() - expected).abs() < 1e-9, "{ticks}: {}", coarse.nanoseconds());
        }
        assert!((Step::new(2.0, coarse.divisor()).nanoseconds() - 1e4).abs() < 1e-9, "another scale, the same ticks");
        assert!((Step::new(1e6, 0).nanoseconds() - 1e6).abs() < 1e-9, "never less than a tick");
    }
}
