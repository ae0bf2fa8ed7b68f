//! The agenda: future events in order of time.

use crate::capture::CaptureId;
use crate::packet::PacketKey;
use crate::socket::SocketId;
use crate::timestamps::Waiting;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use wirestamp_core::interface::InterfaceIndex;

/// Something that will happen inside the simulated system.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Happening {
    /// The packet passes the NIC's timestamp point on transmit.
    Departs(PacketKey),
    /// The packet passes the other NIC's timestamp point on receive.
    Arrives(PacketKey),
    /// The packet reaches the kernel.
    Enters(PacketKey),
    /// The application can have the packet.
    Delivered(PacketKey),
    /// A transmit timestamp or a notice reaches the socket's queue.
    Queued(SocketId, Waiting),
    /// A transmit slot of the NIC is free again, unless it was reset since.
    SlotFree { nic: usize, run: u32 },
    /// A connected peer's ICMP error reaches the socket.
    Refused(SocketId),
    /// A block of a capture was held back long enough.
    HeldBack(CaptureId, u64),
    /// Another program sends its next request.
    Asks(usize),
    /// Another program answers.
    Answers(PacketKey),
    /// The scenario's next event is due.
    Scripted,
    /// The program that disciplines a clock by means of this NIC measures and acts.
    Disciplined { nic: usize },
    /// Who polls sees that another clock is behind an interface.
    ClockNoticed(InterfaceIndex),
    /// The system noticed that notifications were lost.
    LossNoticed,
}

#[derive(Debug)]
struct Entry {
    at: i64,
    order: u64,
    what: Happening,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest; of the same time, the one that was entered first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// All that is still to happen.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BinaryHeap<Entry>,
    entered: u64,
}

impl Agenda {
    pub(crate) fn enter(&mut self, at: i64, what: Happening) {
        self.entries.push(Entry {
            at,
            order: self.entered,
            what,
        });
        self.entered += 1;
    }

    pub(crate) fn next_at(&self) -> Option<i64> {
        self.entries.peek().map(|entry| entry.at)
    }

    /// The next entry up to `until`, and its time.
    pub(crate) fn take(&mut self, until: i64) -> Option<(i64, Happening)> {
        if self.next_at()? > until {
            return None;
        }
        self.entries.pop().map(|entry| (entry.at, entry.what))
    }
}
