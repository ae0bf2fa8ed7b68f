//! How a behaviour ends that does not pass. Judges nothing.

use std::fmt;
use std::panic::Location;

/// How a behaviour ended: it passed, or it stopped. Broken assertions panic.
pub type Outcome<T = ()> = Result<T, Stop>;

/// Why a behaviour did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// This kind of rig can never show it, for this reason.
    Skipped(String),
    /// The rig could show it if this machine had what it lacks: root, a program, a newer kernel.
    Lacking(String),
    /// Something on its way failed.
    Failed(String),
}

impl Stop {
    pub(crate) fn lacking(reason: impl Into<String>) -> Self {
        Self::Lacking(reason.into())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped(reason) | Self::Lacking(reason) => write!(f, "skipped: {reason}"),
            Self::Failed(cause) => f.write_str(cause),
        }
    }
}

/// An error that the behaviour did not expect.
impl From<wirestamp::Error> for Stop {
    #[track_caller]
    fn from(error: wirestamp::Error) -> Self {
        Self::Failed(format!("{error:?} at {}", Location::caller()))
    }
}

/// What a command outside of wirestamp said.
impl From<String> for Stop {
    #[track_caller]
    fn from(cause: String) -> Self {
        Self::Failed(format!("{cause} at {}", Location::caller()))
    }
}
