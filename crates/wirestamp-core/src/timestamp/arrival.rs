//! Interpreted entries of an error queue: transmit timestamps, ICMP errors and other reports.

use super::{MissingReason, SoftwareTimestamp, Timestamps, TransmitId};
use core::net::{IpAddr, SocketAddr};

/// An ICMP error about a datagram that this socket sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IcmpError {
    /// The destination of the datagram, if the system reported it.
    pub destination: Option<SocketAddr>,
    /// The sender of the ICMP message, if the system reported it.
    pub reporter: Option<IpAddr>,
    /// The system's error number (`ECONNREFUSED`, `EHOSTUNREACH`, …).
    pub code: i32,
    /// The ICMP type.
    pub icmp_type: u8,
    /// The ICMP code.
    pub icmp_code: u8,
}

/// An entry of the error queue that is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Notice {
    /// An ICMP error (v4 or v6).
    Icmp(IcmpError),
    /// The zero-copy sends from `first` to `last` are complete.
    ZeroCopy {
        /// The first completed send.
        first: u32,
        /// The last completed send.
        last: u32,
    },
    /// Any other entry, with the system's origin and error number.
    Other {
        /// The origin (`SO_EE_ORIGIN_*`).
        origin: u8,
        /// The error number.
        code: i32,
    },
}

/// An interpreted entry of the error queue, or of Windows' buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The timestamps of a datagram. Hardware and software timestamps come as two arrivals.
    Timestamped(TransmitId, Timestamps),
    /// The time at which the datagram entered the queueing discipline; one arrival per device
    /// layer.
    Queued(TransmitId, SoftwareTimestamp),
    /// This datagram will get no timestamp: it was zero, or it cannot be converted.
    Lost(TransmitId, MissingReason),
    /// Another entry of the queue.
    Notice(Notice),
    /// The queue was full: timestamps may have been dropped without a report.
    Overflowed,
}

impl Arrival {
    /// Returns the arrival for the converted timestamps of `id`. `in_doubt` is true if one could
    /// not be converted.
    #[inline(always)] // else it is built in memory, and copied
    pub fn of(id: TransmitId, placed: Timestamps, in_doubt: bool) -> Self {
        match placed {
            Timestamps::NONE if in_doubt => Self::Lost(id, MissingReason::ClockStepped),
            Timestamps::NONE => Self::Lost(id, MissingReason::NeverGenerated),
            placed => Self::Timestamped(id, placed),
        }
    }
}

/// The fill level of a socket's receive buffer, which timestamps share with unread datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// The bytes in use, as the system counts them.
    pub used: u32,
    /// The size of the buffer in bytes.
    pub size: u32,
    /// The bytes that one timestamp takes.
    pub charge: u32,
}

impl ReceiveBuffer {
    /// Returns whether the buffer had no room for another timestamp before `just_read` of them were
    /// read.
    pub fn was_full(self, just_read: usize) -> bool {
        let needed = self.charge.saturating_mul(just_read as u32 + 1);
        self.used.saturating_add(needed) >= self.size
    }
}
