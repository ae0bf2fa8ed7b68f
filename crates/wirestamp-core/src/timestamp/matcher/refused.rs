//! The reasons why a transmit ID is not accepted.

use core::fmt;

/// The reason why a transmit ID is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// Transmit timestamps are not enabled.
    NotEnabled,
    /// The ID is in use: it is awaited, or its outcome was not fetched, or it resolved without its
    /// timestamp less than 10 s ago and the timestamp could still come.
    Duplicate,
    /// There is no room for another awaited ID: collect timestamps first.
    Full,
    /// The socket was closed.
    Closed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEnabled => "transmit timestamps are not enabled on this socket",
            Self::Duplicate => "the id is still in use",
            Self::Full => "too many ids are awaited",
            Self::Closed => "the socket was closed",
        })
    }
}

impl core::error::Error for Refused {}
