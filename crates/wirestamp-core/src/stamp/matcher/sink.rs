//! Owns what happens to a stamp that comes in: whose it is, or that it is nobody's.
//! Decides nothing about deadlines.

use super::Matcher;
use super::entries::Known;
use super::lists::List;
use super::mark::Mark;
use crate::capability::StampSource;
use crate::stamp::{LateStamp, LossReason, Notice, StampSink, Stamps, TransmitId};

impl StampSink for Matcher {
    fn stamped(&mut self, id: TransmitId, stamps: Stamps) {
        let stamps = self.wanted(stamps);
        if stamps.is_none() {
            return;
        }
        let slot = match self.entries.known(id) {
            Some(Known::Open(slot)) if !self.is_stray(slot, &stamps) => slot,
            Some(Known::Over(_)) => {
                self.counters.duplicate += 1;
                return;
            }
            _ => {
                self.counters.stray += 1;
                return;
            }
        };
        let entry = &mut self.entries[slot];
        if entry.is_preceded_by(&stamps) || entry.complete || !entry.stamps.merge(stamps) {
            self.counters.duplicate += 1;
            return;
        }
        self.learn(slot, &stamps);
        let complete = self.is_complete(&self.entries[slot].stamps);
        self.entries[slot].complete = complete;
        match self.entries.list(slot) {
            List::Awaited if complete => self.end(slot, LossReason::BufferFull, List::LostFinal),
            List::Awaited | List::Stamped => {}
            List::LostOpen | List::LostFinal => self.came_late(id, stamps),
            List::Abandoned | List::Settled => {
                self.came_late(id, stamps);
                if complete {
                    self.entries.finish(slot);
                }
            }
        }
    }

    fn lost(&mut self, id: TransmitId, reason: LossReason) {
        let Some(slot) = self.entries.find(id) else { return };
        match self.entries.list(slot) {
            List::Awaited => self.end(slot, reason, List::LostFinal),
            List::Abandoned => self.entries.shift(slot, List::Settled),
            List::Stamped | List::LostOpen | List::LostFinal | List::Settled => {}
        }
    }

    fn overflowed(&mut self) {
        self.overflowed = self.begun;
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    fn next_awaited(&self, previous: Option<TransmitId>) -> Option<TransmitId> {
        let next = match previous {
            None => self.entries.lists().oldest(List::Awaited).or_else(|| self.first_abandoned(List::LostOpen)),
            Some(previous) => match self.entries.known(previous)? {
                Known::Open(slot) => self.after(slot),
                Known::Over(past) => self.after_ended(past.begun_order),
            },
        };
        next.map(|slot| self.entries[slot].id)
    }
}

impl Matcher {
    /// Only what the configuration asks for.
    #[inline]
    fn wanted(&self, stamps: Stamps) -> Stamps {
        Stamps {
            software: stamps.software.filter(|_| self.source.includes(StampSource::Software)),
            hardware: stamps.hardware.filter(|_| self.source.includes(StampSource::Hardware)),
        }
    }

    /// Whether the last use of an id was cancelled and the stamp is not of the one before.
    #[inline]
    fn is_stray(&self, slot: u32, stamps: &Stamps) -> bool {
        let entry = &self.entries[slot];
        entry.cancelled && !entry.earlier.shares(Mark::of(stamps))
    }

    fn came_late(&mut self, id: TransmitId, stamps: Stamps) {
        self.counters.late += 1;
        self.late.push(LateStamp { id, stamps });
    }

    /// A stamp of this use came: it tells what the system makes, and how long that takes.
    #[inline]
    fn learn(&mut self, slot: u32, stamps: &Stamps) {
        let entry = &self.entries[slot];
        if entry.reason == LossReason::Reset && self.entries.list(slot) != List::Awaited {
            return; // made under another configuration
        }
        let collected = stamps.hardware.map_or(self.now, |stamp| self.now.max(stamp.read_at));
        let waited = collected - entry.waited_from;
        self.delay.observe(waited);
        self.now = collected;
        for source in [StampSource::Software, StampSource::Hardware] {
            self.observed[source as usize] |= stamps.has(source);
        }
    }

    /// The next id to ask after one that was asked: the awaited ones, oldest first, then those
    /// that ended without a stamp which could still come, newest first.
    fn after(&self, slot: u32) -> Option<u32> {
        let abandoned = || self.first_abandoned(List::LostOpen);
        match self.entries.list(slot) {
            List::Awaited => self.entries.lists().newer(slot).or_else(abandoned),
            List::LostOpen => self.fresh(self.entries.lists().older(slot)).or_else(|| self.first_abandoned(List::Abandoned)),
            List::Abandoned => self.fresh(self.entries.lists().older(slot)),
            List::Stamped | List::LostFinal | List::Settled => self.after_ended(self.entries[slot].begun_order),
        }
    }

    /// The same after one that ended since it was asked.
    fn after_ended(&self, order: u64) -> Option<u32> {
        let mut next = self.entries.lists().oldest(List::Awaited);
        while let Some(slot) = next.filter(|slot| self.entries[*slot].begun_order <= order) {
            next = self.entries.lists().newer(slot);
        }
        next.or_else(|| self.first_abandoned(List::LostOpen))
    }

    fn first_abandoned(&self, list: List) -> Option<u32> {
        let first = self.fresh(self.entries.lists().newest(list));
        first.or_else(|| (list == List::LostOpen).then(|| self.first_abandoned(List::Abandoned)).flatten())
    }

    /// Nobody asks for ever.
    fn fresh(&self, slot: Option<u32>) -> Option<u32> {
        slot.filter(|slot| self.may_still_come(*slot))
    }
}
