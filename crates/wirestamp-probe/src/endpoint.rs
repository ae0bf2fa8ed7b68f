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
    Bounded, Correlator, HostClock, HostTime, Source, TimestampPolicy, TimestampSource,
    Timestamping, Timestamps, TransmitOutcome, UdpSocket,
};

/// Converts a socket's timestamps to the host's clocks.
#[derive(Debug, Clone)]
pub struct Clock {
    host: HostClock,
    /// Which timestamps count: the first that there are.
    policies: &'static [TimestampPolicy],
}

impl Clock {
    /// Kernel timestamps.
    pub fn software() -> Self {
        Self {
            host: HostClock::software(),
            policies: &[TimestampPolicy::OnlySoftware],
        }
    }

    /// Hardware timestamps, converted. A packet without one has none: delays of two points of measurement are none of either.
    pub fn hardware(correlator: Arc<Correlator>) -> Self {
        Self {
            host: HostClock::hardware(correlator),
            policies: &[TimestampPolicy::OnlyHardware],
        }
    }

    /// Hardware timestamps, converted. A packet without one has the kernel's: for those who report, of each packet, whose timestamp it is.
    pub fn hardware_else_software(correlator: Arc<Correlator>) -> Self {
        Self {
            host: HostClock::hardware(correlator),
            policies: &[
                TimestampPolicy::HardwareElseSoftware,
                TimestampPolicy::OnlySoftware,
            ],
        }
    }

    /// Switches the timestamps of a socket on that this clock needs.
    ///
    /// # Errors
    /// As [`UdpSocket::configure`].
    pub fn configure(&self, socket: &UdpSocket, capacity: u16) -> wirestamp::Result<()> {
        let wanted = self.timestamping(capacity).icmp_errors();
        socket.configure(wanted).map(drop)
    }

    fn timestamping(&self, capacity: u16) -> Timestamping {
        let source = match self.policies {
            [TimestampPolicy::OnlySoftware] => Source::Software,
            [TimestampPolicy::OnlyHardware] => Source::Hardware,
            _ => Source::Both,
        };
        Timestamping::OFF
            .source(source)
            .receive()
            .transmit(capacity)
    }

    /// Returns what places the timestamps, and says later whether their times are right after all.
    pub fn host(&self) -> &HostClock {
        &self.host
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
        self.policies.iter().find_map(|policy| {
            let time = self.host.place(timestamps, *policy).ok()?;
            let both = || socket.utc_cross_timestamp();
            let utc = self.host.utc(&time, both).ok()?;
            let at = time.monotonic.at;
            let stamp = HostTimestamp {
                at: Bounded::new(at.value, at.bound.max(utc.at.bound)),
                utc: utc.at.value,
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
