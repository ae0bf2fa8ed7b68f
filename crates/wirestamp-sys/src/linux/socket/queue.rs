//! Reads the error queue: timestamps, ICMP errors, zero-copy notices. What they mean is
//! `wirestamp_core`'s to say.

use super::messages::ReceiveMessages;
use super::place::{ask, raw};
use super::ring::TimestampIoUring;
use super::{Socket, lock};
use crate::native::wire::address;
use crate::native::wire::constants::{SO_MEMINFO, TIMESTAMP_CHARGE};
use crate::native::wire::control::{self, QueueEntry};
use crate::native::{call, clock};
use socket2::SockRef;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::timestamp::{
    Arrival, Clocks, MissingReason, Notice, Placement, TimestampSink, Timestamps, TransmitId,
    TransmitTracker,
};

/// Entries in one call.
const CHUNK: usize = 64;
/// Entries in one drain: a sender on another thread could keep the queue full for ever.
const MOST_ENTRIES: usize = 1 << 16;

/// What the thread that reads the error queue needs.
#[derive(Debug)]
pub(super) struct Queue {
    /// What the entries mean.
    pub(super) tracker: TransmitTracker,
    /// Room for what is read early.
    early: Vec<Arrival>,
    pub(super) ring: Option<TimestampIoUring>,
    /// Where the kernel counts: whether it timestamps every datagram that does not say otherwise.
    pub(super) timestamps_all: bool,
    /// How many datagrams in a row said otherwise.
    pub(super) others_in_a_row: u32,
}

impl Queue {
    pub(super) fn new(placement: Placement) -> Self {
        Self {
            tracker: TransmitTracker::new(placement),
            early: Vec::new(),
            ring: None,
            timestamps_all: false,
            others_in_a_row: 0,
        }
    }

    fn hand_over(&mut self, sink: &mut dyn TimestampSink) -> usize {
        let mut count = 0;
        while let Some(arrival) = self.tracker.take_held() {
            arrival.deliver(sink);
            count += 1;
        }
        count
    }
}

/// Keeps what was read for the next drain.
struct Early(Vec<Arrival>);

impl TimestampSink for Early {
    fn timestamped(&mut self, id: TransmitId, timestamps: Timestamps) {
        self.0.push(Arrival::Timestamped(id, timestamps));
    }
    fn lost(&mut self, id: TransmitId, reason: MissingReason) {
        self.0.push(Arrival::Lost(id, reason));
    }
    fn overflowed(&mut self) {
        self.0.push(Arrival::Overflowed);
    }
    fn notice(&mut self, notice: Notice) {
        self.0.push(Arrival::Notice(notice));
    }
    fn next_awaited(&self, _: Option<TransmitId>) -> Option<TransmitId> {
        None
    }
}

/// What a ring had.
#[derive(Debug, Default)]
struct Completed {
    entries: usize,
    /// Whether the ring was asked at all.
    by_ring: bool,
    /// Whether nothing but timestamps the ring was not told of can be in the queue.
    are_all: bool,
}

fn is_orphaned(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOWNERDEAD)
}

impl Socket {
    pub(super) fn drain(&self, sink: &mut dyn TimestampSink) -> Result<usize> {
        let mut queue = lock(&self.queue);
        let handed_over = queue.hand_over(sink);
        self.holds_arrivals.store(false, Ordering::Relaxed);
        let read = self.drain_into(&mut queue, sink)?;
        drop(queue);
        if read == 0 {
            self.after_an_empty_queue(sink);
        }
        Ok(handed_over + read)
    }

    /// Reads timestamps now, for the next drain: to see whether the kernel's count can restart.
    pub(super) fn drain_early(&self, queue: &mut Queue) -> Result<()> {
        let mut early = Early(std::mem::take(&mut queue.early));
        let result = self.drain_into(queue, &mut early);
        early
            .0
            .drain(..)
            .for_each(|arrival| queue.tracker.hold(arrival));
        queue.early = early.0;
        result.map(drop)
    }

    /// Reads and forgets the timestamps that wait: their ids end with a new configuration.
    pub(super) fn discard_waiting(&self, queue: &mut Queue) -> Result<()> {
        if queue.tracker.count_state().is_some() {
            self.drain_early(queue)?;
        }
        self.end_quarantine(queue)?;
        queue.tracker.give_up();
        Ok(())
    }

    /// Returns whether nothing of a former owner's can come any more.
    pub(super) fn end_quarantine(&self, queue: &mut Queue) -> Result<bool> {
        if !queue.tracker.is_quarantined() {
            return Ok(true);
        }
        self.drain_early(queue)?;
        Ok(queue.tracker.end_quarantine(clock::now()))
    }

    fn drain_into(&self, queue: &mut Queue, sink: &mut dyn TimestampSink) -> Result<usize> {
        let mut total = 0;
        if sink.awaited() == 1 {
            // the usual case of who asks for each timestamp at once: a third of the cost of a batch
            total = self.read_entries(&mut ReceiveMessages::<1>::new(), queue, sink)?;
            if total == 0 || sink.awaited() == 0 {
                return Ok(total);
            }
        }
        let completed = self.take_completions(queue, sink);
        total += completed.entries;
        if completed.are_all && sink.next_awaited(None).is_none() {
            return Ok(total); // an id that is overdue now ends as lost: the queue is looked at for it
        }
        let read = self.read_many(queue, sink)?;
        if completed.by_ring && read > 0 {
            queue
                .ring
                .iter_mut()
                .for_each(TimestampIoUring::missed_some);
        }
        Ok(total + read)
    }

    /// Not inlined: the room for many headers takes its time even where it is not used.
    #[inline(never)]
    fn read_many(&self, queue: &mut Queue, sink: &mut dyn TimestampSink) -> Result<usize> {
        let mut messages = ReceiveMessages::<CHUNK>::new();
        let mut total = 0;
        while total < MOST_ENTRIES {
            let count = self.read_entries(&mut messages, queue, sink)?;
            total += count;
            if count < CHUNK {
                break;
            }
            if total == CHUNK && self.nearly_full(CHUNK) {
                sink.overflowed();
            }
        }
        Ok(total)
    }

    /// What the ring has of the queue.
    fn take_completions(&self, queue: &mut Queue, sink: &mut dyn TimestampSink) -> Completed {
        let mut completed = Completed::default();
        let Queue {
            ring: current @ Some(_),
            ..
        } = queue
        else {
            return completed;
        };
        let Some(mut ring) = current.take() else {
            return completed;
        };
        loop {
            sink.flush();
            let filled = ring.fill(self.as_fd());
            let clocks = ask(queue.tracker.placement());
            let taken = match filled {
                Ok(Some(_)) => {
                    ring.take(|entry| deliver(entry, queue, self.interface, clocks, sink))
                }
                Ok(None) => break,
                Err(error) => Err(error),
            };
            completed.by_ring = true;
            match taken {
                Ok(0) => break,
                Ok(taken) => {
                    completed.entries += taken;
                    if taken >= CHUNK && self.nearly_full(taken) {
                        sink.overflowed();
                    }
                    if !ring.is_stalled_after(taken) {
                        // errors are not among them
                        completed.are_all = !self.icmp_errors.load(Ordering::Relaxed);
                        break;
                    }
                }
                Err(error) if is_orphaned(&error) => {
                    queue.ring = ring.another().ok();
                    return completed;
                }
                // calls do
                Err(_) => return completed,
            }
        }
        queue.ring = Some(ring);
        completed
    }

    /// One call's worth of entries.
    fn read_entries<const N: usize>(
        &self,
        messages: &mut ReceiveMessages<N>,
        queue: &mut Queue,
        sink: &mut dyn TimestampSink,
    ) -> Result<usize> {
        sink.flush();
        let count = match messages.receive_errors(self.as_fd()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                queue.tracker.placement().emptied(clock::now());
                return Ok(0);
            }
            other => other.map_err(|error| self.failure("collect transmit timestamps", &error))?,
        };
        let clocks = ask(queue.tracker.placement());
        for index in 0..count {
            let destination = || address::read(messages.name(index));
            if let Some(entry) = control::queue_entry(messages.control(index), destination) {
                deliver(entry, queue, self.interface, clocks, sink);
            }
        }
        if let Clocks::Read(read_at) = clocks
            && (count < N || (N == 1 && sink.next_awaited(None).is_none()))
        {
            queue.tracker.placement().emptied(read_at);
        }
        Ok(count)
    }

    /// Nothing was there: a pending error may be what a wait saw, and unread datagrams may
    /// be what keeps timestamps out.
    fn after_an_empty_queue(&self, sink: &mut dyn TimestampSink) {
        if self.error_seen.swap(false, Ordering::AcqRel)
            && let Ok(Some(error)) = SockRef::from(&self.fd).take_error()
            && let Some(code) = error.raw_os_error()
        {
            // SO_EE_ORIGIN_LOCAL: reported by this host, without an entry in the queue.
            sink.notice(Notice::Other { origin: 1, code });
        }
        if sink.next_awaited(None).is_some() && self.nearly_full(0) {
            sink.overflowed();
        }
    }

    /// Whether the receive buffer had no room for one more timestamp before `just_read` were read.
    fn nearly_full(&self, just_read: usize) -> bool {
        let room_for = TIMESTAMP_CHARGE.saturating_mul(just_read as u32 + 1);
        self.receive_buffer()
            .is_some_and(|(used, size)| used.saturating_add(room_for) >= size)
    }

    /// How much of the receive buffer is in use, by datagrams and timestamps, and its size.
    pub(super) fn receive_buffer(&self) -> Option<(u32, u32)> {
        let [used, size] = memory_of(self.as_fd())?;
        Some((used, size))
    }
}

/// The first words of `SO_MEMINFO`; `None` if the kernel has fewer.
pub(super) fn memory_of<const WORDS: usize>(fd: BorrowedFd<'_>) -> Option<[u32; WORDS]> {
    let mut words = [[0; 4]; WORDS];
    let length = call::option(fd, libc::SOL_SOCKET, SO_MEMINFO, words.as_flattened_mut()).ok()?;
    (length == 4 * WORDS).then(|| words.map(u32::from_ne_bytes))
}

fn deliver(
    entry: QueueEntry,
    queue: &mut Queue,
    interface: Option<InterfaceIndex>,
    clocks: Clocks,
    sink: &mut dyn TimestampSink,
) {
    match entry {
        QueueEntry::OtherPoint => {}
        QueueEntry::Notice(notice) => sink.notice(notice),
        QueueEntry::Timestamp { id, timestamps } => {
            if let Some(arrival) =
                queue
                    .tracker
                    .read(id.0, raw(timestamps, interface, clocks), clocks)
            {
                arrival.deliver(sink);
            }
        }
    }
}
