//! Receiving from many sockets on one thread without copying payloads: through io_uring where
//! available, otherwise by a system call per socket.

mod calls;
mod packets;

pub use packets::{LentPacket, Packets};

use crate::deadline::Deadline;
use crate::socket::{AnySocket, UdpSocket};
use calls::Calls;
use std::mem;
use std::sync::Arc;
use wirestamp_core::configuration::{IoUringState, IoUringUnavailable};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::PacketRing;
use wirestamp_sys::packet_ring::SocketEvent;

/// The default number of buffers.
const BUFFERS: u16 = 256;

/// A token that identifies a socket of a [`PacketReceiver`]. A token never identifies a socket that
/// was added later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketToken {
    index: u32,
    turn: u32,
}

impl SocketToken {
    /// Returns a small index for tables, unique among the receiver's current sockets. It is reused
    /// after the socket was removed.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// An event of a socket of a [`PacketReceiver`] other than a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiverEvent {
    /// Receiving failed once, for example with `Unreachable` after an ICMP error. The receiver
    /// continues with this socket.
    Failed(Error),
    /// The socket was closed with [`Socket::close`](crate::socket::Socket::close) and is removed.
    Closed,
}

/// A receiver for many UDP sockets on one thread that lends packets instead of copying them.
///
/// On Linux with the feature `io-uring`, one io_uring receives for all sockets into buffers that
/// this type lends: a call costs as much for a thousand sockets as for one, and the payload is not
/// copied after the kernel. On other systems, or if io_uring is not available, it makes a system
/// call per socket; see [`ring`](Self::ring). Configure the sockets, send, and fetch transmit
/// timestamps as usual.
///
/// Do not call `receive` on a socket that is in a receiver: each packet goes to whichever of the
/// two asks first.
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
/// With io_uring, all calls of [`receive`](Self::receive) must be made on the same thread.
#[derive(Debug)]
pub struct PacketReceiver {
    longest: u16,
    buffers: u16,
    calls_only: bool,
    /// Decided when the first socket is added.
    way: Option<Way>,
    refusal: Option<IoUringUnavailable>,
    sockets: Vec<Slot>,
    events: Vec<(SocketToken, ReceiverEvent)>,
    /// Events of the ring that are still to be processed.
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
    /// Creates a receiver with 256 buffers for payloads of up to `longest` bytes (1,472 for
    /// Ethernet without jumbo frames). Longer payloads are truncated and marked as such.
    pub fn new(longest: u16) -> Self {
        Self::with_buffers(longest, BUFFERS)
    }

    /// Creates a receiver with `buffers` buffers, rounded down to a power of two, at least 1. One
    /// [`receive`](Self::receive) lends at most as many packets. Memory: `buffers × (longest +
    /// 256)` bytes.
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

    /// Avoids io_uring even if it is available. Has no effect after the first socket was added.
    #[must_use]
    pub fn without_ring(mut self) -> Self {
        self.calls_only = true;
        self
    }

    /// Adds a socket, from which the next [`receive`](Self::receive) receives too.
    ///
    /// # Errors
    /// `InvalidInput` if the sockets are not all of this system or all of one simulation.
    pub fn add(&mut self, socket: Arc<UdpSocket>) -> Result<SocketToken> {
        if let Some(known) = self.sockets.iter().find_map(|slot| slot.socket.as_deref()) {
            AnySocket::check_same_system(&[AnySocket::Udp(known), AnySocket::Udp(&socket)])?;
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

    /// Removes a socket. The next [`receive`](Self::receive) still lends packets that were already
    /// taken from it. A token of a removed socket is ignored.
    ///
    /// # Errors
    /// `Busy` if io_uring accepts no more commands at the moment: call again.
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

    /// Returns whether io_uring is used, and if not, why. `NotAsked` before the first socket is
    /// added, and for simulated sockets.
    pub fn ring(&self) -> IoUringState {
        match (&self.way, self.refusal) {
            (Some(Way::Ring(_)), _) => IoUringState::InForce,
            (_, Some(refusal)) => IoUringState::Refused(refusal),
            _ => IoUringState::NotAsked,
        }
    }

    /// Lends the received packets, at most one per buffer; waits for the first until `deadline`. If
    /// the result is empty, nothing arrived, or only [`events`](Self::events). The packets of the
    /// previous call are returned to the receiver.
    ///
    /// Packets of one socket are in their order of arrival; between sockets there is no order.
    ///
    /// # Errors
    /// `InvalidInput` if there is no socket; `Busy` on another thread than the one that received
    /// first; `Io`. An error of a single socket is an event.
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

    /// Counts the lent packets, once for each run of packets of the same socket.
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

    /// Returns the sockets' events during the last [`receive`](Self::receive).
    pub fn events(&self) -> &[(SocketToken, ReceiverEvent)] {
        &self.events
    }
}

/// Processes all events of the ring, and returns those to process again in the next call. If a
/// closed socket cannot be removed now, the next call tries again, so that this call's packets and
/// other events are not lost. An error other than `Busy` becomes an event of that socket. Its slot
/// is not reused until `Removed` confirms the removal.
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

    /// The kernel temporarily accepts no commands when the first socket is closed.
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

    /// An error of the call would lose its packets.
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
