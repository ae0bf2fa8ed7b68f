//! The counters of a reflector, and the reasons why requests are dropped.

use crate::missing::MissingCounts;
use crate::tlv::Method;

/// The reason why a request is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dropped {
    /// It is shorter than any request, or than a request that may be answered without
    /// amplification.
    Short,
    /// It is not signed with the key.
    WrongHmac,
    /// Its Error Estimate is invalid.
    Invalid,
    /// It is an answer, from a reflector or another program that answers every packet, and would
    /// cause an endless loop.
    Loop,
    /// It was sent to several hosts, which would all answer.
    NotUnicast,
    /// Its source exceeds the rate limit.
    RateLimit,
    /// There is no room for another session.
    SessionsFull,
    /// Its sequence number was answered before (authenticated sessions).
    Replayed,
    /// Its receive timestamp is missing; all checks up to then passed.
    NoTimestamp,
}

impl Dropped {
    /// All reasons.
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

/// The numbers of requests that were answered and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectorCounters {
    /// Replies created.
    pub replies: u64,
    /// Replies that the system did not send.
    pub not_sent: u64,
    /// Replies without a transmit timestamp, by reason. Their receivers get no exact T3.
    pub missing_transmit_timestamps: MissingCounts,
    /// Timestamps of answered requests and of replies that the NIC made.
    pub hardware_timestamps: u64,
    /// Timestamps of answered requests and of replies that the kernel made.
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

    /// Returns the numbers of timestamps by source.
    pub fn stamps(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("hardware", self.hardware_timestamps),
            ("software", self.software_timestamps),
        ]
        .into_iter()
    }

    /// Returns the number of requests dropped for a reason.
    pub fn dropped_for(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    /// Returns the number of dropped requests.
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}
