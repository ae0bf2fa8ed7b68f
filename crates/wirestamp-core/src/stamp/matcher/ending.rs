//! Owns how an id leaves the list of awaited ones, why, and what is forgotten afterwards.
//! Looks at no stamp that comes in: that is [`super::sink`].

use super::entries::{Entry, Known};
use super::lists::List;
use super::mark::Mark;
use super::{ABANDONED_FOR, Matcher};
use crate::capability::StampSource;
use crate::configuration::Source;
use crate::stamp::{LossReason, Stamps, TransmitOutcome, TransmitRecord};
use crate::time::SystemTime;

impl Matcher {
    pub(super) fn end_all(&mut self, reason: LossReason, now: SystemTime) {
        self.advance(now);
        while let Some(slot) = self.entries.oldest_awaited_aside() {
            self.end(slot, reason, List::LostOpen);
        }
    }

    /// Ends an awaited id: stamped with what there is, else lost for `reason`.
    pub(super) fn end(&mut self, slot: u32, reason: LossReason, lost: List) {
        if self.entries[slot].record.stamps.is_none() {
            self.lose(slot, reason, lost);
        } else if self.has_room() {
            self.counters.stamped += 1;
            self.entries.end(slot, List::Stamped, self.now);
        } else {
            let lost = if self.entries[slot].complete {
                List::LostFinal
            } else {
                List::LostOpen
            };
            self.lose(slot, LossReason::BufferFull, lost);
        }
    }

    /// Whether one more stamped id may wait.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.waiting() < self.capacity()
    }

    fn lose(&mut self, slot: u32, reason: LossReason, lost: List) {
        self.counters.lost[reason as usize] += 1;
        self.entries[slot].reason = reason;
        self.entries.end(slot, lost, self.now);
    }

    /// An awaited id got no stamp in time. Why?
    pub(super) fn reason_of_silence(&self, slot: u32) -> LossReason {
        let wanted = [StampSource::Software, StampSource::Hardware]
            .into_iter()
            .filter(|s| self.source.includes(*s));
        if self.entries[slot].begun_order <= self.overflowed {
            LossReason::BufferFull
        } else if wanted.into_iter().any(|source| self.observed(source)) {
            LossReason::Deadline
        } else {
            LossReason::NeverGenerated
        }
    }

    /// Somebody is told how an entry ended.
    pub(super) fn retire(&mut self, slot: u32) -> TransmitRecord {
        let list = self.entries.list(slot);
        let over = self.entries[slot].complete || list == List::LostFinal;
        self.entries
            .shift(slot, if over { List::Settled } else { List::Abandoned });
        let Entry { record, reason, .. } = &self.entries[slot];
        let outcome = match list {
            List::Stamped => TransmitOutcome::Stamped(record.stamps),
            _ => TransmitOutcome::Lost(*reason),
        };
        TransmitRecord {
            id: record.id,
            outcome,
        }
    }

    fn capacity(&self) -> usize {
        self.capacity.unwrap_or(0).into()
    }

    pub(super) fn discard_above_capacity(&mut self) {
        let waiting = self.waiting();
        for place in 0..waiting {
            let Some(slot) = self.entries.lists().oldest(List::Stamped) else {
                return;
            };
            if place < self.capacity() {
                self.entries.shift(slot, List::Stamped);
            } else {
                self.counters.stamped -= 1;
                self.lose(slot, LossReason::BufferFull, List::LostFinal);
            }
        }
    }

    /// What its last use leaves behind, if an id can be used again; then it has no entry.
    pub(super) fn take_mark(&mut self, known: Known) -> Option<Mark> {
        let slot = match known {
            Known::Told(order) => return Some(self.entries.window().mark(order)),
            Known::Awaited(_) | Known::Stamped(_) => return None,
            Known::Aside(slot) => slot,
        };
        match self.entries.list(slot) {
            List::Settled => {}
            List::Abandoned if !self.may_still_come(slot) => {}
            _ => return None,
        }
        let mark = self.entries[slot].last_mark();
        self.entries.remove(slot);
        Some(mark)
    }

    pub(super) fn may_still_come(&self, slot: u32) -> bool {
        self.now - self.entries[slot].ended < ABANDONED_FOR
    }

    /// The first entry that ended and was not told.
    #[inline]
    pub(super) fn first_ended(&self) -> Option<u32> {
        let lists = self.entries.lists();
        if lists.hold_ended() {
            self.first_of(&[List::Stamped, List::LostOpen, List::LostFinal])
        } else {
            None
        }
    }

    /// The first that ended of those on some lists.
    #[inline(never)]
    fn first_of(&self, lists: &[List]) -> Option<u32> {
        let fronts = lists
            .iter()
            .filter_map(|list| self.entries.lists().oldest(*list));
        fronts.min_by_key(|slot| self.entries[*slot].ended_order)
    }

    /// Forgets the oldest id that matters least. What is awaited or stamped stays.
    #[cold]
    pub(super) fn make_room(&mut self) {
        let told = [List::Settled, List::Abandoned]
            .into_iter()
            .find_map(|list| self.entries.lists().oldest(list));
        if let Some(slot) = told {
            self.entries.remove(slot);
        } else if let Some(slot) = self.first_of(&[List::LostOpen, List::LostFinal]) {
            self.entries.remove(slot);
            self.counters.forgotten += 1;
        }
    }
}

/// Whether the stamps are all that can come.
#[inline]
pub(super) fn is_complete(source: Source, stamps: &Stamps) -> bool {
    let (software, hardware) = (stamps.software.is_some(), stamps.hardware.is_some());
    match source {
        Source::Software => software,
        Source::Hardware => hardware,
        Source::HardwareElseSoftware => software | hardware,
        Source::Both => software & hardware,
    }
}
