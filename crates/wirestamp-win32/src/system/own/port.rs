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

    /// Queues a packet; one thread that waits gets it. Without a handle nobody ever will, and nothing is kept.
    pub(crate) fn post(&self, packet: Packet) {
        let mut queue = self.queue();
        if !queue.closed {
            queue.packets.push_back(packet);
            drop(queue);
            self.changed.notify_one();
        }
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
        *self.queue() = Queue {
            packets: VecDeque::new(),
            closed: true,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Packet = Packet {
        key: 1,
        overlapped: 2,
        status: 0,
        bytes: 3,
    };

    /// A socket keeps its port for as long as it is open: what completes there must not pile up.
    #[test]
    fn a_closed_port_keeps_nothing() {
        let port = Port::default();
        port.post(PACKET);
        port.close();
        port.post(PACKET);
        assert!(port.queue().packets.is_empty());
        assert_eq!(port.take(1, None), Err(Empty::Closed));
    }

    #[test]
    fn each_packet_goes_to_one_of_those_who_wait() {
        let port = Port::default();
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| port.take(8, None))).collect();
            (0..64).for_each(|_| port.post(PACKET));
            let mut taken = 0;
            for thread in waiting {
                taken += thread.join().expect("a thread").expect("packets").len();
            }
            let left = port
                .take(64, Some(Duration::ZERO))
                .map_or(0, |left| left.len());
            assert_eq!(taken + left, 64);
        });
    }
}
