//! Resolution of awaited IDs, with or without a timestamp, and what is forgotten afterwards.

use super::entries::{Entry, Known};
use super::lists::List;
use super::mark::Mark;
use super::{ABANDONED_FOR, Matcher};
use crate::capability::TimestampSource;
use crate::configuration::Source;
use crate::time::MonotonicTime;
use crate::timestamp::{MissingReason, Timestamps, TransmitOutcome, TransmitRecord};

impl Matcher {
    pub(super) fn end_all(&mut self, reason: MissingReason, now: MonotonicTime) {
        self.advance(now);
        while let Some(slot) = self.entries.oldest_awaited_aside() {
            self.end(slot, reason, List::LostOpen);
        }
    }

    /// Resolves an awaited ID: to the timestamps that came, else as missing for `reason`.
    pub(super) fn end(&mut self, slot: u32, reason: MissingReason, lost: List) {
        if self.entries[slot].record.timestamps.is_none() {
            self.lose(slot, reason, lost);
        } else if self.has_room() {
            self.counters.timestamped += 1;
            self.entries.end(slot, List::Timestamped, self.now);
        } else {
            let lost = if self.entries[slot].complete {
                List::LostFinal
            } else {
                List::LostOpen
            };
            self.lose(slot, MissingReason::BufferFull, lost);
        }
    }

    /// Whether there is room for another timestamped ID.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.waiting() < self.capacity()
    }

    fn lose(&mut self, slot: u32, reason: MissingReason, lost: List) {
        self.counters.missing[reason as usize] += 1;
        self.entries[slot].reason = reason;
        self.entries.end(slot, lost, self.now);
    }

    /// The reason why an awaited ID got no timestamp in time.
    pub(super) fn reason_of_silence(&self, slot: u32) -> MissingReason {
        let wanted = [TimestampSource::Software, TimestampSource::Hardware]
            .into_iter()
            .filter(|s| self.source.includes(*s));
        if self.entries[slot].begun_order <= self.overflowed {
            MissingReason::BufferFull
        } else if wanted.into_iter().any(|source| self.observed(source)) {
            MissingReason::Deadline
        } else {
            MissingReason::NeverGenerated
        }
    }

    /// Returns the outcome of a resolved entry, which counts as fetched from now on.
    pub(super) fn retire(&mut self, slot: u32) -> TransmitRecord {
        let list = self.entries.list(slot);
        let over = self.entries[slot].complete || list == List::LostFinal;
        self.entries
            .shift(slot, if over { List::Settled } else { List::Abandoned });
        let queued = self.entries.queue_time_aside(slot);
        let Entry { record, reason, .. } = &self.entries[slot];
        let outcome = match list {
            List::Timestamped => TransmitOutcome::Timestamped(record.timestamps),
            _ => TransmitOutcome::Missing(*reason),
        };
        TransmitRecord {
            id: record.id,
            outcome,
            queued,
        }
    }

    fn capacity(&self) -> usize {
        self.capacity.unwrap_or(0).into()
    }

    pub(super) fn discard_above_capacity(&mut self) {
        let waiting = self.waiting();
        for place in 0..waiting {
            let Some(slot) = self.entries.lists().oldest(List::Timestamped) else {
                return;
            };
            if place < self.capacity() {
                self.entries.shift(slot, List::Timestamped);
            } else {
                self.counters.timestamped -= 1;
                self.lose(slot, MissingReason::BufferFull, List::LostFinal);
            }
        }
    }

    /// Returns the mark of an ID's last use if the ID can be used again, and removes its entry.
    pub(super) fn take_mark(&mut self, known: Known) -> Option<Mark> {
        let slot = match known {
            Known::Told(order) => return Some(self.entries.window().mark(order)),
            Known::Awaited(_) | Known::Timestamped(_) => return None,
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

    /// The oldest resolved entry that was not fetched.
    #[inline]
    pub(super) fn first_ended(&self) -> Option<u32> {
        let lists = self.entries.lists();
        if lists.hold_ended() {
            self.first_of(&[List::Timestamped, List::LostOpen, List::LostFinal])
        } else {
            None
        }
    }

    /// The oldest resolved entry of some lists.
    #[inline(never)]
    fn first_of(&self, lists: &[List]) -> Option<u32> {
        let fronts = lists
            .iter()
            .filter_map(|list| self.entries.lists().oldest(*list));
        fronts.min_by_key(|slot| self.entries[*slot].ended_order)
    }

    /// Forgets the oldest, least important ID; awaited and timestamped ones are kept.
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

/// Whether no further timestamps can come.
#[inline]
pub(super) fn is_complete(source: Source, timestamps: &Timestamps) -> bool {
    let (software, hardware) = (timestamps.software.is_some(), timestamps.hardware.is_some());
    match source {
        Source::Software => software,
        Source::Hardware => hardware,
        Source::HardwareElseSoftware => software | hardware,
        Source::Both => software & hardware,
    }
}
