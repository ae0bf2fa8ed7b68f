//! Completion ports: queues of packets, each of which one waiting thread takes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a completion port is given when an operation is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) key: usize,
    /// The address of the caller's `OVERLAPPED`, or what a program posted in its place.
    pub(crate) overlapped: usize,
    /// NTSTATUS.
    pub(crate) status: usize,
    pub(crate) bytes: u32,
}

/// A completion port.
#[derive(Debug, Default)]
pub(crate) struct Port {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Packet>,
    /// Nobody has a handle of it any more.
    closed: bool,
}

/// Why a wait gave no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    TimedOut,
    Closed,
}

impl Port {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a packet; one thread that waits gets it.
    pub(crate) fn post(&self, packet: Packet) {
        self.queue().packets.push_back(packet);
        self.changed.notify_one();
    }

    /// Waits for packets and takes the oldest, at most `most` (at least 1).
    pub(crate) fn take(
        &self,
        most: usize,
        timeout: Option<Duration>,
    ) -> Result<Vec<Packet>, Empty> {
        // What no clock can say is for ever.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut queue = self.queue();
        loop {
            if queue.closed {
                return Err(Empty::Closed);
            }
            if !queue.packets.is_empty() {
                let taken = most.min(queue.packets.len());
                return Ok(queue.packets.drain(..taken).collect());
            }
            queue = match deadline {
                None => self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(Empty::TimedOut);
                    }
                    let waited = self.changed.wait_timeout(queue, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Ends every wait.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
        self.changed.notify_all();
    }
}

/// The port that a socket's completions go to, and under which key.
#[derive(Debug)]
pub(crate) struct Association {
    port: Arc<Port>,
    key: usize,
}

impl Association {
    pub(crate) fn new(port: Arc<Port>, key: usize) -> Self {
        Self { port, key }
    }

    pub(crate) fn key(&self) -> usize {
        self.key
    }

    pub(crate) fn post(&self, packet: Packet) {
        self.port.post(packet);
    }
}
