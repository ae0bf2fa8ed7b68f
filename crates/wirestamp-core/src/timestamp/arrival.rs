//! What a backend hands over when its queue of transmit timestamps is read.

use super::{MissingReason, Timestamps, TransmitId};
use core::iter::successors;
use core::net::{IpAddr, SocketAddr};

/// An ICMP error about a datagram that this socket sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpError {
    /// Where the datagram was going, if the system said.
    pub destination: Option<SocketAddr>,
    /// Who reported it, if the system said.
    pub reporter: Option<IpAddr>,
    /// The system's error number (`ECONNREFUSED`, `EHOSTUNREACH`, …).
    pub code: i32,
    /// ICMP type.
    pub icmp_type: u8,
    /// ICMP code.
    pub icmp_code: u8,
}

/// What shares the queue with timestamps and is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// An ICMP error (v4 or v6).
    Icmp(IcmpError),
    /// Zero-copy sends from `first` to `last` are complete.
    ZeroCopy {
        /// First completed send.
        first: u32,
        /// Last completed send.
        last: u32,
    },
    /// Anything else, by the system's origin and error number.
    Other {
        /// `SO_EE_ORIGIN_*`.
        origin: u8,
        /// Error number.
        code: i32,
    },
}

/// Where a backend puts what it found in the system's queue.
pub trait TimestampSink {
    /// Timestamps for `id` came. Called once per message: timestamps of both clocks come in two calls.
    fn timestamped(&mut self, id: TransmitId, timestamps: Timestamps);

    /// It is certain that no timestamp for `id` will come: a zero timestamp, or one that can't be placed.
    fn lost(&mut self, id: TransmitId, reason: MissingReason);

    /// The system's own queue was found full: timestamps may be missing without a trace.
    fn overflowed(&mut self);

    /// Something else was in the queue.
    fn notice(&mut self, notice: Notice);

    /// The next awaited id after `previous`, oldest first (`None` starts over): for systems
    /// that must be asked id by id. Cheapest if asked before `previous` is reported timestamped.
    fn next_awaited(&self, previous: Option<TransmitId>) -> Option<TransmitId>;

    /// How many ids are awaited. Sinks that don't count tell how many there are to ask for.
    fn awaited(&self) -> usize {
        successors(self.next_awaited(None), |id| self.next_awaited(Some(*id))).count()
    }

    /// The system is asked next, which takes its time: whoever waits for what the sink holds
    /// gets it meanwhile.
    fn flush(&mut self) {}
}
