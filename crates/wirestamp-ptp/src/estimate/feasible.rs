//! Owns what is possible: the interval that the offset to a transmitter must lie in, carried
//! through time. Makes no guess inside it.
//!
//! A packet takes no less than no time. So a Sync says that the offset is at most
//! "received minus sent", and a delay request that it is at least "sent minus received".
//! Between messages the interval grows as the rate, itself known as an interval, and a wander
//! allow. Nothing else is assumed; messages that contradict each other are a step.

/// Times and rates that were observed are remembered so often.
const ANCHORS: usize = 12;
/// An anchor nearer than this says nothing about the rate.
const NEAREST: f64 = 0.5;

/// What may be assumed about the clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assumptions {
    /// The rates of the two clocks differ by no more than this (1: by all).
    pub(crate) most_drift: f64,
    /// The difference changes by no more than this in a second.
    pub(crate) wander: f64,
    /// A clock that we steer runs at the rate that was asked for, give or take this.
    pub(crate) rate_step: f64,
}

/// Messages contradict each other: somebody stepped a clock, or an assumption is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contradiction;

/// The interval at an instant of the local clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Anchor {
    at: i64,
    low: i64,
    high: i64,
}

/// The interval of the offset, in nanoseconds: local minus transmitter.
#[derive(Debug, Clone)]
pub(crate) struct Feasible {
    assumptions: Assumptions,
    at: i64,
    low: Option<i64>,
    high: Option<i64>,
    rate: (f64, f64),
    anchors: Vec<Anchor>,
}

/// `rate` times the nanoseconds between two instants, rounded away from the middle.
fn growth(rate: f64, nanoseconds: i64) -> f64 {
    rate * nanoseconds as f64
}

impl Feasible {
    pub(crate) fn new(assumptions: Assumptions) -> Self {
        let rate = (-assumptions.most_drift, assumptions.most_drift);
        Self { assumptions, at: i64::MIN, low: None, high: None, rate, anchors: Vec::with_capacity(ANCHORS) }
    }

    /// Notes that at local time `at` the offset was at most `value`.
    pub(crate) fn at_most(&mut self, at: i64, value: i64) -> Result<(), Contradiction> {
        self.advance(at);
        let value = value.saturating_add(self.since(at).1);
        self.high = Some(self.high.map_or(value, |high| high.min(value)));
        self.settle()
    }

    /// Notes that at local time `at` the offset was at least `value`.
    pub(crate) fn at_least(&mut self, at: i64, value: i64) -> Result<(), Contradiction> {
        self.advance(at);
        let value = value.saturating_add(self.since(at).0);
        self.low = Some(self.low.map_or(value, |low| low.max(value)));
        self.settle()
    }

    /// The interval now; `None` until both sides are known.
    pub(crate) fn interval(&self) -> Option<(i64, i64)> {
        Some((self.low?, self.high?))
    }

    /// The local time that the interval is of.
    pub(crate) fn now(&self) -> i64 {
        self.at
    }

    /// The interval at a later local time.
    pub(crate) fn interval_at(&self, at: i64) -> Option<(i64, i64)> {
        let (low, high) = self.interval()?;
        let (down, up) = self.grown(at.saturating_sub(self.at).max(0));
        Some((low.saturating_add(down), high.saturating_add(up)))
    }

    /// Between which values the rate of the local clock against the transmitter's lies, less one.
    pub(crate) fn rate(&self) -> (f64, f64) {
        self.rate
    }

    /// At local time `at` we asked the local clock for a rate that differs by so much.
    pub(crate) fn adjusted(&mut self, at: i64, rate: f64) {
        self.advance(at);
        for anchor in &mut self.anchors {
            // what it would have been had the new rate been in force then
            let shift = rate * anchor.at.saturating_sub(self.at) as f64;
            anchor.low = anchor.low.saturating_add(shift.floor() as i64);
            anchor.high = anchor.high.saturating_add(shift.ceil() as i64);
        }
        self.rate = (self.rate.0 + rate - self.inexact(), self.rate.1 + rate + self.inexact());
    }

    /// By how much the rates of two times may differ, once what was asked for is taken out.
    fn inexact(&self) -> f64 {
        2.0 * self.assumptions.rate_step
    }

    /// From now on the local clock is steered: it follows what is asked for in steps of this size.
    pub(crate) fn steered(&mut self, rate_step: f64) {
        self.assumptions.rate_step = rate_step;
    }

    /// How far the two sides move in `elapsed` nanoseconds: the rate, and its wander.
    fn grown(&self, elapsed: i64) -> (i64, i64) {
        let seconds = elapsed as f64 / 1e9;
        let wandered = growth(self.assumptions.wander * seconds / 2.0, elapsed);
        let down = growth(self.rate.0, elapsed) - wandered;
        let up = growth(self.rate.1, elapsed) + wandered;
        (down.floor() as i64, up.ceil() as i64)
    }

    /// What a value of `at` has become by now; `at` may be a little earlier than now.
    fn since(&self, at: i64) -> (i64, i64) {
        self.grown(self.at.saturating_sub(at).max(0))
    }

    fn advance(&mut self, at: i64) {
        if self.at == i64::MIN {
            self.at = at;
        }
        let elapsed = at.saturating_sub(self.at);
        if elapsed <= 0 {
            return;
        }
        let (down, up) = self.grown(elapsed);
        self.low = self.low.map(|low| low.saturating_add(down));
        self.high = self.high.map(|high| high.saturating_add(up));
        let wandered = self.assumptions.wander * elapsed as f64 / 1e9;
        let most = self.assumptions.most_drift;
        self.rate.0 = (self.rate.0 - wandered).max(-most);
        self.rate.1 = (self.rate.1 + wandered).min(most);
        self.at = at;
    }

    fn settle(&mut self) -> Result<(), Contradiction> {
        let Some((low, high)) = self.interval() else { return Ok(()) };
        if low > high {
            return Err(Contradiction);
        }
        let now = Anchor { at: self.at, low, high };
        self.narrow_rate(now)?;
        self.remember(now);
        Ok(())
    }

    /// Two intervals some time apart bound the mean rate between them, and with the wander
    /// the rate now.
    fn narrow_rate(&mut self, now: Anchor) -> Result<(), Contradiction> {
        for then in &self.anchors {
            let elapsed = (now.at - then.at) as f64;
            if elapsed < NEAREST * 1e9 {
                continue;
            }
            let wandered = self.assumptions.wander * elapsed / 1e9 + self.inexact();
            let least = now.low.saturating_sub(then.high) as f64 / elapsed - wandered;
            let most = now.high.saturating_sub(then.low) as f64 / elapsed + wandered;
            self.rate = (self.rate.0.max(least), self.rate.1.min(most));
        }
        if self.rate.0 > self.rate.1 { Err(Contradiction) } else { Ok(()) }
    }

    /// Keeps anchors whose distances grow with their age.
    fn remember(&mut self, now: Anchor) {
        let age = |anchor: &Anchor| now.at.saturating_sub(anchor.at) as f64;
        if self.anchors.last().is_some_and(|newest| age(newest) < NEAREST * 1e9) {
            return;
        }
        if self.anchors.len() == ANCHORS {
            // the one that is closest to its neighbours for its age goes
            let crowded = (1..ANCHORS - 1).min_by(|a, b| {
                let spacing = |place: usize| {
                    let between = age(&self.anchors[place - 1]) - age(&self.anchors[place + 1]);
                    between / age(&self.anchors[place])
                };
                spacing(*a).total_cmp(&spacing(*b))
            });
            self.anchors.remove(crowded.unwrap_or(0));
        }
        self.anchors.push(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUARTZ: Assumptions = Assumptions { most_drift: 200e-6, wander: 30e-9, rate_step: 0.0 };
    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn nothing_is_known_from_one_side() {
        let mut feasible = Feasible::new(QUARTZ);
        feasible.at_most(0, 100).expect("possible");
        assert_eq!(feasible.interval(), None);
        feasible.at_least(1_000, -50).expect("possible");
        assert_eq!(feasible.interval(), Some((-50, 101)));
    }

    #[test]
    fn the_rate_becomes_known_and_the_interval_grows_less() {
        let mut feasible = Feasible::new(QUARTZ);
        for second in 0..60 {
            let at = second * SECOND;
            let offset = 12_000 * second; // 12 ppm
            feasible.at_most(at, offset + 500).expect("possible");
            feasible.at_least(at, offset - 500).expect("possible");
        }
        let (low, high) = feasible.rate();
        assert!(low < 12e-6 && 12e-6 < high, "{low} {high}");
        assert!(high - low < 2e-6, "{low} {high}");
        let (low, high) = feasible.interval_at(61 * SECOND).expect("known");
        assert!(low < 12_000 * 61 && 12_000 * 61 < high && high - low < 6_000, "{low} {high}");
    }

    #[test]
    fn a_step_is_a_contradiction() {
        let mut feasible = Feasible::new(QUARTZ);
        feasible.at_most(0, 500).expect("possible");
        feasible.at_least(0, -500).expect("possible");
        assert_eq!(feasible.at_most(SECOND, -3_600 * SECOND), Err(Contradiction));
    }

    #[test]
    fn our_own_adjustment_is_none() {
        let mut feasible = Feasible::new(QUARTZ);
        feasible.at_most(0, 500).expect("possible");
        feasible.at_least(0, -500).expect("possible");
        feasible.adjusted(SECOND / 10, 10e-6);
        feasible.at_most(SECOND, 9_400).expect("possible");
        let (low, high) = feasible.interval().expect("known");
        assert!(low <= 9_000 && 9_000 <= high, "{low} {high}");
    }

    /// The clock's rate has steps of 95 ppb, like that of a real adapter; we ask for others.
    fn in_steps(rate_step: f64) -> Result<f64, Contradiction> {
        let mut feasible = Feasible::new(Assumptions { rate_step, wander: 0.0, ..QUARTZ });
        let (mut truth, mut asked, mut widest) = (0.0, 0.0, 0.0_f64);
        for second in 0..200i64 {
            let at = second * SECOND;
            feasible.at_most(at, truth as i64 + 20)?;
            feasible.at_least(at, truth as i64 - 20)?;
            let (low, high) = feasible.interval().ok_or(Contradiction)?;
            if low > truth as i64 || high < truth as i64 {
                return Err(Contradiction);
            }
            if second > 20 {
                widest = widest.max((high - low) as f64);
            }
            let wanted = 40e-9 * f64::from((second % 7) as i32 - 3);
            feasible.adjusted(at, wanted - asked);
            asked = wanted;
            truth += (asked / 95e-9).round() * 95.0;
        }
        Ok(widest)
    }

    #[test]
    fn a_clock_that_follows_in_steps_is_allowed_to() {
        assert_eq!(in_steps(0.0), Err(Contradiction));
        let widest = in_steps(50e-9).expect("possible");
        assert!(widest < 600.0, "{widest}");
    }

    proptest! {
        /// Whatever the delays and the drift are: while the assumptions hold, the truth is inside.
        #[test]
        fn the_truth_stays_inside(
            drift in -150e-6..150e-6f64,
            delays in proptest::collection::vec((0i64..200_000, 0i64..200_000, 1i64..3_000), 2..80),
        ) {
            let mut feasible = Feasible::new(QUARTZ);
            let mut at = 0;
            for (forth, back, pause) in delays {
                at += pause * 1_000_000;
                let truth = (drift * at as f64).round() as i64;
                feasible.at_most(at, truth + forth + 1).expect("possible");
                feasible.at_least(at, truth - back - 1).expect("possible");
                let (low, high) = feasible.interval().expect("known");
                prop_assert!(low <= truth && truth <= high);
                let (low, high) = feasible.rate();
                prop_assert!(low <= drift && drift <= high);
            }
        }
    }
}
