//! Whether the Syncs of a port get the timestamps that they need. A port whose do not come gives no time: it keeps back what
//! only a timeTransmitter sends, tries with messages that carry none, and goes on when their timestamps come.

use wirestamp::{MonotonicTime, Span, TransmitId};

/// So many Syncs in a row, over at least so long, without a usable timestamp: more than one lost timestamp, and longer than
/// a correlator takes to know another clock.
const SYNCS: u32 = 3;
const PATIENCE: Span = Span::from_seconds(1);
/// From one attempt to the next.
const ATTEMPT: Span = Span::from_seconds(1);

/// The timestamps of what a port transmits.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    /// Since when they do not come, and how many.
    since: Option<MonotonicTime>,
    missed: u32,
    /// The role is given up; when the next attempt is due.
    attempt_at: Option<MonotonicTime>,
    attempt: Option<TransmitId>,
    sequence: u16,
}

impl Vigil {
    /// A Sync stays without a usable timestamp.
    pub(super) fn missed(&mut self, now: MonotonicTime) {
        let since = *self.since.get_or_insert(now);
        self.missed = self.missed.saturating_add(1);
        if self.attempt_at.is_none() && self.missed >= SYNCS && now - since >= PATIENCE {
            self.attempt_at = Some(now + ATTEMPT);
        }
    }

    /// A message has its timestamp.
    pub(super) fn came(&mut self) {
        *self = Self {
            sequence: self.sequence,
            ..Self::default()
        };
    }

    /// Whether the port gives no time.
    pub(super) fn is_silent(&self) -> bool {
        self.attempt_at.is_some()
    }

    pub(super) fn next(&self) -> Option<MonotonicTime> {
        self.attempt_at
    }

    /// The number of the attempt that is due now.
    pub(super) fn due(&mut self, now: MonotonicTime) -> Option<u16> {
        let due = self.attempt_at.filter(|at| *at <= now)?;
        self.attempt_at = Some(due.max(now) + ATTEMPT);
        self.sequence = self.sequence.wrapping_add(1);
        Some(self.sequence)
    }

    /// The attempt was sent under this identifier, if it was.
    pub(super) fn attempted(&mut self, id: Option<TransmitId>) {
        self.attempt = id;
    }

    pub(super) fn is_attempt(&self, id: TransmitId) -> bool {
        self.attempt == Some(id)
    }
}
