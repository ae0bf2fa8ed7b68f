//! Owns how a transmit id can end and what asking for it can answer. Decides none of it.

use super::{Stamps, TransmitId};
use core::fmt;

/// Why an id ended without a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// The stamp found the buffer full and was discarded: fetch sooner or ask for more capacity.
    BufferFull,
    /// The system made none: a zero stamp, or no stamp of this kind was ever seen on this socket.
    NeverGenerated,
    /// None came in time, though others do; it may still come late.
    Deadline,
    /// The configuration was changed, or the adapter or the id count restarted.
    Reset,
    /// The socket was closed.
    SocketClosed,
    /// The civil clock was stepped while the packet left: the stamp can't be placed in time.
    ClockStepped,
}

impl LossReason {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 6] = [
        Self::BufferFull,
        Self::NeverGenerated,
        Self::Deadline,
        Self::Reset,
        Self::SocketClosed,
        Self::ClockStepped,
    ];

    /// A short, stable name: what `--json` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::NeverGenerated => "never_generated",
            Self::Deadline => "deadline",
            Self::Reset => "reset",
            Self::SocketClosed => "socket_closed",
            Self::ClockStepped => "clock_stepped",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferFull => "the stamp found the buffer full",
            Self::NeverGenerated => "no stamp was generated",
            Self::Deadline => "no stamp came before the deadline",
            Self::Reset => "the stamping was reset",
            Self::SocketClosed => "the socket was closed",
            Self::ClockStepped => "the civil clock was stepped while the packet left",
        })
    }
}

/// How an id ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmitOutcome {
    /// With at least one stamp.
    Stamped(Stamps),
    /// Without one.
    Lost(LossReason),
}

/// An ended id, as batches return it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransmitRecord {
    /// Whose.
    pub id: TransmitId,
    /// How it ended.
    pub outcome: TransmitOutcome,
}

impl TransmitRecord {
    /// A record to be overwritten: for making a caller's buffer.
    pub const EMPTY: Self = Self {
        id: TransmitId(0),
        outcome: TransmitOutcome::Lost(LossReason::NeverGenerated),
    };
}

/// A stamp that came after its id had ended as lost. Offered as late; never given to
/// another datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateStamp {
    /// Whose it would have been.
    pub id: TransmitId,
    /// What came.
    pub stamps: Stamps,
}

/// What asking for an id answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmitAnswer {
    /// It ended, and this answer is the only one: asking again gives `Unknown`.
    Ended(TransmitOutcome),
    /// Its stamp is not there yet.
    Pending,
    /// Transmit stamps are not enabled on this socket.
    NotEnabled,
    /// No datagram with this id is awaited: never sent, failed to send, or already fetched.
    Unknown,
}

/// What became of the ids of a socket. Always `sent = pending + stamped + Σ lost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TransmitCounters {
    /// Datagrams sent with an id.
    pub sent: u64,
    /// Ids that are still awaited.
    pub pending: u64,
    /// Ids that ended with a stamp, fetched or not.
    pub stamped: u64,
    /// Ids that ended without, by [`LossReason::ALL`].
    pub lost: [u64; LossReason::ALL.len()],
    /// Stamps that came after their id had ended.
    pub late: u64,
    /// Late stamps dropped because nobody fetched them.
    pub late_dropped: u64,
    /// Stamps that came twice.
    pub duplicate: u64,
    /// Stamps for ids that nobody sent.
    pub stray: u64,
    /// Ended ids whose outcome was dropped because nobody fetched it.
    pub forgotten: u64,
}

impl TransmitCounters {
    /// How many ids were lost for `reason`.
    pub fn lost_for(&self, reason: LossReason) -> u64 {
        self.lost[reason as usize]
    }

    /// How many ids were lost for any reason.
    pub fn lost_in_all(&self) -> u64 {
        self.lost.iter().sum()
    }
}
