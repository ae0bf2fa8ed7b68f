//! A socket's buffer of transmit timestamps: bounded, the newest is discarded, what is fetched is gone.
//! Reads no socket: timestamps come in as [`Arrival`]s.

use crate::abi::codes::{WSAEOPNOTSUPP, WSAEWOULDBLOCK};
use std::collections::VecDeque;
use wirestamp_core::timestamp::{Arrival, Timestamps, TransmitId};

/// Ids that are remembered as awaited; of more the oldest are forgotten. Twice the largest
/// capacity.
const MOST_AWAITED: usize = 1 << 17;

/// The buffer.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// `None`: transmit timestamps are off.
    capacity: Option<u16>,
    /// They were on once.
    was_on: bool,
    waiting: VecDeque<(u32, u64)>,
    /// Ids under way, as they were sent; kept where the system must be asked id by id.
    awaited: VecDeque<u32>,
}

impl Ready {
    /// Replaces the configuration. Waiting timestamps stay, oldest first, as far as they fit.
    pub(crate) fn configure(&mut self, capacity: Option<u16>) {
        self.capacity = capacity;
        self.was_on |= capacity.is_some();
        self.waiting.truncate(capacity.unwrap_or(0).into());
        if capacity.is_none() {
            self.awaited.clear();
        }
    }

    /// Returns the current capacity.
    pub(crate) fn capacity(&self) -> Option<u16> {
        self.capacity
    }

    /// Tries a capacity: nothing is dropped before [`configure`](Self::configure).
    pub(crate) fn set_capacity(&mut self, capacity: Option<u16>) {
        self.capacity = capacity;
    }

    pub(crate) fn is_on(&self) -> bool {
        self.capacity.is_some()
    }

    /// A datagram is sent under this id.
    pub(crate) fn await_timestamp(&mut self, id: u32) {
        if self.awaited.len() == MOST_AWAITED {
            self.awaited.pop_front();
        }
        self.awaited.push_back(id);
    }

    /// What to ask for.
    pub(crate) fn awaited(&self) -> Vec<TransmitId> {
        self.awaited.iter().copied().map(TransmitId).collect()
    }

    /// It was not sent after all.
    pub(crate) fn cancel(&mut self, id: u32) {
        if let Some(place) = self.awaited.iter().rposition(|awaited| *awaited == id) {
            self.awaited.remove(place);
        }
    }

    fn end(&mut self, id: u32) {
        if let Some(place) = self.awaited.iter().position(|awaited| *awaited == id) {
            self.awaited.remove(place);
        }
    }

    /// Takes in what came. `value` says what a timestamp counts, `None` if it is none. `zero`: a packet
    /// without a timestamp has the timestamp 0.
    pub(crate) fn take(
        &mut self,
        arrival: Arrival,
        value: impl FnOnce(&Timestamps) -> Option<u64>,
        zero: bool,
    ) {
        let (id, value) = match arrival {
            Arrival::Timestamped(id, timestamps) => (id, value(&timestamps)),
            Arrival::Lost(id, _) => (id, None),
            // the system's queue is part of the buffer: what does not fit is discarded
            Arrival::Overflowed | Arrival::Notice(_) | Arrival::Queued(..) => return,
        };
        self.end(id.0);
        if let Some(value) = value.or(zero.then_some(0)) {
            self.put(id.0, value);
        }
    }

    /// A timestamp came; it is discarded if the buffer is full.
    fn put(&mut self, id: u32, value: u64) {
        if self.waiting.len() < self.capacity.unwrap_or(0).into() {
            self.waiting.push_back((id, value));
        }
    }

    /// # Errors
    /// `WSAEOPNOTSUPP` if transmit timestamps were never on.
    pub(crate) fn check_was_on(&self) -> Result<(), i32> {
        if self.was_on {
            Ok(())
        } else {
            Err(WSAEOPNOTSUPP)
        }
    }

    /// Takes the oldest timestamp of an id.
    ///
    /// # Errors
    /// `WSAEOPNOTSUPP` if transmit timestamps were never on; `WSAEWOULDBLOCK` if there is none.
    pub(crate) fn fetch(&mut self, id: u32) -> Result<u64, i32> {
        self.check_was_on()?;
        let place = self
            .waiting
            .iter()
            .position(|(waiting, _)| *waiting == id)
            .ok_or(WSAEWOULDBLOCK)?;
        self.waiting
            .remove(place)
            .map(|(_, value)| value)
            .ok_or(WSAEWOULDBLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::time::{Bounded, MonotonicTime, Span};
    use wirestamp_core::timestamp::{MissingReason, SoftwareTimestamp};

    fn timestamp(at: i64) -> Timestamps {
        let at = MonotonicTime::from_nanoseconds(at);
        Timestamps::new(
            Some(SoftwareTimestamp::new(Bounded::new(at, Span::ZERO))),
            None,
        )
    }

    fn put(ready: &mut Ready, id: u32, at: i64) {
        let value = |timestamps: &Timestamps| {
            timestamps
                .software
                .map(|timestamp| timestamp.at.value.nanoseconds().unsigned_abs())
        };
        ready.take(
            Arrival::Timestamped(TransmitId(id), timestamp(at)),
            value,
            false,
        );
    }

    fn on(capacity: u16) -> Ready {
        let mut ready = Ready::default();
        ready.configure(Some(capacity));
        ready
    }

    #[test]
    fn the_newest_is_discarded_when_it_is_full_and_fetching_makes_room() {
        let mut ready = on(2);
        for id in 1..=3 {
            put(&mut ready, id, i64::from(id) * 10);
        }
        assert_eq!(ready.fetch(3), Err(WSAEWOULDBLOCK));
        assert_eq!(ready.fetch(1), Ok(10));
        assert_eq!(ready.fetch(1), Err(WSAEWOULDBLOCK), "fetched is gone");
        put(&mut ready, 4, 40);
        assert_eq!((ready.fetch(4), ready.fetch(2)), (Ok(40), Ok(20)));
    }

    #[test]
    fn with_capacity_zero_every_timestamp_is_discarded() {
        let mut ready = on(0);
        put(&mut ready, 1, 10);
        assert_eq!(ready.fetch(1), Err(WSAEWOULDBLOCK));
    }

    #[test]
    fn never_on_is_told_from_no_timestamp() {
        let mut ready = Ready::default();
        assert_eq!(ready.fetch(1), Err(WSAEOPNOTSUPP));
        ready.configure(None);
        assert_eq!(ready.fetch(1), Err(WSAEOPNOTSUPP));
        ready.configure(Some(1));
        put(&mut ready, 1, 10);
        ready.configure(None);
        assert_eq!(
            ready.fetch(1),
            Err(WSAEWOULDBLOCK),
            "dropped, and it was on once"
        );
    }

    #[test]
    fn a_smaller_capacity_keeps_the_oldest() {
        let mut ready = on(3);
        (1..=3).for_each(|id| put(&mut ready, id, i64::from(id)));
        ready.configure(Some(1));
        assert_eq!(
            (ready.fetch(1), ready.fetch(2)),
            (Ok(1), Err(WSAEWOULDBLOCK))
        );
    }

    #[test]
    fn an_id_sent_twice_has_two_timestamps_the_older_first() {
        let mut ready = on(4);
        put(&mut ready, 1, 10);
        put(&mut ready, 1, 20);
        assert_eq!(
            (ready.fetch(1), ready.fetch(1), ready.fetch(1)),
            (Ok(10), Ok(20), Err(WSAEWOULDBLOCK))
        );
    }

    #[test]
    fn awaited_ids_are_asked_as_often_as_they_were_sent() {
        let mut ready = on(8);
        [5, 6, 5, 7]
            .into_iter()
            .for_each(|id| ready.await_timestamp(id));
        ready.cancel(7);
        assert_eq!(ready.awaited(), [5, 6, 5].map(TransmitId));
        put(&mut ready, 5, 1);
        assert_eq!(ready.awaited(), [6, 5].map(TransmitId));
    }

    #[test]
    fn what_is_certain_to_have_no_timestamp_has_zero_only_if_wanted() {
        for (zero, answer) in [(false, Err(WSAEWOULDBLOCK)), (true, Ok(0))] {
            let mut ready = on(1);
            let lost = Arrival::Lost(TransmitId(1), MissingReason::NeverGenerated);
            ready.take(lost, |_| None, zero);
            assert_eq!(ready.fetch(1), answer);
        }
    }
}
