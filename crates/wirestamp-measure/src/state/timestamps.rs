//! Counts of transmit and receive timestamps.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// Counts of transmit and receive timestamps. `requested` = `transmitted` + `pending` + the sum of `missing`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimestampCounts {
    /// Packets sent with a request for a transmit timestamp.
    pub requested: u64,
    /// Packets sent that have their transmit timestamp.
    pub transmitted: u64,
    /// Packets sent whose transmit timestamp may still come, or is missing for a reason that is not known yet.
    pub pending: u64,
    /// Packets sent without a transmit timestamp, by reason: `not_sent` or the name of a [`MissingReason`](wirestamp::MissingReason).
    pub missing: Reasons,
    /// Packets received.
    pub received: u64,
    /// Packets received with a receive timestamp.
    pub received_timestamped: u64,
    /// Packets that the system dropped because the socket's queue was full.
    pub queue_overflows: u64,
}

impl TimestampCounts {
    /// The reason of packets that did not leave, by what ICMP says: that is no fault of the timestamps.
    pub const NOT_SENT: &str = "not_sent";

    /// Returns how many packets that left have no timestamp.
    pub fn missing_of_sent(&self) -> u64 {
        let of_sent = |(reason, count): (&String, &u64)| match reason == Self::NOT_SENT {
            true => 0,
            false => *count,
        };
        self.missing.iter().map(of_sent).sum()
    }
}
