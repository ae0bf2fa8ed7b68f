//! Why requests are not answered, and how many are.

use crate::missing::MissingCounts;
use crate::tlv::Method;

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dropped {
    /// Shorter than a request can be, or than a packet that may be answered without amplifying.
    Short,
    /// Not signed by the key.
    WrongHmac,
    /// An invalid Error Estimate.
    Invalid,
    /// An answer, of a reflector or of something else that answers each packet: both would go on for ever.
    Loop,
    /// Sent to many hosts, which would all answer.
    NotUnicast,
    /// Its source sends more than its limit.
    RateLimit,
    /// There is no room to remember its sender.
    SessionsFull,
    /// Its number was answered before (authenticated sessions).
    Replayed,
    /// Its receive timestamp is missing, and nothing else is wrong with it so far.
    NoTimestamp,
}

impl Dropped {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Short,
        Self::WrongHmac,
        Self::Invalid,
        Self::Loop,
        Self::NotUnicast,
        Self::RateLimit,
        Self::SessionsFull,
        Self::Replayed,
        Self::NoTimestamp,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::WrongHmac => "wrong_hmac",
            Self::Invalid => "invalid",
            Self::Loop => "loop",
            Self::NotUnicast => "not_unicast",
            Self::RateLimit => "rate_limit",
            Self::SessionsFull => "sessions_full",
            Self::Replayed => "replayed",
            Self::NoTimestamp => "no_timestamp",
        }
    }
}

/// How many requests were answered and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectorCounters {
    /// Replies made.
    pub replies: u64,
    /// Replies that the system did not send.
    pub not_sent: u64,
    /// Replies without a transmit timestamp, by reason: their receivers do not learn when they left.
    pub missing_transmit_timestamps: MissingCounts,
    /// Timestamps that the NIC made, of requests that are answered and of replies.
    pub hardware_timestamps: u64,
    /// The same that the kernel made.
    pub software_timestamps: u64,
    dropped: [u64; Dropped::ALL.len()],
}

impl ReflectorCounters {
    pub(super) fn drop(&mut self, reason: Dropped) {
        self.dropped[reason as usize] += 1;
    }

    pub(super) fn stamped(&mut self, method: Method) {
        match method {
            Method::Hardware => self.hardware_timestamps += 1,
            _ => self.software_timestamps += 1,
        }
    }

    /// Returns the timestamps by who made them.
    pub fn stamps(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("hardware", self.hardware_timestamps),
            ("software", self.software_timestamps),
        ]
        .into_iter()
    }

    /// Returns how many were dropped for a reason.
    pub fn dropped_for(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    /// Returns how many were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}
