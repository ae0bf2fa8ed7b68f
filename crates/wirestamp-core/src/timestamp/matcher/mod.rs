//! The state of each transmit ID: awaited, resolved, fetched. Timestamps come in through
//! [`Matcher::arrived`], and each call has the time as an argument.

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

/// Room for awaited and missing IDs in addition to waiting timestamps. Memory for their entries is
/// allocated on demand; none is needed if timestamps come and are fetched in the order of sending.
const SPARE: usize = 2048;
/// The most IDs on the fast path from sending to fetching: those of a few bursts, which stay in the
/// cache. More use entries.
const WIDEST: usize = 512;
/// The most late timestamps, and the most notices, that wait to be fetched.
const ASIDE: usize = 256;
/// The time after which no timestamp comes any more: ten times the longest reported delay (about a
/// second).
const ABANDONED_FOR: Span = Span::from_seconds(10);

/// The state of all transmit IDs of a socket.
///
/// Each ID that [begins](Self::begin) resolves exactly once: to its timestamps or to the reason
/// there are none. Up to `capacity` timestamped IDs wait to be fetched; further timestamps are
/// discarded. [`configure`](Self::configure) bounds the memory: of missing IDs that are never
/// fetched, the oldest are forgotten (and counted). The memory for sending, timestamps and fetching
/// in the same order is reserved with the capacity; more than twice the capacity of missing or late
/// IDs is added by doubling, within the bound.
///
/// Each call has the time as an argument. Collect first and fetch afterwards: fetching resolves
/// overdue IDs, and a timestamp that is collected only then is late.
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
    /// Whether times of the queueing discipline are kept.
    queueing: bool,
    fixed_deadline: Option<Span>,
    closed: bool,
    now: MonotonicTime,
    entries: Entries,
    delay: TimestampDelay,
    counters: TransmitCounters,
    /// IDs up to this one were sent before the error queue was found full.
    overflowed: u64,
    observed: [bool; 2],
    late: Ring<LateTimestamp>,
    notices: Ring<Notice>,
}

impl Matcher {
    /// Creates a matcher for a socket whose transmit timestamps were never enabled.
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
    /// Awaited IDs resolve to [`Reset`](MissingReason::Reset). Unfetched outcomes can still be
    /// fetched. If more timestamps wait than the new capacity, the oldest are kept and the others
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

    /// Sets the time without resolving IDs. Timestamps that arrive afterwards count as collected at
    /// `now`: call this before a backend collects.
    #[inline]
    pub fn advance(&mut self, now: MonotonicTime) {
        self.now = self.now.max(now);
    }

    /// Returns the latest time that it was given.
    #[inline]
    pub fn latest(&self) -> MonotonicTime {
        self.now
    }

    /// Registers an ID. Call it *before* the system call, because another thread may collect the
    /// timestamp before the send returns. If the send fails, [`cancel`](Self::cancel) it.
    ///
    /// # Errors
    /// [`Refused`]: the datagram must not be sent with this ID.
    #[inline]
    pub fn begin(&mut self, id: TransmitId, now: MonotonicTime) -> Result<(), Refused> {
        self.admit(id, now, false)
    }

    /// Registers an ID like [`begin`](Self::begin), for a send during which other threads may
    /// fetch: the ID is not overdue before [`sent`](Self::sent), however long the sending thread is
    /// interrupted.
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

    /// Notes that the send returned at `now`, from which the deadline of `id` counts.
    pub fn sent(&mut self, id: TransmitId, now: MonotonicTime) {
        self.advance(now);
        match self.entries.known(id) {
            Some(Known::Awaited(order)) => self.entries.record_mut(order).sent(now),
            Some(Known::Aside(slot)) => self.entries[slot].record.sent(now),
            Some(Known::Timestamped(_) | Known::Told(_)) | None => {}
        }
    }

    /// Cancels an ID whose send failed, as if it had never begun.
    pub fn cancel(&mut self, id: TransmitId) {
        let Some(slot) = self.entries.aside(id) else {
            return;
        };
        let reason = self.entries[slot].reason;
        match self.entries.list(slot) {
            List::Awaited => {}
            List::Timestamped => self.counters.timestamped -= 1,
            List::LostOpen | List::LostFinal => self.counters.missing[reason as usize] -= 1,
            List::Abandoned | List::Settled => return, // its outcome was fetched already
        }
        self.counters.sent -= 1;
        if self.entries[slot].record.earlier.is_none() {
            self.entries.remove(slot);
        } else {
            self.entries[slot].cancelled = true;
            self.entries.shift(slot, List::Settled);
        }
    }

    /// Resolves the IDs whose deadline had passed at `now`, a time from before the queue was read.
    /// A later time from another thread must not be used, because entries that came since were not
    /// read.
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

    /// Takes timestamps that came after their ID had resolved without one, oldest first. Returns
    /// their number.
    pub fn late(&mut self, out: &mut [LateTimestamp]) -> usize {
        self.late.take(out)
    }

    /// Takes the other entries of the queue, oldest first. Returns their number.
    pub fn take_notices(&mut self, out: &mut [Notice]) -> usize {
        self.notices.take(out)
    }

    /// Returns the number of notices that were dropped because they were not taken in time.
    pub fn notices_dropped(&self) -> u64 {
        self.notices.dropped()
    }

    /// Returns whether `id` is unresolved; if not, [`fetch`](Self::fetch) has its answer.
    #[inline]
    pub fn is_awaited(&self, id: TransmitId) -> bool {
        self.awaited_record(id).is_some()
    }

    /// Returns the deadline of `id`; `None` if it is not awaited.
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

    /// Returns the deadline of the oldest awaited ID.
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

    /// Notes that the NIC or the count of IDs restarted: every awaited ID resolves to
    /// [`Reset`](MissingReason::Reset), or as timestamped if one of two timestamps has come.
    pub fn reset(&mut self, now: MonotonicTime) {
        self.end_all(MissingReason::Reset, now);
    }

    /// Notes that the socket was closed: every awaited ID resolves to
    /// [`SocketClosed`](MissingReason::SocketClosed), and no other begins. Outcomes can still be
    /// fetched.
    pub fn close(&mut self, now: MonotonicTime) {
        self.end_all(MissingReason::SocketClosed, now);
        self.closed = true;
    }

    /// Returns the numbers of IDs by outcome.
    pub fn counters(&self) -> TransmitCounters {
        TransmitCounters {
            pending: self.awaited() as u64,
            late_dropped: self.late.dropped(),
            ..self.counters
        }
    }

    /// Returns the number of awaited IDs.
    #[inline]
    pub fn awaited(&self) -> usize {
        self.entries.lists().length(List::Awaited) + self.entries.window().awaited()
    }

    /// Returns the number of timestamped IDs that wait to be fetched, at most the capacity.
    pub fn waiting(&self) -> usize {
        self.entries.lists().length(List::Timestamped) + self.entries.window().waiting()
    }

    /// Returns whether a transmit timestamp of `source` came since the last configuration.
    pub fn observed(&self, source: TimestampSource) -> bool {
        self.observed[source as usize]
    }

    /// Returns the configured or learnt deadline after sending.
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
