//! The clock generations of the timestamps of exchanges in progress. The engine does not know
//! generations, so every exchange is checked here before it is used.

use crate::timestamping::{LocalTimestamp, Made};
use std::collections::VecDeque;
use wirestamp::{Bounded, MonotonicTime};

/// The number of Syncs that are remembered. Forged ones displace real ones, whose exchanges are
/// then lost.
const SYNCS: usize = 16;

/// A timestamp that was passed to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The time as in messages, minus the correction.
    pub(super) at: i64,
    /// Its largest error beyond the clock's resolution.
    pub(super) unsure: i64,
    pub(super) run: Run,
    /// The time on the monotonic clock.
    pub(super) on_monotonic: Option<Bounded<MonotonicTime>>,
    pub(super) made: Option<Made>,
}

/// A generation of one clock on one timescale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    generation: u32,
    pub(super) utc_shift: i64,
}

impl Run {
    pub(super) fn of(timestamp: &LocalTimestamp, utc_shift: i64) -> Self {
        Self {
            generation: timestamp.generation,
            utc_shift,
        }
    }

    /// Returns by how much the timescale moved since another one; `None` if the clock is of another generation.
    pub(super) fn moved_since(self, before: Self) -> Option<i64> {
        let is_same = self.generation == before.generation;
        is_same.then(|| self.utc_shift.saturating_sub(before.utc_shift))
    }
}

/// A peer delay exchange that this port began.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerExchange {
    pub(super) sequence: u16,
    pub(super) request: Option<Entry>,
    pub(super) response: Option<Entry>,
}

/// The exchanges in progress.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The generation of the newest timestamp.
    pub(super) current: Option<Run>,
    syncs: VecDeque<Entry>,
    pub(super) request: Option<Entry>,
    pub(super) peer: Option<PeerExchange>,
}

impl Ledger {
    /// Notes the generation of a timestamp, and returns whether it differs from the previous one.
    pub(super) fn enter(&mut self, run: Run) -> bool {
        let changed = self.current.is_some_and(|current| current != run);
        self.current = Some(run);
        changed
    }

    /// Forgets the requests in progress: an answer would be of before a contradiction, and contradict once more.
    pub(super) fn forget_requests(&mut self) {
        (self.request, self.peer) = (None, None);
    }

    pub(super) fn note_sync(&mut self, entry: Entry) {
        if self.syncs.len() == SYNCS {
            self.syncs.pop_front();
        }
        self.syncs.push_back(entry);
    }

    /// Returns the Sync that arrived at `at`, if it is of the current generation.
    pub(super) fn current_sync(&self, at: i64) -> Option<Entry> {
        let found = self
            .syncs
            .iter()
            .rev()
            .find(|entry| entry.at.abs_diff(at) <= 1)
            .copied();
        found.filter(|entry| Some(entry.run) == self.current)
    }

    /// Returns the delay request that left at `at`, if it is of the current generation.
    pub(super) fn current_request(&self, at: i64) -> Option<Entry> {
        self.request
            .filter(|entry| entry.at.abs_diff(at) <= 1 && Some(entry.run) == self.current)
    }

    /// Returns whether both of our timestamps of the peer exchange are of the current generation.
    pub(super) fn is_peer_current(&self) -> bool {
        let run = |entry: Option<Entry>| entry.map(|entry| entry.run);
        self.peer.is_some_and(|peer| {
            self.current.is_some()
                && run(peer.request) == self.current
                && run(peer.response) == self.current
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_an_earlier_run_are_not_current() {
        let run = |generation| Run {
            generation,
            utc_shift: 0,
        };
        let mut ledger = Ledger::default();
        assert!(!ledger.enter(run(0)));
        let entry = |at, generation| Entry {
            at,
            unsure: 0,
            run: run(generation),
            on_monotonic: None,
            made: None,
        };
        ledger.note_sync(entry(1_000, 0));
        ledger.request = Some(entry(2_000, 0));
        assert_eq!(ledger.current_sync(1_001), Some(entry(1_000, 0)));
        assert_eq!(ledger.current_request(2_000), Some(entry(2_000, 0)));
        assert!(ledger.current_sync(2_000).is_none());
        assert!(ledger.enter(run(1)));
        assert!(ledger.current_sync(1_000).is_none() && ledger.current_request(2_000).is_none());
        let entry = |generation| Some(entry(0, generation));
        ledger.peer = Some(PeerExchange {
            sequence: 1,
            request: entry(0),
            response: entry(1),
        });
        assert!(!ledger.is_peer_current());
        ledger.peer = Some(PeerExchange {
            sequence: 1,
            request: entry(1),
            response: entry(1),
        });
        assert!(ledger.is_peer_current());
    }
}
