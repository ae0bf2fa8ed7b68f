//! What is kept on disk.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct History {
    /// A folder of its own.
    pub directory: PathBuf,
    /// Bytes on disk, at most; at least 1 MiB. Default: 256 MiB.
    #[serde(default = "quarter_gigabyte")]
    pub limit_bytes: u64,
}

fn quarter_gigabyte() -> u64 {
    256 << 20
}
