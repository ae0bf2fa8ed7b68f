//! The explanation of replies that could not be used.

use super::Rejected;
use std::fmt;

/// The most frequent reason why replies could not be used. [`Display`](fmt::Display) prints a
/// sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unusable {
    /// The number of replies with this reason.
    pub replies: u64,
    /// The reason.
    pub reason: Rejected,
    /// The length in octets of the last reply that was too short, and of the shortest valid reply.
    pub truncated: Option<(usize, usize)>,
    /// Whether the session has a key.
    pub is_authenticated: bool,
}

/// The reasons that can apply to all replies of a reflector. Duplicates are not among them, because
/// they follow an accepted reply.
const REASONS: [Rejected; 6] = [
    Rejected::WrongHmac,
    Rejected::Truncated,
    Rejected::InvalidErrorEstimate,
    Rejected::InvalidTime,
    Rejected::Foreign,
    Rejected::Unmatched,
];

impl Unusable {
    pub(super) fn of(
        rejected: &[u64; Rejected::ALL.len()],
        truncated: Option<(usize, usize)>,
        is_authenticated: bool,
    ) -> Option<Self> {
        let count = |reason: &Rejected| rejected[*reason as usize];
        let reason = REASONS.into_iter().rev().max_by_key(count)?;
        let replies = count(&reason);
        (replies > 0).then_some(Self {
            replies,
            reason,
            truncated,
            is_authenticated,
        })
    }

    /// Returns the remedy.
    pub const fn remedy(&self) -> &'static str {
        match self.reason {
            Rejected::WrongHmac => "give both ends the same key file",
            Rejected::Truncated if self.is_authenticated => {
                "give the reflector the key, or leave --key-file out"
            }
            Rejected::Truncated => {
                "see what answers there: replies of a STAMP reflector are as long as the packets (RFC 8762)"
            }
            Rejected::Foreign => "see that one reflector alone answers on that port",
            Rejected::Unmatched => {
                "see what answers there: it changes what it has to return, or takes longer than --timeout"
            }
            _ => {
                "see what answers there: it breaks RFC 8762; try another reflector (wirestamp reflect)"
            }
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let came = match self.replies {
            1 => "1 reply came".to_owned(),
            replies => format!("{replies} replies came"),
        };
        match (self.reason, self.truncated) {
            (Rejected::WrongHmac, _) => write!(f, "{came}, and none is signed with this key"),
            (Rejected::Truncated, _) if self.is_authenticated => {
                write!(f, "{came} without a signature: the reflector has no key")
            }
            (Rejected::Truncated, Some((octets, least))) => {
                write!(
                    f,
                    "{came}, and none could be used: {octets} octets, too short ({least})"
                )
            }
            (reason, _) => write!(f, "{came}, and none could be used: {}", why(reason)),
        }
    }
}

const fn why(reason: Rejected) -> &'static str {
    match reason {
        Rejected::Truncated => "too short",
        Rejected::InvalidErrorEstimate => "invalid Error Estimate (multiplier 0)",
        Rejected::InvalidTime => {
            "invalid timestamps (sent before they were received, or longer there than under way)"
        }
        Rejected::Foreign => "they are of another session (SSID)",
        _ => "they do not return the packet's number and timestamp as sent, or came too late",
    }
}
