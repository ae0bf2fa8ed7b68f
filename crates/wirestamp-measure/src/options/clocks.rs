//! What this host measures of itself: clocks and paths.

use super::defaults::one_second;
use crate::times::duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Correlation of NICs' clocks with the system's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Clocks {
    /// Whose clocks. Default: all interfaces that have one.
    pub interfaces: Option<Vec<String>>,
    /// TAI minus UTC in seconds.
    pub tai_offset: i32,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            interfaces: None,
            tai_offset: 37,
        }
    }
}

/// A send and receive path of this host: packets from it to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Path {
    /// The loopback interface, or a simulated one.
    pub interface: String,
    /// From one packet to the next; at least 10 ms. Default: 1 s.
    #[serde(default = "one_second", with = "duration")]
    pub interval: Duration,
}

impl Path {
    /// Returns the path of an interface.
    pub fn of(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            interval: one_second(),
        }
    }
}
