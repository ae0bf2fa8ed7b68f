//! The public methods for transmit timestamps: outcomes, late timestamps, notices and counters.

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
    /// Fetches the outcome of `id` without waiting.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn transmit_timestamp(&self, id: TransmitId) -> Result<TransmitAnswer> {
        match self.ended_or_awaited(id) {
            ControlFlow::Break(answer) => Ok(answer),
            ControlFlow::Continue(mut look) => {
                look.now = self.now();
                Ok(self.collected_since(look)?.matcher.fetch(id, look.now))
            }
        }
    }

    /// Returns the answer if `id` is not awaited: then the error queue need not be read.
    fn ended_or_awaited(&self, id: TransmitId) -> ControlFlow<TransmitAnswer, Look> {
        let mut state = self.transmit.lock();
        if state.matcher.is_awaited(id) {
            ControlFlow::Continue(state.look())
        } else {
            ControlFlow::Break(state.matcher.fetch_ended(id))
        }
    }

    /// Waits for the outcome of `id`, at most until `deadline`; then it returns
    /// [`Pending`](TransmitAnswer::Pending). Every ID resolves by its own deadline, so a long wait
    /// is safe. Closing the socket resolves the ID and ends the wait.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
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

    /// Takes the outcomes of resolved IDs, oldest first, as many as fit into `records`, without
    /// waiting. Returns their number.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn transmit_timestamps(&self, records: &mut [TransmitRecord]) -> Result<usize> {
        let (now, mut state) = self.collected()?;
        Ok(state.matcher.fetch_batch(now, records))
    }

    /// Takes the outcomes of resolved IDs like [`transmit_timestamps`](Self::transmit_timestamps),
    /// and waits for the first at most until `deadline`. Returns their number, 0 if none resolved.
    ///
    /// # Errors
    /// `Closed` if the socket was closed and every outcome was fetched; `Io` if the error queue
    /// cannot be read.
    pub fn wait_transmit_timestamps(
        &self,
        records: &mut [TransmitRecord],
        deadline: impl Into<Deadline>,
    ) -> Result<usize> {
        if records.is_empty() {
            return Ok(0);
        }
        let mut look = self.transmit.lock().look();
        look.now = self.now(); // takes all resolved IDs, not only the first
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

    /// Takes late timestamps: those that came after their ID had resolved without one. Returns
    /// their number.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn late_timestamps(&self, late: &mut [LateTimestamp]) -> Result<usize> {
        let (_, mut state) = self.collected()?;
        Ok(state.matcher.late(late))
    }

    /// Takes the other entries of the error queue: ICMP errors and zero-copy reports. Returns their
    /// number. Linux and the simulator only.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn notices(&self, notices: &mut [Notice]) -> Result<usize> {
        let (_, mut state) = self.collected()?;
        Ok(state.matcher.take_notices(notices))
    }

    /// Returns the number of notices that were dropped because they were not taken in time.
    pub fn notices_dropped(&self) -> u64 {
        self.transmit.lock().matcher.notices_dropped()
    }

    /// Returns the numbers of transmit IDs by outcome.
    pub fn counters(&self) -> TransmitCounters {
        self.collected_if_possible().matcher.counters()
    }

    /// Resolves all unresolved IDs to `Missing(Reset)`. Timestamps that come for them afterwards
    /// are [late](Self::late_timestamps).
    pub fn reset_timestamps(&self) {
        let mut state = self.collected_if_possible(); // what has come until now still counts
        state.matcher.reset(self.now());
        self.announce(&mut state);
    }

    pub(super) fn replace_configuration(&self, timestamping: &Timestamping) -> Result<Granted> {
        // no thread collects under the new configuration before the matcher has it
        let mut turn = self.transmit.turn_to_collect();
        let mut look = self.transmit.lock().look();
        look.now = self.now();
        let mut state = self.collected_in_turn(&mut turn, look)?;
        if state.closed {
            // the matcher is left as it is, because outcomes can be fetched after a close
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
        // timestamps that have come until now still count; the IDs resolve even if the queue cannot
        // be read
        let mut state = self.collected_if_possible();
        state.closed = true;
        state.matcher.close(self.now());
        self.socket.close();
        self.announce(&mut state);
    }
}
