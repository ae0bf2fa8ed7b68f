//! Receiving by calls: datagrams with their timestamps, in batches. Through a ring: `through_ring`.

use super::messages::{CHUNK, ReceiveMessages};
use super::place::{ask, raw};
use super::{Kind, Socket, lock};
use crate::native::clock;
use crate::native::wire::control;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::backend::{Incoming, Received, Transport};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{Clocks, Placement, Timestamps};

/// Up to so many datagrams are no load.
pub(super) const FEW: usize = 4;

/// The metadata of a received payload.
pub(super) struct Envelope<'a> {
    pub(super) name: &'a [u8],
    pub(super) before: &'a [u8],
    pub(super) control: &'a [u8],
    pub(super) length: usize,
    pub(super) truncated: bool,
    pub(super) control_truncated: bool,
}

impl<K: Kind> Socket<K> {
    pub(super) fn receive_batch(&self, batch: &mut [Incoming<'_, K::Transport>]) -> Result<usize> {
        if self.receive_ring.load(Ordering::Relaxed) {
            if let Some(received) = self.receive_through_ring(batch)? {
                return Ok(received);
            }
        }
        match batch.len() {
            0 => Ok(0),
            1 => self.receive_chunk(&mut ReceiveMessages::<1, K::Header>::new(), batch),
            _ => self.receive_many(batch),
        }
    }

    /// Not inlined: the room for many headers takes its time even where it is not used.
    #[inline(never)]
    fn receive_many(&self, batch: &mut [Incoming<'_, K::Transport>]) -> Result<usize> {
        let mut messages = ReceiveMessages::<CHUNK, K::Header>::new();
        let mut total = 0;
        // Headers that are not filled cost as well: twice as many as lately, then all.
        let mut most = (2 * self.waiting_lately.load(Ordering::Relaxed)).clamp(FEW, CHUNK);
        while total < batch.len() {
            let room = most.min(batch.len() - total);
            let received = match self.receive_chunk(&mut messages, &mut batch[total..total + room])
            {
                // What came before is delivered; the error is met again at the next call.
                Err(_) if total > 0 => break,
                other => other?,
            };
            total += received;
            if received < room {
                break;
            }
            most = CHUNK;
        }
        self.waiting_lately.store(total, Ordering::Relaxed);
        Ok(total)
    }

    fn receive_chunk<const N: usize>(
        &self,
        messages: &mut ReceiveMessages<N, K::Header>,
        chunk: &mut [Incoming<'_, K::Transport>],
    ) -> Result<usize> {
        let count = match messages.receive(self.as_fd(), chunk) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if self.receive_timestamps.load(Ordering::Relaxed) {
                    lock(&self.receiving).placement.emptied(clock::now());
                }
                return Ok(0);
            }
            other => other.map_err(|error| self.failure("receive", &error))?,
        };
        let asked = chunk.len();
        let mut receiving = lock(&self.receiving);
        let clocks = self.clocks(&mut receiving.placement);
        for (index, slot) in chunk[..count].iter_mut().enumerate() {
            let flags = messages.flags(index);
            let envelope = Envelope {
                name: messages.name(index),
                before: messages.before(index),
                control: messages.control(index),
                length: messages
                    .length(index)
                    .saturating_sub(size_of::<K::Header>()),
                truncated: flags & libc::MSG_TRUNC != 0,
                control_truncated: flags & libc::MSG_CTRUNC != 0,
            };
            let placement = &mut receiving.placement;
            self.open_envelope(&envelope, placement, clocks, &mut slot.received);
        }
        if let Some(Clocks::Read(read_at)) = clocks {
            let in_doubt = any_in_doubt(&chunk[..count]);
            self.settle(&mut receiving.placement, read_at, in_doubt, count < asked);
        }
        Ok(count)
    }

    /// Where the real-time clock may have been stepped: timestamps to come are younger than what is known
    /// to have been read, or than an empty buffer. `in_doubt`: a datagram has no timestamp.
    pub(super) fn settle(
        &self,
        placement: &mut Placement,
        read_at: MonotonicTime,
        in_doubt: bool,
        emptied: bool,
    ) {
        if emptied || in_doubt && self.receive_buffer().is_some_and(|(used, _)| used == 0) {
            placement.emptied(if in_doubt { clock::now() } else { read_at });
        }
    }

    /// Asks the clocks if timestamps are wanted.
    pub(super) fn clocks(&self, placement: &mut Placement) -> Option<Clocks> {
        self.receive_timestamps
            .load(Ordering::Relaxed)
            .then(|| ask(placement))
    }

    /// Writes what is known of a datagram; field by field, else all of it is copied. `clocks`: if timestamps are wanted.
    #[inline]
    pub(super) fn open_envelope(
        &self,
        envelope: &Envelope<'_>,
        placement: &mut Placement,
        clocks: Option<Clocks>,
        into: &mut Received<K::Transport>,
    ) {
        let mut found = control::received(envelope.control);
        if !self.packet_information.load(Ordering::Relaxed) {
            found.destination = None; // it may have come for another reason
        }
        if self.hides_software.load(Ordering::Relaxed) {
            found.timestamps.software = None; // likewise
        }
        if let Some(dropped) = found.dropped {
            self.note_dropped(dropped);
        }
        let Received {
            length,
            source,
            destination,
            interface,
            traffic_class,
            hop_limit,
            timestamps,
            truncated,
            control_truncated,
            ..
        } = into;
        (*source, *destination) = self.kind.ends(envelope.name, envelope.before, &found);
        *interface = found
            .interface
            .or(self.kind.interface())
            .filter(|_| self.is_local);
        let device = self.received_by(found.device, *interface);
        *timestamps = match clocks {
            Some(clocks) => placement.place(raw(found.timestamps, device, clocks), clocks),
            None => Timestamps::NONE,
        };
        (*length, *truncated) = (envelope.length, envelope.truncated);
        (*traffic_class, *hop_limit) = (found.traffic_class, found.hop_limit);
        *control_truncated = envelope.control_truncated;
    }

    /// The kernel's count is 32 bits wide and may have wrapped since the last datagram.
    fn note_dropped(&self, count: u32) {
        let known = self.dropped.load(Ordering::Relaxed);
        let more = count.wrapping_sub(known as u32);
        if more != 0 && more < u32::MAX / 2 {
            self.dropped
                .store(known + u64::from(more), Ordering::Relaxed);
        }
    }
}

/// Whether one of them has no timestamp.
pub(super) fn any_in_doubt<T: Transport>(batch: &[Incoming<'_, T>]) -> bool {
    batch.iter().any(|slot| is_in_doubt(&slot.received))
}

/// Whether it has no timestamp.
pub(super) fn is_in_doubt<T: Transport>(received: &Received<T>) -> bool {
    received.timestamps.software.is_none()
}
