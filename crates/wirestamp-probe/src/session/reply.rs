//! Packets that arrive, and the reasons why one is no reply.

use crate::stamp::HostTimestamp;
use wirestamp_core::time::MonotonicTime;

/// A packet as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct ReplyArrival<'a> {
    /// The datagram. From whom it came is checked by the caller: a session has one reflector.
    pub payload: &'a [u8],
    /// T4.
    pub received: Option<HostTimestamp>,
    /// When the program had it.
    pub read: MonotonicTime,
    /// TTL or hop limit.
    pub hop_limit: Option<u8>,
    /// DSCP and ECN.
    pub traffic_class: Option<u8>,
}

/// Why a packet is no reply to this session. None changes a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// Shorter than a reply of this mode.
    Truncated,
    /// Not signed by the session's key: the reflector has another one, or the packet is forged.
    WrongHmac,
    /// Of another session: its identifier is not ours.
    Foreign,
    /// Its Error Estimate has the multiplier 0, which means nothing (RFC 4656 §4.1.2).
    InvalidErrorEstimate,
    /// Its T2 and T3 cannot be: no time, T3 before T2, or longer in the reflector than the packet was away.
    InvalidTime,
    /// Answers nothing that is awaited: sequence number or T1 are not as sent, or the reply is over its time.
    Unmatched,
    /// A second reply with the number of one that was accepted.
    Duplicate,
    /// Its extensions are not signed by the session's key, or the reflector says that ours were not.
    Distrusted,
}

impl Rejected {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Truncated,
        Self::WrongHmac,
        Self::Foreign,
        Self::InvalidErrorEstimate,
        Self::InvalidTime,
        Self::Unmatched,
        Self::Duplicate,
        Self::Distrusted,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::WrongHmac => "wrong_hmac",
            Self::Foreign => "foreign",
            Self::InvalidErrorEstimate => "invalid_error_estimate",
            Self::InvalidTime => "invalid_time",
            Self::Unmatched => "unmatched",
            Self::Duplicate => "duplicate",
            Self::Distrusted => "distrusted",
        }
    }
}
