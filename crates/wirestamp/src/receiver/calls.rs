//! A receiver without io_uring: one system call per socket, into buffers of its own.

use super::{ReceiverEvent, Slot, SocketToken};
use crate::socket::UdpSocket;
use std::collections::VecDeque;
use wirestamp_core::backend::{Incoming, Received};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::{ErrorKind, Result};

/// The buffers, and the packets received into them.
#[derive(Debug)]
pub(super) struct Calls {
    memory: Vec<u8>,
    longest: usize,
    filled: Vec<(u32, Received)>,
    /// The socket to ask first: the one after the last socket with a packet.
    first: usize,
}

impl Calls {
    pub(super) fn new(longest: u16, buffers: u16) -> Self {
        let (longest, buffers) = (usize::from(longest).max(1), 1 << buffers.ilog2());
        Self {
            memory: vec![0; longest * buffers],
            longest,
            filled: Vec::with_capacity(buffers),
            first: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.filled.len()
    }

    pub(super) fn lent(&self, index: usize) -> Option<(u32, &[u8], &Received)> {
        let (slot, received) = self.filled.get(index)?;
        let start = index * self.longest;
        let length = received.length.min(self.longest);
        Some((*slot, &self.memory[start..start + length], received))
    }

    pub(super) fn receive(
        &mut self,
        sockets: &mut [Slot],
        until: MonotonicTime,
        events: &mut Vec<(SocketToken, ReceiverEvent)>,
    ) -> Result<()> {
        loop {
            self.take(sockets, events);
            let present = || sockets.iter().filter_map(|slot| slot.socket.as_deref());
            let Some(any) = present().next() else {
                return Ok(()); // all sockets were closed
            };
            if !self.filled.is_empty() || !events.is_empty() || any.now() >= until {
                return Ok(());
            }
            UdpSocket::wait_any(&present().collect::<Vec<_>>(), until)?;
            for socket in present() {
                socket.collect_if_waiting()?;
            }
        }
    }

    /// Receives from each socket once, as long as there is room.
    fn take(&mut self, sockets: &mut [Slot], events: &mut Vec<(SocketToken, ReceiverEvent)>) {
        self.filled.clear();
        let mut rooms: VecDeque<_> = self
            .memory
            .chunks_exact_mut(self.longest)
            .map(Incoming::new)
            .collect();
        let first = self.first;
        for index in (first..sockets.len()).chain(0..first.min(sockets.len())) {
            let slot = &mut sockets[index];
            let Some(socket) = &slot.socket else {
                continue;
            };
            let rooms_left = rooms.make_contiguous();
            if rooms_left.is_empty() {
                break;
            }
            match socket.try_receive_batch(rooms_left) {
                Ok(0) => {}
                Ok(count) => {
                    let taken = rooms.drain(..count);
                    self.filled
                        .extend(taken.map(|room| (index as u32, room.received)));
                    self.first = index + 1;
                }
                Err(error) => {
                    let token = SocketToken {
                        index: index as u32,
                        turn: slot.turn,
                    };
                    let closed = error.kind() == ErrorKind::Closed;
                    events.push((
                        token,
                        if closed {
                            ReceiverEvent::Closed
                        } else {
                            ReceiverEvent::Failed(error)
                        },
                    ));
                    if closed {
                        slot.socket = None;
                    }
                }
            }
        }
    }
}
