//! What is counted of each flow while two captures are read.

use super::{Seen, Side};
use crate::packet::Flow;
use crate::spread::Spread;
use std::collections::HashMap;

/// So many flows have counts of their own; packets of others are counted together.
pub(super) const MOST_FLOWS: usize = 1_024;

/// The flows.
#[derive(Debug)]
pub(super) struct Tallies {
    numbers: HashMap<Flow, u32>,
    all: Vec<Tally>,
}

/// The counts of a flow, as A calls it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// `None`: of all flows that have none of their own.
    pub(super) flow: Option<Flow>,
    pub(super) matched: u64,
    /// Of these, those of which nobody knows which one is which.
    pub(super) ambiguous: u64,
    /// In one capture only.
    pub(super) alone: [u64; 2],
    /// Likewise, of packets whose like was found for another one.
    pub(super) surplus: [u64; 2],
    /// At times at which the other capture was not made.
    pub(super) outside: u64,
    /// Overtaken in the order of that capture.
    pub(super) overtaken: [u64; 2],
    /// The latest place of the other capture that was seen.
    furthest: [u64; 2],
    /// B's time minus A's.
    pub(super) delay: Spread,
    pub(super) votes: i64,
}

impl Default for Tallies {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            all: vec![Tally::default()], // 0: the others
        }
    }
}

impl Tallies {
    /// The number of a flow.
    pub(super) fn of(&mut self, flow: Flow) -> u32 {
        if let Some(known) = self.numbers.get(&flow) {
            return *known;
        }
        if self.all.len() > MOST_FLOWS {
            return 0;
        }
        let number = self.all.len() as u32;
        self.all.push(Tally {
            flow: Some(flow),
            ..Tally::default()
        });
        self.numbers.insert(flow, number);
        number
    }

    pub(super) fn get(&mut self, flow: u32) -> &mut Tally {
        &mut self.all[flow as usize]
    }

    pub(super) fn vote(&mut self, flow: u32, vote: i64) {
        self.get(flow).votes += vote;
    }

    /// A packet was found in both. `completed`: in which it was found later; `None`: it may be another one that looks the same, so that
    /// its delay is not known.
    pub(super) fn paired(&mut self, flow: u32, a: &Seen, b: &Seen, completed: Option<Side>) {
        let tally = self.get(flow);
        tally.matched += 1;
        let Some(completed) = completed else {
            tally.ambiguous += 1;
            return;
        };
        let bound = a.bound_ns.zip(b.bound_ns);
        let bound = bound.map(|(a, b)| a.saturating_add(b));
        tally.delay.record(b.utc_ns.saturating_sub(a.utc_ns), bound);
        let other = if completed == Side::B {
            a.place
        } else {
            b.place
        };
        let furthest = &mut tally.furthest[completed as usize];
        if other < *furthest {
            tally.overtaken[completed as usize] += 1;
        } else {
            *furthest = other;
        }
    }

    pub(super) fn into_all(self) -> Vec<Tally> {
        self.all
    }
}

impl Tally {
    /// A packet of `side` has no like. `paired`: but others that look the same have.
    pub(super) fn unmatched(&mut self, side: Side, paired: bool) {
        let counts = if paired {
            &mut self.surplus
        } else {
            &mut self.alone
        };
        counts[side as usize] += 1;
    }

    pub(super) fn packets(&self, side: Side) -> u64 {
        self.matched + self.alone[side as usize] + self.surplus[side as usize]
    }
}
