//! The memory of a matcher: the IDs on the fast path (the window), an entry for each of the others,
//! and the index that finds both. Operations take constant time, plus constant time for each ID
//! that leaves the fast path, which happens at most once per ID.
//!
//! Entries are older than the IDs on the fast path: an awaited ID leaves the path after all that
//! began before it, and before an entry resolves, all that resolved on the path have left it.

use super::lists::{List, Lists};
use super::mark::Mark;
use super::queue_times::QueueTimes;
use super::record::Record;
use super::window::Window;
use crate::time::MonotonicTime;
use crate::timestamp::table::Table;
use crate::timestamp::{MissingReason, SoftwareTimestamp, TransmitId};
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Marks an index value as the low bits of the order of an ID that began on the fast path;
/// otherwise it is a slot.
const ON_THE_WAY: u32 = 1 << 31;
const LOW_BITS: u32 = (1 << 30) - 1;

/// An ID that left the fast path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) record: Record,
    /// The reason, on the lists of missing IDs.
    pub(super) reason: MissingReason,
    /// Whether all requested timestamps came.
    pub(super) complete: bool,
    /// Whether the send of this use failed, so that only the earlier mark is valid.
    pub(super) cancelled: bool,
    pub(super) ended: MonotonicTime,
    /// The order in which IDs begin.
    pub(super) begun_order: u64,
    /// The order in which IDs resolve.
    pub(super) ended_order: u64,
}

/// The state of an ID.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    /// Sent, on the fast path, by its order.
    Awaited(u64),
    /// Timestamped and not fetched, on the fast path.
    Timestamped(u64),
    /// Timestamped and fetched.
    Told(u64),
    /// Off the fast path, by the slot of its entry.
    Aside(u32),
}

/// The memory of a matcher. That of the fast path is reserved; that of entries grows beyond the
/// reserve if more IDs leave the path, up to the limit. Unneeded memory is never touched.
#[derive(Debug)]
pub(super) struct Entries {
    window: Window,
    slab: Vec<Entry>,
    limit: usize,
    unused: Vec<u32>,
    lists: Lists,
    index: Table,
    queue_times: QueueTimes,
    /// The number of entries that have resolved.
    ended: u64,
}

impl Entries {
    /// Creates room for `limit` IDs and for remembering as many, for `width` IDs on the fast path,
    /// and initially for `reserved` that leave it.
    pub(super) fn new(limit: usize, width: usize, reserved: usize) -> Self {
        Self::following(limit, width, reserved, 1)
    }

    fn following(limit: usize, width: usize, reserved: usize, next: u64) -> Self {
        let window = Window::new(width, limit, next);
        Self {
            slab: Vec::with_capacity(reserved),
            limit,
            unused: Vec::with_capacity(reserved),
            lists: Lists::new(reserved),
            index: Table::new(reserved, window.remembers() as usize),
            queue_times: QueueTimes::default(),
            window,
            ended: 0,
        }
    }

    /// Returns a copy with room for `limit` IDs, without awaited IDs, and the number of unfetched
    /// missing IDs that did not fit.
    pub(super) fn resized(&self, limit: usize, width: usize, reserved: usize) -> (Self, u64) {
        let next = self.window.next();
        let (mut resized, mut forgotten) = (Self::following(limit, width, reserved, next), 0);
        for list in [
            List::Timestamped,
            List::LostOpen,
            List::LostFinal,
            List::Abandoned,
            List::Settled,
        ] {
            let room = limit - resized.slab.len();
            let mut excess = self.lists.length(list).saturating_sub(room);
            if matches!(list, List::LostOpen | List::LostFinal) {
                forgotten += excess as u64;
            }
            let mut slot = self.lists.oldest(list);
            while let Some(this) = slot {
                slot = self.lists.newer(this);
                match excess {
                    0 => resized.take_over(self, this, list),
                    _ => excess -= 1,
                }
            }
        }
        let remembered = self
            .window
            .remembers()
            .min(resized.window.remembers())
            .min(next - 1);
        for order in next - remembered..next {
            let id = self.window.id(order);
            if self.index.find(id) == Some(on_the_way(order)) {
                resized.window.remember(order, id, self.window.mark(order));
                resized.index.set(id, on_the_way(order));
            }
        }
        resized.ended = self.ended;
        (resized, forgotten)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether there is no room for another open ID.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.slab.len() - self.unused.len() + self.window.awaited() + self.window.waiting()
            >= self.limit
    }

    #[inline]
    pub(super) fn known(&self, id: TransmitId) -> Option<Known> {
        let place = self.index.find(id)?;
        if place & ON_THE_WAY == 0 {
            return Some(Known::Aside(place));
        }
        let next = self.window.next();
        let order = next - u64::from((next as u32).wrapping_sub(place) & LOW_BITS);
        Some(match order {
            order if self.window.is_awaited(order) => Known::Awaited(order),
            order if self.window.is_waiting(order) => Known::Timestamped(order),
            order => Known::Told(order),
        })
    }

    /// Returns the entry of an open ID, which it creates if there is none.
    pub(super) fn aside(&mut self, id: TransmitId) -> Option<u32> {
        match self.known(id)? {
            Known::Aside(slot) => return Some(slot),
            Known::Awaited(order) => self.set_awaited_aside(order + 1),
            Known::Timestamped(order) => self.set_timestamped_aside(order + 1),
            Known::Told(_) => return None,
        }
        self.index.find(id)
    }

    #[inline]
    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    #[inline]
    pub(super) fn record_mut(&mut self, order: u64) -> &mut Record {
        self.window.record_mut(order)
    }

    #[inline]
    pub(super) fn list(&self, slot: u32) -> List {
        self.lists.list(slot)
    }

    #[inline]
    pub(super) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Returns the number of IDs that have begun.
    pub(super) fn begun(&self) -> u64 {
        self.window.next() - 1
    }

    /// Adds an ID that is not open. There must be room.
    #[inline]
    pub(super) fn begin(
        &mut self,
        id: TransmitId,
        now: MonotonicTime,
        sending: bool,
        earlier: Mark,
    ) {
        if self.window.is_full() {
            self.widen();
        }
        let order = self.window.next();
        let before = self.window.begin(id, now, sending, earlier);
        match order.checked_sub(self.window.remembers()) {
            // forgotten, unless it was used again or left the fast path
            Some(forgotten) => {
                self.index
                    .replace((before, on_the_way(forgotten)), id, on_the_way(order));
            }
            None => self.index.set(id, on_the_way(order)),
        }
    }

    /// Notes that all timestamps of an awaited ID came. Earlier awaited ones leave the fast path.
    #[inline]
    pub(super) fn timestamp(&mut self, order: u64) {
        if !self.window.is_next(order) {
            self.set_awaited_aside(order);
            self.set_timestamped_aside(u64::MAX);
            self.window.close();
        }
        self.window.timestamp_first();
    }

    /// Returns the timestamps of the first ID that waits in the window, and marks it as fetched.
    #[inline]
    pub(super) fn tell_first(&mut self) -> &Record {
        self.window.tell_first()
    }

    /// Makes room on the fast path.
    #[cold]
    fn widen(&mut self) {
        while self.window.is_full() {
            self.set_timestamped_aside(u64::MAX);
            self.window.close();
            if self.window.is_full() {
                if let Some((order, record)) = self.window.take_awaited(u64::MAX) {
                    self.set_aside(order, record, List::Awaited);
                }
            }
        }
    }

    /// Moves the awaited IDs that began before `order` off the fast path.
    #[cold]
    pub(super) fn set_awaited_aside(&mut self, order: u64) {
        while let Some((order, record)) = self.window.take_awaited(order) {
            self.set_aside(order, record, List::Awaited);
        }
    }

    /// Moves the timestamped IDs that began before `order` off the fast path.
    pub(super) fn set_timestamped_aside(&mut self, order: u64) {
        while let Some((order, record)) = self.window.take_waiting(order) {
            self.set_aside(order, record, List::Timestamped);
        }
    }

    #[inline(never)]
    fn set_aside(&mut self, begun_order: u64, record: Record, list: List) {
        let complete = list == List::Timestamped;
        self.ended += u64::from(complete);
        let (ended, ended_order) = (record.begun, self.ended);
        let reason = MissingReason::NeverGenerated;
        let entry = Entry {
            record,
            reason,
            complete,
            cancelled: false,
            ended,
            begun_order,
            ended_order,
        };
        let slot = self.insert(entry, list);
        debug_assert!(slot.is_some(), "as many ids are open as there is room for");
        if let Some((slot, queued)) = slot.zip(self.queue_times.on_the_way(begun_order)) {
            self.queue_times.set_aside(slot, begun_order, &queued);
        }
    }

    /// Inserts an entry as the newest of `list`; `None` if there is no room.
    fn insert(&mut self, entry: Entry, list: List) -> Option<u32> {
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
        self.index.set(entry.record.id, slot);
        Some(slot)
    }

    /// Copies an entry of another memory, with its queueing time, if there is room.
    fn take_over(&mut self, other: &Self, slot: u32, list: List) {
        let taken = self.insert(other[slot], list);
        if let Some((taken, queued)) = taken.zip(other.queue_time_aside(slot)) {
            let order = other[slot].begun_order;
            self.queue_times.set_aside(taken, order, &queued);
        }
    }

    /// Sets whether the queueing times of later IDs are kept.
    pub(super) fn keep_queue_times(&mut self, keep: bool) {
        let (width, reserved) = if keep {
            (self.window.width(), self.slab.capacity())
        } else {
            (0, 0)
        };
        self.queue_times.keep(width, reserved);
    }

    /// Notes the queueing time of an ID on the fast path.
    pub(super) fn queued_on_the_way(&mut self, order: u64, queued: &SoftwareTimestamp) {
        if !self.window.record(order).is_preceded_by_software(queued) {
            self.queue_times.note(order, queued);
        }
    }

    /// Notes the queueing time of an entry's ID.
    pub(super) fn queued_aside(&mut self, slot: u32, queued: &SoftwareTimestamp) {
        let (record, order) = (&self[slot].record, self[slot].begun_order);
        if !record.is_preceded_by_software(queued) {
            self.queue_times.set_aside(slot, order, queued);
        }
    }

    /// Returns the queueing time of the first ID that waits in the window.
    #[inline]
    pub(super) fn queue_time_of_first(&self) -> Option<SoftwareTimestamp> {
        self.queue_times.on_the_way(self.window.first_waiting())
    }

    /// Returns the queueing time of an entry's ID.
    #[inline]
    pub(super) fn queue_time_aside(&self, slot: u32) -> Option<SoftwareTimestamp> {
        self.queue_times.aside(slot, self[slot].begun_order)
    }

    /// Returns the oldest awaited ID.
    #[inline]
    pub(super) fn oldest_awaited(&self) -> Option<&Record> {
        match self.lists.oldest(List::Awaited) {
            Some(slot) => Some(&self[slot].record),
            None => self.window.first_awaited(),
        }
    }

    /// Returns the oldest awaited ID as an entry.
    pub(super) fn oldest_awaited_aside(&mut self) -> Option<u32> {
        if self.lists.length(List::Awaited) == 0 {
            let (order, record) = self.window.take_awaited(u64::MAX)?;
            self.set_aside(order, record, List::Awaited);
        }
        self.lists.oldest(List::Awaited)
    }

    /// Moves an entry to the end of a list, as the newest.
    pub(super) fn shift(&mut self, slot: u32, list: List) {
        self.lists.unlink(slot);
        self.lists.link(slot, list);
    }

    /// Notes that an entry resolves at `now`, after all earlier ones.
    pub(super) fn end(&mut self, slot: u32, list: List, now: MonotonicTime) {
        self.set_timestamped_aside(u64::MAX);
        self.ended += 1;
        let ended_order = self.ended;
        let entry = &mut self[slot];
        (entry.ended, entry.ended_order) = (now, ended_order);
        self.shift(slot, list);
    }

    /// Forgets an ID.
    pub(super) fn remove(&mut self, slot: u32) {
        self.index.remove(self[slot].record.id, slot);
        self.lists.unlink(slot);
        self.unused.push(slot);
    }
}

impl Entry {
    /// Returns the mark of the last timestamps for the ID.
    pub(super) fn last_mark(&self) -> Mark {
        let last = if self.cancelled {
            Mark::NONE
        } else {
            Mark::of(&self.record.timestamps)
        };
        if last.is_none() {
            self.record.earlier
        } else {
            last
        }
    }
}

#[inline]
fn on_the_way(order: u64) -> u32 {
    ON_THE_WAY | (order as u32 & LOW_BITS)
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
