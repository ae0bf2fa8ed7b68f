//! Samples that wait until later cross timestamps confirm them: the timestamping clock may have
//! been stepped or replaced (a bond's failover) just before a Sync came. Unconfirmed samples are
//! lost, with the reason.

use crate::lost::Lost;
use crate::report::Sample;
use crate::timestamping::TimestampClock;
use std::collections::VecDeque;
use wirestamp::{MonotonicTime, Span};

/// The most samples that wait.
const MOST: usize = 4_096;
/// The time without a cross timestamp after which waiting samples are lost.
const UNREADABLE: Span = Span::from_seconds(15);
/// The interval between checks whether samples are final.
pub(super) const LOOK: Span = Span::from_milliseconds(100);

/// The samples of one port that are not final.
#[derive(Debug, Default)]
pub(super) struct Unsettled(VecDeque<Sample>);

impl Unsettled {
    /// Returns whether no sample waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a sample. If there is no room, the oldest is lost, and its reason is returned.
    pub(super) fn add(&mut self, sample: Sample) -> Option<Lost> {
        self.0.push_back(sample);
        let is_crowded = self.0.len() > MOST;
        is_crowded.then(|| {
            self.0.pop_front();
            Lost::Unconfirmed
        })
    }

    /// Takes the samples that are settled now, oldest first.
    pub(super) fn settled(
        &mut self,
        clock: &TimestampClock,
        now: MonotonicTime,
    ) -> Vec<Result<Sample, Lost>> {
        let word = |sample: &Sample| match &sample.made {
            None => Some(Ok(())),
            Some(made) => clock
                .last_word(made)
                .or_else(|| (now - made.read_at() > UNREADABLE).then_some(Err(Lost::Unconfirmed))),
        };
        let mut settled = Vec::new();
        while let Some(word) = self.0.front().and_then(word) {
            let sample = self.0.pop_front();
            settled.extend(sample.map(|sample| word.map(|()| sample)));
        }
        settled
    }

    /// Reads the clock for the waiting samples and takes all. Those that are not confirmed are
    /// lost.
    pub(super) fn finish(
        &mut self,
        clock: &TimestampClock,
        now: MonotonicTime,
    ) -> Vec<Result<Sample, Lost>> {
        if let Some(made) = self.0.back().and_then(|newest| newest.made.as_ref()) {
            clock.confirm(made);
        }
        let mut all = self.settled(clock, now);
        all.extend(self.0.drain(..).map(|_| Err(Lost::Unconfirmed)));
        all
    }
}
