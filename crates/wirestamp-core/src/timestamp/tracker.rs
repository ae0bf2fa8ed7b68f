//! Interpretation of the entries of a socket's error queue: their IDs, and their timestamps on the
//! monotonic clock. The socket's owner owns the tracker and lends it to the backend, which reads
//! the queue into it and restarts the kernel's count.

use super::{
    Arrival, Clocks, CountRules, CounterMap, CounterState, KernelTime, MissingReason, Placement,
    RawTimestamps, ReceiveBuffer, SendFailure, TransmitId,
};
use crate::configuration::{Source, Timestamping};
use crate::time::MonotonicTime;
use alloc::vec::Vec;

/// The most arrivals that are buffered.
const MOST_HELD: usize = 1 << 16;
/// The most room for arrivals that is reserved at configuration, so that none is allocated per
/// packet. The reserve is twice the capacity, and at least the entries that a backend reads at
/// once.
const ROOM: usize = 1 << 10;
const AT_ONCE: usize = 1 << 6;

/// An interpreter of one socket's error queue, which buffers the results until they are
/// [taken](Self::take).
///
/// A kernel that cannot carry IDs counts timestamped datagrams. A sender then has the tracker
/// during the send, and a reader while it reads the queue. While the count is
/// [`Unsure`](CounterState::Unsure), datagrams are sent without a timestamp. The backend reads the
/// queue before each send, and once [`may_restart`](Self::may_restart) allows it, restarts the
/// kernel's count and then this one.
#[derive(Debug)]
pub struct TransmitTracker {
    placement: Placement,
    /// The map from counts to IDs, if the kernel counts datagrams.
    counter: Option<CounterMap>,
    /// For programs that send by themselves: the number of turns, and the open one.
    turns: u32,
    open: Option<Turn>,
    /// The map from before a time when it was not needed: its timestamps may still come.
    former: Option<CounterMap>,
    /// Whether a packet gets two timestamps, in two entries.
    both_expected: bool,
    /// Whether software timestamps are made only so that the kernel counts, and come without a
    /// value.
    software_unreported: bool,
    /// The time until which timestamps of a former owner's datagrams can come.
    quarantine: Option<MonotonicTime>,
    /// Whether one of them came.
    former_owners_seen: bool,
    /// Arrivals that were read and not yet taken.
    arrivals: Vec<Arrival>,
}

/// A token for a counted datagram that a program sends by itself, until it reports the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn(u32);

impl TransmitTracker {
    /// Creates a tracker for a socket whose transmit timestamps are off.
    pub fn new(placement: Placement) -> Self {
        Self {
            placement,
            counter: None,
            turns: 0,
            open: None,
            former: None,
            both_expected: false,
            software_unreported: false,
            quarantine: None,
            former_owners_seen: false,
            arrivals: Vec::new(),
        }
    }

    /// Returns the converter of its timestamps.
    #[inline]
    pub fn placement(&mut self) -> &mut Placement {
        &mut self.placement
    }

    /// Notes that the socket had another owner until `now`, whose datagrams' timestamps may still
    /// come. Discards all timestamps until the [quarantine](CounterMap::QUARANTINE) is over. Read
    /// the queue next, then call [`adopted`](Self::adopted).
    pub fn adopt(&mut self, now: MonotonicTime) {
        self.quarantine = Some(now + CounterMap::QUARANTINE);
    }

    /// Notes that the adopted socket's queue was read. The quarantine ends if nothing indicates
    /// that the former owner had datagrams timestamped.
    pub fn adopted(&mut self, was_timestamping: bool) {
        if !was_timestamping && !self.former_owners_seen {
            self.quarantine = None;
        }
    }

    /// Returns whether timestamps of a former owner's datagrams can still come. Meanwhile datagrams
    /// are sent without a timestamp, because both may have the same numbers.
    #[inline]
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.is_some()
    }

    /// Ends the quarantine if its time is over, and returns whether there is none any more. Read
    /// the queue first.
    pub fn end_quarantine(&mut self, now: MonotonicTime) -> bool {
        if self.quarantine.is_some_and(|until| until <= now) {
            self.quarantine = None;
        }
        self.quarantine.is_none()
    }

    /// Returns whether the next count is known; `None` if the kernel carries the IDs.
    #[inline]
    pub fn count_state(&self) -> Option<CounterState> {
        self.counter.as_ref().map(CounterMap::state)
    }

    /// Returns whether a send needs the tracker: the kernel counts datagrams, or timestamps of a
    /// former owner can still come.
    #[inline]
    pub fn is_needed_to_send(&self) -> bool {
        self.counter.is_some() || self.is_quarantined()
    }

    /// Returns whether the kernel's count restarts with a new configuration. It continues if the
    /// kernel already counts, because earlier timestamps may still come and their numbers would
    /// repeat.
    pub fn restarts_count(&self, counted: bool) -> bool {
        !(counted && self.counter.is_some())
    }

    /// Forgets all IDs, which the caller has given up. If the kernel counts, read the queue first.
    pub fn give_up(&mut self) {
        self.arrivals
            .retain(|arrival| matches!(arrival, Arrival::Notice(_)));
    }

    /// Notes a new configuration; `rules` is set if the kernel counts. Earlier counted sends lose
    /// their IDs, but are remembered until their timestamps have come.
    pub fn configure(&mut self, in_force: &Timestamping, rules: Option<CountRules>) {
        if let Some(capacity) = in_force.transmit {
            self.arrivals
                .reserve((2 * usize::from(capacity)).clamp(AT_ONCE, ROOM));
        }
        self.both_expected = in_force.source == Source::Both;
        self.software_unreported =
            rules.is_some_and(|rules| rules.counts_by_software(in_force.source));
        match (&mut self.counter, rules) {
            (Some(current), Some(_)) => current.forget_ids(),
            (current @ None, Some(rules)) => {
                *current = Some(self.former.take().unwrap_or_else(|| CounterMap::new(rules)));
            }
            (current @ Some(_), None) => {
                self.former = current.take();
                self.former.iter_mut().for_each(CounterMap::abandon);
            }
            (None, None) => {}
        }
    }

    /// Notes that the datagram of `id` was sent. `timestamped` is true if it gets a timestamp; if
    /// the kernel counts, only while the next count is known.
    pub fn sent(&mut self, id: TransmitId, timestamped: bool, now: MonotonicTime) {
        if !timestamped {
            self.arrived(Arrival::Lost(id, MissingReason::Reset));
        } else if let Some(counter) = &mut self.counter {
            counter.sent(id, now);
        }
    }

    /// Notes a failed send that the kernel may have counted.
    pub fn failed(&mut self, failure: SendFailure) {
        self.counter
            .iter_mut()
            .for_each(|counter| counter.failed(failure));
    }

    /// Adds timestamps that were just read from the queue; `number` is the caller's ID or the
    /// kernel's count.
    #[inline(always)]
    pub fn read(&mut self, number: u32, raw: RawTimestamps, clocks: Clocks) {
        let Some(id) = self.owner(number, &raw) else {
            return;
        };
        let placed = self.placement.place(raw, clocks);
        self.arrived(Arrival::of(id, placed, raw.software.is_some()));
    }

    #[inline]
    fn owner(&mut self, number: u32, raw: &RawTimestamps) -> Option<TransmitId> {
        if self.quarantine.is_some() {
            self.former_owners_seen = true;
            return None;
        }
        match &mut self.counter {
            None => Some(TransmitId(number)),
            // it is reported anyway if times of the queueing discipline are requested
            Some(_) if self.software_unreported && raw.hardware.is_none() => None,
            // the software timestamp comes first, and the hardware timestamp needs the count again
            Some(counter) if self.both_expected && raw.hardware.is_none() => {
                counter.look_up(number)
            }
            Some(counter) => counter.take(number),
        }
    }

    /// Adds a timestamp of the queueing discipline that was just read; `number` as for
    /// [`read`](Self::read). The count stays known for the transmit timestamp, which comes later.
    pub fn read_queued(&mut self, number: u32, software: KernelTime, clocks: Clocks) {
        if self.quarantine.is_some() {
            self.former_owners_seen = true;
            return;
        }
        let owner = match &self.counter {
            None => Some(TransmitId(number)),
            Some(counter) => counter.look_up(number),
        };
        let raw = RawTimestamps {
            software: Some(software),
            hardware: None,
        };
        let Some(id) = owner else { return };
        if let Some(queued) = self.placement.place(raw, clocks).software {
            self.arrived(Arrival::Queued(id, queued));
        }
    }

    /// Adds an interpreted arrival.
    #[inline(always)]
    pub fn arrived(&mut self, arrival: Arrival) {
        match self.arrivals.len() + 1 {
            count if count < MOST_HELD => self.arrivals.push(arrival),
            MOST_HELD => self.arrivals.push(Arrival::Overflowed),
            _ => {}
        }
    }

    /// Checks the fill level of the receive buffer after `just_read` entries were read together, or
    /// after the queue was found empty: if it was full, timestamps may have been dropped.
    pub fn buffer_seen(&mut self, buffer: ReceiveBuffer, just_read: usize) {
        if buffer.was_full(just_read) {
            self.arrived(Arrival::Overflowed);
        }
    }

    /// Returns whether there are arrivals that were not taken.
    #[inline]
    pub fn holds_any(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// Takes the arrivals in the order in which they were read.
    #[inline]
    pub fn take(&mut self, taken: impl FnMut(&Arrival)) {
        self.arrivals.iter().for_each(taken);
        self.arrivals.clear();
    }

    /// Opens the turn of a counted datagram that a program sends by itself. Call
    /// [`end_forgotten_turn`](Self::end_forgotten_turn) first.
    pub fn begin_turn(&mut self) -> Turn {
        self.turns = self.turns.wrapping_add(1);
        let turn = Turn(self.turns);
        self.open = Some(turn);
        turn
    }

    /// Ends a turn after its datagram was sent or failed. Returns whether it was the open turn; if
    /// not, the datagram may have been counted between others, and the next count becomes unknown.
    pub fn end_turn(&mut self, turn: Turn, now: MonotonicTime) -> bool {
        let is_open = self.open == Some(turn);
        if !is_open {
            self.lose_count(now);
            return false;
        }
        self.open = None;
        true
    }

    /// Ends a turn whose result was never reported. Its datagram may have been counted, so the next
    /// count becomes unknown.
    pub fn end_forgotten_turn(&mut self, now: MonotonicTime) {
        if self.open.take().is_some() {
            self.lose_count(now);
        }
    }

    fn lose_count(&mut self, now: MonotonicTime) {
        let counter = self.counter.iter_mut();
        counter.for_each(|counter| counter.lost(now));
    }

    /// Returns whether no timestamp of the old count can still come, so that the kernel may count from 0 again.
    pub fn may_restart(&self, now: MonotonicTime) -> bool {
        self.counter
            .as_ref()
            .is_some_and(|counter| counter.may_restart(now))
    }

    /// Restarts after the kernel's count was restarted at 0. Returns whether the next count is
    /// known.
    pub fn restart(&mut self, now: MonotonicTime) -> bool {
        self.counter
            .as_mut()
            .is_some_and(|counter| counter.restart(now))
    }
}

#[cfg(test)]
mod tests;
