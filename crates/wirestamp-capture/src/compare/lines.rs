//! Whether the times of both captures can be compared, after a step of either clock.
//!
//! It is unknown how far a step moved a capture's line of time: the pause before the next packet is hidden in it. A packet that is
//! missing since then is only lost once packets in both captures show how far the lines are apart, and that this is well within the
//! window.

use super::evidence::Evidence;
use super::{Seen, Side};

/// The lines of both captures.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The latest run of each capture's clock.
    runs: [u32; 2],
    /// When it began, if it is not the first.
    since_ns: [Option<i64>; 2],
    /// How far the lines were seen to be apart since the latest step, if that can be believed.
    apart_ns: Option<u64>,
    evidence: Evidence,
}

impl Lines {
    /// The next packet of a capture is of this run.
    pub(super) fn reach(&mut self, side: Side, run: u32, line_ns: i64) {
        if run > self.runs[side as usize] {
            self.runs[side as usize] = run;
            self.since_ns[side as usize] = Some(line_ns);
            self.apart_ns = None;
            self.evidence = Evidence::default();
        }
    }

    /// The first packet of those that look like this waits for its like. Returns after how many steps, if none that looked the same
    /// was seen since the latest one.
    pub(super) fn first_seen(&mut self, key: u128) -> Option<u64> {
        let is_first = self.are_stepped() && !self.evidence.is_repeated(key);
        is_first.then(|| self.all())
    }

    /// How many steps of both clocks there were until now.
    fn all(&self) -> u64 {
        u64::from(self.runs[0]) + u64::from(self.runs[1])
    }

    /// How many steps of both clocks there were; less for a packet of a run that is not the latest.
    pub(super) fn steps(&self, side: Side, run: u32) -> u64 {
        u64::from(run) + u64::from(self.runs[1 - side as usize])
    }

    pub(super) fn are_stepped(&self) -> bool {
        self.runs != [0; 2]
    }

    /// A packet was found in both captures, and no other that waits looks like it. `first_seen`: as that said.
    pub(super) fn paired(&mut self, one: &Seen, other: &Seen, first_seen: Option<u64>) {
        let is_new = |seen: &Seen| seen.utc_ns.is_some() && self.is_since(seen);
        if self.are_stepped() && is_new(one) && is_new(other) {
            let apart = one.line_ns.abs_diff(other.line_ns);
            self.apart_ns = self.apart_ns.max(Some(apart));
            self.evidence.paired(first_seen != Some(self.all()));
        }
    }

    /// A packet of this flow has no like.
    pub(super) fn alone(&mut self, seen: &Seen, flow: u32) {
        if self.are_stepped() && self.is_since(seen) {
            self.evidence.alone(seen.side, flow);
        }
    }

    /// How far from its own time the like of a packet may be in the other capture, as far as steps matter. `None`: nobody knows, or it
    /// is not certain that it would have been found.
    pub(super) fn apart(&self, seen: &Seen, window_ns: i64) -> Option<i64> {
        if !self.are_stepped() {
            return Some(0);
        }
        let is_shown = self.is_since(seen) && self.evidence.is_enough();
        let apart = self.apart_ns.filter(|_| is_shown)?;
        let apart = i64::try_from(apart).ok()?;
        // before a step of the other clock, its line was elsewhere
        let other = self.since_ns[1 - seen.side as usize];
        let is_of_run = other.is_none_or(|since| seen.line_ns.saturating_sub(apart) >= since);
        (is_of_run && apart <= window_ns / 2).then_some(apart)
    }

    /// Whether neither clock was stepped since the packet.
    fn is_since(&self, seen: &Seen) -> bool {
        seen.steps == self.all()
    }
}
