//! Many sockets received from by one thread, through one ring, without copying: what their commands'
//! ends mean, and the timestamps of what they brought.

use super::receive::{Envelope, is_in_doubt};
use super::ring::{Arrived, Completed, LendingRing};
use super::{Socket, lock};
use crate::native::clock;
use crate::native::error::system_error;
use crate::packet_ring::SocketEvent;
use std::io;
use std::os::fd::AsFd;
use wirestamp_core::backend::{Received, Udp};
use wirestamp_core::configuration::IoUringUnavailable;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::Clocks;
use wirestamp_core::{Error, ErrorKind, Result};

/// Receives from sockets of UDP through one ring and lends what it receives. Of the thread that first receives.
#[derive(Debug)]
pub struct PacketRing {
    ring: LendingRing,
    slots: Vec<Slot>,
    /// Those whose command ended, or was never given.
    to_arm: Vec<u32>,
    /// Written again and again, because what is known of a datagram is much to copy.
    lent: Vec<Lent>,
    /// How many of these are lent at the moment.
    filled: usize,
}

/// A datagram in a buffer of the ring.
#[derive(Debug)]
pub struct Lent {
    /// The number of its socket.
    pub slot: u32,
    /// Its timestamps and other metadata.
    pub received: Received<Udp>,
    arrived: Arrived,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Free,
    Used,
    Leaving,
}

impl PacketRing {
    /// For payloads of up to `longest` bytes; at most `buffers` datagrams are lent at a time, rounded down to
    /// a power of two.
    ///
    /// # Errors
    /// What the kernel lacks, or forbids.
    pub fn new(longest: u16, buffers: u16) -> std::result::Result<Self, IoUringUnavailable> {
        Ok(Self {
            ring: LendingRing::new(longest, buffers)?,
            slots: Vec::new(),
            to_arm: Vec::new(),
            lent: Vec::new(),
            filled: 0,
        })
    }

    /// Receives from `socket` too, which stays open until [`SocketEvent::Removed`]. `slot`: a number of the
    /// caller's that is not in use, small because it is an index.
    ///
    /// # Errors
    /// `Busy` if the number is in use; `NotSupported` if a call of the socket would wait and can't be kept from it.
    pub fn add(&mut self, slot: u32, socket: &Socket) -> Result<()> {
        let refused = |kind, cause: &'static str| {
            Err(Error::new(
                kind,
                "receive through a ring",
                &socket.name,
                cause,
            ))
        };
        if !socket.never_blocks() {
            return refused(ErrorKind::NotSupported, "its calls wait");
        }
        let index = slot as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, Slot::Free);
        }
        if self.slots[index] != Slot::Free {
            return refused(ErrorKind::Busy, "its number is in use");
        }
        let closing = socket.closing.descriptor();
        let watched = closing.and_then(|closing| self.ring.watch(slot, closing));
        watched.map_err(|error| socket.failure("receive through a ring", &error))?;
        self.slots[index] = Slot::Used;
        self.to_arm.push(slot);
        Ok(())
    }

    /// Receives no more from it; [`SocketEvent::Removed`] follows.
    ///
    /// # Errors
    /// `Busy` for a moment.
    pub fn remove(&mut self, slot: u32) -> Result<()> {
        if self.slots.get(slot as usize) != Some(&Slot::Used) {
            return Ok(());
        }
        self.ring.cancel(slot).map_err(|error| failed(&error))?;
        self.slots[slot as usize] = Slot::Leaving;
        Ok(())
    }

    /// Takes back what was lent, and lends what waits. If nothing does, waits for a datagram or an event, until
    /// `until`. `socket`: the one of a number.
    ///
    /// # Errors
    /// `Io`; `Busy` on another thread than the first.
    pub fn receive<'s>(
        &mut self,
        until: MonotonicTime,
        socket: impl Fn(u32) -> Option<&'s Socket>,
        events: &mut Vec<(u32, SocketEvent)>,
    ) -> Result<()> {
        self.filled = 0;
        self.ring.give_back();
        self.arm(&socket, events)?;
        self.ring.look().map_err(|error| failed(&error))?;
        loop {
            self.take(&socket, events);
            if !self.ring.lent().is_empty() || !events.is_empty() {
                break;
            }
            let time = clock::timeout(until);
            if time.is_some_and(|time| (time.tv_sec, time.tv_nsec) == (0, 0)) {
                break;
            }
            self.ring.wait(time).map_err(|error| failed(&error))?;
            self.arm(&socket, events)?; // a command without a buffer has them again
        }
        self.open(&socket);
        Ok(())
    }

    fn arm<'s>(
        &mut self,
        socket: &impl Fn(u32) -> Option<&'s Socket>,
        events: &mut Vec<(u32, SocketEvent)>,
    ) -> Result<()> {
        while let Some(slot) = self.to_arm.last().copied() {
            if self.slots[slot as usize] == Slot::Leaving {
                // it has no command whose end would report this
                self.slots[slot as usize] = Slot::Free;
                events.push((slot, SocketEvent::Removed));
            }
            if self.slots[slot as usize] == Slot::Used {
                if let Some(socket) = socket(slot) {
                    let armed = self.ring.arm(slot, socket.as_fd());
                    armed.map_err(|error| socket.failure("receive", &error))?;
                }
            }
            self.to_arm.pop();
        }
        Ok(())
    }

    fn take<'s>(
        &mut self,
        socket: &impl Fn(u32) -> Option<&'s Socket>,
        events: &mut Vec<(u32, SocketEvent)>,
    ) {
        let (slots, to_arm) = (&mut self.slots, &mut self.to_arm);
        self.ring.take(|completed| match completed {
            Completed::Closed { slot } => events.push((slot, SocketEvent::Closed)),
            Completed::Ended { slot, .. } if slots[slot as usize] == Slot::Leaving => {
                slots[slot as usize] = Slot::Free;
                events.push((slot, SocketEvent::Removed));
            }
            Completed::Ended { slot, code } => {
                to_arm.push(slot);
                match code {
                    // no buffer was left, its thread ended, or it looked in vain
                    0 | libc::ENOBUFS | libc::ECANCELED | libc::EAGAIN => {}
                    code => {
                        let error = io::Error::from_raw_os_error(code);
                        let failed = socket(slot).map(|socket| socket.failure("receive", &error));
                        events.extend(failed.map(|error| (slot, SocketEvent::Failed(error))));
                    }
                }
            }
        });
    }

    /// Reads what came with the datagrams: those of one socket in a row take its lock and ask its clocks once.
    fn open<'s>(&mut self, socket: &impl Fn(u32) -> Option<&'s Socket>) {
        for run in self.ring.lent().chunk_by(|one, next| one.slot == next.slot) {
            let Some(socket) = socket(run[0].slot) else {
                continue; // nobody's any more
            };
            let first = self.filled;
            let mut receiving = lock(&socket.receiving);
            let placement = &mut receiving.placement;
            let clocks = socket.clocks(placement);
            for arrived in run {
                let Some(datagram) = self.ring.datagram(*arrived) else {
                    continue;
                };
                let envelope = Envelope {
                    name: datagram.name,
                    before: &[],
                    control: datagram.control,
                    length: datagram.payload.len(),
                    truncated: datagram.truncated,
                    control_truncated: datagram.control_truncated,
                };
                if self.filled == self.lent.len() {
                    self.lent.push(Lent {
                        slot: arrived.slot,
                        received: Received::EMPTY,
                        arrived: *arrived,
                    });
                }
                let lent = &mut self.lent[self.filled];
                (lent.slot, lent.arrived) = (arrived.slot, *arrived);
                socket.open_envelope(&envelope, placement, clocks, &mut lent.received);
                self.filled += 1;
            }
            if let Some(Clocks::Read(read_at)) = clocks {
                let lent = &self.lent[first..self.filled];
                let in_doubt = lent.iter().any(|lent| is_in_doubt(&lent.received));
                socket.settle(placement, read_at, in_doubt, false);
            }
        }
    }

    /// Returns the lent datagrams.
    #[inline]
    pub fn lent(&self) -> &[Lent] {
        &self.lent[..self.filled]
    }

    /// The payload of something that is lent.
    #[inline]
    pub fn payload(&self, lent: &Lent) -> &[u8] {
        self.ring.payload(lent.arrived)
    }
}

fn failed(error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EEXIST) => Error::new(
            ErrorKind::Busy,
            "receive",
            "the ring of several sockets",
            "another thread received through it before",
        )
        .with_remedy("receive on one thread, or make a receiver for each"),
        _ => system_error("receive", "the ring of several sockets", error),
    }
}
