//! The configuration of the history on disk.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The history on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct History {
    /// The folder, used by nothing else.
    #[cfg_attr(feature = "schema", schemars(example = &"/var/lib/wirestamp-monitor/history"))]
    pub directory: PathBuf,
    /// The largest size on disk in bytes.
    #[serde(default = "quarter_gigabyte")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1048576)))]
    pub limit_bytes: u64,
}

fn quarter_gigabyte() -> u64 {
    256 << 20
}
