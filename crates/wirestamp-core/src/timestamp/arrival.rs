//! What a system's queue of transmit timestamps holds, once it is known what it means.

use super::{MissingReason, SoftwareTimestamp, Timestamps, TransmitId};
use core::net::{IpAddr, SocketAddr};

/// An ICMP error about a datagram that this socket sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

/// A report from the queue of transmit timestamps that is no timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
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

/// An entry of an error queue, or of Windows' buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Timestamps of a datagram. Those of both clocks come as two arrivals.
    Timestamped(TransmitId, Timestamps),
    /// The datagram entered the queueing discipline: one arrival for each device layer.
    Queued(TransmitId, SoftwareTimestamp),
    /// No timestamp of this datagram will come: it was zero, or it can't be placed.
    Lost(TransmitId, MissingReason),
    /// Something else was in the queue.
    Notice(Notice),
    /// The queue was full: timestamps may be missing without a trace.
    Overflowed,
}

impl Arrival {
    /// Returns what `placed` timestamps of `id` mean. `in_doubt`: whether there was one that could not be
    /// placed.
    #[inline(always)] // else it is built in memory, and copied
    pub fn of(id: TransmitId, placed: Timestamps, in_doubt: bool) -> Self {
        match placed {
            Timestamps::NONE if in_doubt => Self::Lost(id, MissingReason::ClockStepped),
            Timestamps::NONE => Self::Lost(id, MissingReason::NeverGenerated),
            placed => Self::Timestamped(id, placed),
        }
    }
}

/// The level of a socket's receive buffer, which timestamps share with unread datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Bytes in use, as the system counts them.
    pub used: u32,
    /// Bytes there are.
    pub size: u32,
    /// Bytes that one timestamp takes.
    pub charge: u32,
}

impl ReceiveBuffer {
    /// Returns whether it had no room for one more timestamp before `just_read` of them were read.
    pub fn was_full(self, just_read: usize) -> bool {
        let needed = self.charge.saturating_mul(just_read as u32 + 1);
        self.used.saturating_add(needed) >= self.size
    }
}
