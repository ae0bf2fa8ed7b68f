//! Owns how somebody is told of an id: once. Ends none but those whose time is over.

use super::Matcher;
use super::entries::Known;
use super::lists::List;
use super::record::Record;
use crate::stamp::{TransmitAnswer, TransmitId, TransmitOutcome, TransmitRecord};
use crate::time::SystemTime;

impl Matcher {
    /// Asks how `id` ended, and ends it if it is overdue. Each outcome is told once.
    ///
    /// Where transmit stamps were switched off, outcomes from before are still told, and any
    /// other id is answered with [`NotEnabled`](TransmitAnswer::NotEnabled).
    pub fn fetch(&mut self, id: TransmitId, now: SystemTime) -> TransmitAnswer {
        self.expire(now);
        self.fetch_ended(id)
    }

    /// Asks how `id` ended, without a look at the time: for an id that is not awaited, when
    /// nothing was collected. Stamps of other ids may be waiting to be, beyond their deadline.
    pub fn fetch_ended(&mut self, id: TransmitId) -> TransmitAnswer {
        match self.entries.known(id) {
            Some(Known::Awaited(_)) => TransmitAnswer::Pending,
            Some(Known::Stamped(order)) => {
                if !self.entries.window().is_first_waiting(order) {
                    self.entries.set_stamped_aside(order);
                }
                TransmitAnswer::Ended(TransmitOutcome::Stamped(self.entries.tell_first().stamps))
            }
            Some(Known::Aside(slot)) => self.fetch_aside(slot),
            Some(Known::Told(_)) | None => self.no_answer(),
        }
    }

    fn fetch_aside(&mut self, slot: u32) -> TransmitAnswer {
        match self.entries.list(slot) {
            List::Awaited => TransmitAnswer::Pending,
            List::Stamped | List::LostOpen | List::LostFinal => {
                TransmitAnswer::Ended(self.retire(slot).outcome)
            }
            List::Abandoned | List::Settled => self.no_answer(),
        }
    }

    fn no_answer(&self) -> TransmitAnswer {
        if self.capacity.is_none() {
            TransmitAnswer::NotEnabled
        } else {
            TransmitAnswer::Unknown
        }
    }

    /// Takes ended ids, stamped or lost, in the order in which they ended; returns how many.
    /// Ends what is overdue before.
    pub fn fetch_batch(&mut self, now: SystemTime, out: &mut [TransmitRecord]) -> usize {
        self.expire(now);
        let mut count = 0;
        for place in out {
            if let Some(slot) = self.first_ended() {
                *place = self.retire(slot);
            } else if self.entries.window().waiting() > 0 {
                let Record { id, stamps, .. } = self.entries.tell_first();
                *place = TransmitRecord {
                    id: *id,
                    outcome: TransmitOutcome::Stamped(*stamps),
                };
            } else {
                break;
            }
            count += 1;
        }
        count
    }
}
