//! The outcomes of transmit IDs: timestamps, or the reason there are none.

use super::{SoftwareTimestamp, Timestamps, TransmitId};
use core::fmt;

/// The reason why a sent datagram has no timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum MissingReason {
    /// The timestamp was discarded because the buffer was full: fetch sooner, or configure a larger
    /// capacity.
    BufferFull,
    /// The system made no timestamp: it returned zero, or this socket never got a timestamp of this
    /// kind.
    NeverGenerated,
    /// The timestamp did not come before the deadline, though others did; it may still come late.
    Deadline,
    /// The configuration was changed, or the NIC or the count of IDs restarted.
    Reset,
    /// The socket was closed.
    SocketClosed,
    /// The real-time clock was stepped while the packet left, so the timestamp cannot be converted.
    ClockStepped,
    /// This mode of sending has no timestamps: AF_XDP with copied packets, or with a driver without
    /// transmit timestamps. Send through an Ethernet or UDP socket instead.
    NotSupported,
}

impl MissingReason {
    /// Every reason, in the order of the counters.
    pub const ALL: &'static [Self] = &[
        Self::BufferFull,
        Self::NeverGenerated,
        Self::Deadline,
        Self::Reset,
        Self::SocketClosed,
        Self::ClockStepped,
        Self::NotSupported,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::NeverGenerated => "never_generated",
            Self::Deadline => "deadline",
            Self::Reset => "reset",
            Self::SocketClosed => "socket_closed",
            Self::ClockStepped => "clock_stepped",
            Self::NotSupported => "not_supported",
        }
    }
}

impl fmt::Display for MissingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferFull => "the timestamp found the buffer full",
            Self::NeverGenerated => "no timestamp was generated",
            Self::Deadline => "no timestamp came before the deadline",
            Self::Reset => "the timestamping was reset",
            Self::SocketClosed => "the socket was closed",
            Self::ClockStepped => "the real-time clock was stepped while the packet left",
            Self::NotSupported => "this way of sending has no transmit timestamps",
        })
    }
}

/// The outcome of a transmit ID: timestamps, or the reason there are none. Only reasons will be
/// added in future versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TransmitOutcome {
    /// At least one timestamp came.
    Timestamped(Timestamps),
    /// There is no timestamp.
    Missing(MissingReason),
}

/// A resolved transmit ID with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TransmitRecord {
    /// The transmit ID.
    pub id: TransmitId,
    /// Its outcome.
    pub outcome: TransmitOutcome,
    /// The time at which the datagram entered the queueing discipline of its first device, on the
    /// monotonic clock with an error bound. `None` if it was not
    /// [requested](crate::configuration::Timestamping::queueing), or the system did not report it.
    /// It can be present although the transmit timestamp is missing: the datagram reached the
    /// queue, and no driver reported its transmission.
    ///
    /// Set on Linux and in the simulator.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub queued: Option<SoftwareTimestamp>,
}

impl TransmitRecord {
    /// Creates a record.
    pub const fn new(id: TransmitId, outcome: TransmitOutcome) -> Self {
        Self {
            id,
            outcome,
            queued: None,
        }
    }

    /// Adds the time at which the datagram entered the queueing discipline.
    #[must_use]
    pub const fn with_queued(mut self, queued: Option<SoftwareTimestamp>) -> Self {
        self.queued = queued;
        self
    }

    /// A placeholder for initialising buffers.
    pub const EMPTY: Self = Self {
        id: TransmitId(0),
        outcome: TransmitOutcome::Missing(MissingReason::NeverGenerated),
        queued: None,
    };
}

/// A transmit timestamp that came after its ID had resolved without one. It is never assigned to
/// another datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LateTimestamp {
    /// The ID of its datagram.
    pub id: TransmitId,
    /// The late timestamps.
    pub timestamps: Timestamps,
}

impl LateTimestamp {
    /// A placeholder for initialising buffers.
    pub const EMPTY: Self = Self {
        id: TransmitId(0),
        timestamps: Timestamps::NONE,
    };
}

/// The answer to a query for a transmit ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum TransmitAnswer {
    /// The ID has resolved. The outcome is returned once: the next query returns `Unknown`.
    Resolved(TransmitOutcome),
    /// The timestamp has not come yet.
    Pending,
    /// Transmit timestamps are not enabled on this socket.
    NotEnabled,
    /// No datagram with this ID is known: it was never sent, its send failed, or its outcome was
    /// fetched.
    Unknown,
}

/// The numbers of transmit IDs of a socket by outcome. At any time `sent = pending + timestamped +
/// missing`, with `missing` [for all reasons](Self::missing_in_all).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TransmitCounters {
    /// Datagrams sent with an ID.
    pub sent: u64,
    /// IDs that are unresolved.
    pub pending: u64,
    /// IDs that resolved to a timestamp, fetched or not.
    pub timestamped: u64,
    /// IDs that resolved without one, in the order of [`MissingReason::ALL`]: see
    /// [`missing_for`](Self::missing_for).
    #[cfg_attr(feature = "serde", serde(with = "crate::serialized::by_reason"))]
    pub(crate) missing: [u64; MissingReason::ALL.len()],
    /// Timestamps that came after their ID had resolved without one.
    pub late: u64,
    /// Late timestamps that were dropped because they were not fetched in time.
    pub late_dropped: u64,
    /// Timestamps that came twice.
    pub duplicate: u64,
    /// Timestamps for unknown IDs.
    pub stray: u64,
    /// Resolved IDs whose outcome was dropped because it was not fetched in time.
    pub forgotten: u64,
}

impl TransmitCounters {
    /// Returns the number of IDs that resolved without a timestamp for `reason`.
    pub fn missing_for(&self, reason: MissingReason) -> u64 {
        self.missing[reason as usize]
    }

    /// Returns the number of IDs that resolved without a timestamp, for all reasons together.
    pub fn missing_in_all(&self) -> u64 {
        self.missing.iter().sum()
    }
}
