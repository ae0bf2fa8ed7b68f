//! The state of tasks: whether each runs.

use serde::{Deserialize, Serialize};

/// A thing that the configuration asks for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TaskState {
    /// "clock", "path", "stamp", "reflector", "ntp" or "ptp".
    pub kind: String,
    /// Name of the interface, server or session.
    pub name: String,
    /// "running", "starting" or "failed": then it is tried again.
    pub state: String,
    /// Why it failed.
    pub error: Option<String>,
    /// How often it has failed since the start.
    #[serde(default)]
    pub failures: u64,
}
