//! Supervision of transmit timestamps. A port whose Syncs get no timestamps transmits no time: it
//! suppresses all messages that only a timeTransmitter sends, sends test messages without a time,
//! and resumes when their timestamps come.

use wirestamp::{MonotonicTime, Span, TransmitId};

/// The number of consecutive Syncs, and the least time, without a usable timestamp: more than a
/// single lost timestamp, and longer than a correlator takes for another clock.
const SYNCS: u32 = 3;
const PATIENCE: Span = Span::from_seconds(1);
/// The interval between attempts.
const ATTEMPT: Span = Span::from_seconds(1);

/// The state of a port's transmit timestamps.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    /// Since when timestamps are missing, and how many.
    since: Option<MonotonicTime>,
    missed: u32,
    /// Set if the role is given up: when the next attempt is due.
    attempt_at: Option<MonotonicTime>,
    attempt: Option<TransmitId>,
    sequence: u16,
}

impl Vigil {
    /// Notes a Sync without a usable timestamp.
    pub(super) fn missed(&mut self, now: MonotonicTime) {
        let since = *self.since.get_or_insert(now);
        self.missed = self.missed.saturating_add(1);
        if self.attempt_at.is_none() && self.missed >= SYNCS && now - since >= PATIENCE {
            self.attempt_at = Some(now + ATTEMPT);
        }
    }

    /// Notes a message with a timestamp.
    pub(super) fn came(&mut self) {
        *self = Self {
            sequence: self.sequence,
            ..Self::default()
        };
    }

    /// Returns whether the port transmits no time.
    pub(super) fn is_silent(&self) -> bool {
        self.attempt_at.is_some()
    }

    pub(super) fn next(&self) -> Option<MonotonicTime> {
        self.attempt_at
    }

    /// Returns the number of the attempt if one is due.
    pub(super) fn due(&mut self, now: MonotonicTime) -> Option<u16> {
        let due = self.attempt_at.filter(|at| *at <= now)?;
        self.attempt_at = Some(due.max(now) + ATTEMPT);
        self.sequence = self.sequence.wrapping_add(1);
        Some(self.sequence)
    }

    /// Notes the transmit ID of the attempt, if it was sent.
    pub(super) fn attempted(&mut self, id: Option<TransmitId>) {
        self.attempt = id;
    }

    /// Forgets the attempt, and returns whether there was one without an outcome.
    pub(super) fn give_up_attempt(&mut self) -> bool {
        self.attempt.take().is_some()
    }

    pub(super) fn is_attempt(&self, id: TransmitId) -> bool {
        self.attempt == Some(id)
    }
}
