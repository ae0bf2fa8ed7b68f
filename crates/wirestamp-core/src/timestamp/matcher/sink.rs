//! What happens to a timestamp that comes in: whose it is, or that it is nobody's.
//! Decides nothing about deadlines.

use super::Matcher;
use super::ending::is_complete;
use super::entries::Known;
use super::lists::List;
use super::mark::Mark;
use crate::capability::TimestampSource;
use crate::time::MonotonicTime;
use crate::timestamp::{
    LateTimestamp, MissingReason, Notice, TimestampSink, Timestamps, TransmitId,
};

impl TimestampSink for Matcher {
    #[inline]
    fn timestamped(&mut self, id: TransmitId, mut timestamps: Timestamps) {
        self.drop_unwanted(&mut timestamps);
        if timestamps.is_none() {
            return;
        }
        match self.entries.known(id) {
            Some(Known::Awaited(order)) => self.timestamped_in_order(order, &timestamps),
            Some(Known::Aside(slot)) => self.timestamped_aside(slot, &timestamps),
            Some(Known::Timestamped(_) | Known::Told(_)) => self.counters.duplicate += 1,
            None => self.counters.stray += 1,
        }
    }

    fn lost(&mut self, id: TransmitId, reason: MissingReason) {
        if let Some(Known::Timestamped(_)) = self.entries.known(id) {
            return;
        }
        let Some(slot) = self.entries.aside(id) else {
            return;
        };
        match self.entries.list(slot) {
            List::Awaited => self.end(slot, reason, List::LostFinal),
            List::Abandoned => self.entries.shift(slot, List::Settled),
            List::Timestamped | List::LostOpen | List::LostFinal | List::Settled => {}
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
                Known::Timestamped(order) | Known::Told(order) => self.awaited_after(order),
            },
        }
    }
}

impl Matcher {
    /// Leaves only what the configuration asks for.
    #[inline]
    fn drop_unwanted(&self, timestamps: &mut Timestamps) {
        if timestamps.software.is_some() && !self.source.includes(TimestampSource::Software) {
            timestamps.software = None;
        }
        if timestamps.hardware.is_some() && !self.source.includes(TimestampSource::Hardware) {
            timestamps.hardware = None;
        }
    }

    #[inline]
    fn timestamped_in_order(&mut self, order: u64, timestamps: &Timestamps) {
        let record = self.entries.record_mut(order);
        if !record.take(timestamps) {
            self.counters.duplicate += 1;
            return;
        }
        let (id, waited_from) = (record.id, record.waited_from);
        let complete = is_complete(self.source, &record.timestamps);
        self.learn(waited_from, timestamps);
        if complete && self.has_room() {
            self.counters.timestamped += 1;
            self.entries.timestamp(order);
        } else if complete && let Some(slot) = self.entries.aside(id) {
            self.entries[slot].complete = true;
            self.end(slot, MissingReason::BufferFull, List::LostFinal);
        }
    }

    #[inline(never)]
    fn timestamped_aside(&mut self, slot: u32, timestamps: &Timestamps) {
        let entry = &mut self.entries[slot];
        if entry.cancelled && !entry.record.earlier.shares(Mark::of(timestamps)) {
            self.counters.stray += 1;
            return;
        }
        if entry.complete || !entry.record.take(timestamps) {
            self.counters.duplicate += 1;
            return;
        }
        let (id, waited_from) = (entry.record.id, entry.record.waited_from);
        let complete = is_complete(self.source, &entry.record.timestamps);
        entry.complete = complete;
        let (reason, list) = (entry.reason, self.entries.list(slot));
        if reason != MissingReason::Reset || list == List::Awaited {
            self.learn(waited_from, timestamps); // else made under another configuration
        }
        match list {
            List::Awaited if complete => self.end(slot, MissingReason::BufferFull, List::LostFinal),
            List::Awaited | List::Timestamped => {}
            List::LostOpen | List::LostFinal => self.came_late(id, timestamps),
            List::Abandoned | List::Settled => {
                self.came_late(id, timestamps);
                if complete {
                    self.entries.shift(slot, List::Settled);
                }
            }
        }
    }

    fn came_late(&mut self, id: TransmitId, timestamps: &Timestamps) {
        self.counters.late += 1;
        self.late.push(LateTimestamp {
            id,
            timestamps: *timestamps,
        });
    }

    /// A timestamp of this configuration came: it tells what the system makes, and how long that takes.
    #[inline]
    fn learn(&mut self, waited_from: MonotonicTime, timestamps: &Timestamps) {
        let collected = timestamps
            .hardware
            .map_or(self.now, |timestamp| self.now.max(timestamp.read_at));
        self.delay
            .observe_nanoseconds(collected.saturating_since(waited_from));
        self.now = collected;
        for source in [TimestampSource::Software, TimestampSource::Hardware] {
            self.observed[source as usize] |= timestamps.has(source);
        }
    }

    /// The next id to ask after one that was asked: the awaited ones, oldest first, then those
    /// that ended without a timestamp which could still come, newest first.
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
            List::Timestamped | List::LostFinal | List::Settled => {
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
