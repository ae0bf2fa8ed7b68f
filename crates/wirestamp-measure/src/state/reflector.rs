//! The STAMP reflector.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// The STAMP reflector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReflectorState {
    /// The addresses that it answers on.
    pub listening: Vec<String>,
    /// Packets answered.
    pub replies: u64,
    /// Packets not answered, by reason.
    pub dropped: Reasons,
    /// Sessions that it keeps.
    pub sessions: u64,
}
