//! Owns the memory of a matcher: an entry for each id that is not over, and the index by which ids
//! are found. Decides nothing about what moves where; every operation takes constant time.

use super::lists::{List, Lists};
use super::mark::Mark;
use super::past::{Past, Remembered};
use crate::stamp::table::Table;
use crate::stamp::{LossReason, Stamps, TransmitId};
use crate::time::SystemTime;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// What is known of an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: TransmitId,
    /// Why, on the lists of lost ids.
    pub(super) reason: LossReason,
    /// The send has not returned yet.
    pub(super) sending: bool,
    /// All stamps that were asked for came.
    pub(super) complete: bool,
    /// The send of this use failed: only `earlier` means anything.
    pub(super) cancelled: bool,
    pub(super) begun: SystemTime,
    /// When the deadline counts from: `begun`, or the end of a send that took long.
    pub(super) waited_from: SystemTime,
    pub(super) ended: SystemTime,
    /// Counts ids as they begin.
    pub(super) begun_order: u64,
    /// Counts ids as they end.
    pub(super) ended_order: u64,
    /// What came for the use before.
    pub(super) earlier: Mark,
    /// What came for this use of the id.
    pub(super) stamps: Stamps,
}

/// What the index points to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    /// The slot of an entry.
    Open(u32),
    Over(Past),
}

/// Memory grows within what was reserved, so what is never needed is never touched; a slot that was
/// given back is the next one that is taken, since it is still in the cache.
#[derive(Debug)]
pub(super) struct Entries {
    slab: Vec<Entry>,
    limit: usize,
    unused: Vec<u32>,
    lists: Lists,
    /// Ids that are over, at places from `limit` on.
    remembered: Remembered,
    index: Table,
}

impl Entries {
    /// Room for `limit` ids, and for the memory of as many.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            slab: Vec::with_capacity(limit),
            limit,
            unused: Vec::with_capacity(limit),
            lists: Lists::new(limit),
            remembered: Remembered::new(limit),
            index: Table::new(2 * limit),
        }
    }

    /// The same with room for `limit` ids, nothing awaited; also how many lost ids that nobody
    /// had fetched found no room.
    pub(super) fn resized(&self, limit: usize) -> (Self, u64) {
        let (mut resized, mut forgotten) = (Self::new(limit), 0);
        for list in [List::Stamped, List::LostOpen, List::LostFinal, List::Abandoned, List::Settled] {
            let room = limit - resized.slab.len();
            let mut excess = self.lists.length(list).saturating_sub(room);
            if matches!(list, List::LostOpen | List::LostFinal) {
                forgotten += excess as u64;
            }
            let mut next = self.lists.oldest(list);
            while let Some(slot) = next {
                next = self.lists.newer(slot);
                match excess {
                    0 => _ = resized.insert(self[slot], list),
                    _ => excess -= 1,
                }
            }
        }
        for (place, past) in self.remembered.iter() {
            if self.index.find(past.id) == Some(self.limit as u32 + place) {
                resized.remember(*past);
            }
        }
        (resized, forgotten)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.unused.is_empty() && self.slab.len() == self.limit
    }

    /// What is known of `id`.
    #[inline]
    pub(super) fn known(&self, id: TransmitId) -> Option<Known> {
        let place = self.index.find(id)?;
        Some(match place.checked_sub(self.limit as u32) {
            None => Known::Open(place),
            Some(place) => Known::Over(*self.remembered.at(place)),
        })
    }

    /// The entry of `id`, unless it is over.
    #[inline]
    pub(super) fn find(&self, id: TransmitId) -> Option<u32> {
        self.index.find(id).filter(|slot| *slot < self.limit as u32)
    }

    #[inline]
    pub(super) fn list(&self, slot: u32) -> List {
        self.lists.list(slot)
    }

    #[inline]
    pub(super) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Enters an id that has no entry as the newest of `list`; `None` if there is no room.
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry, list: List) -> Option<u32> {
        let slot = match self.unused.pop() {
            Some(slot) => {
                self[slot] = entry;
                self.lists.link(slot, list);
                slot
            }
            None if self.slab.len() < self.limit => {
                self.slab.push(entry);
                self.lists.add(list);
                self.slab.len() as u32 - 1
            }
            None => return None,
        };
        self.index.set(entry.id, slot);
        Some(slot)
    }

    /// Makes an entry the newest of another list (or of its own).
    #[inline]
    pub(super) fn shift(&mut self, slot: u32, list: List) {
        self.lists.unlink(slot);
        self.lists.link(slot, list);
    }

    /// Forgets an id.
    pub(super) fn remove(&mut self, slot: u32) {
        self.index.remove(self[slot].id, slot);
        self.give_back(slot);
    }

    /// The id of `slot` is over: all its stamps came, and whoever wanted them has them.
    #[inline]
    pub(super) fn finish(&mut self, slot: u32) {
        let Entry { id, begun_order, stamps, .. } = &self[slot];
        let past = Past { id: *id, begun_order: *begun_order, mark: Mark::of(stamps) };
        self.remember(past);
        self.give_back(slot);
    }

    #[inline]
    fn remember(&mut self, past: Past) {
        let (place, forgotten) = self.remembered.push(past);
        let place = self.limit as u32 + place;
        if let Some(forgotten) = forgotten {
            self.index.remove(forgotten, place); // unless it was used again
        }
        self.index.set(past.id, place);
    }

    #[inline]
    fn give_back(&mut self, slot: u32) {
        self.lists.unlink(slot);
        self.unused.push(slot);
    }
}

impl Entry {
    /// An id that begins. `earlier`: what came for its last use.
    #[inline]
    pub(super) fn begin(id: TransmitId, now: SystemTime, order: u64, earlier: Mark) -> Self {
        Self {
            id,
            reason: LossReason::NeverGenerated,
            sending: false,
            complete: false,
            cancelled: false,
            begun: now,
            waited_from: now,
            ended: now,
            begun_order: order,
            ended_order: 0,
            earlier,
            stamps: Stamps::NONE,
        }
    }

    /// What came last for the id.
    pub(super) fn last_mark(&self) -> Mark {
        let last = if self.cancelled { Mark::NONE } else { Mark::of(&self.stamps) };
        if last.is_none() { self.earlier } else { last }
    }

    /// Whether stamps came for an earlier use of the id already, or were made or read before this
    /// one began.
    #[inline]
    pub(super) fn is_preceded_by(&self, stamps: &Stamps) -> bool {
        stamps.software.is_some_and(|stamp| stamp.at + stamp.bound < self.begun)
            || stamps.hardware.is_some_and(|stamp| stamp.read_at < self.begun)
            || (!self.earlier.is_none() && self.earlier.shares(Mark::of(stamps)))
    }
}

impl Index<u32> for Entries {
    type Output = Entry;
    #[inline]
    fn index(&self, slot: u32) -> &Entry {
        &self.slab[slot as usize]
    }
}

impl IndexMut<u32> for Entries {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.slab[slot as usize]
    }
}
