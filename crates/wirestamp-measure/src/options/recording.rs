//! What a clock's timestamps can be converted by later.

use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::CorrelatorOptions;

/// All that timestamps of a NIC's clock can be converted by later: batches of readings, changes that the system reports, and
/// hardware transmit timestamps. Yields [`Recorded`](crate::Recorded).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recording {
    /// Whose clock.
    pub interface: String,
    /// When it is read, as a correlator does. Default: the correlator's.
    pub schedule: CorrelatorOptions,
    /// Datagrams that are sent to be timestamped; `None`: none.
    pub datagrams: Option<Datagrams>,
    /// Whether the times of readings and timestamps are yielded as well, once they are final: a
    /// [`Known`](crate::Known) for each batch, and [`Recorded::Time`](crate::Recorded::Time). Default: no.
    pub times: bool,
}

/// Datagrams that the NIC timestamps as it sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagrams {
    /// From one to the next.
    pub interval: Duration,
    /// Where they go; `None`: to the interface itself, which a simulated one alone can do.
    pub to: Option<SocketAddr>,
}

impl Recording {
    /// Returns the recording of an interface's clock.
    pub fn of(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            schedule: CorrelatorOptions::default(),
            datagrams: None,
            times: false,
        }
    }
}

impl Datagrams {
    /// Returns datagrams that are so far apart.
    pub const fn each(interval: Duration) -> Self {
        Self { interval, to: None }
    }
}
