//! The state of this host's interfaces.

use super::reasons::Reasons;
use serde::{Deserialize, Serialize};

/// A network interface.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InterfaceState {
    /// Its name.
    pub name: String,
    /// "up", "down" and the like.
    pub state: String,
    /// Number of its PTP hardware clock.
    pub hardware_clock: Option<u32>,
    /// Whether its hardware timestamps transmitted packets now.
    pub transmit: Option<bool>,
    /// Which received packets its hardware timestamps now.
    pub receive: Option<String>,
    /// Whether its clock can be read together with the system's.
    pub cross_timestamp: Option<bool>,
    /// Changes that the system reported since the start, by kind.
    pub changes: Reasons,
}
