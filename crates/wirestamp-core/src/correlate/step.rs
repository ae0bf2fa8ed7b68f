//! Owns how coarsely a counter counts. Knows no time.

/// The finest step that a counter of nanoseconds is trusted to make: one period of 125 MHz,
/// the usual core clock of an adapter.
const NANOSECOND_COUNTER_STEP: f64 = 8.0;
/// The coarsest step that few readings are believed: two of them a round time apart say little.
const COARSEST_STEP: f64 = 100.0;
/// So many differences, each unlike the others, are multiples of a step by no chance.
const CONVINCING: u32 = 8;
/// 2⁶⁴ over the golden ratio: spreads differences over the highest bits of the product.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A counter's step, told from the differences of its values.
#[derive(Debug, Clone)]
pub(super) struct Step {
    scale: f64,
    /// Greatest common divisor of all counter differences; 0 while there is none.
    divisor: u64,
    /// A bit for each sixty-fourth of the differences: counts those unlike the others.
    unlike: u64,
    nanoseconds: f64,
}

impl Step {
    /// `scale`: nanoseconds per tick.
    pub(super) fn new(scale: f64) -> Self {
        let mut step = Self { scale, divisor: 0, unlike: 0, nanoseconds: 0.0 };
        step.nanoseconds = step.believed();
        step
    }

    /// A difference between two values.
    pub(super) fn see(&mut self, ticks: u64) {
        if self.divisor == 1 {
            return;
        }
        self.unlike |= 1 << (ticks.wrapping_mul(SCATTER) >> 58);
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
        if self.unlike.count_ones() >= CONVINCING { seen.max(least) } else { seen.min(COARSEST_STEP).max(least) }
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
        let mut step = Step::new(1.0);
        for _ in 0..100 {
            step.see(1_000_000_000);
            assert!((step.nanoseconds() - 100.0).abs() < 1e-9, "round times prove nothing");
        }
        for ticks in 2..12 {
            step.see(ticks * 1_000);
        }
        assert!((step.nanoseconds() - 1_000.0).abs() < 1e-9, "different ones do: {}", step.nanoseconds());
        assert!((Step::new(1e6).nanoseconds() - 1e6).abs() < 1e-9, "never less than a tick");
    }
}
