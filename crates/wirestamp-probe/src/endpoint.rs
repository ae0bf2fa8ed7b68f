//! Joins reflector and session to sockets: receives, sends, takes timestamps. Decides nothing about packets.

mod probe;
mod seen;
mod service;

pub use probe::{PathMtu, Probe, ProbeOptions};
pub use seen::{Passed, Seen};
pub use service::ReflectorService;

use crate::missing::Missing;
use crate::stamp::HostTimestamp;
use crate::tlv::Method;
use std::sync::Arc;
use wirestamp::{
    Correlator, MonotonicTime, Source, Span, Timestamping, Timestamps, TransmitOutcome, UdpSocket,
};

/// Turns a socket's timestamps into times of the host's clocks: with a correlator from the NIC's, else from the kernel's.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    correlator: Option<Arc<Correlator>>,
}

impl Clock {
    /// Kernel timestamps.
    pub fn software() -> Self {
        Self::default()
    }

    /// Hardware timestamps, converted. A packet without one has the kernel's.
    pub fn hardware(correlator: Arc<Correlator>) -> Self {
        Self {
            correlator: Some(correlator),
        }
    }

    /// Switches the timestamps of a socket on that this clock needs.
    ///
    /// # Errors
    /// As [`UdpSocket::configure`].
    pub fn configure(&self, socket: &UdpSocket, capacity: u16) -> wirestamp::Result<()> {
        socket.configure(self.timestamping(capacity)).map(drop)
    }

    fn timestamping(&self, capacity: u16) -> Timestamping {
        let source = if self.correlator.is_some() {
            Source::Both
        } else {
            Source::Software
        };
        Timestamping::OFF
            .source(source)
            .receive()
            .transmit(capacity)
    }

    /// `None`: there is no timestamp, or none that can be converted.
    pub fn read(&self, timestamps: &Timestamps, socket: &UdpSocket) -> Option<HostTimestamp> {
        self.of_hardware(timestamps)
            .or_else(|| of_software(timestamps, socket))
    }

    /// Returns the transmit timestamp that an id ended with.
    ///
    /// # Errors
    /// [`Missing`]: why there is none.
    pub fn outcome(
        &self,
        outcome: &TransmitOutcome,
        socket: &UdpSocket,
    ) -> Result<HostTimestamp, Missing> {
        match outcome {
            TransmitOutcome::Timestamped(timestamps) => {
                self.read(timestamps, socket).ok_or(Missing::NotConverted)
            }
            TransmitOutcome::Missing(reason) => Err(Missing::System(*reason)),
        }
    }

    fn of_hardware(&self, timestamps: &Timestamps) -> Option<HostTimestamp> {
        let (correlator, hardware) = (self.correlator.as_ref()?, timestamps.hardware.as_ref()?);
        let monotonic = correlator.to_monotonic(hardware).ok()?;
        let utc = correlator.to_utc(hardware).ok()?;
        Some(HostTimestamp {
            at: monotonic.at,
            utc: utc.at,
            bound: monotonic.bound.max(utc.bound),
            method: Method::Hardware,
        })
    }
}

fn of_software(timestamps: &Timestamps, socket: &UdpSocket) -> Option<HostTimestamp> {
    let software = timestamps.software?;
    let (utc, more) = match software.utc {
        Some(utc) => (utc, Span::ZERO),
        None => {
            let (offset, bound) = offset_of(socket);
            (utc_of(software.at, offset), bound)
        }
    };
    Some(HostTimestamp {
        at: software.at,
        utc,
        bound: software.bound + more,
        method: Method::Software,
    })
}

/// UTC − monotonic now, and how far it may be off.
fn offset_of(socket: &UdpSocket) -> (Span, Span) {
    let reading = socket.utc_cross_timestamp();
    let width = reading.after - reading.before;
    let half = Span::from_nanoseconds(width.nanoseconds() / 2);
    let middle = reading.before + half;
    let offset = i128::from(reading.utc.nanoseconds()) - i128::from(middle.nanoseconds());
    let bound = width - half + Span::from_nanoseconds(1);
    (Span::from_nanoseconds(offset), bound)
}

fn utc_of(at: MonotonicTime, offset: Span) -> wirestamp::UtcTime {
    crate::stamp::utc_of(at, offset)
}
