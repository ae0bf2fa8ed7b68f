//! Receiving of single datagrams and batches, and the receive counters.

use super::Socket;
use crate::deadline::Deadline;
use crate::inner::Supported;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use wirestamp_core::Result;
use wirestamp_core::backend::{DatagramSocket, Incoming, Interest, Received};
use wirestamp_core::capability::Direction;
use wirestamp_core::time::{MonotonicTime, Span};

/// The numbers of datagrams that a socket received or dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ReceiveCounters {
    /// Datagrams received.
    pub datagrams: u64,
    /// Datagrams received with a timestamp.
    pub timestamped: u64,
    /// Datagrams received without a timestamp: timestamping was off, or neither the NIC nor the
    /// kernel made one.
    pub without_timestamp: u64,
    /// Datagrams that were truncated to the caller's buffer.
    pub truncated: u64,
    /// Datagrams whose control messages were truncated, which may have lost their timestamp.
    pub control_truncated: u64,
    /// Datagrams that the system dropped because the socket's queue was full.
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct ReceiveCounts {
    datagrams: AtomicU64,
    timestamped: AtomicU64,
    truncated: AtomicU64,
    control_truncated: AtomicU64,
}

impl<T: Supported> Socket<T> {
    /// Receives as many datagrams as are available and fit into `batch`; waits for the first at
    /// most until `deadline`. Returns the number of entries that it filled, 0 if no datagram came.
    ///
    /// # Errors
    /// `Unreachable` if a datagram that this connected socket sent was rejected with an ICMP error
    /// (no received datagram is lost; call again); `Closed`.
    pub fn receive_batch(
        &self,
        batch: &mut [Incoming<'_, T>],
        deadline: impl Into<Deadline>,
    ) -> Result<usize> {
        if batch.is_empty() {
            return Ok(0);
        }
        let (deadline, mut until) = (deadline.into(), None);
        loop {
            let count = self.try_receive_batch(batch)?;
            if count > 0 {
                return Ok(count); // no clock is read in this case
            }
            let now = self.now();
            let until = *until.get_or_insert_with(|| deadline.resolve(|| now));
            if now >= until {
                return Ok(0);
            }
            let readiness = self.socket.wait(Interest::Receive, until)?;
            if readiness.closed {
                return Err(self.closed("receive"));
            }
            if readiness.timestamps {
                // an error queue that is not emptied would end every wait at once
                self.collect()?;
            }
            if batch.len() > 1 && readiness.receive {
                self.let_gather(until)?;
            }
        }
    }

    /// Lets datagrams accumulate before receiving, if the configuration asks for it.
    fn let_gather(&self, until: MonotonicTime) -> Result<()> {
        let time = Span::from_nanoseconds(self.gather.load(Ordering::Relaxed).into());
        if time > Span::ZERO {
            self.socket
                .wait(Interest::Close, until.min(self.now() + time))?;
        }
        Ok(())
    }

    /// Receives as many datagrams as are available and fit into `batch`, without waiting.
    ///
    /// # Errors
    /// As [`receive_batch`](Self::receive_batch).
    pub fn try_receive_batch(&self, batch: &mut [Incoming<'_, T>]) -> Result<usize> {
        let count = self.socket.receive(batch)?;
        self.account(batch[..count].iter().map(|slot| &slot.received));
        Ok(count)
    }

    /// Receives one datagram into `buffer`; waits at most until `deadline`. Returns `None` if no
    /// datagram came.
    ///
    /// # Errors
    /// As [`receive_batch`](Self::receive_batch).
    pub fn receive(
        &self,
        buffer: &mut [u8],
        deadline: impl Into<Deadline>,
    ) -> Result<Option<Received<T>>> {
        let mut incoming = Incoming::new(buffer);
        let (one, deadline) = (slice::from_mut(&mut incoming), deadline.into());
        let count = if deadline.is_zero() {
            self.try_receive_batch(one)?
        } else {
            self.receive_batch(one, deadline)?
        };
        Ok((count > 0).then_some(incoming.received))
    }

    /// Returns the receive counters of this socket.
    pub fn receive_counters(&self) -> ReceiveCounters {
        let datagrams = self.receiving.datagrams.load(Ordering::Relaxed);
        let timestamped = self.receiving.timestamped.load(Ordering::Relaxed);
        ReceiveCounters {
            datagrams,
            timestamped,
            without_timestamp: datagrams.saturating_sub(timestamped),
            truncated: self.receiving.truncated.load(Ordering::Relaxed),
            control_truncated: self.receiving.control_truncated.load(Ordering::Relaxed),
            dropped: self.socket.dropped(),
        }
    }

    pub(crate) fn account<'r>(&self, batch: impl Iterator<Item = &'r Received<T>>) {
        let (mut datagrams, mut timestamped, mut truncated, mut control_truncated) = (0, 0, 0, 0);
        for received in batch {
            datagrams += 1;
            timestamped += u64::from(!received.timestamps.is_none());
            truncated += u64::from(received.truncated);
            control_truncated += u64::from(received.control_truncated);
            let interface = received.interface.or(self.leaves_by);
            self.observer.note(
                &self.host.observed,
                Direction::Receive,
                interface,
                &received.timestamps,
            );
        }
        let add = |counter: &AtomicU64, count| {
            if count > 0 {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        };
        add(&self.receiving.datagrams, datagrams);
        add(&self.receiving.timestamped, timestamped);
        add(&self.receiving.truncated, truncated);
        add(&self.receiving.control_truncated, control_truncated);
    }
}
