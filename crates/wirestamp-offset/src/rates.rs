//! The rate that holds even if the other clock was stepped once: across a step the apparent rate is wrong.
//!
//! For any instant, the step was either later, and the rate from before is right, or earlier, and
//! the rate from the packets since then is right. At each of several such instants the rate is
//! therefore in one of two intervals.

use crate::commands::Moment;
use crate::feasible::{Assumptions, Contradiction, Feasible, crowded};

/// The number of instants to keep,
const SPLITS: usize = 8;
/// their least distance,
const NEAREST: i64 = 500_000_000;
/// and how long they are kept; after that, everything before is forgotten.
const MEMORY: i64 = 300_000_000_000;

/// The possible rates on either side of several instants.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    assumptions: Assumptions,
    splits: Vec<Split>,
}

/// An instant between packets.
#[derive(Debug, Clone)]
struct Split {
    at: i64,
    /// The rate at the instant, without the jump, if there was no step before.
    before: (f64, f64),
    /// The rate from the packets after it.
    since: Feasible,
}

impl Rates {
    pub(crate) fn new(assumptions: Assumptions) -> Self {
        Self {
            assumptions,
            splits: Vec::new(),
        }
    }

    /// Takes a packet after `known` has taken it.
    pub(crate) fn note(
        &mut self,
        when: Moment,
        known: &mut Feasible,
        take: impl Fn(&mut Feasible) -> Result<(), Contradiction>,
    ) {
        if self.assumptions.wander.is_infinite() {
            return; // no packet narrows the rate
        }
        // a contradiction here is also one in `known`, which reports it first
        self.splits
            .retain_mut(|split| when.free <= split.at || take(&mut split.since).is_ok());
        let at = known.newest();
        let is_due = |newest: &Split| at.saturating_sub(newest.at) >= NEAREST;
        if !self.splits.last().is_none_or(is_due) {
            return;
        }
        self.forget_old(at, known);
        if self.splits.len() == SPLITS {
            let age = |split: &Split| at.saturating_sub(split.at) as f64;
            let ages: Vec<f64> = self.splits.iter().map(age).collect();
            self.splits.remove(crowded(&ages).unwrap_or(0));
        }
        self.splits.push(Split {
            at,
            before: known.steady_rate(),
            since: Feasible::new(self.assumptions),
        });
    }

    /// Forgets a step of long ago.
    fn forget_old(&mut self, now: i64, known: &mut Feasible) {
        let is_old = |split: &Split| now.saturating_sub(split.at) > MEMORY;
        if self.splits.first().is_some_and(is_old) {
            let since = self.splits.remove(0).since;
            if since.interval().is_some() {
                *known = since;
            }
        }
    }

    /// The lowest and the highest rate at a time.
    pub(crate) fn at(&self, at: i64) -> (f64, f64) {
        let widened = |rate: (f64, f64), then: i64| {
            let wandered = self.assumptions.wander * at.saturating_sub(then).max(0) as f64 / 1e9;
            (rate.0 - wandered, rate.1 + wandered)
        };
        let both = self.splits.iter().map(|split| {
            let before = widened(split.before, split.at);
            let since = widened(split.since.steady_rate(), split.since.newest());
            (before.0.min(since.0), before.1.max(since.1))
        });
        let known = both.fold(self.assumptions.drift, |known, either| {
            (known.0.max(either.0), known.1.min(either.1))
        });
        let known = self.assumptions.jumped(known);
        // no rate fits all: an assumption does not hold, and nothing was learnt
        if known.0 <= known.1 {
            known
        } else {
            self.assumptions.drift
        }
    }
}
