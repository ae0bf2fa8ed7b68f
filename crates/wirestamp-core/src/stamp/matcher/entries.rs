//! Owns the memory of a matcher: one entry for each known id, each on exactly one list.
//! Decides nothing about what moves where; every operation takes constant time.

use crate::stamp::table::{NO_SLOT, Table};
use crate::stamp::{LossReason, Stamps, TransmitId};
use crate::time::SystemTime;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Where an id stands. Each list runs from the oldest to the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// Sent; in the order of sending.
    Awaited,
    /// Ended with a stamp, not fetched; in the order of ending.
    Stamped,
    /// Ended without, not fetched; a late stamp could still come.
    LostOpen,
    /// Ended without, not fetched; none can come.
    LostFinal,
    /// Fetched; a late stamp could still come.
    Abandoned,
    /// Fetched; none can come. Kept to tell a duplicate from a stamp for a later use.
    History,
}

impl List {
    const COUNT: usize = 6;
}

/// What tells a stamp from every other: the kernel's or adapter's own figure, which stays
/// the same when the stamp is read twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    software: Option<i64>,
    hardware: Option<u64>,
}

impl Mark {
    #[inline]
    pub(super) fn of(stamps: &Stamps) -> Self {
        Self {
            software: stamps
                .software
                .map(|stamp| stamp.wall.map_or(stamp.at.nanoseconds(), crate::time::WallTime::nanoseconds)),
            hardware: stamps.hardware.map(|stamp| stamp.ticks.raw()),
        }
    }

    /// Whether one of the stamps is the same one.
    #[inline]
    pub(super) fn shares(self, other: Self) -> bool {
        (self.software.is_some() && self.software == other.software)
            || (self.hardware.is_some() && self.hardware == other.hardware)
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// What is known of an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: TransmitId,
    /// What came for this use of the id.
    pub(super) stamps: Stamps,
    /// What came for the use before.
    pub(super) earlier: Mark,
    pub(super) begun: SystemTime,
    /// When the deadline counts from: `begun`, or the end of a send that took long.
    pub(super) waited_from: SystemTime,
    /// The send has not returned yet.
    pub(super) sending: bool,
    pub(super) ended: SystemTime,
    /// Counts ids as they begin.
    pub(super) begun_order: u64,
    /// Counts ids as they end.
    pub(super) ended_order: u64,
    /// Why, on the lists of lost ids.
    pub(super) reason: LossReason,
    /// All stamps that were asked for came.
    pub(super) complete: bool,
    /// The send of this use failed: only `earlier` means anything.
    pub(super) cancelled: bool,
    list: List,
    next: u32,
    previous: u32,
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    oldest: u32,
    newest: u32,
    length: usize,
}

/// A slab of entries with an index by id. Grows within what was reserved, so memory that is
/// never needed is never touched.
#[derive(Debug)]
pub(super) struct Entries {
    slab: Vec<Entry>,
    limit: usize,
    /// First of the unused entries of the slab, linked by `next`.
    unused: u32,
    index: Table,
    lists: [Ends; List::COUNT],
}

impl Entries {
    /// Room for `limit` ids.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            slab: Vec::with_capacity(limit),
            limit,
            unused: NO_SLOT,
            index: Table::new(limit),
            lists: [Ends { oldest: NO_SLOT, newest: NO_SLOT, length: 0 }; List::COUNT],
        }
    }

    /// The same with room for `limit` ids, nothing awaited; also how many lost ids that nobody
    /// had fetched found no room.
    pub(super) fn resized(&self, limit: usize) -> (Self, u64) {
        let (mut resized, mut forgotten) = (Self::new(limit), 0);
        for list in [List::Stamped, List::LostOpen, List::LostFinal, List::Abandoned, List::History] {
            let room = limit - resized.slab.len();
            let mut excess = self.length(list).saturating_sub(room);
            if matches!(list, List::LostOpen | List::LostFinal) {
                forgotten += excess as u64;
            }
            let mut next = self.oldest(list);
            while let Some(slot) = next {
                next = self.newer(slot);
                match excess {
                    0 => _ = resized.insert(self[slot], list),
                    _ => excess -= 1,
                }
            }
        }
        (resized, forgotten)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn is_full(&self) -> bool {
        self.unused == NO_SLOT && self.slab.len() == self.limit
    }

    #[inline]
    pub(super) fn find(&self, id: TransmitId) -> Option<u32> {
        self.index.find(id)
    }

    pub(super) fn list(&self, slot: u32) -> List {
        self[slot].list
    }

    pub(super) fn length(&self, list: List) -> usize {
        self.lists[list as usize].length
    }

    pub(super) fn oldest(&self, list: List) -> Option<u32> {
        some(self.lists[list as usize].oldest)
    }

    pub(super) fn newest(&self, list: List) -> Option<u32> {
        some(self.lists[list as usize].newest)
    }

    /// The next newer one on the same list.
    pub(super) fn newer(&self, slot: u32) -> Option<u32> {
        some(self[slot].next)
    }

    /// The next older one on the same list.
    pub(super) fn older(&self, slot: u32) -> Option<u32> {
        some(self[slot].previous)
    }

    /// Enters an unknown id as the newest of `list`; `None` if there is no room.
    pub(super) fn insert(&mut self, entry: Entry, list: List) -> Option<u32> {
        let slot = match some(self.unused) {
            Some(slot) => {
                self.unused = self[slot].next;
                self[slot] = entry;
                slot
            }
            None if self.slab.len() < self.limit => {
                self.slab.push(entry);
                self.slab.len() as u32 - 1
            }
            None => return None,
        };
        self.index.insert(entry.id, slot);
        self.link(slot, list);
        Some(slot)
    }

    /// Gives the oldest entry of `list` to another id, as the newest of `to`.
    pub(super) fn recycle(&mut self, list: List, id: TransmitId, now: SystemTime, order: u64, to: List) -> Option<u32> {
        let slot = self.oldest(list)?;
        self.index.remove(self[slot].id);
        self.unlink(slot);
        self[slot].restart(id, now, order);
        self.index.insert(id, slot);
        self.link(slot, to);
        Some(slot)
    }

    /// Makes an entry the newest of another list (or of its own).
    #[inline]
    pub(super) fn shift(&mut self, slot: u32, list: List) {
        self.unlink(slot);
        self.link(slot, list);
    }

    /// Forgets an id.
    pub(super) fn remove(&mut self, slot: u32) {
        self.unlink(slot);
        self.index.remove(self[slot].id);
        self[slot].next = self.unused;
        self.unused = slot;
    }

    #[inline]
    fn link(&mut self, slot: u32, list: List) {
        let newest = self.lists[list as usize].newest;
        let entry = &mut self[slot];
        (entry.list, entry.previous, entry.next) = (list, newest, NO_SLOT);
        match some(newest) {
            Some(newest) => self[newest].next = slot,
            None => self.lists[list as usize].oldest = slot,
        }
        let ends = &mut self.lists[list as usize];
        ends.newest = slot;
        ends.length += 1;
    }

    #[inline]
    fn unlink(&mut self, slot: u32) {
        let Entry { list, previous, next, .. } = self[slot];
        match some(previous) {
            Some(previous) => self[previous].next = next,
            None => self.lists[list as usize].oldest = next,
        }
        match some(next) {
            Some(next) => self[next].previous = previous,
            None => self.lists[list as usize].newest = previous,
        }
        self.lists[list as usize].length -= 1;
    }
}

impl Entry {
    /// An id that begins.
    #[inline]
    pub(super) fn begin(id: TransmitId, now: SystemTime, order: u64) -> Self {
        Self {
            id,
            stamps: Stamps::NONE,
            earlier: Mark::default(),
            begun: now,
            waited_from: now,
            sending: false,
            ended: now,
            begun_order: order,
            ended_order: 0,
            reason: LossReason::NeverGenerated,
            complete: false,
            cancelled: false,
            list: List::Awaited,
            next: NO_SLOT,
            previous: NO_SLOT,
        }
    }

    /// As [`begin`](Self::begin), in place: most of an entry is stamps that are not there.
    #[inline]
    fn restart(&mut self, id: TransmitId, now: SystemTime, order: u64) {
        let Self { list, next, previous, .. } = *self;
        *self = Self { list, next, previous, ..Self::begin(id, now, order) };
    }

    /// Another use of the same id; stays where it is.
    pub(super) fn begun_again(&self, now: SystemTime, order: u64) -> Self {
        let last = if self.cancelled { Mark::default() } else { Mark::of(&self.stamps) };
        let earlier = if last.is_none() { self.earlier } else { last };
        let Self { list, next, previous, .. } = *self;
        Self { earlier, list, next, previous, ..Self::begin(self.id, now, order) }
    }

    /// Whether stamps were made or read before the id began: they belong to an earlier use.
    #[inline]
    pub(super) fn is_preceded_by(&self, stamps: &Stamps) -> bool {
        stamps.software.is_some_and(|stamp| stamp.at + stamp.bound < self.begun)
            || stamps.hardware.is_some_and(|stamp| stamp.read_at < self.begun)
    }
}

impl Index<u32> for Entries {
    type Output = Entry;
    fn index(&self, slot: u32) -> &Entry {
        &self.slab[slot as usize]
    }
}

impl IndexMut<u32> for Entries {
    fn index_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.slab[slot as usize]
    }
}

fn some(slot: u32) -> Option<u32> {
    (slot != NO_SLOT).then_some(slot)
}
