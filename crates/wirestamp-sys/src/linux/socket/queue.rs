//! Reads the error queue into the tracker: timestamps, ICMP errors, zero-copy notices.

use super::messages::ReceiveMessages;
use super::place::{ask, raw};
use super::ring::TimestampIoUring;
use super::{Kind, Socket, lock};
use crate::native::wire::address;
use crate::native::wire::constants::SO_MEMINFO;
use crate::native::wire::control::{self, QueueEntry};
use crate::native::{call, clock};
use socket2::SockRef;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::timestamp::{
    Arrival, Clocks, KernelTime, Notice, ReceiveBuffer, TransmitTracker,
};

/// Entries in one call.
const CHUNK: usize = 64;
/// Chunks that a send reads ahead, at most: what follows is nobody's who waits for the send.
const MOST_AHEAD: usize = 1 << 10;

/// What a ring had.
#[derive(Debug, Default)]
struct Completed {
    entries: usize,
    /// Whether the ring was asked at all.
    by_ring: bool,
    /// Whether the queue can contain only timestamps that the ring did not report.
    are_all: bool,
}

fn is_orphaned(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOWNERDEAD)
}

impl<K: Kind> Socket<K> {
    /// Reads one chunk; returns whether more may wait.
    pub(super) fn read_queue(&self, tracker: &mut TransmitTracker, awaited: usize) -> Result<bool> {
        if awaited == 1 {
            // the usual case of who asks for each timestamp at once: a third of the cost of a chunk
            let read = self.read_entries(&mut <ReceiveMessages<1>>::new(), tracker)?;
            return Ok(self.after(read, 1, tracker, awaited));
        }
        let mut completed = Completed::default();
        if self.timestamp_ring.load(Ordering::Relaxed) {
            let ring = &mut *lock(&self.ring);
            completed = self.take_completions(ring, tracker);
            // an id that is overdue now ends as lost: the queue is looked at for it
            if completed.are_all && completed.entries >= awaited.max(1) {
                return Ok(true);
            }
        }
        let room = &self.naming.room;
        // how many bytes of packets a chunk had is not known once it is read
        if room.is_for_packets() && awaited >= CHUNK.min(room.entries() as usize) {
            self.look_at_buffer(tracker, 0);
        }
        let read = self.read_chunk(tracker)?;
        if completed.by_ring && read > 0 {
            lock(&self.ring)
                .iter_mut()
                .for_each(TimestampIoUring::missed_some);
        }
        if read == CHUNK && !room.is_for_packets() {
            self.look_at_buffer(tracker, read);
        }
        Ok(self.after(completed.entries + read, CHUNK, tracker, awaited))
    }

    /// Reads all that waits: to see whether the kernel's count can restart.
    pub(super) fn read_ahead(&self, tracker: &mut TransmitTracker) -> Result<()> {
        for _ in 0..MOST_AHEAD {
            if !self.read_queue(tracker, 0)? {
                break;
            }
        }
        Ok(())
    }

    /// Ends the quarantine of an adopted socket, if it is over, after all that waits was read.
    pub(super) fn end_quarantine(&self, tracker: &mut TransmitTracker) -> Result<()> {
        if tracker.is_quarantined() {
            self.read_ahead(tracker)?;
            tracker.end_quarantine(clock::now());
        }
        Ok(())
    }

    /// Not inlined: the room for many headers takes its time even where it is not used.
    #[inline(never)]
    fn read_chunk(&self, tracker: &mut TransmitTracker) -> Result<usize> {
        self.read_entries(&mut <ReceiveMessages<CHUNK>>::new(), tracker)
    }

    /// What the ring has of the queue.
    fn take_completions(
        &self,
        current: &mut Option<TimestampIoUring>,
        tracker: &mut TransmitTracker,
    ) -> Completed {
        let mut completed = Completed::default();
        let Some(mut ring) = current.take() else {
            return completed;
        };
        loop {
            let filled = ring.fill(self.as_fd());
            let clocks = ask(tracker.placement());
            let taken = match filled {
                Ok(Some(_)) => ring.take(|entry| self.take_in(entry, tracker, clocks)),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            completed.by_ring = true;
            match taken {
                Ok(0) => break,
                Ok(taken) => {
                    completed.entries += taken;
                    if taken >= CHUNK {
                        self.look_at_buffer(tracker, taken);
                    }
                    if !ring.is_stalled_after(taken) {
                        // errors are not among them
                        completed.are_all = !self.icmp_errors.load(Ordering::Relaxed);
                        break;
                    }
                }
                Err(error) if is_orphaned(&error) => {
                    *current = ring.another().ok();
                    return completed;
                }
                // calls do
                Err(_) => return completed,
            }
        }
        *current = Some(ring);
        completed
    }

    /// One call's worth of entries.
    #[inline]
    fn read_entries<const N: usize>(
        &self,
        messages: &mut ReceiveMessages<N>,
        tracker: &mut TransmitTracker,
    ) -> Result<usize> {
        let count = match messages.receive_errors(self.as_fd()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tracker.placement().emptied(clock::now());
                return Ok(0);
            }
            other => other.map_err(|error| self.failure("read transmit timestamps", &error))?,
        };
        let clocks = ask(tracker.placement());
        for index in 0..count {
            let destination = || address::read(messages.name(index));
            if let Some(entry) = control::queue_entry(messages.control(index), destination) {
                self.take_in(entry, tracker, clocks);
            }
        }
        match clocks {
            Clocks::Read(read_at) if count < N => tracker.placement().emptied(read_at),
            // After a step of UTC, later timestamps can be placed once the queue was seen empty.
            Clocks::Read(_) if N == 1 => return Ok(count + self.read_chunk(tracker)?),
            _ => {}
        }
        Ok(count)
    }

    /// Whether more may wait after so many `entries`. Where nothing was there, a pending error may be
    /// what a wait saw, and unread datagrams may be what keeps timestamps out.
    fn after(
        &self,
        entries: usize,
        most: usize,
        tracker: &mut TransmitTracker,
        awaited: usize,
    ) -> bool {
        if entries > 0 {
            return entries >= most;
        }
        if self.error_seen.swap(false, Ordering::AcqRel) {
            if let Some(code) = self.take_pending_error() {
                // SO_EE_ORIGIN_LOCAL: reported by this host, without an entry in the queue.
                tracker.arrived(Arrival::Notice(Notice::Other { origin: 1, code }));
            }
        }
        if awaited > 0 {
            self.look_at_buffer(tracker, 0);
        }
        false
    }

    /// The socket's pending error, as the number of the system; the kernel clears it.
    fn take_pending_error(&self) -> Option<i32> {
        let pending = SockRef::from(&self.fd).take_error().ok().flatten();
        pending?.raw_os_error()
    }

    fn look_at_buffer(&self, tracker: &mut TransmitTracker, just_read: usize) {
        if let Some((used, size)) = self.receive_buffer() {
            let buffer = ReceiveBuffer {
                used,
                size,
                charge: self.naming.room.charge(),
            };
            tracker.buffer_seen(buffer, just_read);
        }
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

impl<K: Kind> Socket<K> {
    #[inline]
    pub(super) fn take_in(&self, entry: QueueEntry, tracker: &mut TransmitTracker, clocks: Clocks) {
        match entry {
            QueueEntry::OtherPoint => {}
            QueueEntry::Queued { id, at } => tracker.read_queued(id.0, KernelTime::Utc(at), clocks),
            QueueEntry::Notice(notice) => tracker.arrived(Arrival::Notice(notice)),
            QueueEntry::Timestamp {
                id,
                timestamps,
                device,
            } => {
                let device = self.sent_by(device);
                tracker.read(id.0, raw(timestamps, device, clocks), clocks);
            }
        }
    }
}
