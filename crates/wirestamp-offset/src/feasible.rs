//! The interval that contains the offset if no clock was stepped, carried through time. A contradiction shows a step.
//! The stated bounds come from [`Newest`](crate::newest::Newest), which allows for one.
//!
//! No packet arrives before it was sent. So a packet from the reference shows that the offset is at most "received
//! minus sent", and a packet to it that it is at least "sent minus received". Between packets the interval grows as the
//! rate, itself an interval, and its wander allow. Packets that contradict each other show a step.
//!
//! All of this is on the free-running clock: our adjustments are removed before ([`Commands`](crate::Commands)), so
//! they never count as drift, and no limit on the drift applies to them.

use crate::commands::Moment;

/// The number of observed times and rates to remember.
const ANCHORS: usize = 12;
/// An anchor nearer than this does not narrow the rate.
const NEAREST: f64 = 0.5;

/// Assumptions about the clocks, under which error bounds hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumptions {
    /// The lowest and the highest frequency offset of the free-running clock, as fractions (1e-6 is 1 ppm).
    pub drift: (f64, f64),
    /// The largest change of the frequency offset in a second. If infinite, it may be anywhere within the limits at any
    /// time, so nothing is learnt from the past.
    pub wander: f64,
    /// The largest change of the frequency offset at once, and back, in addition to the wander:
    /// between any two instants it changes by no more than this and the wander of the time between
    /// them. 0 if all of it is wander.
    pub jump: f64,
}

/// An error: packets contradict each other, so a clock was stepped or an assumption is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction;

/// The interval at an instant of the free-running clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Anchor {
    at: i64,
    doubt: f64,
    low: i64,
    high: i64,
}

/// The interval of the free-running clock's offset, in nanoseconds: local minus reference.
#[derive(Debug, Clone)]
pub(crate) struct Feasible {
    assumptions: Assumptions,
    at: i64,
    doubt: f64,
    low: Option<i64>,
    high: Option<i64>,
    /// The rate without the jump, which is added once, however old the rate is. The two limits may
    /// therefore be in reverse order.
    rate: (f64, f64),
    anchors: Vec<Anchor>,
}

impl Assumptions {
    /// Widens a learnt rate by the jump.
    pub(crate) fn jumped(&self, rate: (f64, f64)) -> (f64, f64) {
        let (least, most) = self.drift;
        (
            (rate.0 - self.jump).max(least),
            (rate.1 + self.jump).min(most),
        )
    }
}

/// How far the two sides of an interval move in `elapsed` nanoseconds at a wandering rate between these; `doubt` is the
/// possible error of our own adjustments.
pub(crate) fn grown(rate: (f64, f64), wander: f64, elapsed: i64, doubt: f64) -> (i64, i64) {
    let nanoseconds = elapsed as f64;
    // with an infinite wander only the limits are known, and they do not move
    let wandered = if wander.is_finite() {
        wander * nanoseconds / 1e9 / 2.0 * nanoseconds
    } else {
        0.0
    };
    let unsure = wandered + doubt.max(0.0);
    let down = rate.0 * nanoseconds - unsure;
    let up = rate.1 * nanoseconds + unsure;
    (down.floor() as i64, up.ceil() as i64)
}

/// The index of the instant that is closest to its neighbours for its age, except the oldest and
/// the newest. Forgetting instants in this order lets their distances grow with their age.
pub(crate) fn crowded(ages: &[f64]) -> Option<usize> {
    let spacing = |place: usize| (ages[place - 1] - ages[place + 1]) / ages[place];
    (1..ages.len().saturating_sub(1)).min_by(|a, b| spacing(*a).total_cmp(&spacing(*b)))
}

impl Feasible {
    pub(crate) fn new(assumptions: Assumptions) -> Self {
        let (rate, anchors) = (assumptions.drift, Vec::with_capacity(ANCHORS));
        Self {
            assumptions,
            at: i64::MIN,
            doubt: 0.0,
            low: None,
            high: None,
            rate,
            anchors,
        }
    }

    /// Notes that at a time the offset was at most `value`.
    pub(crate) fn at_most(&mut self, when: Moment, value: i64) -> Result<(), Contradiction> {
        self.advance(when);
        let value = value.saturating_add(self.since(when).1);
        self.high = Some(self.high.map_or(value, |high| high.min(value)));
        self.settle()
    }

    /// Notes that at a time the offset was at least `value`.
    pub(crate) fn at_least(&mut self, when: Moment, value: i64) -> Result<(), Contradiction> {
        self.advance(when);
        let value = value.saturating_add(self.since(when).0);
        self.low = Some(self.low.map_or(value, |low| low.max(value)));
        self.settle()
    }

    /// The interval now; `None` until both sides are known.
    pub(crate) fn interval(&self) -> Option<(i64, i64)> {
        Some((self.low?, self.high?))
    }

    /// The interval at a later time.
    pub(crate) fn interval_at(&self, when: Moment) -> Option<(i64, i64)> {
        let (low, high) = self.interval()?;
        let (down, up) = self.grown(
            when.free.saturating_sub(self.at).max(0),
            when.doubt - self.doubt,
        );
        Some((low.saturating_add(down), high.saturating_add(up)))
    }

    /// The time of the newest packet.
    pub(crate) fn newest(&self) -> i64 {
        self.at
    }

    /// The lowest and the highest rate of the free-running clock against the reference, minus 1.
    pub(crate) fn rate(&self) -> (f64, f64) {
        self.assumptions.jumped(self.rate)
    }

    /// The same without the jump, for [`Assumptions::jumped`].
    pub(crate) fn steady_rate(&self) -> (f64, f64) {
        self.rate
    }

    /// How far the two sides move in `elapsed` nanoseconds: the rate, its wander, and the possible error of our own
    /// adjustments.
    fn grown(&self, elapsed: i64, doubt: f64) -> (i64, i64) {
        grown(self.rate(), self.assumptions.wander, elapsed, doubt)
    }

    /// The movement of a value from the instant `when` until now; `when` may be slightly later.
    fn since(&self, when: Moment) -> (i64, i64) {
        self.grown(
            self.at.saturating_sub(when.free).max(0),
            self.doubt - when.doubt,
        )
    }

    fn advance(&mut self, when: Moment) {
        if self.at == i64::MIN {
            (self.at, self.doubt) = (when.free, when.doubt);
        }
        let elapsed = when.free.saturating_sub(self.at);
        if elapsed <= 0 {
            return;
        }
        let (down, up) = self.grown(elapsed, when.doubt - self.doubt);
        self.low = self.low.map(|low| low.saturating_add(down));
        self.high = self.high.map(|high| high.saturating_add(up));
        let wandered = self.assumptions.wander * elapsed as f64 / 1e9;
        let (least, most) = self.assumptions.drift;
        self.rate.0 = (self.rate.0 - wandered).max(least);
        self.rate.1 = (self.rate.1 + wandered).min(most);
        (self.at, self.doubt) = (when.free, when.doubt);
    }

    fn settle(&mut self) -> Result<(), Contradiction> {
        let Some((low, high)) = self.interval() else {
            return Ok(());
        };
        if low > high {
            return Err(Contradiction);
        }
        let now = Anchor {
            at: self.at,
            doubt: self.doubt,
            low,
            high,
        };
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
            let wandered = self.assumptions.wander * elapsed / 1e9
                + (now.doubt - then.doubt).max(0.0) / elapsed;
            let least = now.low.saturating_sub(then.high) as f64 / elapsed - wandered;
            let most = now.high.saturating_sub(then.low) as f64 / elapsed + wandered;
            self.rate = (self.rate.0.max(least), self.rate.1.min(most));
        }
        let (least, most) = self.rate();
        if least > most {
            Err(Contradiction)
        } else {
            Ok(())
        }
    }

    /// Keeps anchors whose distances grow with their age.
    fn remember(&mut self, now: Anchor) {
        let age = |anchor: &Anchor| now.at.saturating_sub(anchor.at) as f64;
        if self
            .anchors
            .last()
            .is_some_and(|newest| age(newest) < NEAREST * 1e9)
        {
            return;
        }
        if self.anchors.len() == ANCHORS {
            let ages: Vec<f64> = self.anchors.iter().map(age).collect();
            self.anchors.remove(crowded(&ages).unwrap_or(0));
        }
        self.anchors.push(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUARTZ: Assumptions = Assumptions {
        drift: (-200e-6, 200e-6),
        wander: 30e-9,
        jump: 0.0,
    };
    const SECOND: i64 = 1_000_000_000;

    /// A clock without commands.
    fn when(free: i64) -> Moment {
        Moment {
            free,
            shift: (0, 0),
            doubt: 0.0,
        }
    }

    #[test]
    fn nothing_is_known_from_one_side() {
        let mut feasible = Feasible::new(QUARTZ);
        feasible.at_most(when(0), 100).expect("possible");
        assert_eq!(feasible.interval(), None);
        feasible.at_least(when(1_000), -50).expect("possible");
        assert_eq!(feasible.interval(), Some((-50, 101)));
    }

    #[test]
    fn the_rate_becomes_known_and_the_interval_grows_less() {
        let mut feasible = Feasible::new(QUARTZ);
        for second in 0..60 {
            let at = second * SECOND;
            let offset = 12_000 * second; // 12 ppm
            feasible.at_most(when(at), offset + 500).expect("possible");
            feasible.at_least(when(at), offset - 500).expect("possible");
        }
        let (low, high) = feasible.rate();
        assert!(low < 12e-6 && 12e-6 < high, "{low} {high}");
        assert!(high - low < 2e-6, "{low} {high}");
        let (low, high) = feasible.interval_at(when(61 * SECOND)).expect("known");
        assert!(
            low < 12_000 * 61 && 12_000 * 61 < high && high - low < 6_000,
            "{low} {high}"
        );
    }

    #[test]
    fn a_step_is_a_contradiction() {
        let mut feasible = Feasible::new(QUARTZ);
        feasible.at_most(when(0), 500).expect("possible");
        feasible.at_least(when(0), -500).expect("possible");
        assert_eq!(
            feasible.at_most(when(SECOND), -3_600 * SECOND),
            Err(Contradiction)
        );
    }

    proptest! {
        /// While the assumptions hold, the interval contains the truth for all delays and drifts.
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
                feasible.at_most(when(at), truth + forth + 1).expect("possible");
                feasible.at_least(when(at), truth - back - 1).expect("possible");
                let (low, high) = feasible.interval().expect("known");
                prop_assert!(low <= truth && truth <= high);
                let (low, high) = feasible.rate();
                prop_assert!(low <= drift && drift <= high);
            }
        }
    }
}
