//! The connection of the reflector to sockets, and the conversion of timestamps for reflectors and
//! sessions.

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

/// A converter of a socket's timestamps to the host's clocks.
#[derive(Debug, Clone)]
pub struct Clock {
    host: HostClock,
    /// The sources to try, in order.
    policies: &'static [TimestampPolicy],
}

impl Clock {
    /// Uses kernel timestamps.
    pub fn software() -> Self {
        Self {
            host: HostClock::software(),
            policies: &[TimestampPolicy::OnlySoftware],
        }
    }

    /// Uses converted hardware timestamps. A packet without one has no timestamp, because delays
    /// between different points of measurement are meaningless.
    pub fn hardware(correlator: Arc<Correlator>) -> Self {
        Self {
            host: HostClock::hardware(correlator),
            policies: &[TimestampPolicy::OnlyHardware],
        }
    }

    /// Uses converted hardware timestamps, or the kernel's for a packet without one. For programs
    /// that report the source for each packet.
    pub fn hardware_else_software(correlator: Arc<Correlator>) -> Self {
        Self {
            host: HostClock::hardware(correlator),
            policies: &[
                TimestampPolicy::HardwareElseSoftware,
                TimestampPolicy::OnlySoftware,
            ],
        }
    }

    /// Switches on the timestamps of a socket that this clock needs.
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

    /// Returns the underlying converter, which can later confirm or withdraw times.
    pub fn host(&self) -> &HostClock {
        &self.host
    }

    /// Converts timestamps like [`place`](Self::place), without the details of the host's clock.
    pub fn read(&self, timestamps: &Timestamps, socket: &UdpSocket) -> Option<HostTimestamp> {
        self.place(timestamps, socket).map(|(stamp, _)| stamp)
    }

    /// Converts timestamps to the host's clocks; `None` if there is no timestamp, or none that can
    /// be converted.
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

    /// Returns the converted transmit timestamp from the outcome of an ID.
    ///
    /// # Errors
    /// [`Missing`]: the reason why there is none.
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
