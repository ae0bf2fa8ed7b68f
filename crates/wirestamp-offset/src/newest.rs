//! The stated bounds: the interval that follows from the newest packet of each direction, wherever the other clock was
//! stepped before them. Theorems 9 to 12 of `docs/error-bound.md` prove it, and state when it does not hold.

use crate::commands::Moment;
use crate::feasible::{Assumptions, Feasible, grown};
use crate::rates::Rates;

/// The newest packets, the widths of the last exchanges, and the rate that holds even if there was a step.
#[derive(Debug, Clone)]
pub(crate) struct Newest {
    wander: f64,
    rates: Rates,
    low: Option<Limit>,
    high: Option<Limit>,
    exchanges: Exchanges,
}

/// The limit of the offset that follows from one packet, at its instant.
#[derive(Debug, Clone, Copy)]
struct Limit {
    when: Moment,
    value: i64,
}

/// The exchanges: a request and the next packet from the reference. They do not overlap, so a step
/// is in at most one of them.
#[derive(Debug, Clone, Default)]
struct Exchanges {
    /// Transmit time of the request that no packet has followed yet.
    begun: Option<i64>,
    ended: Option<i64>,
    /// The widths of the last two.
    widths: [i64; 2],
}

impl Newest {
    pub(crate) fn new(assumptions: Assumptions) -> Self {
        Self {
            wander: assumptions.wander,
            rates: Rates::new(assumptions),
            low: None,
            high: None,
            exchanges: Exchanges::default(),
        }
    }

    /// Notes that at a time the offset was at most `value`; `known` already contains it.
    pub(crate) fn at_most(&mut self, when: Moment, value: i64, known: &mut Feasible) {
        let take = |since: &mut Feasible| since.at_most(when, value);
        self.rates.note(when, known, take);
        if self.late_at_most(when, value) {
            let width = self
                .unwidened_at(when)
                .map(|(low, high)| high.saturating_sub(low));
            self.exchanges.end(when.free, width);
        }
    }

    /// The same for a packet that is too late for anything else. Returns whether it is the newest.
    pub(crate) fn late_at_most(&mut self, when: Moment, value: i64) -> bool {
        let same = self.high.filter(|high| high.when.free == when.free);
        let value = same.map_or(value, |high| value.min(high.value));
        replace(&mut self.high, Limit { when, value })
    }

    /// Notes that at a time the offset was at least `value`; `known` already contains it.
    pub(crate) fn at_least(&mut self, when: Moment, value: i64, known: &mut Feasible) {
        let take = |since: &mut Feasible| since.at_least(when, value);
        self.rates.note(when, known, take);
        if replace(&mut self.low, Limit { when, value }) {
            self.exchanges.begin(when.free);
        }
    }

    /// The interval at a time from the newest packet on; `None` until both sides are known.
    pub(crate) fn interval_at(&self, when: Moment) -> Option<(i64, i64)> {
        let newer = self.newer()?;
        let (low, high) = self.unwidened_at(newer)?;
        // narrower than an exchange allows: a step, or a faster packet
        let width = high.saturating_sub(low);
        let missing = self.exchanges.width().saturating_sub(width).max(0);
        let elapsed = when.free.saturating_sub(newer.free).max(0);
        let rate = self.rates.at(newer.free);
        let (down, up) = grown(rate, self.wander, elapsed, when.doubt - newer.doubt);
        Some((
            low.saturating_sub(missing).saturating_add(down),
            high.saturating_add(missing).saturating_add(up),
        ))
    }

    /// The lowest and the highest rate at a time, minus 1.
    pub(crate) fn rate_at(&self, at: i64) -> (f64, f64) {
        self.rates.at(at)
    }

    fn newer(&self) -> Option<Moment> {
        let (low, high) = (self.low?.when, self.high?.when);
        Some(if low.free > high.free { low } else { high })
    }

    /// Both limits, carried to the newer one's instant.
    fn unwidened_at(&self, newer: Moment) -> Option<(i64, i64)> {
        let rate = self.rates.at(newer.free);
        let carried = |limit: Limit| {
            let elapsed = newer.free.saturating_sub(limit.when.free).max(0);
            grown(rate, self.wander, elapsed, newer.doubt - limit.when.doubt)
        };
        let (low, high) = (self.low?, self.high?);
        let low = low.value.saturating_add(carried(low).0);
        let high = high.value.saturating_add(carried(high).1);
        (low <= high).then_some((low, high))
    }
}

impl Exchanges {
    fn begin(&mut self, at: i64) {
        if self.ended.is_none_or(|ended| ended <= at) {
            self.begun = Some(at);
        }
    }

    fn end(&mut self, at: i64, width: Option<i64>) {
        let Some(width) = width.filter(|_| self.begun.is_some_and(|begun| begun <= at)) else {
            return;
        };
        (self.begun, self.ended) = (None, Some(at));
        self.widths = [self.widths[1], width];
    }

    /// The smallest width of the resulting interval, because there may be a step within one of the
    /// last two exchanges.
    fn width(&self) -> i64 {
        self.widths[0].max(self.widths[1])
    }
}

/// Replaces the limit of an older packet. A late answer belongs to an older packet.
fn replace(known: &mut Option<Limit>, fresh: Limit) -> bool {
    let is_newest = known.is_none_or(|known| known.when.free <= fresh.when.free);
    if is_newest {
        *known = Some(fresh);
    }
    is_newest
}
