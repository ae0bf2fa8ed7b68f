//! What a clock runs with that its user may not want.

use wirestamp::Error;

/// What a clock runs with that its user may not want. [`Display`](std::fmt::Display) says it in a sentence, with what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Hardware timestamping was to be switched on, and the NIC does not timestamp: the system does.
    SoftwareInstead {
        /// The port's interface.
        interface: String,
        /// Why not the NIC.
        error: Error,
    },
    /// A bridge, bond or team takes what arrives at the interface: no message over UDP comes.
    Diverted {
        /// The port's interface.
        interface: String,
        /// Which takes it, and what to do.
        why: String,
    },
    /// The NIC's clock shows UTC, and its time is announced as PTP time, which is TAI: who takes UTC from it is wrong by the
    /// whole offset.
    ShowsUtc {
        /// The port's interface.
        interface: String,
        /// TAI minus UTC in seconds, as it is announced.
        utc_offset: i16,
    },
}

impl Warning {
    /// A short, stable name: what `--json` prints.
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
