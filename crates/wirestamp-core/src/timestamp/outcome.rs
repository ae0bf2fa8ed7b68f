//! How a transmit id can end and what asking for it can answer. Decides none of it.

use super::{SoftwareTimestamp, Timestamps, TransmitId};
use core::fmt;

/// The reason that a sent datagram has no timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum MissingReason {
    /// The timestamp found the buffer full and was discarded: fetch sooner or ask for more capacity.
    BufferFull,
    /// The system made none: a zero timestamp, or no timestamp of this kind was ever seen on this socket.
    NeverGenerated,
    /// None came in time, though others do; it may still come late.
    Deadline,
    /// The configuration was changed, or the NIC or the id count restarted.
    Reset,
    /// The socket was closed.
    SocketClosed,
    /// The real-time clock was stepped while the packet left: the timestamp can't be placed in time.
    ClockStepped,
    /// This way of sending has none: AF_XDP, where packets are copied or the driver tells of no transmit timestamps. Send by an Ethernet or
    /// UDP socket to have one.
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

/// The end of a transmit ID: timestamps, or the reason that there are none. There is no third; what can be
/// added are reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TransmitOutcome {
    /// With at least one timestamp.
    Timestamped(Timestamps),
    /// Without one.
    Missing(MissingReason),
}

/// A transmit ID that has ended, with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TransmitRecord {
    /// Whose.
    pub id: TransmitId,
    /// How it ended.
    pub outcome: TransmitOutcome,
    /// When it entered the queueing discipline of the first device on its way, on the monotonic clock with its error
    /// bound. `None`: not [asked for](crate::configuration::Timestamping::queueing), or the system gave none. It can
    /// be there although the transmit timestamp is missing: the datagram reached the queue and no driver reported it.
    ///
    /// Populated on: Linux, simulator.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub queued: Option<SoftwareTimestamp>,
}

impl TransmitRecord {
    /// Makes one.
    pub const fn new(id: TransmitId, outcome: TransmitOutcome) -> Self {
        Self {
            id,
            outcome,
            queued: None,
        }
    }

    /// Adds when the datagram entered the queueing discipline.
    #[must_use]
    pub const fn with_queued(mut self, queued: Option<SoftwareTimestamp>) -> Self {
        self.queued = queued;
        self
    }

    /// A record to be overwritten: for making a caller's buffer.
    pub const EMPTY: Self = Self {
        id: TransmitId(0),
        outcome: TransmitOutcome::Missing(MissingReason::NeverGenerated),
        queued: None,
    };
}

/// A transmit timestamp that came after its id had ended without one. Offered as late; never given to
/// another datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LateTimestamp {
    /// Whose it would have been.
    pub id: TransmitId,
    /// What came.
    pub timestamps: Timestamps,
}

impl LateTimestamp {
    /// A timestamp to be overwritten: for making a caller's buffer.
    pub const EMPTY: Self = Self {
        id: TransmitId(0),
        timestamps: Timestamps::NONE,
    };
}

/// The answer to a question for a transmit ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum TransmitAnswer {
    /// It ended, and this answer is the only one: asking again gives `Unknown`.
    Resolved(TransmitOutcome),
    /// Its timestamp is not there yet.
    Pending,
    /// Transmit timestamps are not enabled on this socket.
    NotEnabled,
    /// No datagram with this id is awaited: never sent, failed to send, or already fetched.
    Unknown,
}

/// Counts of the transmit IDs of a socket. Always `sent = pending + timestamped + missing`, the last
/// of them [for all reasons](Self::missing_in_all).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TransmitCounters {
    /// Datagrams sent with an id.
    pub sent: u64,
    /// Ids that are still awaited.
    pub pending: u64,
    /// Ids that ended with a timestamp, fetched or not.
    pub timestamped: u64,
    /// Ids that ended without, by [`MissingReason::ALL`]: see [`missing_for`](Self::missing_for).
    #[cfg_attr(feature = "serde", serde(with = "crate::serialized::by_reason"))]
    pub(crate) missing: [u64; MissingReason::ALL.len()],
    /// Timestamps that came after their id had ended.
    pub late: u64,
    /// Late timestamps dropped because nobody fetched them.
    pub late_dropped: u64,
    /// Timestamps that came twice.
    pub duplicate: u64,
    /// Timestamps for ids that nobody sent.
    pub stray: u64,
    /// Ended ids whose outcome was dropped because nobody fetched it.
    pub forgotten: u64,
}

impl TransmitCounters {
    /// Returns how many ids ended without a timestamp for `reason`.
    pub fn missing_for(&self, reason: MissingReason) -> u64 {
        self.missing[reason as usize]
    }

    /// Returns how many ids ended without a timestamp, for whatever reason.
    pub fn missing_in_all(&self) -> u64 {
        self.missing.iter().sum()
    }
}
