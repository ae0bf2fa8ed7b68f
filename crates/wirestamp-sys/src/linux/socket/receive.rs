//! Owns receiving: datagrams with their stamps, in batches.

use super::messages::{CHUNK, ReceiveMessages};
use super::{Socket, lock};
use crate::native::clock;
use crate::native::wire::{address, control};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::backend::{Incoming, Received};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::{HardwareStamp, SoftwareStamp, Stamps};
use wirestamp_core::time::{SystemTime, WallOffset, WallResolution};

/// Places raw stamps: the software stamp on the steady clock, the hardware stamp on its
/// interface. A software stamp made around a step of the civil clock can't be placed.
pub(super) fn place(
    raw: control::RawStamps,
    interface: Option<InterfaceIndex>,
    offset: &mut WallOffset,
    read_at: SystemTime,
) -> Stamps {
    let software = raw.software.and_then(|wall| match offset.resolve(wall, read_at) {
        WallResolution::At { at, bound, stepped } => {
            offset.emptied(at); // stamps come about in the order in which they were made
            Some(SoftwareStamp { at, bound, wall: Some(wall), clock_stepped: stepped })
        }
        WallResolution::Stepped => None,
    });
    let hardware = raw.hardware.map(|ticks| HardwareStamp { ticks, interface, read_at });
    Stamps { software, hardware }
}

impl Socket {
    pub(super) fn receive_batch(&self, batch: &mut [Incoming<'_>]) -> Result<usize> {
        match batch.len() {
            0 => Ok(0),
            1 => self.receive_chunk(&mut ReceiveMessages::<1>::new(), batch),
            _ => {
                let mut messages = ReceiveMessages::<CHUNK>::new();
                let mut total = 0;
                for chunk in batch.chunks_mut(CHUNK) {
                    let (room, received) = (chunk.len(), self.receive_chunk(&mut messages, chunk));
                    total += match received {
                        // What came before is delivered; the error is met again at the next call.
                        Err(_) if total > 0 => return Ok(total),
                        other => other?,
                    };
                    if total % CHUNK != 0 || room < CHUNK {
                        break;
                    }
                }
                Ok(total)
            }
        }
    }

    fn receive_chunk<const N: usize>(
        &self,
        messages: &mut ReceiveMessages<N>,
        chunk: &mut [Incoming<'_>],
    ) -> Result<usize> {
        let stamps_wanted = self.receive_stamps.load(Ordering::Relaxed);
        let count = match messages.receive(self.as_fd(), chunk) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if stamps_wanted {
                    lock(&self.receive_offset).emptied(clock::now());
                }
                return Ok(0);
            }
            other => other.map_err(|error| self.failure("receive", &error))?,
        };
        let mut offset = lock(&self.receive_offset);
        let (mut read_at, mut in_doubt) = (SystemTime::MIN, false);
        if stamps_wanted {
            let reading = clock::wall();
            read_at = reading.after;
            offset.observe(reading);
        }
        for (index, slot) in chunk[..count].iter_mut().enumerate() {
            let found = control::received(messages.control(index));
            let flags = messages.flags(index);
            if let Some(dropped) = found.dropped {
                self.note_dropped(dropped);
            }
            slot.received = Received {
                length: messages.length(index),
                source: address::read(messages.name(index)),
                destination: found.destination,
                interface: found.interface,
                stamps: if stamps_wanted {
                    place(found.stamps, found.interface, &mut offset, read_at)
                } else {
                    Stamps::NONE
                },
                truncated: flags & libc::MSG_TRUNC != 0,
                control_truncated: flags & libc::MSG_CTRUNC != 0,
            };
            in_doubt |= found.stamps.software.is_some() && slot.received.stamps.software.is_none();
        }
        if stamps_wanted && (count < N || in_doubt && self.receive_buffer().is_some_and(|(used, _)| used == 0)) {
            offset.emptied(if in_doubt { clock::now() } else { read_at });
        }
        Ok(count)
    }

    /// The kernel's count is 32 bits wide and may have wrapped since the last datagram.
    fn note_dropped(&self, count: u32) {
        let known = self.dropped.load(Ordering::Relaxed);
        let more = count.wrapping_sub(known as u32);
        if more != 0 && more < u32::MAX / 2 {
            self.dropped.store(known + u64::from(more), Ordering::Relaxed);
        }
    }
}
