//! What the entries of a socket's error queue mean: whose they are, where their timestamps lie, and
//! what they end. The only place where that is decided. Whoever owns the socket owns its tracker, and
//! lends it to the backend, which reads the queue into it and restarts the kernel's count.

use super::{
    Arrival, Clocks, CountRules, CounterMap, CounterState, KernelTime, MissingReason, Placement,
    RawTimestamps, ReceiveBuffer, SendFailure, TransmitId,
};
use crate::configuration::{Source, Timestamping};
use crate::time::MonotonicTime;
use alloc::vec::Vec;

/// How many arrivals are held, at most.
const MOST_HELD: usize = 1 << 16;
/// Room for arrivals that is made with the configuration, so that none is made per packet: twice the capacity, at least the entries that a
/// backend reads at once, and at most this.
const ROOM: usize = 1 << 10;
const AT_ONCE: usize = 1 << 6;

/// Decides what the entries of one socket's error queue mean, and holds what they mean until it is
/// [taken](Self::take).
///
/// Where the kernel can't carry ids, it counts timestamped datagrams: whoever sends has the tracker
/// during the send, and whoever reads the queue has it meanwhile. While the count is
/// [`Unsure`](CounterState::Unsure), the backend reads the queue before each send, and once
/// [`may_restart`](Self::may_restart) says so it restarts the kernel's count and then this one; until
/// then datagrams are sent without a timestamp.
#[derive(Debug)]
pub struct TransmitTracker {
    placement: Placement,
    /// Where the kernel counts the ids.
    counter: Option<CounterMap>,
    /// Of the programs that send by themselves: how many turns there were, and which is open.
    turns: u32,
    open: Option<Turn>,
    /// The count of before a time when it was not needed: its timestamps may still be under way.
    former: Option<CounterMap>,
    /// Whether a packet has two timestamps, in two entries.
    both_expected: bool,
    /// Whether software timestamps are made so that the kernel counts, and come without a value.
    software_unreported: bool,
    /// Until when timestamps of a former owner's datagrams can still come.
    quarantine: Option<MonotonicTime>,
    /// Whether one of them was seen.
    former_owners_seen: bool,
    /// Read, and not taken yet.
    arrivals: Vec<Arrival>,
}

/// Names a counted datagram that a program sends by itself, until it says what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn(u32);

impl TransmitTracker {
    /// Starts for a socket whose transmit timestamps are off.
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

    /// Returns what places its timestamps.
    #[inline]
    pub fn placement(&mut self) -> &mut Placement {
        &mut self.placement
    }

    /// The socket had another owner until `now`, and may have timestamps of the owner's datagrams under
    /// way. Whatever comes is nobody's until the [quarantine](CounterMap::QUARANTINE) is over. Read the
    /// queue, then say what is [known](Self::adopted) of the owner.
    pub fn adopt(&mut self, now: MonotonicTime) {
        self.quarantine = Some(now + CounterMap::QUARANTINE);
    }

    /// Notes that everything that waited in the adopted socket's queue was read. Without a sign that its owner had
    /// datagrams timestamped, nothing of the owner's can come.
    pub fn adopted(&mut self, was_timestamping: bool) {
        if !was_timestamping && !self.former_owners_seen {
            self.quarantine = None;
        }
    }

    /// Returns whether timestamps of a former owner's datagrams can still come: until then datagrams are sent
    /// without a timestamp, because the owner's numbers can be the same as the caller's.
    #[inline]
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.is_some()
    }

    /// Ends the quarantine if it is over. Read the queue before. Returns whether there is none any more.
    pub fn end_quarantine(&mut self, now: MonotonicTime) -> bool {
        if self.quarantine.is_some_and(|until| until <= now) {
            self.quarantine = None;
        }
        self.quarantine.is_none()
    }

    /// Returns whether the next count is known. `None`: the kernel carries the ids.
    #[inline]
    pub fn count_state(&self) -> Option<CounterState> {
        self.counter.as_ref().map(CounterMap::state)
    }

    /// Returns whether a send needs the tracker: the kernel counts the ids, or timestamps of a former owner's
    /// datagrams can still come.
    #[inline]
    pub fn is_needed_to_send(&self) -> bool {
        self.counter.is_some() || self.is_quarantined()
    }

    /// Returns whether the kernel's count restarts with a new configuration. It goes on where it is counted
    /// already: timestamps of before can be under way, and their numbers would come again.
    pub fn restarts_count(&self, counted: bool) -> bool {
        !(counted && self.counter.is_some())
    }

    /// Forgets all ids so far, which the caller has given up. Read the queue before, where the kernel counts.
    pub fn give_up(&mut self) {
        self.arrivals
            .retain(|arrival| matches!(arrival, Arrival::Notice(_)));
    }

    /// Takes note of a new configuration. `rules`: where the kernel counts. Sends that were counted so
    /// far are nobody's from now on, and remembered until they are accounted for.
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

    /// The datagram of `id` was sent; `timestamped`: so that it gets a timestamp. Where the kernel counts,
    /// that is only while the next count is known.
    pub fn sent(&mut self, id: TransmitId, timestamped: bool, now: MonotonicTime) {
        if !timestamped {
            self.arrived(Arrival::Lost(id, MissingReason::Reset));
        } else if let Some(counter) = &mut self.counter {
            counter.sent(id, now);
        }
    }

    /// Takes note of a failed send that the kernel may have counted.
    pub fn failed(&mut self, failure: SendFailure) {
        self.counter
            .iter_mut()
            .for_each(|counter| counter.failed(failure));
    }

    /// Takes a timestamp that was just read from the queue; `number` is the caller's id or the kernel's count.
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
            // Reported all the same where the time in the queue is asked for.
            Some(_) if self.software_unreported && raw.hardware.is_none() => None,
            // The software timestamp comes first; the count is needed again for the other one.
            Some(counter) if self.both_expected && raw.hardware.is_none() => {
                counter.look_up(number)
            }
            Some(counter) => counter.take(number),
        }
    }

    /// Takes a timestamp of the queueing discipline that was just read; `number` as for [`read`](Self::read). Its
    /// transmit timestamp is still to come, so the count stays known.
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

    /// Takes an arrival whose meaning is known.
    #[inline(always)]
    pub fn arrived(&mut self, arrival: Arrival) {
        match self.arrivals.len() + 1 {
            count if count < MOST_HELD => self.arrivals.push(arrival),
            MOST_HELD => self.arrivals.push(Arrival::Overflowed),
            _ => {}
        }
    }

    /// The receive buffer looked like this after `just_read` entries were read together, or after the
    /// queue was found empty: timestamps may have been kept out.
    pub fn buffer_seen(&mut self, buffer: ReceiveBuffer, just_read: usize) {
        if buffer.was_full(just_read) {
            self.arrived(Arrival::Overflowed);
        }
    }

    /// Returns whether something was read that was not taken.
    #[inline]
    pub fn holds_any(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// Takes what was read, in the order in which it was.
    #[inline]
    pub fn take(&mut self, taken: impl FnMut(&Arrival)) {
        self.arrivals.iter().for_each(taken);
        self.arrivals.clear();
    }

    /// Opens the turn of a counted datagram that a program sends by itself. Before it,
    /// [`end_forgotten_turn`](Self::end_forgotten_turn).
    pub fn begin_turn(&mut self) -> Turn {
        self.turns = self.turns.wrapping_add(1);
        let turn = Turn(self.turns);
        self.open = Some(turn);
        turn
    }

    /// Ends a turn with what became of its datagram. Returns whether it was its turn; if not, the datagram may
    /// have been counted between others, and the next count is not known.
    pub fn end_turn(&mut self, turn: Turn, now: MonotonicTime) -> bool {
        let is_open = self.open == Some(turn);
        if !is_open {
            self.lose_count(now);
            return false;
        }
        self.open = None;
        true
    }

    /// If a program did not say what became of a datagram, it may have been counted: the next count is not known.
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

    /// Begins anew: the kernel counts from 0 again. Returns whether the next count is known.
    pub fn restart(&mut self, now: MonotonicTime) -> bool {
        self.counter
            .as_mut()
            .is_some_and(|counter| counter.restart(now))
    }
}

#[cfg(test)]
mod tests;
