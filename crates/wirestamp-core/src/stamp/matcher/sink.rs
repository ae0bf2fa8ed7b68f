//! Owns what happens to a stamp that comes in: whose it is, or that it is nobody's.
//! Decides nothing about deadlines.

use super::Matcher;
use super::ending::is_complete;
use super::entries::Known;
use super::lists::List;
use super::mark::Mark;
use crate::capability::StampSource;
use crate::stamp::{LateStamp, LossReason, Notice, StampSink, Stamps, TransmitId};
use crate::time::SystemTime;

impl StampSink for Matcher {
    #[inline]
    fn stamped(&mut self, id: TransmitId, mut stamps: Stamps) {
        self.drop_unwanted(&mut stamps);
        if stamps.is_none() {
            return;
        }
        match self.entries.known(id) {
            Some(Known::Awaited(order)) => self.stamped_in_order(order, &stamps),
            Some(Known::Aside(slot)) => self.stamped_aside(slot, &stamps),
            Some(Known::Stamped(_) | Known::Told(_)) => self.counters.duplicate += 1,
            None => self.counters.stray += 1,
        }
    }

    fn lost(&mut self, id: TransmitId, reason: LossReason) {
        if let Some(Known::Stamped(_)) = self.entries.known(id) {
            return;
        }
        let Some(slot) = self.entries.aside(id) else {
            return;
        };
        match self.entries.list(slot) {
            List::Awaited => self.end(slot, reason, List::LostFinal),
            List::Abandoned => self.entries.shift(slot, List::Settled),
            List::Stamped | List::LostOpen | List::LostFinal | List::Settled => {}
        }
    }

    #[inline]
    fn awaited(&self) -> usize {
        Self::awaited(self)
    }

    fn overflowed(&mut self) {
        self.overflowed = self.entries.begun();
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    fn next_awaited(&self, previous: Option<TransmitId>) -> Option<TransmitId> {
        match previous {
            None => self
                .entries
                .oldest_awaited()
                .map(|record| record.id)
                .or_else(|| self.first_abandoned()),
            Some(previous) => match self.entries.known(previous)? {
                Known::Aside(slot) => self.after(slot),
                Known::Awaited(order) => self.on_the_way_after(order),
                Known::Stamped(order) | Known::Told(order) => self.awaited_after(order),
            },
        }
    }
}

impl Matcher {
    /// Leaves only what the configuration asks for.
    #[inline]
    fn drop_unwanted(&self, stamps: &mut Stamps) {
        if stamps.software.is_some() && !self.source.includes(StampSource::Software) {
            stamps.software = None;
        }
        if stamps.hardware.is_some() && !self.source.includes(StampSource::Hardware) {
            stamps.hardware = None;
        }
    }

    #[inline]
    fn stamped_in_order(&mut self, order: u64, stamps: &Stamps) {
        let record = self.entries.record_mut(order);
        if !record.take(stamps) {
            self.counters.duplicate += 1;
            return;
        }
        let (id, waited_from) = (record.id, record.waited_from);
        let complete = is_complete(self.source, &record.stamps);
        self.learn(waited_from, stamps);
        if complete && self.has_room() {
            self.counters.stamped += 1;
            self.entries.stamp(order);
        } else if complete && let Some(slot) = self.entries.aside(id) {
            self.entries[slot].complete = true;
            self.end(slot, LossReason::BufferFull, List::LostFinal);
        }
    }

    #[inline(never)]
    fn stamped_aside(&mut self, slot: u32, stamps: &Stamps) {
        let entry = &mut self.entries[slot];
        if entry.cancelled && !entry.record.earlier.shares(Mark::of(stamps)) {
            self.counters.stray += 1;
            return;
        }
        if entry.complete || !entry.record.take(stamps) {
            self.counters.duplicate += 1;
            return;
        }
        let (id, waited_from) = (entry.record.id, entry.record.waited_from);
        let complete = is_complete(self.source, &entry.record.stamps);
        entry.complete = complete;
        let (reason, list) = (entry.reason, self.entries.list(slot));
        if reason != LossReason::Reset || list == List::Awaited {
            self.learn(waited_from, stamps); // else made under another configuration
        }
        match list {
            List::Awaited if complete => self.end(slot, LossReason::BufferFull, List::LostFinal),
            List::Awaited | List::Stamped => {}
            List::LostOpen | List::LostFinal => self.came_late(id, stamps),
            List::Abandoned | List::Settled => {
                self.came_late(id, stamps);
                if complete {
                    self.entries.shift(slot, List::Settled);
                }
            }
        }
    }

    fn came_late(&mut self, id: TransmitId, stamps: &Stamps) {
        self.counters.late += 1;
        self.late.push(LateStamp {
            id,
            stamps: *stamps,
        });
    }

    /// A stamp of this configuration came: it tells what the system makes, and how long that takes.
    #[inline]
    fn learn(&mut self, waited_from: SystemTime, stamps: &Stamps) {
        let collected = stamps
            .hardware
            .map_or(self.now, |stamp| self.now.max(stamp.read_at));
        self.delay
            .observe_nanoseconds(collected.saturating_since(waited_from));
        self.now = collected;
        for source in [StampSource::Software, StampSource::Hardware] {
            self.observed[source as usize] |= stamps.has(source);
        }
    }

    /// The next id to ask after one that was asked: the awaited ones, oldest first, then those
    /// that ended without a stamp which could still come, newest first.
    fn after(&self, slot: u32) -> Option<TransmitId> {
        let lists = self.entries.lists();
        let next = match self.entries.list(slot) {
            List::LostOpen => self
                .fresh(lists.older(slot))
                .or_else(|| self.fresh(lists.newest(List::Abandoned))),
            List::Abandoned => self.fresh(lists.older(slot)),
            List::Awaited => match lists.newer(slot) {
                None => return self.on_the_way_after(self.entries[slot].begun_order),
                newer => newer,
            },
            // it ended since it was asked
            List::Stamped | List::LostFinal | List::Settled => {
                return self.awaited_after(self.entries[slot].begun_order);
            }
        };
        next.map(|slot| self.entries[slot].record.id)
    }

    /// The first awaited id that began after `order`, or else the first abandoned one.
    fn awaited_after(&self, order: u64) -> Option<TransmitId> {
        let mut next = self.entries.lists().oldest(List::Awaited);
        while let Some(slot) = next.filter(|slot| self.entries[*slot].begun_order <= order) {
            next = self.entries.lists().newer(slot);
        }
        next.map_or_else(
            || self.on_the_way_after(order),
            |slot| Some(self.entries[slot].record.id),
        )
    }

    /// The same where no entry comes in between.
    fn on_the_way_after(&self, order: u64) -> Option<TransmitId> {
        let next = self
            .entries
            .window()
            .awaited_after(order)
            .map(|record| record.id);
        next.or_else(|| self.first_abandoned())
    }

    fn first_abandoned(&self) -> Option<TransmitId> {
        let mut lists = [List::LostOpen, List::Abandoned].into_iter();
        let first = lists.find_map(|list| self.fresh(self.entries.lists().newest(list)));
        first.map(|slot| self.entries[slot].record.id)
    }

    /// Nobody asks for ever.
    fn fresh(&self, slot: Option<u32>) -> Option<u32> {
        slot.filter(|slot| self.may_still_come(*slot))
    }
}
