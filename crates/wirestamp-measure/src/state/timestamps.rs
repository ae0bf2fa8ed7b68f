//! Counts of transmit and receive timestamps.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// Counts of transmit and receive timestamps. `requested` = `transmitted` + `pending` + the sum of `missing`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TimestampCounts {
    /// Packets sent whose transmit timestamp was asked for.
    pub requested: u64,
    /// Those that have one.
    pub transmitted: u64,
    /// Those whose timestamp may still come.
    pub pending: u64,
    /// Those without, by reason.
    pub missing: Reasons,
    /// Packets received.
    pub received: u64,
    /// Those with a receive timestamp.
    pub received_timestamped: u64,
    /// Packets that the system dropped because the socket's queue was full.
    pub queue_overflows: u64,
}
