//! The packets that a receiver lends.

use super::{PacketReceiver, SocketToken, Way};
use wirestamp_core::backend::Received;

/// A received packet in a buffer of its [`PacketReceiver`], valid until the next `receive`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LentPacket<'a> {
    /// The socket that received it.
    pub socket: SocketToken,
    /// The payload.
    pub payload: &'a [u8],
    /// Its timestamps and other metadata.
    pub received: &'a Received,
}

/// An iterator over the packets that a [`PacketReceiver`] lends. They are valid as long as the
/// receiver is borrowed.
#[derive(Debug, Clone)]
pub struct Packets<'a> {
    receiver: &'a PacketReceiver,
    next: usize,
    count: usize,
}

impl<'a> Packets<'a> {
    pub(super) fn of(receiver: &'a PacketReceiver) -> Self {
        let count = match &receiver.way {
            None => 0,
            Some(Way::Ring(ring)) => ring.lent().len(),
            Some(Way::Calls(calls)) => calls.count(),
        };
        Self {
            receiver,
            next: 0,
            count,
        }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = LentPacket<'a>;

    #[inline]
    fn next(&mut self) -> Option<LentPacket<'a>> {
        let (slot, payload, received) = match self.receiver.way.as_ref()? {
            Way::Ring(ring) => {
                let lent = ring.lent().get(self.next)?;
                (lent.slot, ring.payload(lent), &lent.received)
            }
            Way::Calls(calls) => calls.lent(self.next)?,
        };
        self.next += 1;
        let turn = self.receiver.sockets[slot as usize].turn;
        let socket = SocketToken { index: slot, turn };
        Some(LentPacket {
            socket,
            payload,
            received,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Packets<'_> {}
