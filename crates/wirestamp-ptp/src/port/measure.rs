//! Owns the way of what the engine measured to the estimate: only exchanges whose stamps are
//! of one run of the clock get there.

use super::{KEPT, Port};
use crate::engine::{Record, difference, nanoseconds};
use crate::estimate::{Contradiction, Told};
use crate::lost::Lost;
use statime::port::Measurement;

impl Port<'_> {
    /// Takes what the engine has written down.
    pub(super) fn take_records(&mut self) {
        let mut records = std::mem::take(&mut *self.records.borrow_mut());
        for record in records.drain(..) {
            match record {
                Record::Ended => {
                    let fresh = self.estimator.fresh();
                    let last = std::mem::replace(&mut self.estimator, fresh);
                    if last.latest().is_some() {
                        self.holdover = Some(last);
                    }
                    self.outlet.wanted_delay_interval = None;
                }
                Record::Measured(measurement) => self.take(&measurement),
            }
        }
        // its memory is used again
        let mut place = self.records.borrow_mut();
        if place.is_empty() {
            *place = records;
        }
    }

    fn take(&mut self, measurement: &Measurement) {
        let at = nanoseconds(measurement.event_time);
        let used = if let Some(sync) = measurement.raw_sync_offset {
            self.ledger.is_sync_current(at).then(|| self.take_sync(at, difference(sync)))
        } else if let Some(request) = measurement.raw_delay_offset {
            self.ledger.is_request_current(at).then(|| self.estimator.delay_request(at, difference(request)))
        } else if let Some(delay) = measurement.peer_delay {
            self.ledger.is_peer_current().then(|| {
                self.estimator.peer_delay(difference(delay));
                Ok(())
            })
        } else {
            return;
        };
        match used {
            Some(Ok(())) => {}
            Some(Err(Contradiction)) => {
                self.estimator.reset();
                self.outlet.counts.lost(Lost::Contradiction);
            }
            None => self.outlet.counts.lost(Lost::Epoch),
        }
    }

    fn take_sync(&mut self, at: i64, difference: i64) -> Result<(), Contradiction> {
        let estimate = match self.estimator.sync(at, difference)? {
            Told::Estimate(estimate) => estimate,
            Told::Nothing => return Ok(()),
            Told::Suspect => {
                self.outlet.counts.lost(Lost::Suspect);
                return Ok(());
            }
        };
        self.estimated_at = self.now();
        self.holdover = None;
        if self.estimates.len() == KEPT {
            self.estimates.pop_front();
        }
        self.estimates.push_back(estimate);
        Ok(())
    }
}
