//! Changes on a system: which interface, and what about it.

use crate::interface::InterfaceIndex;
use alloc::boxed::Box;

/// A possible change on the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// Which interface; `None`: any of them (events were lost, or the system does not say).
    pub interface: Option<InterfaceIndex>,
    /// What about it.
    pub kind: ChangeKind,
}

/// The property of an interface that may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ChangeKind {
    /// It appeared.
    Added,
    /// It went away.
    Removed,
    /// Up, down, carrier, name, MTU.
    Link,
    /// Its hardware clock appeared or went away.
    HardwareClock,
    /// Its timestamping configuration.
    Configuration,
    /// The system does not say, or reports were lost.
    Unspecified,
}

impl ChangeKind {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Link => "link",
            Self::HardwareClock => "hardware_clock",
            Self::Configuration => "configuration",
            Self::Unspecified => "unspecified",
        }
    }
}

/// Receives changes. Runs on a thread of the backend's choice, one call at a time.
pub type ChangeSink = Box<dyn FnMut(Change) + Send>;
