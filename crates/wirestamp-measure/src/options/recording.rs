//! The options of a recording of a NIC's clock.

use std::net::SocketAddr;
use std::time::Duration;
use wirestamp::CorrelatorOptions;

/// A recording of a NIC's clock, by which its timestamps can be converted later: batches of readings, changes that the
/// system reports, and hardware transmit timestamps. Yields [`Recorded`](crate::Recorded).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Recording {
    /// The interface whose clock is recorded.
    pub interface: String,
    /// When the clock is read. Default: as a correlator does. The assumptions say how often the bound needs a batch; they
    /// are not recorded, so a conversion of the recording is given them again
    /// ([`Replay::with_assumptions`](wirestamp::events::Replay::with_assumptions)).
    pub schedule: CorrelatorOptions,
    /// Datagrams that are sent to be timestamped, if any.
    pub datagrams: Option<Datagrams>,
    /// Whether the times of readings and timestamps are yielded as well, once they are final: a
    /// [`Known`](crate::Known) for each batch, and [`Recorded::Time`](crate::Recorded::Time). Default: no.
    pub times: bool,
}

/// Datagrams that the NIC timestamps as it sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagrams {
    /// The interval between two datagrams.
    pub interval: Duration,
    /// Their destination; `None` for the interface itself, which only works for a simulated one.
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
    /// Returns datagrams at this interval.
    pub const fn each(interval: Duration) -> Self {
        Self { interval, to: None }
    }
}
