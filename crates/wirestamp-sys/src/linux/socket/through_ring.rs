//! Receiving through a ring, and when a call is better: one datagram at a time costs less
//! by a call, a queue costs less through the ring.

use super::receive::{Envelope, FEW, any_in_doubt};
use super::ring::ReceiveRing;
use super::{Kind, Socket, lock};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::backend::Incoming;
use wirestamp_core::timestamp::{Clocks, Placement};

/// What threads that receive share.
#[derive(Debug)]
#[repr(C)] // the rings, which few have, behind what every datagram needs
pub(super) struct Receiving {
    pub(super) placement: Placement,
    pub(super) ring: Option<ReceiveRing>,
    /// Earlier rings, out of use, that still hold datagrams.
    retired: Vec<ReceiveRing>,
}

impl Receiving {
    pub(super) fn new(placement: Placement) -> Self {
        Self {
            placement,
            ring: None,
            retired: Vec::new(),
        }
    }

    /// The ring is used no more; what it holds is handed out.
    pub(super) fn retire_ring(&mut self) {
        self.retired.extend(
            self.ring
                .take()
                .into_iter()
                .filter_map(|mut ring| ring.holds_any().then_some(ring)),
        );
    }

    pub(super) fn has_rings(&self) -> bool {
        self.ring.is_some() || !self.retired.is_empty()
    }

    /// Whether datagrams were taken from the socket that nobody has received yet.
    pub(super) fn holds_any(&mut self) -> bool {
        self.retired
            .iter_mut()
            .chain(&mut self.ring)
            .any(ReceiveRing::holds_any)
    }
}

impl<K: Kind> Socket<K> {
    /// `None`: by a call.
    pub(super) fn receive_through_ring(
        &self,
        batch: &mut [Incoming<'_, K::Transport>],
    ) -> Result<Option<usize>> {
        let mut receiving = lock(&self.receiving);
        let Receiving {
            placement,
            ring,
            retired,
        } = &mut *receiving;
        while let Some(first) = retired.first_mut() {
            let clocks = self.clocks(placement);
            match self.take(first, placement, clocks, batch) {
                Ok(0) | Err(_) => drop(retired.remove(0)),
                Ok(count) => return Ok(Some(count)),
            }
        }
        let Some(current) = ring else {
            self.receive_ring.store(false, Ordering::Release);
            return Ok(None);
        };
        let by_call = batch.len() <= FEW || self.waiting_lately.load(Ordering::Relaxed) <= FEW;
        if by_call && !current.holds_any() {
            return Ok(None);
        }
        let (mut total, mut clocks) = (0, None);
        while total < batch.len() {
            match current.fill(self.as_fd(), batch.len() - total) {
                Ok(Some(0)) => break,
                Ok(Some(_)) => {}
                Ok(None) if total == 0 => return Ok(None),
                Ok(None) => break,
                Err(error) => {
                    // its thread is gone, or the kernel does not want it any more
                    *ring = Some(error)
                        .filter(is_orphaned)
                        .and_then(|_| current.another().ok());
                    return Ok((total > 0).then_some(total));
                }
            }
            clocks = self.clocks(placement);
            total += match self.take(current, placement, clocks, &mut batch[total..]) {
                Err(_) if total > 0 => break,
                other => other.map_err(|error| self.failure("receive", &error))?,
            };
            if !current.has_ended() {
                break;
            }
        }
        self.waiting_lately.store(total, Ordering::Relaxed);
        if let Some(Clocks::Read(read_at)) = clocks {
            if !current.holds_any() {
                self.settle(placement, read_at, any_in_doubt(&batch[..total]), false);
            }
        }
        Ok(Some(total))
    }

    fn take(
        &self,
        ring: &mut ReceiveRing,
        placement: &mut Placement,
        clocks: Option<Clocks>,
        batch: &mut [Incoming<'_, K::Transport>],
    ) -> io::Result<usize> {
        ring.take(batch.len(), |place, datagram| {
            let slot = &mut batch[place];
            let buffer = slot.buffer_mut();
            let length = datagram.payload.len().min(buffer.len());
            buffer[..length].copy_from_slice(&datagram.payload[..length]);
            let envelope = Envelope {
                name: datagram.name,
                before: &[],
                control: datagram.control,
                length,
                truncated: datagram.truncated || length < datagram.payload.len(),
                control_truncated: datagram.control_truncated,
            };
            self.open_envelope(&envelope, placement, clocks, &mut slot.received);
        })
    }
}

fn is_orphaned(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOWNERDEAD)
}
