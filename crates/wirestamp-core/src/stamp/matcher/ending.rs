//! Owns how an id leaves the list of awaited ones, why, and what is forgotten afterwards.
//! Looks at no stamp that comes in: that is [`super::sink`].

use super::lists::List;
use super::{ABANDONED_FOR, Matcher};
use crate::capability::StampSource;
use crate::configuration::Source;
use crate::stamp::{LossReason, Stamps, TransmitOutcome, TransmitRecord};
use crate::time::SystemTime;

impl Matcher {
    pub(super) fn end_all(&mut self, reason: LossReason, now: SystemTime) {
        self.advance(now);
        while let Some(slot) = self.entries.lists().oldest(List::Awaited) {
            self.end(slot, reason, List::LostOpen);
        }
    }

    /// Ends an awaited id: stamped with what there is, else lost for `reason`.
    #[inline]
    pub(super) fn end(&mut self, slot: u32, reason: LossReason, lost: List) {
        if self.entries[slot].stamps.is_none() {
            self.lose(slot, reason, lost);
        } else if self.waiting() < self.capacity() {
            self.counters.stamped += 1;
            self.place(slot, List::Stamped);
        } else {
            let lost = if self.entries[slot].complete { List::LostFinal } else { List::LostOpen };
            self.lose(slot, LossReason::BufferFull, lost);
        }
    }

    fn lose(&mut self, slot: u32, reason: LossReason, lost: List) {
        self.counters.lost[reason as usize] += 1;
        self.entries[slot].reason = reason;
        self.place(slot, lost);
    }

    #[inline]
    fn place(&mut self, slot: u32, list: List) {
        self.ended += 1;
        let entry = &mut self.entries[slot];
        (entry.ended, entry.ended_order) = (self.now, self.ended);
        self.entries.shift(slot, list);
    }

    /// An awaited id got no stamp in time. Why?
    pub(super) fn reason_of_silence(&self, slot: u32) -> LossReason {
        let wanted = [StampSource::Software, StampSource::Hardware].into_iter().filter(|s| self.source.includes(*s));
        if self.entries[slot].begun_order <= self.overflowed {
            LossReason::BufferFull
        } else if wanted.into_iter().any(|source| self.observed(source)) {
            LossReason::Deadline
        } else {
            LossReason::NeverGenerated
        }
    }

    /// Somebody is told how an id ended.
    #[inline]
    pub(super) fn retire(&mut self, slot: u32) -> TransmitRecord {
        let (list, entry) = (self.entries.list(slot), &self.entries[slot]);
        let outcome = match list {
            List::Stamped => TransmitOutcome::Stamped(entry.stamps),
            _ => TransmitOutcome::Lost(entry.reason),
        };
        let record = TransmitRecord { id: entry.id, outcome };
        match list {
            _ if entry.complete => self.entries.finish(slot),
            List::LostFinal => self.entries.shift(slot, List::Settled),
            _ => self.entries.shift(slot, List::Abandoned),
        }
        record
    }

    /// Whether the stamps are all that can come.
    #[inline]
    pub(super) fn is_complete(&self, stamps: &Stamps) -> bool {
        match self.source {
            Source::Software => stamps.software.is_some(),
            Source::Hardware => stamps.hardware.is_some(),
            Source::HardwareElseSoftware => !stamps.is_none(),
            Source::Both => stamps.software.is_some() && stamps.hardware.is_some(),
        }
    }

    fn capacity(&self) -> usize {
        self.capacity.unwrap_or(0).into()
    }

    pub(super) fn discard_above_capacity(&mut self) {
        let waiting = self.waiting();
        for place in 0..waiting {
            let Some(slot) = self.entries.lists().oldest(List::Stamped) else { return };
            if place < self.capacity() {
                self.entries.shift(slot, List::Stamped);
            } else {
                self.counters.stamped -= 1;
                self.lose(slot, LossReason::BufferFull, List::LostFinal);
            }
        }
    }

    pub(super) fn may_be_reused(&self, slot: u32) -> bool {
        match self.entries.list(slot) {
            List::Settled => true,
            List::Abandoned => !self.may_still_come(slot),
            List::Awaited | List::Stamped | List::LostOpen | List::LostFinal => false,
        }
    }

    pub(super) fn may_still_come(&self, slot: u32) -> bool {
        self.now - self.entries[slot].ended < ABANDONED_FOR
    }

    /// The first id that ended and was not told.
    #[inline]
    pub(super) fn first_ended(&self) -> Option<u32> {
        let stamped = self.entries.lists().oldest(List::Stamped);
        if self.entries.lists().length(List::LostOpen) + self.entries.lists().length(List::LostFinal) == 0 {
            return stamped;
        }
        let fronts = [stamped, self.entries.lists().oldest(List::LostOpen), self.entries.lists().oldest(List::LostFinal)];
        fronts.into_iter().flatten().min_by_key(|slot| self.entries[*slot].ended_order)
    }

    /// Forgets the oldest id that matters least. What is awaited or stamped stays.
    #[cold]
    pub(super) fn make_room(&mut self) {
        let told = self.entries.lists().oldest(List::Settled).or_else(|| self.entries.lists().oldest(List::Abandoned));
        let untold = || {
            let fronts = [List::LostOpen, List::LostFinal].map(|list| self.entries.lists().oldest(list));
            fronts.into_iter().flatten().min_by_key(|slot| self.entries[*slot].ended_order)
        };
        if let Some(slot) = told {
            self.entries.remove(slot);
        } else if let Some(slot) = untold() {
            self.entries.remove(slot);
            self.counters.forgotten += 1;
        }
    }
}
