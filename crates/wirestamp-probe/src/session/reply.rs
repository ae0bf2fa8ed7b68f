//! Packets that arrive, and the reasons why one is rejected.

use crate::stamp::HostTimestamp;
use wirestamp_core::time::MonotonicTime;

/// A packet as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct ReplyArrival<'a> {
    /// The datagram. The caller must check that it came from the session's reflector.
    pub payload: &'a [u8],
    /// The receive timestamp T4.
    pub received: Option<HostTimestamp>,
    /// The time at which the program received it.
    pub read: MonotonicTime,
    /// The TTL or hop limit.
    pub hop_limit: Option<u8>,
    /// The DSCP and ECN.
    pub traffic_class: Option<u8>,
}

/// The reason why a packet is not accepted as a reply. Rejected packets do not affect results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// It is shorter than a reply of this mode.
    Truncated,
    /// It is not signed with the session's key: the reflector has another one, or the packet is
    /// forged.
    WrongHmac,
    /// It is of another session: its identifier differs.
    Foreign,
    /// Its Error Estimate has the multiplier 0, which is invalid (RFC 4656 §4.1.2).
    InvalidErrorEstimate,
    /// Its T2 and T3 are impossible: missing, T3 before T2, or a residence time longer than the
    /// round trip.
    InvalidTime,
    /// It does not answer a packet in flight: the sequence number or T1 differs from the request,
    /// or the timeout is over.
    Unmatched,
    /// It repeats the number of an accepted reply.
    Duplicate,
    /// Its extensions are not signed with the session's key, or the reflector reports that those of
    /// the request were not.
    Distrusted,
}

impl Rejected {
    /// All reasons.
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
