//! What the entries of a socket's error queue mean: whose they are, where their timestamps lie, and
//! what they end. The only place where that is decided; a backend reads the queue and restarts the
//! kernel's count.

use super::{
    Clocks, CountRules, CounterMap, CounterState, MissingReason, Notice, Placement, RawTimestamps,
    SendFailure, TimestampSink, Timestamps, TransmitId,
};
use crate::configuration::{Source, Timestamping};
use crate::time::MonotonicTime;
use alloc::collections::VecDeque;

/// How many arrivals are held between two collections, at most.
const MOST_HELD: usize = 1 << 16;
/// Room for arrivals that is made when counting begins, so that none is made per packet.
const ROOM: usize = 1 << 10;

/// What came out of an error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Timestamps of a datagram.
    Timestamped(TransmitId, Timestamps),
    /// No timestamp of this datagram will come.
    Lost(TransmitId, MissingReason),
    /// Something else was in the queue.
    Notice(Notice),
    /// The queue was full: timestamps may be missing without a trace.
    Overflowed,
}

impl Arrival {
    /// What `placed` timestamps of `id` mean. `in_doubt`: whether there was one that could not be
    /// placed.
    #[inline(always)] // else it is built in memory, and copied
    pub fn of(id: TransmitId, placed: Timestamps, in_doubt: bool) -> Self {
        match placed {
            Timestamps::NONE if in_doubt => Self::Lost(id, MissingReason::ClockStepped),
            Timestamps::NONE => Self::Lost(id, MissingReason::NeverGenerated),
            placed => Self::Timestamped(id, placed),
        }
    }

    /// Tells `sink`.
    #[inline(always)]
    pub fn deliver(self, sink: &mut dyn TimestampSink) {
        match self {
            Self::Timestamped(id, timestamps) => sink.timestamped(id, timestamps),
            Self::Lost(id, reason) => sink.lost(id, reason),
            Self::Notice(notice) => sink.notice(notice),
            Self::Overflowed => sink.overflowed(),
        }
    }
}

/// Decides what the entries of one socket's error queue mean.
///
/// Where the kernel can't carry ids, it counts timestamped datagrams. Whoever sends holds a lock around
/// the send *and* its report here; whoever collects reads the queue first and asks afterwards. While
/// the count is [`Unsure`](CounterState::Unsure), a backend reads the queue before each send
/// ([`read`](Self::read), [`hold`](Self::hold)), and once [`may_restart`](Self::may_restart) says so it
/// restarts the kernel's count and then this one; until then datagrams are sent without a timestamp.
#[derive(Debug)]
pub struct TransmitTracker {
    placement: Placement,
    /// Where the kernel counts the ids.
    counter: Option<CounterMap>,
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
    /// Read ahead of the next collection.
    held: VecDeque<Arrival>,
}

impl TransmitTracker {
    /// For a socket whose transmit timestamps are off.
    pub fn new(placement: Placement) -> Self {
        Self {
            placement,
            counter: None,
            former: None,
            both_expected: false,
            software_unreported: false,
            quarantine: None,
            former_owners_seen: false,
            held: VecDeque::new(),
        }
    }

    /// Where its timestamps are placed.
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

    /// Everything that waited in the adopted socket's queue was read. Without a sign that its owner had
    /// datagrams timestamped, nothing of the owner's can come.
    pub fn adopted(&mut self, was_timestamping: bool) {
        if !was_timestamping && !self.former_owners_seen {
            self.quarantine = None;
        }
    }

    /// Whether timestamps of a former owner's datagrams can still come: until then datagrams are sent
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

    /// Whether the next count is known. `None`: the kernel carries the ids.
    #[inline]
    pub fn count_state(&self) -> Option<CounterState> {
        self.counter.as_ref().map(CounterMap::state)
    }

    /// Whether the kernel's count restarts with a new configuration. It goes on where it is counted
    /// already: timestamps of before can be under way, and their numbers would come again.
    pub fn restarts_count(&self, counted: bool) -> bool {
        !(counted && self.counter.is_some())
    }

    /// The caller has given up all ids so far. Read the queue before, where the kernel counts.
    pub fn give_up(&mut self) {
        self.held
            .retain(|arrival| matches!(arrival, Arrival::Notice(_)));
    }

    /// A new configuration is in force. `rules`: where the kernel counts. Sends that were counted so
    /// far are nobody's from now on, and remembered until they are accounted for.
    pub fn configure(&mut self, in_force: &Timestamping, rules: Option<CountRules>) {
        self.both_expected = in_force.source == Source::Both;
        self.software_unreported =
            rules.is_some_and(|rules| rules.counts_by_software(in_force.source));
        match (&mut self.counter, rules) {
            (Some(current), Some(_)) => current.forget_ids(),
            (current @ None, Some(rules)) => {
                self.held.reserve(ROOM);
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
            self.hold(Arrival::Lost(id, MissingReason::Reset));
        } else if let Some(counter) = &mut self.counter {
            counter.sent(id, now);
        }
    }

    /// The send of a datagram that the kernel may have counted failed.
    pub fn failed(&mut self, failure: SendFailure) {
        self.counter
            .iter_mut()
            .for_each(|counter| counter.failed(failure));
    }

    /// What a timestamp of the queue means, read just now; `number` is the caller's id or the kernel's
    /// count. `None`: it is nobody's.
    #[inline(always)]
    pub fn read(&mut self, number: u32, raw: RawTimestamps, clocks: Clocks) -> Option<Arrival> {
        let id = self.owner(number, &raw)?;
        Some(Arrival::of(
            id,
            self.placement.place(raw, clocks),
            raw.software.is_some(),
        ))
    }

    #[inline]
    fn owner(&mut self, number: u32, raw: &RawTimestamps) -> Option<TransmitId> {
        if self.quarantine.is_some() {
            self.former_owners_seen = true;
            return None;
        }
        match &mut self.counter {
            None => Some(TransmitId(number)),
            Some(_)
                if self.software_unreported && raw.software.is_none() && raw.hardware.is_none() =>
            {
                None
            }
            // The software timestamp comes first; the count is needed again for the other one.
            Some(counter) if self.both_expected && raw.hardware.is_none() => {
                counter.look_up(number)
            }
            Some(counter) => counter.take(number),
        }
    }

    /// Keeps what was read ahead for the next collection.
    pub fn hold(&mut self, arrival: Arrival) {
        match self.held.len() + 1 {
            MOST_HELD => self.held.push_back(Arrival::Overflowed),
            count if count < MOST_HELD => self.held.push_back(arrival),
            _ => {}
        }
    }

    /// Whether something was read ahead: no wait for the queue tells of it.
    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// The first of what was read ahead.
    #[inline]
    pub fn take_held(&mut self) -> Option<Arrival> {
        self.held.pop_front()
    }

    /// Whether nothing of the old count can still come, so that the kernel may count from 0 again.
    pub fn may_restart(&self, now: MonotonicTime) -> bool {
        self.counter
            .as_ref()
            .is_some_and(|counter| counter.may_restart(now))
    }

    /// The kernel counts from 0 again. Returns whether the next count is known.
    pub fn restart(&mut self, now: MonotonicTime) -> bool {
        self.counter
            .as_mut()
            .is_some_and(|counter| counter.restart(now))
    }
}

#[cfg(test)]
mod tests;
