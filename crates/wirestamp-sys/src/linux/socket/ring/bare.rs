//! Datagrams lent by a bare ring, with which the bench compares the library. Never part of a release.

use super::lending::LendingRing;
use crate::native::wire::control;
use std::hint::black_box;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A ring that receives from one socket.
#[derive(Debug)]
pub struct Ring {
    ring: LendingRing,
    /// Closed after the ring.
    _socket: OwnedFd,
}

impl Ring {
    /// For payloads of up to `longest` bytes, with `buffers` of them.
    ///
    /// # Errors
    /// The system's, or what it lacks.
    pub fn new(socket: OwnedFd, longest: u16, buffers: u16) -> io::Result<Self> {
        let refused = |missing| io::Error::new(io::ErrorKind::Unsupported, format!("{missing:?}"));
        let mut ring = LendingRing::new(longest, buffers).map_err(refused)?;
        ring.arm(0, socket.as_fd())?;
        Ok(Self {
            ring,
            _socket: socket,
        })
    }

    /// Takes what waits, as much as one look into the ring gives: how many datagrams, and how many of them with a
    /// software timestamp.
    ///
    /// # Errors
    /// The system's.
    pub fn take(&mut self) -> io::Result<(usize, usize)> {
        self.ring.give_back();
        self.ring.look()?;
        let mut ended = None;
        self.ring.take(|completed| ended = Some(completed));
        if let Some(ended) = ended {
            return Err(io::Error::other(format!("{ended:?}")));
        }
        let is_timestamped = |arrived| {
            let datagram = self.ring.datagram(arrived)?;
            black_box((datagram.name, datagram.payload));
            control::received(datagram.control).timestamps.software
        };
        let lent = self.ring.lent();
        let timestamped = lent.iter().filter_map(|arrived| is_timestamped(*arrived));
        Ok((lent.len(), timestamped.count()))
    }
}
