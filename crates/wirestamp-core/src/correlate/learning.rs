//! The state that is needed only while cross timestamps come: the open batch, the estimate, the
//! path to the NIC and the wander; and the rate from remembered instants.

use super::bank::{Bank, Measurement};
use super::fit::RATE_ROUNDING;
use super::interval::Interval;
use super::knots::{KEPT, Knots};
use super::path::PathWidth;
use super::prior::Wander;
use crate::time::HardwareTicks;

/// The variance of a cross timestamp of unknown width, in ns².
const GUESSED: f64 = 1e4;

/// The state that is needed only while cross timestamps come.
#[derive(Debug, Clone)]
pub(super) struct Learning {
    pub(super) bank: Bank,
    /// The interval of the open batch by itself.
    pub(super) told: Interval,
    /// The same, at the estimated frequency: after a step of the clock any frequency is possible,
    /// but the old one is the most likely.
    pub(super) likely: Interval,
    /// Whether the widths of its brackets are known; if not, the mean of their middles is used.
    pub(super) known: bool,
    pub(super) middles: f64,
    pub(super) readings: f64,
    /// The system clock's tick in nanoseconds.
    pub(super) system_step: f64,
    /// The rate before the open batch.
    pub(super) carried: Interval,
    /// The beginning of the cross timestamps that agree; rates are not estimated from earlier ones.
    pub(super) agreed_since: HardwareTicks,
    /// The time from the previous batch to the open one, in nanoseconds.
    pub(super) since_last: f64,
    /// The interval of each knot's batch by itself; the open batch's is [`told`](Self::told).
    pub(super) brackets: [[f32; 2]; KEPT],
    pub(super) path: PathWidth,
    pub(super) wander: Wander,
}

impl Learning {
    /// The open batch's measurement of the offset.
    pub(super) fn measured(&self, step: f64) -> Measurement {
        let ticks = self.readings.min(2.0); // its two ends mostly come from two cross timestamps
        let grain = step * step / (12.0 * ticks) + self.system_step * self.system_step / 24.0;
        if self.known {
            return self.path.measurement(self.likely, grain);
        }
        // it is unknown which of them were delayed, so a surprising one counts less
        let centre = self.middles / self.readings;
        let surprise = self.bank.surprise(centre);
        Measurement {
            centre,
            variance: GUESSED + grain + surprise * surprise,
        }
    }

    /// Completes the open batch; `rate` is the estimate.
    pub(super) fn complete(&mut self, step: f64, rate: f64) {
        if self.known {
            self.path.see(self.told);
        }
        self.bank.update(self.measured(step));
        self.wander.observe(rate, self.since_last);
    }
}

/// The rate at the newest knot from the others, with `wander` per nanosecond; `None` if they
/// contradict each other.
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

/// The mean rate between two instants.
pub(super) fn mean(from: Interval, to: Interval, width: f64, gained: f64) -> Interval {
    let per = 1.0 / width;
    Interval::new(
        (gained + to.low - from.high) * per,
        (gained + to.high - from.low) * per,
    )
}
