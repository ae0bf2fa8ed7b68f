//! The wander: how fast the relative frequency of two clocks may change.
//!
//! Error bounds use the assumed limit, which no common oscillator exceeds, even if this one has
//! been quiet: a quiet hour does not prove a quiet minute. If cross timestamps show more, the
//! larger value is used.

use super::reading::magnitude;

/// The smallest learnt wander: 10⁻⁹ per second.
const QUIET: f64 = 1e-18;
/// The largest learnt wander: 10⁻⁵ per second.
const WILDEST: f64 = 1e-14;
/// The number of batches between two rates that are compared.
const APART: u32 = 8;
/// The smallest time between them, in nanoseconds.
const APART_TIME: f64 = 4e9;
/// The largest time between them in nanoseconds (30 s); rates farther apart do not show how fast
/// they changed in between.
const SWING: f64 = 30e9;
/// The factor applied to observed changes, because the next one may be larger.
const SAFETY: f64 = 2.0;

/// The ratio of a frequency change measured by one clock to the same by the other: the cube of the
/// ratio of their rates, which is within 1000 ppm of 1.
const BY_EITHER_CLOCK: f64 = 1.0031;

/// The wander of the oscillators.
#[derive(Debug, Clone)]
pub(super) struct Wander {
    /// The assumed limit.
    limit: f64,
    learnt: f64,
    /// An earlier rate, and its age in time and batches.
    rate: f64,
    ago: f64,
    batches: u32,
    /// How long the oscillator has been observed.
    age: f64,
}

impl Wander {
    /// Creates a wander with the assumed `limit`, per nanosecond.
    pub(super) const fn new(limit: f64) -> Self {
        Self {
            limit,
            learnt: limit,
            rate: f64::NAN,
            ago: 0.0,
            batches: 0,
            age: 0.0,
        }
    }

    /// Continues after an event: the oscillator is the same, its rate may differ.
    #[must_use]
    pub(super) const fn after_step(mut self) -> Self {
        (self.rate, self.ago, self.batches) = (f64::NAN, 0.0, 0);
        self
    }

    /// Twice the observed wander, per nanosecond. No error bound relies on it alone.
    pub(super) const fn seen(&self) -> f64 {
        self.learnt
    }

    /// The wander that error bounds allow for, per nanosecond of either clock.
    pub(super) fn believed(&self) -> f64 {
        self.learnt.max(self.limit)
    }

    /// The same per nanosecond of the hardware clock, in which bounds are computed.
    pub(super) fn allowed(&self) -> f64 {
        self.believed() * BY_EITHER_CLOCK
    }

    /// Notes an estimate of the rate, `elapsed` nanoseconds after the last one.
    pub(super) fn observe(&mut self, rate: f64, elapsed: f64) {
        self.ago += elapsed;
        self.age += elapsed;
        self.batches += 1;
        // the rate that a burst shows is too uncertain: its error is no wander
        let is_known = self.batches >= APART / 2 && self.ago >= APART_TIME / 2.0;
        if self.rate.is_nan() && is_known {
            (self.rate, self.ago, self.batches) = (rate, 0.0, 0);
        }
        if self.batches < APART || self.ago < APART_TIME {
            return;
        }
        let change = magnitude(rate - self.rate) / self.ago * SAFETY;
        // halves in 20 s, or in a third of the observed time if that is longer
        let half_life = (self.age / 3.0).max(20e9);
        let kept = self.learnt / (1.0 + self.ago / half_life);
        // swings that are faster than the observations are not visible
        let floor = if self.ago > SWING {
            self.limit.max(QUIET)
        } else {
            QUIET
        };
        // the limit may be larger than what can be learnt
        self.learnt = change.max(kept).max(floor).min(WILDEST);
        (self.rate, self.ago, self.batches) = (rate, 0.0, 0);
    }

    /// Doubles the wander because cross timestamps contradict it.
    pub(super) fn grow(&mut self) {
        self.learnt = (self.believed() * 2.0).min(WILDEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    /// The frequency changes by 8·10⁻¹⁰ per second, apart from a jump before the first value that
    /// counts.
    #[test]
    fn twice_the_change_since_eight_batches_earlier_is_learnt() {
        let mut wander = Wander::new(3e-17);
        for batch in 0..4 {
            wander.observe(if batch < 3 { 0.5 } else { 0.0 }, 1e9);
        }
        for second in 1..8 {
            wander.observe(8e-10 * f64::from(second), 1e9);
            near(wander.seen(), 3e-17);
        }
        wander.observe(8.0 * 8e-10, 1e9);
        // 12 s were seen: half of the learnt value is forgotten in 20 s, 8 of which have passed
        near(wander.seen(), 3e-17 / 1.4);
        for second in 9..=16 {
            wander.observe(8e-10 * f64::from(second), 1e9);
        }
        near(wander.seen(), 3e-17 / 1.4 / 1.4);
        for _ in 0..5 {
            (17..25).for_each(|second| wander.observe(8e-10 * f64::from(second), 1e9));
            (17..25).for_each(|second| wander.observe(8e-10 * f64::from(41 - second), 1e9));
        }
        assert!(wander.seen() < 3e-18);
        near(wander.believed(), 3e-17);
    }

    #[test]
    fn a_change_of_the_rate_counts_twice_either_way() {
        for sign in [1.0, -1.0] {
            let mut wander = Wander::new(3e-17);
            (0..4).for_each(|_| wander.observe(1e-6, 1e9));
            (0..7).for_each(|_| wander.observe(0.0, 1e9));
            wander.observe(1e-6 + sign * 4e-7, 1e9);
            near(wander.seen(), 1e-16);
            near(wander.believed(), 1e-16);
            near(wander.allowed(), 1.0031e-16);
            // half of it after 20 s; a third of the observed time is less
            (0..8).for_each(|_| wander.observe(1e-6 + sign * 4e-7, 1e9));
            near(wander.seen(), 1e-16 / 1.4);
        }
    }

    /// Half is forgotten in a third of the observed time: 84 s of 252 s, 24 of which have passed.
    #[test]
    fn what_was_seen_for_long_is_forgotten_slowly() {
        let mut wander = Wander::new(1e-18);
        (0..83).for_each(|_| wander.observe(0.0, 3e9));
        wander.learnt = 7e-16;
        wander.observe(0.0, 3e9);
        near(wander.seen(), 7e-16 / (1.0 + 24.0 / 84.0));
    }

    #[test]
    fn no_more_than_the_wildest_is_learnt_and_no_less_than_a_quiet_oscillator_does() {
        let mut wander = Wander::new(3e-17);
        (0..4).for_each(|_| wander.observe(0.0, 1e9));
        (0..8).for_each(|_| wander.observe(1.0, 1e9));
        near(wander.seen(), 1e-14);
        wander.grow();
        near(wander.seen(), 1e-14);
        let mut wander = Wander::new(3e-17);
        (0..4_000).for_each(|_| wander.observe(0.0, 1e9));
        near(wander.seen(), 1e-18);
        wander.grow();
        near(wander.seen(), 6e-17);
        // frequencies 32 s apart do not show faster swings
        let mut slow = Wander::new(3e-17);
        (0..4_000).for_each(|_| slow.observe(0.0, 4e9));
        near(slow.seen(), 3e-17);
        let mut fast = Wander::new(3e-17);
        (0..4_000).for_each(|_| fast.observe(0.0, 3.75e9));
        near(fast.seen(), 1e-18);
    }

    /// A limit beyond what is learnt holds, however far apart the batches are.
    #[test]
    fn a_limit_may_be_larger_than_the_wildest() {
        for gap in [5e9, 1e9] {
            let mut wander = Wander::new(3e-14);
            for _ in 0..40 {
                wander.observe(0.0, gap);
                near(wander.believed(), 3e-14);
            }
            wander.grow();
            near(wander.believed(), 3e-14);
        }
    }

    /// Sixteen batches in a tenth of a second, then one every 5 s.
    #[test]
    fn the_error_of_a_rate_that_a_burst_shows_is_no_wander() {
        let mut wander = Wander::new(3e-17);
        for batch in 0..16 {
            wander.observe(if batch % 2 == 0 { 1e-5 } else { -1e-5 }, 1e7);
        }
        for _ in 0..20 {
            wander.observe(0.0, 5e9);
            assert!(wander.seen() <= 3e-17, "{}", wander.seen());
        }
    }

    #[test]
    fn after_an_event_the_rate_may_be_another() {
        let mut wander = Wander::new(3e-17);
        (0..11).for_each(|_| wander.observe(0.0, 1e9));
        let mut wander = wander.after_step();
        (0..12).for_each(|_| wander.observe(1e-3, 1e9));
        assert!(wander.seen() <= 3e-17, "{}", wander.seen());
    }
}
