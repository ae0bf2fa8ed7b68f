//! Owns what is known of one use of an id, and which stamps can be of it. Knows not how it ended.

use super::mark::Mark;
use crate::stamp::{Stamps, TransmitId};
use crate::time::SystemTime;

/// One use of an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) id: TransmitId,
    /// The send has not returned yet.
    pub(super) sending: bool,
    pub(super) begun: SystemTime,
    /// When the deadline counts from: `begun`, or the end of a send that took long.
    pub(super) waited_from: SystemTime,
    /// What came for the use before.
    pub(super) earlier: Mark,
    /// What came for this one.
    pub(super) stamps: Stamps,
}

impl Record {
    pub(super) const EMPTY: Self = Self {
        id: TransmitId(0),
        sending: false,
        begun: SystemTime::MIN,
        waited_from: SystemTime::MIN,
        earlier: Mark::NONE,
        stamps: Stamps::NONE,
    };

    /// In place: most of a record is stamps that are not there.
    #[inline]
    pub(super) fn begin(&mut self, id: TransmitId, now: SystemTime, sending: bool, earlier: Mark) {
        (self.id, self.sending, self.earlier) = (id, sending, earlier);
        (self.begun, self.waited_from) = (now, now);
        self.stamps.software = None;
        self.stamps.hardware = None;
    }

    /// The send returned.
    #[inline]
    pub(super) fn sent(&mut self, now: SystemTime) {
        (self.waited_from, self.sending) = (now, false);
    }

    /// Takes stamps in, unless they came before, or were made or read before this use began.
    #[inline]
    pub(super) fn take(&mut self, stamps: &Stamps) -> bool {
        if self.is_preceded_by(stamps) {
            return false;
        }
        if self.stamps.is_none() {
            self.stamps = *stamps;
            return true;
        }
        self.stamps.merge(*stamps)
    }

    #[inline]
    fn is_preceded_by(&self, stamps: &Stamps) -> bool {
        stamps
            .software
            .is_some_and(|stamp| stamp.at < self.begun && stamp.at + stamp.bound < self.begun)
            || stamps
                .hardware
                .is_some_and(|stamp| stamp.read_at < self.begun)
            || (!self.earlier.is_none() && self.earlier.shares(Mark::of(stamps)))
    }
}
