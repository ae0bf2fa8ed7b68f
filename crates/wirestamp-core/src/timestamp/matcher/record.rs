//! What is known of one use of an id, and which timestamps can be of it. Knows not how it ended.

use super::mark::Mark;
use crate::time::MonotonicTime;
use crate::timestamp::{SoftwareTimestamp, Timestamps, TransmitId};

/// One use of an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) id: TransmitId,
    /// The send has not returned yet.
    pub(super) sending: bool,
    pub(super) begun: MonotonicTime,
    /// When the deadline counts from: `begun`, or the end of a send that took long.
    pub(super) waited_from: MonotonicTime,
    /// What came for the use before.
    pub(super) earlier: Mark,
    /// What came for this one.
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

    /// In place: most of a record is timestamps that are not there.
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

    /// The send returned.
    #[inline]
    pub(super) fn sent(&mut self, now: MonotonicTime) {
        (self.waited_from, self.sending) = (now, false);
    }

    /// Takes timestamps in, unless they came before, or were made or read before this use began.
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

    /// Whether it was surely made before this use began.
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
