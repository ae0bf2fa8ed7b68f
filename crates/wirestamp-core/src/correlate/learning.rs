//! What is needed only while readings come: the open batch, the best guess, the way to the
//! NIC, the wander; and what remembered instants say of the rate. Converts nothing.

use super::bank::{Bank, Measurement};
use super::fit::RATE_ROUNDING;
use super::interval::Interval;
use super::knots::{KEPT, Knots};
use super::path::PathWidth;
use super::prior::Wander;
use crate::time::HardwareTicks;

/// Variance of a reading of unknown width, in ns².
const GUESSED: f64 = 1e4;

/// What is needed only while readings come.
#[derive(Debug, Clone)]
pub(super) struct Learning {
    pub(super) bank: Bank,
    /// What the open batch says by itself.
    pub(super) told: Interval,
    /// The same at the best guess of the frequency: after a step of the clock any frequency may be
    /// possible, and most likely it is the old one.
    pub(super) likely: Interval,
    /// Whether the widths of its brackets are known; if not, the mean of its middles counts.
    pub(super) known: bool,
    pub(super) middles: f64,
    pub(super) readings: f64,
    /// The system clock's step, in nanoseconds.
    pub(super) system_step: f64,
    /// The rate before the open batch.
    pub(super) carried: Interval,
    /// Since when the readings agree: rates are not estimated from earlier ones.
    pub(super) agreed_since: HardwareTicks,
    /// From the batch before to the open one, in nanoseconds.
    pub(super) since_last: f64,
    /// What the batch of each knot says by itself; the open batch's is [`told`](Self::told).
    pub(super) brackets: [[f32; 2]; KEPT],
    pub(super) path: PathWidth,
    pub(super) wander: Wander,
}

impl Learning {
    /// What the open batch says of the offset.
    pub(super) fn measured(&self, step: f64) -> Measurement {
        let ticks = self.readings.min(2.0); // its two ends come from two readings, mostly
        let grain = step * step / (12.0 * ticks) + self.system_step * self.system_step / 24.0;
        if self.known {
            return self.path.measurement(self.likely, grain);
        }
        // nobody knows which of them were delayed: one that surprises counts less
        let centre = self.middles / self.readings;
        let surprise = self.bank.surprise(centre);
        Measurement {
            centre,
            variance: GUESSED + grain + surprise * surprise,
        }
    }

    /// The open batch is complete; `rate` is the best guess.
    pub(super) fn complete(&mut self, step: f64, rate: f64) {
        if self.known {
            self.path.see(self.told);
        }
        self.bank.update(self.measured(step));
        self.wander.observe(rate, self.since_last);
    }
}

/// The rate at the newest knot, from the others; `None` if they contradict each other.
/// `wander`: per nanosecond.
pub(super) fn pair_rates(
    knots: &Knots,
    learning: &Learning,
    scale: f64,
    wander: f64,
) -> Option<Interval> {
    let mut rate = learning.carried;
    let (newest, earlier) = knots.all().split_last()?;
    for knot in earlier
        .iter()
        .rev()
        .take_while(|knot| knot.ticks.since(learning.agreed_since) >= 0)
    {
        let (width, gained) = knot.way_to(newest.ticks, newest.at, scale);
        let pair = mean(knot.allowed, newest.allowed, width, gained).widened(wander * width / 2.0);
        rate = rate.and(pair, RATE_ROUNDING)?;
    }
    Some(rate)
}

/// The mean rate over a way.
pub(super) fn mean(from: Interval, to: Interval, width: f64, gained: f64) -> Interval {
    let per = 1.0 / width;
    Interval::new(
        (gained + to.low - from.high) * per,
        (gained + to.high - from.low) * per,
    )
}
