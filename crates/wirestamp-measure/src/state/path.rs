//! The state of send and receive paths of this host.

use super::reasons::Reasons;
use super::timestamps::TimestampCounts;
use crate::delays::Delays;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A send and receive path of this host, measured with packets to itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PathState {
    /// Name of the interface.
    pub interface: String,
    /// Whose timestamps count: `hardware` or `software`.
    #[serde(default)]
    pub source: String,
    /// Timestamps that were used, of packets that left and arrived, by source.
    #[serde(default)]
    pub stamps: Reasons,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that did not arrive in time.
    pub lost: u64,
    /// Packets that may still arrive.
    pub in_flight: u64,
    /// Delays by name: "send_path", "wire", "receive_path".
    pub delays: BTreeMap<String, Delays>,
    /// Counts of its timestamps.
    pub timestamps: TimestampCounts,
    /// The system's last error.
    pub error: Option<String>,
}
