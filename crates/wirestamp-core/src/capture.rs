//! The parts of packet capture that do not depend on the operating system: options, statistics,
//! conversion of timestamps, and the end of a capture.

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

/// The options of a capture: packets, timestamps and buffers. Every method returns the changed
/// options.
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
    /// The filter expression in tcpdump's syntax (pcap-filter(7)); `None` for all packets.
    pub filter: Option<String>,
    /// The largest number of bytes to capture of each packet.
    pub snap_length: u32,
    /// The source of the timestamps. With any source but [`Source::Software`], packets that the NIC
    /// does not timestamp have the kernel's timestamp.
    pub source: Source,
    /// The size in bytes of the buffer that the kernel fills. It is divided into blocks of
    /// [`block`](Self::block) bytes.
    pub buffer: usize,
    /// The size of a block in bytes: a power of two, at least 4,096. A packet must fit into it.
    pub block: usize,
    /// How long the kernel may wait before it hands over a block that is not full.
    pub hold: Duration,
    /// Whether the NIC also delivers packets that are addressed to other hosts.
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
    /// Returns the defaults: whole packets in both directions, software timestamps, a buffer of 32
    /// MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Captures only packets that match `expression`, in tcpdump's syntax (pcap-filter(7)).
    #[must_use]
    pub fn filter(self, expression: impl Into<String>) -> Self {
        let filter = Some(expression.into());
        Self { filter, ..self }
    }

    /// Captures at most `snap_length` bytes of each packet.
    #[must_use]
    pub fn snap_length(self, snap_length: u32) -> Self {
        Self {
            snap_length,
            ..self
        }
    }

    /// Sets the source of the timestamps.
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

    /// Sets how long the kernel may wait before it hands over a block that is not full.
    #[must_use]
    pub fn hold(self, hold: Duration) -> Self {
        Self { hold, ..self }
    }

    /// Also captures packets that are addressed to other hosts (promiscuous mode).
    #[must_use]
    pub fn promiscuous(self) -> Self {
        Self {
            promiscuous: true,
            ..self
        }
    }
}

/// The way in which the packets of an interface are distributed among several captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Fanout {
    /// By flow: all packets of a connection go to the same capture.
    #[default]
    Flow,
    /// Round-robin.
    Turn,
    /// By the processor that handled the packet.
    Processor,
}

/// The counters of a capture since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CaptureStatistics {
    /// Packets that passed the filter, including dropped ones.
    pub received: u64,
    /// Packets that the kernel dropped because the buffer was full.
    pub dropped: u64,
    /// The number of times that the buffer became full.
    pub freezes: u64,
}

impl CaptureStatistics {
    /// Creates statistics from three counts.
    pub const fn new(received: u64, dropped: u64, freezes: u64) -> Self {
        Self {
            received,
            dropped,
            freezes,
        }
    }

    /// Adds the counts of another or later period.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            received: self.received.saturating_add(other.received),
            dropped: self.dropped.saturating_add(other.dropped),
            freezes: self.freezes.saturating_add(other.freezes),
        }
    }
}

/// The header that captured packets begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IP header (tunnels and TUN devices).
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

/// Returns the error for systems that cannot capture.
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
