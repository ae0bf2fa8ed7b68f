//! The record of one use of an ID, and the check which timestamps can belong to it.

use super::mark::Mark;
use crate::time::MonotonicTime;
use crate::timestamp::{SoftwareTimestamp, Timestamps, TransmitId};

/// One use of an ID.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) id: TransmitId,
    /// Whether the send has not returned yet.
    pub(super) sending: bool,
    pub(super) begun: MonotonicTime,
    /// The beginning of the deadline: `begun`, or the end of a long send.
    pub(super) waited_from: MonotonicTime,
    /// The mark of the previous use's timestamps.
    pub(super) earlier: Mark,
    /// The timestamps of this use.
    pub(super) timestamps: Timestamps,
}

impl Record {
    pub(super) const EMPTY: Self = Self {
        id: TransmitId(0),
        sending: false,
        begun: MonotonicTime::MIN,
        waited_from: MonotonicTime::MIN,
        earlier: Mark::NONE,
        timestamps: Timestamps::NONE,
    };

    /// Begins a use in place, because most of a record is empty timestamps.
    #[inline]
    pub(super) fn begin(
        &mut self,
        id: TransmitId,
        now: MonotonicTime,
        sending: bool,
        earlier: Mark,
    ) {
        (self.id, self.sending, self.earlier) = (id, sending, earlier);
        (self.begun, self.waited_from) = (now, now);
        self.timestamps.software = None;
        self.timestamps.hardware = None;
    }

    /// Notes that the send returned.
    #[inline]
    pub(super) fn sent(&mut self, now: MonotonicTime) {
        (self.waited_from, self.sending) = (now, false);
    }

    /// Adds timestamps, unless they are duplicates, or were made or read before this use began.
    #[inline]
    pub(super) fn take(&mut self, timestamps: &Timestamps) -> bool {
        if self.is_preceded_by(timestamps) {
            return false;
        }
        if self.timestamps.is_none() {
            self.timestamps = *timestamps;
            return true;
        }
        self.timestamps.merge(*timestamps)
    }

    /// Whether a timestamp was certainly made before this use began.
    #[inline]
    pub(super) fn is_preceded_by_software(&self, timestamp: &SoftwareTimestamp) -> bool {
        timestamp.at.value < self.begun && timestamp.at.value + timestamp.at.bound < self.begun
    }

    #[inline]
    fn is_preceded_by(&self, timestamps: &Timestamps) -> bool {
        timestamps
            .software
            .is_some_and(|timestamp| self.is_preceded_by_software(&timestamp))
            || timestamps
                .hardware
                .is_some_and(|timestamp| timestamp.read_at < self.begun)
            || (!self.earlier.is_none() && self.earlier.shares(Mark::of(timestamps)))
    }
}
