//! Joins the reflector to sockets: receives, sends, takes timestamps. Decides nothing about packets. A session's timestamps
//! are read here as well.

mod seen;
mod service;

pub use seen::{Passed, Seen};
pub use service::ReflectorService;

use crate::missing::Missing;
use crate::stamp::HostTimestamp;
use crate::tlv::Method;
use std::sync::Arc;
use wirestamp::{
    Correlator, HostClock, HostTime, Source, TimestampPolicy, TimestampSource, Timestamping,
    Timestamps, TransmitOutcome, UdpSocket,
};

/// Converts a socket's timestamps to the host's clocks: with a correlator the NIC's, else the kernel's.
#[derive(Debug, Clone, Default)]
pub struct Clock(HostClock);

impl Clock {
    /// Kernel timestamps.
    pub fn software() -> Self {
        Self(HostClock::software())
    }

    /// Hardware timestamps, converted. A packet without one has the kernel's.
    pub fn hardware(correlator: Arc<Correlator>) -> Self {
        Self(HostClock::hardware(correlator))
    }

    /// Switches the timestamps of a socket on that this clock needs.
    ///
    /// # Errors
    /// As [`UdpSocket::configure`].
    pub fn configure(&self, socket: &UdpSocket, capacity: u16) -> wirestamp::Result<()> {
        socket.configure(self.timestamping(capacity)).map(drop)
    }

    fn timestamping(&self, capacity: u16) -> Timestamping {
        let source = if self.0.has_hardware() {
            Source::Both
        } else {
            Source::Software
        };
        Timestamping::OFF
            .source(source)
            .receive()
            .transmit(capacity)
    }

    /// Returns what places the timestamps, and says later whether their times are right after all.
    pub fn host(&self) -> &HostClock {
        &self.0
    }

    /// As [`place`](Self::place), without what only the host's clock knows.
    pub fn read(&self, timestamps: &Timestamps, socket: &UdpSocket) -> Option<HostTimestamp> {
        self.place(timestamps, socket).map(|(stamp, _)| stamp)
    }

    /// `None`: there is no timestamp, or none that can be converted.
    pub fn place(
        &self,
        timestamps: &Timestamps,
        socket: &UdpSocket,
    ) -> Option<(HostTimestamp, HostTime)> {
        [
            TimestampPolicy::HardwareElseSoftware,
            TimestampPolicy::OnlySoftware,
        ]
        .into_iter()
        .find_map(|policy| {
            let time = self.0.place(timestamps, policy).ok()?;
            let utc = self.0.utc(&time, || socket.utc_cross_timestamp()).ok()?;
            let stamp = HostTimestamp {
                at: time.monotonic.at,
                utc: utc.at,
                bound: time.monotonic.bound.max(utc.bound),
                method: match time.source {
                    TimestampSource::Hardware => Method::Hardware,
                    TimestampSource::Software => Method::Software,
                },
            };
            Some((stamp, time))
        })
    }

    /// Returns the transmit timestamp that an id ended with.
    ///
    /// # Errors
    /// [`Missing`]: why there is none.
    pub fn outcome(
        &self,
        outcome: &TransmitOutcome,
        socket: &UdpSocket,
    ) -> Result<(HostTimestamp, HostTime), Missing> {
        match outcome {
            TransmitOutcome::Timestamped(timestamps) => {
                self.place(timestamps, socket).ok_or(Missing::NotConverted)
            }
            TransmitOutcome::Missing(reason) => Err(Missing::System(*reason)),
        }
    }
}
