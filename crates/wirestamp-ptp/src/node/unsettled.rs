//! Samples that are held until readings of the clock that timestamps, taken after them, bear them out: somebody may have stepped
//! it, or another one may be behind the interface, just before a Sync came. Then they are lost, with the reason.

use crate::lost::Lost;
use crate::report::Sample;
use crate::timestamping::TimestampClock;
use std::collections::VecDeque;
use wirestamp::{MonotonicTime, Span};

/// So many wait at most.
const MOST: usize = 4_096;
/// A clock that was not read for so long says nothing of what came before.
const UNREADABLE: Span = Span::from_seconds(15);
/// How often it is looked whether samples are final.
pub(super) const LOOK: Span = Span::from_milliseconds(100);

/// The samples of one port that are not final.
#[derive(Debug, Default)]
pub(super) struct Unsettled(VecDeque<Sample>);

impl Unsettled {
    /// Returns whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a sample; returns why the oldest is lost if there is no room.
    pub(super) fn add(&mut self, sample: Sample) -> Option<Lost> {
        self.0.push_back(sample);
        let is_crowded = self.0.len() > MOST;
        is_crowded.then(|| {
            self.0.pop_front();
            Lost::Unconfirmed
        })
    }

    /// Takes those of which it is known now whether they count, oldest first.
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

    /// Reads the clock for those that wait, and takes all: a sample that is not borne out then is lost.
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
