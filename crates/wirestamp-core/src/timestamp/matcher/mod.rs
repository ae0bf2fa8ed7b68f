//! Which transmit id is awaited, how it ended, and whether its outcome was fetched.
//! Reads no socket and no clock: timestamps come in by [`Matcher::arrived`], time with each call.

mod arriving;
mod ending;
mod entries;
mod fetching;
mod lists;
mod mark;
mod queue_times;
mod record;
mod refused;
mod ring;
mod window;

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;

use super::{LateTimestamp, MissingReason, Notice, TimestampDelay, TransmitCounters, TransmitId};
use crate::capability::TimestampSource;
use crate::configuration::{Source, Timestamping};
use crate::time::{MonotonicTime, Span};
use core::fmt;
use entries::{Entries, Known};
use lists::List;
use mark::Mark;
use record::Record;
pub use refused::Refused;
use ring::Ring;

/// Room for awaited and lost ids beside the waiting timestamps. Memory for their entries is taken when they are needed: where timestamps
/// come, and are fetched in the order of sending, none is.
const SPARE: usize = 2048;
/// Ids on the usual way from sending to fetching, at most: those of a few bursts, which stay in the
/// cache. More take a longer way.
const WIDEST: usize = 512;
/// How many late timestamps and how many notices wait to be fetched.
const ASIDE: usize = 256;
/// After this long no timestamp comes any more: ten times the latest one ever reported
/// (about a second).
const ABANDONED_FOR: Span = Span::from_seconds(10);

/// What became of every transmit id of one socket.
///
/// Each id that [begins](Self::begin) ends exactly once: timestamped, or lost with a reason.
/// Up to `capacity` timestamped ids wait to be fetched; a timestamp that finds as many waiting is
/// discarded. Memory is bounded by [`configure`](Self::configure): of ids that were lost and never fetched the oldest are
/// forgotten (and counted). What sending, timestamps and fetching in the same order take is reserved with the capacity; what more than
/// twice the capacity of lost or late ids take is added by doubling, within the bound.
///
/// Time comes in with each call. Collect first, then ask: what is overdue ends when somebody
/// asks, and a timestamp that is collected only afterwards is late.
///
/// ```
/// use wirestamp_core::configuration::Timestamping;
/// use wirestamp_core::timestamp::{Matcher, TransmitAnswer, TransmitId};
/// use wirestamp_core::time::MonotonicTime;
///
/// let now = MonotonicTime::from_nanoseconds(1_000);
/// let mut matcher = Matcher::new();
/// matcher.configure(&Timestamping::OFF.transmit(16), now);
/// matcher.begin(TransmitId(7), now).expect("not in use"); // then send the datagram,
/// matcher.advance(now); //                                   then let the backend collect,
/// assert_eq!(matcher.fetch(TransmitId(7), now), TransmitAnswer::Pending); // then ask
/// ```
pub struct Matcher {
    capacity: Option<u16>,
    source: Source,
    /// Whether it is asked when datagrams enter the queueing discipline.
    queueing: bool,
    fixed_deadline: Option<Span>,
    closed: bool,
    now: MonotonicTime,
    entries: Entries,
    delay: TimestampDelay,
    counters: TransmitCounters,
    /// Ids up to this one were sent before the system's queue was found full.
    overflowed: u64,
    observed: [bool; 2],
    late: Ring<LateTimestamp>,
    notices: Ring<Notice>,
}

impl Matcher {
    /// For a socket whose transmit timestamps were never enabled.
    pub fn new() -> Self {
        Self {
            capacity: None,
            source: Source::Software,
            queueing: false,
            fixed_deadline: None,
            closed: false,
            now: MonotonicTime::MIN,
            entries: Entries::new(0, 1, 0),
            delay: TimestampDelay::new(),
            counters: TransmitCounters::default(),
            overflowed: 0,
            observed: [false; 2],
            late: Ring::new(ASIDE),
            notices: Ring::new(ASIDE),
        }
    }

    /// Replaces the whole configuration.
    ///
    /// Awaited ids end as [`Reset`](MissingReason::Reset). Outcomes that nobody fetched yet stay
    /// fetchable; of waiting timestamps above the new capacity the oldest are kept and the others
    /// become [`BufferFull`](MissingReason::BufferFull). Off counts as capacity 0.
    pub fn configure(&mut self, timestamping: &Timestamping, now: MonotonicTime) {
        self.reset(now);
        self.capacity = timestamping.transmit;
        self.source = timestamping.source;
        self.queueing = timestamping.queueing;
        self.fixed_deadline = timestamping.transmit_deadline;
        self.delay = TimestampDelay::new();
        self.observed = [false; 2];
        self.entries.set_timestamped_aside(u64::MAX);
        self.discard_above_capacity();
        if let Some(capacity) = self.capacity {
            let reserved = 2 * usize::from(capacity);
            let limit = reserved + SPARE;
            if limit != self.entries.limit() {
                let width = usize::from(capacity).min(WIDEST);
                let (resized, forgotten) = self.entries.resized(limit, width, reserved);
                self.entries = resized;
                self.counters.forgotten += forgotten;
            }
        }
        self.entries.keep_queue_times(self.queueing);
    }

    /// Sets the time and ends nothing. Timestamps that come in afterwards count as collected at
    /// `now`: call this before a backend collects.
    #[inline]
    pub fn advance(&mut self, now: MonotonicTime) {
        self.now = self.now.max(now);
    }

    /// The latest time that it was given.
    #[inline]
    pub fn latest(&self) -> MonotonicTime {
        self.now
    }

    /// Registers an id. Call this *before* the datagram is handed to the system: another
    /// thread may collect the timestamp before the send returns. Then [`cancel`](Self::cancel) it
    /// if the send fails.
    ///
    /// # Errors
    /// [`Refused`]: the datagram must not be sent under this id.
    #[inline]
    pub fn begin(&mut self, id: TransmitId, now: MonotonicTime) -> Result<(), Refused> {
        self.admit(id, now, false)
    }

    /// As [`begin`](Self::begin), for a send during which other threads may ask: the id is not
    /// overdue before [`sent`](Self::sent), however long the sending thread is interrupted.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    #[inline]
    pub fn begin_sending(&mut self, id: TransmitId, now: MonotonicTime) -> Result<(), Refused> {
        self.admit(id, now, true)
    }

    fn admit(&mut self, id: TransmitId, now: MonotonicTime, sending: bool) -> Result<(), Refused> {
        self.advance(now);
        if self.closed {
            return Err(Refused::Closed);
        }
        if self.capacity.is_none() {
            return Err(Refused::NotEnabled);
        }
        let earlier = match self.entries.known(id) {
            None => Mark::NONE,
            Some(known) => self.take_mark(known).ok_or(Refused::Duplicate)?,
        };
        if self.entries.is_full() {
            self.make_room();
            if self.entries.is_full() {
                return Err(Refused::Full);
            }
        }
        self.entries.begin(id, now, sending, earlier);
        self.counters.sent += 1;
        Ok(())
    }

    /// The send returned at `now`: the deadline of `id` counts from here.
    pub fn sent(&mut self, id: TransmitId, now: MonotonicTime) {
        self.advance(now);
        match self.entries.known(id) {
            Some(Known::Awaited(order)) => self.entries.record_mut(order).sent(now),
            Some(Known::Aside(slot)) => self.entries[slot].record.sent(now),
            Some(Known::Timestamped(_) | Known::Told(_)) | None => {}
        }
    }

    /// The send failed: as if `id` had never begun.
    pub fn cancel(&mut self, id: TransmitId) {
        let Some(slot) = self.entries.aside(id) else {
            return;
        };
        let reason = self.entries[slot].reason;
        match self.entries.list(slot) {
            List::Awaited => {}
            List::Timestamped => self.counters.timestamped -= 1,
            List::LostOpen | List::LostFinal => self.counters.missing[reason as usize] -= 1,
            List::Abandoned | List::Settled => return, // somebody was told already
        }
        self.counters.sent -= 1;
        if self.entries[slot].record.earlier.is_none() {
            self.entries.remove(slot);
        } else {
            self.entries[slot].cancelled = true;
            self.entries.shift(slot, List::Settled);
        }
    }

    /// Ends the ids whose deadline had passed at `now`, which the clock said before the queue was read. Another thread may know a later time since: what
    /// is in the queue by then was not seen.
    #[inline]
    pub fn expire(&mut self, now: MonotonicTime) {
        self.advance(now);
        if self.awaited() != 0 {
            self.end_overdue(now);
        }
    }

    fn end_overdue(&mut self, now: MonotonicTime) {
        while let Some(oldest) = self.entries.oldest_awaited() {
            if oldest.sending || oldest.waited_from + self.deadline() > now {
                return;
            }
            let Some(slot) = self.entries.oldest_awaited_aside() else {
                return;
            };
            let reason = self.reason_of_silence(slot);
            self.end(slot, reason, List::LostOpen);
        }
    }

    /// Takes timestamps that came after their id had ended as lost, oldest first; returns how many.
    pub fn late(&mut self, out: &mut [LateTimestamp]) -> usize {
        self.late.take(out)
    }

    /// Takes what else was in the queue, oldest first; returns how many.
    pub fn take_notices(&mut self, out: &mut [Notice]) -> usize {
        self.notices.take(out)
    }

    /// Notices that were dropped because nobody took them.
    pub fn notices_dropped(&self) -> u64 {
        self.notices.dropped()
    }

    /// Whether `id` has not ended; else [`fetch`](Self::fetch) knows the answer now.
    #[inline]
    pub fn is_awaited(&self, id: TransmitId) -> bool {
        self.awaited_record(id).is_some()
    }

    /// When a wait for `id` can stop; `None` if it is not awaited.
    pub fn deadline_of(&self, id: TransmitId) -> Option<MonotonicTime> {
        self.awaited_record(id)
            .map(|record| self.end_of_wait(record))
    }

    #[inline]
    fn awaited_record(&self, id: TransmitId) -> Option<&Record> {
        match self.entries.known(id)? {
            Known::Awaited(order) => Some(self.entries.window().record(order)),
            Known::Aside(slot) if self.entries.list(slot) == List::Awaited => {
                Some(&self.entries[slot].record)
            }
            _ => None,
        }
    }

    /// When the oldest awaited id ends by time.
    pub fn next_deadline(&self) -> Option<MonotonicTime> {
        self.entries
            .oldest_awaited()
            .map(|record| self.end_of_wait(record))
    }

    fn end_of_wait(&self, record: &Record) -> MonotonicTime {
        let from = if record.sending {
            self.now.max(record.waited_from)
        } else {
            record.waited_from
        };
        from + self.deadline()
    }

    /// The NIC or the id count restarted: every awaited id ends as
    /// [`Reset`](MissingReason::Reset), or as timestamped if one of two timestamps is there.
    pub fn reset(&mut self, now: MonotonicTime) {
        self.end_all(MissingReason::Reset, now);
    }

    /// The socket was closed: every awaited id ends as
    /// [`SocketClosed`](MissingReason::SocketClosed), and no other begins. Outcomes stay
    /// fetchable.
    pub fn close(&mut self, now: MonotonicTime) {
        self.end_all(MissingReason::SocketClosed, now);
        self.closed = true;
    }

    /// What became of the ids so far.
    pub fn counters(&self) -> TransmitCounters {
        TransmitCounters {
            pending: self.awaited() as u64,
            late_dropped: self.late.dropped(),
            ..self.counters
        }
    }

    /// How many ids are awaited.
    #[inline]
    pub fn awaited(&self) -> usize {
        self.entries.lists().length(List::Awaited) + self.entries.window().awaited()
    }

    /// How many timestamped ids wait to be fetched: at most the capacity.
    pub fn waiting(&self) -> usize {
        self.entries.lists().length(List::Timestamped) + self.entries.window().waiting()
    }

    /// Whether a transmit timestamp of `source` was seen since the last configuration.
    pub fn observed(&self, source: TimestampSource) -> bool {
        self.observed[source as usize]
    }

    /// How long after sending a timestamp is waited for: as configured, or as learnt.
    pub fn deadline(&self) -> Span {
        self.fixed_deadline.unwrap_or_else(|| self.delay.deadline())
    }
}

impl Default for Matcher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            capacity,
            source,
            closed,
            now,
            counters,
            ..
        } = self;
        f.debug_struct("Matcher")
            .field("capacity", capacity)
            .field("source", source)
            .field("closed", closed)
            .field("now", now)
            .field("counters", counters)
            .finish_non_exhaustive()
    }
}
