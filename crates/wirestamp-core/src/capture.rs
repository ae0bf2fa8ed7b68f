//! Capture of the packets of an interface: what can be asked for, what is counted, what a timestamp says in UTC, and when
//! a capture is over. Reads no packet.

mod account;
mod buffer;

pub use account::{Account, CapturedTime};
pub use buffer::Blocks;

use crate::configuration::Source;
use crate::error::{Error, ErrorKind};
use crate::interface::InterfaceDescription;
use alloc::string::String;
use core::time::Duration;

const OPERATION: &str = "capture";

/// What to capture, and with which buffers. Every method returns the changed options.
///
/// ```
/// use std::time::Duration;
/// use wirestamp_core::capture::CaptureOptions;
///
/// let options = CaptureOptions::new().filter("udp port 319").snap_length(128).hold(Duration::from_millis(5));
/// assert_eq!(options.snap_length, 128);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureOptions {
    /// Which packets, in the language of tcpdump (pcap-filter(7)); `None`: all.
    pub filter: Option<String>,
    /// How many bytes of each packet are captured at most.
    pub snap_length: u32,
    /// Which clock timestamps. With [`Source::Hardware`] and the like, packets that the NIC does not timestamp carry the
    /// kernel's timestamp.
    pub source: Source,
    /// Bytes of the buffer that the kernel fills. It is divided into blocks of [`block`](Self::block) bytes.
    pub buffer: usize,
    /// Bytes of a block: a power of two, 4,096 at least. A packet must fit.
    pub block: usize,
    /// How long the kernel may hold back a block that is not full.
    pub hold: Duration,
    /// Whether the NIC also delivers what is sent to others.
    pub promiscuous: bool,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            filter: None,
            snap_length: 262_144,
            source: Source::Software,
            buffer: 32 << 20,
            block: 1 << 20,
            hold: Duration::from_millis(20),
            promiscuous: false,
        }
    }
}

impl CaptureOptions {
    /// Returns the options that suit most: whole packets of both directions, software timestamps, a buffer of 32 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Captures only packets that match `expression`, written as for tcpdump (pcap-filter(7)).
    #[must_use]
    pub fn filter(self, expression: impl Into<String>) -> Self {
        let filter = Some(expression.into());
        Self { filter, ..self }
    }

    /// Captures no more than so many bytes of each packet.
    #[must_use]
    pub fn snap_length(self, snap_length: u32) -> Self {
        Self {
            snap_length,
            ..self
        }
    }

    /// Chooses the clock that timestamps.
    #[must_use]
    pub fn source(self, source: Source) -> Self {
        Self { source, ..self }
    }

    /// Sets the size of the kernel's buffer, in bytes.
    #[must_use]
    pub fn buffer(self, buffer: usize) -> Self {
        Self { buffer, ..self }
    }

    /// Sets the size of a block of the buffer, in bytes: a power of two.
    #[must_use]
    pub fn block(self, block: usize) -> Self {
        Self { block, ..self }
    }

    /// Sets how long the kernel may hold back packets until a block is full.
    #[must_use]
    pub fn hold(self, hold: Duration) -> Self {
        Self { hold, ..self }
    }

    /// Captures what is sent to others, too.
    #[must_use]
    pub fn promiscuous(self) -> Self {
        Self {
            promiscuous: true,
            ..self
        }
    }
}

/// How the packets of an interface are divided among several captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Fanout {
    /// By flow: all packets of a connection go to the same one.
    #[default]
    Flow,
    /// In turn.
    Turn,
    /// By the processor that a packet came in on.
    Processor,
}

/// What a capture counted since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CaptureStatistics {
    /// Packets that passed the filter, dropped ones included.
    pub received: u64,
    /// Packets that the kernel dropped because the buffer was full.
    pub dropped: u64,
    /// How often the buffer became full.
    pub freezes: u64,
}

impl CaptureStatistics {
    /// Makes them from three counts.
    pub const fn new(received: u64, dropped: u64, freezes: u64) -> Self {
        Self {
            received,
            dropped,
            freezes,
        }
    }

    /// Adds what was counted elsewhere, or later.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            received: self.received.saturating_add(other.received),
            dropped: self.dropped.saturating_add(other.dropped),
            freezes: self.freezes.saturating_add(other.freezes),
        }
    }
}

/// What a captured packet begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IP header: tunnels and TUN devices.
    Ip,
}

/// Which way a captured packet went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CapturedDirection {
    /// To this host: to its own address, to a group, or to everybody.
    Received,
    /// From this host.
    Sent,
    /// Between others; captured because the interface is promiscuous.
    Others,
}

/// The error of a system that has no captures.
pub fn refused(interface: &InterfaceDescription) -> Error {
    let cause = "not available on this system: needs AF_PACKET";
    Error::new(ErrorKind::NotSupported, OPERATION, &interface.name, cause)
        .with_remedy("capture on Linux, or on a simulated interface")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let sum = CaptureStatistics::new(3, 2, 1).plus(CaptureStatistics::new(10, 20, u64::MAX));
        assert_eq!(sum, CaptureStatistics::new(13, 22, u64::MAX));
    }
}
