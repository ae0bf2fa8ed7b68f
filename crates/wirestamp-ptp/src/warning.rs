//! Warnings about a running clock.

use wirestamp::Error;

/// A warning about a running clock. [`Display`](std::fmt::Display) prints a sentence with the
/// remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Software timestamps are used although hardware timestamps are requested, because the NIC
    /// does not timestamp.
    SoftwareInstead {
        /// The port's interface.
        interface: String,
        /// Why the NIC does not timestamp.
        error: Error,
    },
    /// A bridge, bond or team takes the packets that arrive at the interface, so no UDP message
    /// reaches the port.
    Diverted {
        /// The port's interface.
        interface: String,
        /// A sentence that names it, and the remedy.
        why: String,
    },
    /// The NIC's clock shows UTC, but its time is announced as PTP time, which is TAI: clocks that
    /// derive UTC from it are wrong by the whole offset.
    ShowsUtc {
        /// The port's interface.
        interface: String,
        /// The announced TAI minus UTC in seconds.
        utc_offset: i16,
    },
}

impl Warning {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SoftwareInstead { .. } => "software_instead",
            Self::Diverted { .. } => "diverted",
            Self::ShowsUtc { .. } => "shows_utc",
        }
    }

    /// Returns the port's interface.
    pub fn interface(&self) -> &str {
        match self {
            Self::SoftwareInstead { interface, .. }
            | Self::Diverted { interface, .. }
            | Self::ShowsUtc { interface, .. } => interface,
        }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SoftwareInstead { error, .. } => {
                write!(f, "the system timestamps instead of the NIC: {error}")
            }
            Self::Diverted { why, .. } => f.write_str(why),
            Self::ShowsUtc {
                interface,
                utc_offset,
            } => write!(
                f,
                "{interface}: the NIC's clock shows UTC, and its time is announced as TAI: clients are {utc_offset} s behind; \
                 set it to TAI, or announce an arbitrary timescale"
            ),
        }
    }
}
