//! Whether pairs show how far the lines of both captures are apart.
//!
//! Some packets come again with the same bytes, as heartbeats do. If a step put the lines further apart than the window, such a packet
//! pairs with one of another time, and seems to show that the lines agree. So a pair counts only if nothing that looked the same was seen
//! before, in either capture, since the step: the right like would have been. What remains, because the right like was lost, is outvoted
//! by flows of which both captures have packets without a like: lines that agree leave those in one capture alone.

use super::Side;
use std::collections::{HashMap, HashSet};

/// So many keys are remembered since a step; beyond, no pair counts any more.
const MOST_KEYS: usize = 1 << 20;

/// Packets since the latest step.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// A part of each key.
    seen: HashSet<u64>,
    /// Packets of which both captures have one.
    pairs: u64,
    /// Packets without a like of A and of B, by flow.
    alone: HashMap<u32, [u64; 2]>,
    /// So many of them are in both captures' part of a flow.
    contradicting: u64,
}

impl Evidence {
    /// Remembers a key. Returns whether it was seen before, or may have been.
    pub(super) fn is_repeated(&mut self, key: u128) -> bool {
        let part = key as u64;
        if self.seen.len() == MOST_KEYS {
            return true;
        }
        !self.seen.insert(part)
    }

    pub(super) fn paired(&mut self, is_repeated: bool) {
        self.pairs += u64::from(!is_repeated);
    }

    pub(super) fn alone(&mut self, side: Side, flow: u32) {
        let alone = self.alone.entry(flow).or_default();
        let (own, other) = (side as usize, 1 - side as usize);
        self.contradicting += u64::from(alone[own] < alone[other]);
        alone[own] += 1;
    }

    pub(super) fn is_enough(&self) -> bool {
        self.pairs > self.contradicting
    }
}
