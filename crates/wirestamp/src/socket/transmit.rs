//! The transmit timestamps of a socket as its users see them: outcomes, late timestamps,
//! notices, counters. How threads wait together is in `waiting`; which timestamp belongs to which
//! id is the matcher's business.

use super::Socket;
use super::state::Look;
use crate::deadline::Deadline;
use crate::inner::Supported;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{
    LateTimestamp, Notice, TransmitAnswer, TransmitCounters, TransmitId, TransmitRecord,
};

impl<T: Supported> Socket<T> {
    /// Asks for the outcome of `id`, without waiting.
    ///
    /// # Errors
    /// `Io` if the system's queue can't be read.
    pub fn transmit_timestamp(&self, id: TransmitId) -> Result<TransmitAnswer> {
        match self.ended_or_awaited(id) {
            ControlFlow::Break(answer) => Ok(answer),
            ControlFlow::Continue(mut look) => {
                look.now = self.now();
                Ok(self.collected_since(look)?.matcher.fetch(id, look.now))
            }
        }
    }

    /// The answer, if `id` is not awaited: then the system need not be asked.
    fn ended_or_awaited(&self, id: TransmitId) -> ControlFlow<TransmitAnswer, Look> {
        let mut state = self.transmit.lock();
        if state.matcher.is_awaited(id) {
            ControlFlow::Continue(state.look())
        } else {
            ControlFlow::Break(state.matcher.fetch_ended(id))
        }
    }

    /// Waits for the outcome of `id`, until `deadline` at the latest; then it answers
    /// [`Pending`](TransmitAnswer::Pending). An id ends by its own deadline at the latest, so
    /// a late `deadline` does no harm. Closing the socket ends the wait, and the id.
    ///
    /// # Errors
    /// `Io` if the system's queue can't be read.
    pub fn wait_transmit_timestamp(
        &self,
        id: TransmitId,
        deadline: impl Into<Deadline>,
    ) -> Result<TransmitAnswer> {
        let look = match self.ended_or_awaited(id) {
            ControlFlow::Break(answer) => return Ok(answer),
            ControlFlow::Continue(look) => look,
        };
        let answered = self.wait_for(deadline.into(), look, |state, now| {
            match state.matcher.fetch(id, now) {
                TransmitAnswer::Pending => ControlFlow::Continue(state.matcher.deadline_of(id)),
                answer => ControlFlow::Break(answer),
            }
        })?;
        Ok(answered.unwrap_or(TransmitAnswer::Pending))
    }

    /// Takes the outcomes of ended ids, oldest first, as far as `records` has room; returns
    /// how many. Does not wait.
    ///
    /// # Errors
    /// `Io` if the system's queue can't be read.
    pub fn transmit_timestamps(&self, records: &mut [TransmitRecord]) -> Result<usize> {
        let (now, mut state) = self.collected()?;
        Ok(state.matcher.fetch_batch(now, records))
    }

    /// Takes the outcomes of ended ids like [`transmit_timestamps`](Self::transmit_timestamps), and
    /// waits for the first until `deadline` at the latest. 0: none ended.
    ///
    /// # Errors
    /// `Closed` if the socket was closed and every outcome is fetched; `Io` if the system's
    /// queue can't be read.
    pub fn wait_transmit_timestamps(
        &self,
        records: &mut [TransmitRecord],
        deadline: impl Into<Deadline>,
    ) -> Result<usize> {
        if records.is_empty() {
            return Ok(0);
        }
        let mut look = self.transmit.lock().look();
        look.now = self.now(); // all that has ended, not only the first
        let fetched = self.wait_for(deadline.into(), look, |state, now| {
            match state.matcher.fetch_batch(now, records) {
                0 if state.closed => ControlFlow::Break(None),
                0 => ControlFlow::Continue(state.matcher.next_deadline()),
                count => ControlFlow::Break(Some(count)),
            }
        })?;
        fetched
            .unwrap_or(Some(0))
            .ok_or_else(|| self.closed("wait for transmit timestamps"))
    }

    /// Takes timestamps that came after their id had ended as lost; returns how many.
    ///
    /// # Errors
    /// `Io` if the system's queue can't be read.
    pub fn late_timestamps(&self, late: &mut [LateTimestamp]) -> Result<usize> {
        let (_, mut state) = self.collected()?;
        Ok(state.matcher.late(late))
    }

    /// Takes what else was in the system's queue: ICMP errors, zero-copy reports; returns how
    /// many. Populated on: Linux, simulator.
    ///
    /// # Errors
    /// `Io` if the system's queue can't be read.
    pub fn notices(&self, notices: &mut [Notice]) -> Result<usize> {
        let (_, mut state) = self.collected()?;
        Ok(state.matcher.take_notices(notices))
    }

    /// Returns how many notices were dropped because nobody took them.
    pub fn notices_dropped(&self) -> u64 {
        self.transmit.lock().matcher.notices_dropped()
    }

    /// Returns what became of the transmit IDs.
    pub fn counters(&self) -> TransmitCounters {
        self.collected_if_possible().matcher.counters()
    }

    /// Ends every awaited id as lost by reset. Later timestamps of theirs are offered as late.
    pub fn reset_timestamps(&self) {
        let mut state = self.collected_if_possible(); // what has come until now still counts
        state.matcher.reset(self.now());
        self.announce(&mut state);
    }

    pub(super) fn replace_configuration(&self, timestamping: &Timestamping) -> Result<Granted> {
        // nobody collects under the new configuration before the matcher knows it
        let mut turn = self.transmit.turn_to_collect();
        let mut look = self.transmit.lock().look();
        look.now = self.now();
        let mut state = self.collected_in_turn(&mut turn, look)?;
        if state.closed {
            // outcomes stay fetchable after a close, so the matcher is left alone
            return Err(self.closed("configure timestamping"));
        }
        let granted = self.socket.configure(timestamping, &mut turn.tracker);
        let now = self.now();
        self.transmit
            .configured(&mut state, granted.as_ref().ok(), &turn.tracker, now);
        let gather = granted
            .as_ref()
            .map_or(Span::ZERO, |granted| granted.timestamping.gather);
        self.gather
            .store(gather.saturating_nanoseconds(), Ordering::Relaxed);
        self.announce(&mut state);
        granted
    }

    pub(super) fn close_transmit(&self) {
        // what has come until now still counts; an unreadable queue ends its ids all the same
        let mut state = self.collected_if_possible();
        state.closed = true;
        state.matcher.close(self.now());
        self.socket.close();
        self.announce(&mut state);
    }
}
