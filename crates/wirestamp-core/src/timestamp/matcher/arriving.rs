//! Assignment of arriving timestamps to their IDs.

use super::Matcher;
use super::ending::is_complete;
use super::entries::Known;
use super::lists::List;
use super::mark::Mark;
use crate::capability::TimestampSource;
use crate::time::MonotonicTime;
use crate::timestamp::{
    Arrival, LateTimestamp, MissingReason, Notice, SoftwareTimestamp, Timestamps, TransmitId,
};
use core::iter::successors;

impl Matcher {
    /// Processes an entry of the error queue.
    #[inline]
    pub fn arrived(&mut self, arrival: &Arrival) {
        match arrival {
            Arrival::Timestamped(id, timestamps) => self.timestamped(*id, timestamps),
            Arrival::Queued(id, queued) => self.queued(*id, queued),
            Arrival::Lost(id, reason) => self.lost(*id, *reason),
            Arrival::Notice(notice) => self.notice(*notice),
            Arrival::Overflowed => self.overflowed(),
        }
    }

    /// Notes timestamps of `id`, from one clock or both.
    #[inline]
    pub fn timestamped(&mut self, id: TransmitId, timestamps: &Timestamps) {
        let wanted = |source| !timestamps.has(source) || self.source.includes(source);
        if wanted(TimestampSource::Software) && wanted(TimestampSource::Hardware) {
            self.timestamped_as_wanted(id, timestamps);
        } else {
            let (software, hardware) = (timestamps.software, timestamps.hardware);
            let source = self.source;
            let wanted = Timestamps {
                software: software.filter(|_| source.includes(TimestampSource::Software)),
                hardware: hardware.filter(|_| source.includes(TimestampSource::Hardware)),
            };
            self.timestamped_as_wanted(id, &wanted);
        }
    }

    #[inline]
    fn timestamped_as_wanted(&mut self, id: TransmitId, timestamps: &Timestamps) {
        if timestamps.is_none() {
            return;
        }
        match self.entries.known(id) {
            Some(Known::Awaited(order)) => self.timestamped_in_order(order, timestamps),
            Some(Known::Aside(slot)) => self.timestamped_aside(slot, timestamps),
            Some(Known::Timestamped(_) | Known::Told(_)) => self.counters.duplicate += 1,
            None => self.counters.stray += 1,
        }
    }

    /// Notes when the datagram of `id` entered the queueing discipline. This does not resolve the
    /// ID. Ignored if `id` is not awaited.
    pub fn queued(&mut self, id: TransmitId, queued: &SoftwareTimestamp) {
        let known = self.entries.known(id).filter(|_| self.queueing);
        match known {
            Some(Known::Awaited(order)) => self.entries.queued_on_the_way(order, queued),
            Some(Known::Aside(slot)) if self.entries.list(slot) == List::Awaited => {
                self.entries.queued_aside(slot, queued);
            }
            _ => {}
        }
    }

    /// Notes that `id` will certainly get no timestamp.
    pub fn lost(&mut self, id: TransmitId, reason: MissingReason) {
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

    /// Notes that the error queue was full: timestamps may have been dropped without a report.
    pub fn overflowed(&mut self) {
        self.overflowed = self.entries.begun();
    }

    /// Notes an entry that is not a timestamp.
    pub fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Returns the IDs whose timestamps can still come, for systems that are asked for each ID: the
    /// awaited ones, oldest first, then those that recently resolved without one, newest first.
    pub fn open_ids(&self) -> impl Iterator<Item = TransmitId> + '_ {
        let lists = self.entries.lists();
        let aside = successors(lists.oldest(List::Awaited), |slot| lists.newer(*slot));
        let ended = [List::LostOpen, List::Abandoned].into_iter();
        let ended = ended.flat_map(move |list| {
            successors(lists.newest(list), |slot| lists.older(*slot))
                .take_while(|slot| self.may_still_come(*slot))
        });
        let id_of = |slot: u32| self.entries[slot].record.id;
        let on_the_way = self
            .entries
            .window()
            .awaited_records()
            .map(|record| record.id);
        aside.map(id_of).chain(on_the_way).chain(ended.map(id_of))
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
        if !complete {
            return;
        }
        if self.has_room() {
            self.counters.timestamped += 1;
            self.entries.timestamp(order);
        } else if let Some(slot) = self.entries.aside(id) {
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
            self.learn(waited_from, timestamps); // otherwise it was made under another configuration
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

    /// Learns from a timestamp of this configuration which timestamps the system makes, and their
    /// delay.
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
}
