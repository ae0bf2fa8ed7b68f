//! Passes the engine's measurements to the estimator, if all timestamps of the exchange are of one
//! clock generation.

use super::ledger::Entry;
use super::{KEPT, Measured, Port};
use crate::engine::{Record, difference, nanoseconds};
use crate::lost::Lost;
use crate::steering::USUAL_LIMIT;
use crate::timestamping::Anchor;
use statime::port::Measurement;
use wirestamp::{Bounded, Span};
use wirestamp_offset::{Contradiction, Told};

impl Port<'_> {
    /// Takes the engine's records.
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
                    self.shown.forget(self.outlet.sockets.event.now());
                    self.outlet.wanted_delay_interval = None;
                }
                Record::Measured(measurement) => self.take(&measurement),
            }
        }
        // reuses its memory
        let mut place = self.records.borrow_mut();
        if place.is_empty() {
            *place = records;
        }
    }

    fn take(&mut self, measurement: &Measurement) {
        let at = nanoseconds(measurement.event_time);
        let used = if let Some(sync) = measurement.raw_sync_offset {
            self.ledger
                .current_sync(at)
                .map(|entry| self.take_sync(&entry, at, difference(sync)))
        } else if let Some(request) = measurement.raw_delay_offset {
            self.ledger.current_request(at).map(|entry| {
                let estimator = self.estimator.unsure_by(entry.unsure);
                estimator.to_reference(at, difference(request))
            })
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
            Some(Err(Contradiction)) => self.contradicted(),
            None => self.outlet.counts.lost(Lost::ClockGeneration),
        }
    }

    fn take_sync(&mut self, entry: &Entry, at: i64, difference: i64) -> Result<(), Contradiction> {
        let estimator = self.estimator.unsure_by(entry.unsure);
        let estimate = match estimator.from_reference(at, difference)? {
            Told::Estimate(estimate) => estimate,
            Told::Nothing => {
                if self.is_behind_another {
                    self.outlet.counts.lost(Lost::Unbounded);
                }
                return Ok(());
            }
            Told::Suspect => {
                self.outlet.counts.lost(Lost::Suspect);
                return Ok(());
            }
        };
        self.holdover = None;
        if self.estimates.len() == KEPT {
            self.estimates.pop_front();
        }
        let on_monotonic = match entry.on_monotonic {
            Some(then) => {
                let later = Span::from_nanoseconds(estimate.at.saturating_sub(entry.at).into());
                Some(Bounded::new(then.value + later, then.bound))
            }
            None => {
                let chosen = &self.engine.configuration;
                let corrected = chosen
                    .steering
                    .slew_limit_ppm
                    .map_or(USUAL_LIMIT, f64::from);
                let most_drift = (f64::from(chosen.max_drift_ppm) + corrected) * 1e-6;
                self.clock.borrow().look(estimate.at, most_drift)
            }
        };
        // the arrival of the Sync, not of its Follow_Up
        let now = self.now();
        let came = on_monotonic.map_or(now, |at| at.value.min(now));
        self.estimated_at = came;
        self.estimated_from = on_monotonic.map(|on_monotonic| Anchor {
            at: estimate.at.saturating_sub(self.shift_of(entry.run)),
            unsure: entry.unsure,
            on_monotonic,
        });
        self.estimates.push_back(Measured {
            estimate,
            came,
            on_monotonic,
            made: entry.made,
        });
        Ok(())
    }
}
