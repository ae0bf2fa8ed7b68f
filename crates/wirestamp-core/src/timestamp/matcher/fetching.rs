//! Fetching of outcomes, each of them once.

use super::Matcher;
use super::entries::Known;
use super::lists::List;
use super::record::Record;
use crate::time::MonotonicTime;
use crate::timestamp::{TransmitAnswer, TransmitId, TransmitOutcome, TransmitRecord};

impl Matcher {
    /// Returns the outcome of `id`, which it resolves first if overdue. Each outcome is returned
    /// once.
    ///
    /// If transmit timestamps were switched off, earlier outcomes are still returned, and
    /// [`NotEnabled`](TransmitAnswer::NotEnabled) for any other ID.
    pub fn fetch(&mut self, id: TransmitId, now: MonotonicTime) -> TransmitAnswer {
        self.expire(now);
        self.fetch_ended(id)
    }

    /// Returns the outcome of `id` without checking deadlines: for an ID that is not awaited,
    /// without a collection. Overdue IDs may still have timestamps in the queue.
    pub fn fetch_ended(&mut self, id: TransmitId) -> TransmitAnswer {
        match self.entries.known(id) {
            Some(Known::Awaited(_)) => TransmitAnswer::Pending,
            Some(Known::Timestamped(order)) => {
                if !self.entries.window().is_first_waiting(order) {
                    self.entries.set_timestamped_aside(order);
                }
                TransmitAnswer::Resolved(TransmitOutcome::Timestamped(
                    self.entries.tell_first().timestamps,
                ))
            }
            Some(Known::Aside(slot)) => self.fetch_aside(slot),
            Some(Known::Told(_)) | None => self.no_answer(),
        }
    }

    /// Returns the outcome of `id`, which it resolves first if it is still awaited, as its deadline
    /// would.
    pub fn give_up(&mut self, id: TransmitId, now: MonotonicTime) -> TransmitAnswer {
        self.advance(now);
        if self.is_awaited(id) {
            if let Some(slot) = self.entries.aside(id) {
                let reason = self.reason_of_silence(slot);
                self.end(slot, reason, List::LostOpen);
            }
        }
        self.fetch_ended(id)
    }

    /// Returns whether `id` can be [begun](Self::begin).
    pub fn is_free(&self, id: TransmitId) -> bool {
        matches!(self.entries.known(id), None | Some(Known::Told(_)))
    }

    fn fetch_aside(&mut self, slot: u32) -> TransmitAnswer {
        match self.entries.list(slot) {
            List::Awaited => TransmitAnswer::Pending,
            List::Timestamped | List::LostOpen | List::LostFinal => {
                TransmitAnswer::Resolved(self.retire(slot).outcome)
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

    /// Takes outcomes in the order in which they resolved, and returns their number. Resolves
    /// overdue IDs first.
    pub fn fetch_batch(&mut self, now: MonotonicTime, out: &mut [TransmitRecord]) -> usize {
        self.expire(now);
        let mut count = 0;
        for place in out {
            if let Some(slot) = self.first_ended() {
                *place = self.retire(slot);
            } else if self.entries.window().waiting() > 0 {
                // field by field, to avoid copying absent timestamps
                place.queued = None;
                if let Some(queued) = self.entries.queue_time_of_first() {
                    place.queued = Some(queued);
                }
                let Record { id, timestamps, .. } = self.entries.tell_first();
                place.id = *id;
                place.outcome = TransmitOutcome::Timestamped(*timestamps);
            } else {
                break;
            }
            count += 1;
        }
        count
    }
}
