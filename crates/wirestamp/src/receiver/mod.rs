//! Receiving from many sockets on one thread, with packets lent instead of copied: through one ring of io_uring where
//! there is one, by calls elsewhere.

mod calls;
mod packets;

pub use packets::{LentPacket, Packets};

use crate::deadline::Deadline;
use crate::socket::UdpSocket;
use calls::Calls;
use std::mem;
use std::sync::Arc;
use wirestamp_core::configuration::{IoUringState, IoUringUnavailable};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::PacketRing;
use wirestamp_sys::packet_ring::SocketEvent;

/// Buffers of a receiver unless told otherwise.
const BUFFERS: u16 = 256;

/// Names a socket of a [`PacketReceiver`]. Used again, with another `turn`, after the socket was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketToken {
    index: u32,
    turn: u32,
}

impl SocketToken {
    /// Returns a small number that no other socket of the receiver has at the same time: an index for tables.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// What happened to a socket of a [`PacketReceiver`], besides packets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiverEvent {
    /// Receiving failed once, such as `Unreachable` where an ICMP message refused a packet; it goes on.
    Failed(Error),
    /// The socket was closed by [`Socket::close`](crate::socket::Socket::close); it is removed.
    Closed,
}

/// Receives the packets of many UDP sockets on one thread, and lends them instead of copying them.
///
/// On Linux with the feature `io-uring`, one ring receives for all sockets into buffers that the kernel fills
/// and this type lends: a call costs as much for a thousand sockets as for one, and no payload is copied
/// after the kernel. Elsewhere, and where the kernel refuses, it makes calls into buffers of its own; see
/// [`ring`](Self::ring). Sockets are configured, send and take transmit timestamps as always.
///
/// A socket's packets go to whoever asks first: don't call `receive` of a socket that is in a receiver, unless
/// it does not matter who gets them.
///
/// ```
/// # #[cfg(feature = "sim")]
/// # fn main() -> wirestamp::Result<()> {
/// use std::{sync::Arc, time::Duration};
/// use wirestamp::{Interface, PacketReceiver, Timestamping};
///
/// let nic = Interface::find("sim0")?;
/// let address = nic.description().addresses[0].address;
/// let mut receiver = PacketReceiver::new(1_472);
/// let mut ports = Vec::new();
/// for _ in 0..3 {
///     let socket = Arc::new(nic.bind((address, 0).into())?);
///     socket.configure(Timestamping::new().receive())?;
///     ports.push(socket.local_address()?);
///     receiver.add(socket)?;
/// }
/// let sender = nic.bind((address, 0).into())?;
/// for port in &ports {
///     sender.send_to(b"hello", *port, None)?;
/// }
/// let mut received = 0;
/// while received < 3 {
///     for packet in receiver.receive(Duration::from_secs(1))? {
///         assert_eq!(packet.payload, b"hello"); // borrowed from the receiver until its next `receive`
///         assert!(packet.received.timestamps.software.is_some());
///         received += 1;
///     }
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sim"))]
/// # fn main() {}
/// ```
///
/// Threads: it can be moved to another thread before it first receives; with a ring, it then stays there.
#[derive(Debug)]
pub struct PacketReceiver {
    longest: u16,
    buffers: u16,
    calls_only: bool,
    /// Decided when the first socket comes.
    way: Option<Way>,
    refusal: Option<IoUringUnavailable>,
    sockets: Vec<Slot>,
    events: Vec<(SocketToken, ReceiverEvent)>,
    /// Of the ring, still to be read.
    raw: Vec<(u32, SocketEvent)>,
}

#[derive(Debug)]
enum Way {
    Ring(Box<PacketRing>),
    Calls(Calls),
}

/// A place for a socket.
#[derive(Debug, Default)]
struct Slot {
    socket: Option<Arc<UdpSocket>>,
    turn: u32,
    leaving: bool,
}

impl PacketReceiver {
    /// Makes a receiver for payloads of up to `longest` bytes (1,472 for Ethernet without jumbo frames; longer
    /// ones are cut and say so), with 256 buffers.
    pub fn new(longest: u16) -> Self {
        Self::with_buffers(longest, BUFFERS)
    }

    /// The same with so many buffers, which is how many packets one [`receive`](Self::receive) lends at most;
    /// rounded down to a power of two, at least 1. Memory: `buffers × (longest + 256)` bytes.
    pub fn with_buffers(longest: u16, buffers: u16) -> Self {
        Self {
            longest,
            buffers: buffers.max(1),
            calls_only: false,
            way: None,
            refusal: None,
            sockets: Vec::new(),
            events: Vec::new(),
            raw: Vec::new(),
        }
    }

    /// Makes calls even where a ring could be had. Before the first socket.
    #[must_use]
    pub fn without_ring(mut self) -> Self {
        self.calls_only = true;
        self
    }

    /// Receives from `socket` too, from the next [`receive`](Self::receive) on.
    ///
    /// # Errors
    /// `InvalidInput` if the sockets are not all of this system, or all of one simulation.
    pub fn add(&mut self, socket: Arc<UdpSocket>) -> Result<SocketToken> {
        if let Some(known) = self.sockets.iter().find_map(|slot| slot.socket.as_deref()) {
            UdpSocket::check_same_system(&[known, &socket])?;
        }
        let free = self.sockets.iter().position(|slot| slot.socket.is_none());
        let index = free.unwrap_or_else(|| {
            self.sockets.push(Slot::default());
            self.sockets.len() - 1
        });
        if self.way.is_none() {
            self.way = Some(self.choose(&socket));
        }
        if let (Some(Way::Ring(ring)), Some(native)) = (&mut self.way, socket.native()) {
            ring.add(index as u32, native)?;
        }
        let slot = &mut self.sockets[index];
        slot.turn = slot.turn.wrapping_add(1);
        (slot.socket, slot.leaving) = (Some(socket), false);
        Ok(SocketToken {
            index: index as u32,
            turn: slot.turn,
        })
    }

    /// Receives no more from this socket. What was taken from it already is lent by the next
    /// [`receive`](Self::receive). A token that names no socket any more is ignored.
    ///
    /// # Errors
    /// `Busy` if the kernel takes no more commands at the moment: call again.
    pub fn remove(&mut self, token: SocketToken) -> Result<()> {
        if self.socket(token).is_none() {
            return Ok(());
        }
        let slot = &mut self.sockets[token.index()];
        match &mut self.way {
            Some(Way::Ring(ring)) => {
                ring.remove(token.index)?;
                slot.leaving = true;
            }
            _ => slot.socket = None,
        }
        Ok(())
    }

    fn choose(&mut self, socket: &UdpSocket) -> Way {
        if !self.calls_only && socket.native().is_some() {
            match PacketRing::new(self.longest, self.buffers) {
                Ok(ring) => return Way::Ring(Box::new(ring)),
                Err(refusal) => self.refusal = Some(refusal),
            }
        }
        Way::Calls(Calls::new(self.longest, self.buffers))
    }

    /// Returns the socket of a token; `None` if it was removed.
    pub fn socket(&self, token: SocketToken) -> Option<&Arc<UdpSocket>> {
        let slot = self.sockets.get(token.index())?;
        slot.socket
            .as_ref()
            .filter(|_| slot.turn == token.turn && !slot.leaving)
    }

    /// Says whether a ring receives, and if not, why not. `NotAsked` before the first socket, and of simulated ones.
    pub fn ring(&self) -> IoUringState {
        match (&self.way, self.refusal) {
            (Some(Way::Ring(_)), _) => IoUringState::InForce,
            (_, Some(refusal)) => IoUringState::Refused(refusal),
            _ => IoUringState::NotAsked,
        }
    }

    /// Lends the packets that wait, as far as there are buffers, and waits for the first until `deadline` at the
    /// latest. None: nothing came, or only [`events`](Self::events) did. The packets of the call before are
    /// given back.
    ///
    /// The order is the order of arrival of each socket's packets, not between sockets.
    ///
    /// # Errors
    /// `Busy` on another thread than the first one that received; `Io`. What fails for one socket alone is an event.
    pub fn receive(&mut self, deadline: impl Into<Deadline>) -> Result<Packets<'_>> {
        self.events.clear();
        let deadline = deadline.into();
        let now = || {
            let any = self.sockets.iter().find_map(|slot| slot.socket.as_ref());
            any.map_or(MonotonicTime::MIN, |socket| socket.now())
        };
        let until = if deadline.is_zero() {
            MonotonicTime::MIN
        } else {
            deadline.resolve(now)
        };
        match &mut self.way {
            None => return Err(without_socket()),
            Some(Way::Calls(calls)) => calls.receive(&mut self.sockets, until, &mut self.events)?,
            Some(Way::Ring(_)) => self.receive_through_ring(until)?,
        }
        Ok(Packets::of(self))
    }

    fn receive_through_ring(&mut self, until: MonotonicTime) -> Result<()> {
        let Some(Way::Ring(ring)) = &mut self.way else {
            return Ok(());
        };
        let sockets = &self.sockets;
        let native = |slot: u32| sockets.get(slot as usize)?.socket.as_ref()?.native();
        ring.receive(until, native, &mut self.raw)?;
        self.account();
        self.take_events();
        Ok(())
    }

    /// Counts what is lent, for each socket's packets in a row at once.
    fn account(&self) {
        let Some(Way::Ring(ring)) = &self.way else {
            return;
        };
        for run in ring.lent().chunk_by(|one, next| one.slot == next.slot) {
            if let Some(socket) = &self.sockets[run[0].slot as usize].socket {
                socket.account(run.iter().map(|lent| &lent.received));
            }
        }
    }

    fn take_events(&mut self) {
        let Some(Way::Ring(ring)) = &mut self.way else {
            return;
        };
        let raw = mem::take(&mut self.raw);
        let remove = |index| ring.remove(index);
        self.raw = take_each(raw, &mut self.sockets, &mut self.events, remove);
    }

    /// Returns what happened to sockets, besides packets, in the last [`receive`](Self::receive).
    pub fn events(&self) -> &[(SocketToken, ReceiverEvent)] {
        &self.events
    }
}

/// Takes all events. A socket that can't be removed for a moment is closed by the next call, whose events come first; the other events are
/// not lost with it, and the packets of this call neither: another reason than `Busy` is an event of that socket. Until then its place is not given to another one: only `Removed` frees it, which follows a removal that was taken, and
/// a ring is never busy for a socket that leaves already.
fn take_each(
    raw: Vec<(u32, SocketEvent)>,
    sockets: &mut [Slot],
    events: &mut Vec<(SocketToken, ReceiverEvent)>,
    mut remove: impl FnMut(u32) -> Result<()>,
) -> Vec<(u32, SocketEvent)> {
    let mut later = Vec::new();
    for (index, event) in raw {
        let slot = &mut sockets[index as usize];
        let turn = slot.turn;
        let token = SocketToken { index, turn };
        match event {
            SocketEvent::Failed(error) => {
                events.push((token, ReceiverEvent::Failed(error)));
            }
            SocketEvent::Closed => match remove(index) {
                Ok(()) => {
                    slot.leaving = true;
                    events.push((token, ReceiverEvent::Closed));
                }
                Err(error) => {
                    later.push((index, SocketEvent::Closed));
                    if error.kind() != ErrorKind::Busy {
                        events.push((token, ReceiverEvent::Failed(error)));
                    }
                }
            },
            SocketEvent::Removed => slot.socket = None,
        }
    }
    later
}

fn without_socket() -> Error {
    let cause = "it has no socket";
    Error::new(ErrorKind::InvalidInput, "receive", "the receiver", cause).with_remedy("add one")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel takes no command for a moment when the first socket is closed.
    #[test]
    fn no_event_is_lost_where_a_socket_cannot_be_removed_yet() {
        let busy = || Error::new(ErrorKind::Busy, "remove", "a socket", "no room");
        let mut sockets = [Slot::default(), Slot::default(), Slot::default()];
        let mut events = Vec::new();
        let raw = vec![
            (0, SocketEvent::Closed),
            (1, SocketEvent::Failed(busy())),
            (2, SocketEvent::Closed),
        ];
        let mut calls = 0;
        let mut remove = |_| {
            calls += 1;
            if calls == 1 { Err(busy()) } else { Ok(()) }
        };
        let later = take_each(raw, &mut sockets, &mut events, &mut remove);
        let of = |events: &[(SocketToken, ReceiverEvent)]| -> Vec<_> {
            events.iter().map(|(token, _)| token.index()).collect()
        };
        assert_eq!(of(&events), [1, 2]);
        assert!(!sockets[0].leaving && sockets[2].leaving);
        let later = take_each(later, &mut sockets, &mut events, &mut remove);
        assert_eq!(of(&events), [1, 2, 0]);
        assert!(later.is_empty() && sockets[0].leaving);
    }

    /// An error of the call would take its packets back.
    #[test]
    fn why_a_socket_cannot_be_removed_is_an_event_of_that_socket() {
        let refused = Error::new(ErrorKind::Io, "remove", "a socket", "the ring is broken");
        let mut sockets = [Slot::default()];
        let mut events = Vec::new();
        let raw = vec![(0, SocketEvent::Closed)];
        let later = take_each(raw, &mut sockets, &mut events, |_| Err(refused.clone()));
        assert_eq!(later.len(), 1, "it is tried again");
        let [(token, ReceiverEvent::Failed(error))] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!((token.index(), error), (0, &refused));
    }
}
