//! The STAMP reflector.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// The STAMP reflector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReflectorState {
    /// The addresses that it answers on: none before its timestamps can be converted.
    pub listening: Vec<String>,
    /// Who timestamps its packets: `hardware` or `software`. With `hardware`, the kernel where the NIC made no timestamp.
    #[serde(default)]
    pub source: String,
    /// Packets answered.
    pub replies: u64,
    /// Packets not answered, by reason.
    pub dropped: Reasons,
    /// Replies that the system refused to send.
    #[serde(default)]
    pub not_sent: u64,
    /// Replies whose transmit timestamp is missing, by reason.
    #[serde(default)]
    pub missing: Reasons,
    /// Timestamps of requests and replies, by who made them: `hardware` and `software`.
    #[serde(default)]
    pub stamps: Reasons,
    /// Sessions that it keeps.
    pub sessions: u64,
    /// Settings that work, but perhaps not as they are meant, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
}
