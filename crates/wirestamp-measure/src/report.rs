//! Reports of measurements that end.

use std::net::SocketAddr;
use wirestamp::{Error, TimestampSource};
use wirestamp_probe::session::SessionReport;

/// The report of a STAMP session that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StampReport {
    /// The reflector.
    pub peer: SocketAddr,
    /// Whose timestamps count. A packet that has none of these has none.
    pub source: TimestampSource,
    /// Timestamps of that source, of packets and replies.
    pub stamps: u64,
    /// Delays, losses, and what the reflector says of itself.
    pub session: SessionReport,
    /// The packets' size on the path.
    pub path: PathMtu,
    /// Packets that were sent to be measured.
    pub sent: u64,
    /// Packets that the system did not send for another reason than their size.
    pub refused: u64,
    /// Why packets did not reach the reflector, as ICMP said last: nobody listens on its port, or there is no way there.
    pub unreachable: Option<Error>,
    /// Whether it was cut short before readings of the NIC's clock had confirmed the last timestamps: a change of that clock in the last seconds
    /// would not show.
    pub unconfirmed: bool,
}

/// The path's MTU, and the packets that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PathMtu {
    /// Bytes of a packet's UDP payload.
    pub packet: usize,
    /// The path's MTU as the system knew it before anything was sent, in bytes with the IP header: the interface's, or what a router reported earlier.
    /// `None`: the system does not say.
    pub first: Option<u32>,
    /// The same now: less if a router on the way reported its link's.
    pub last: Option<u32>,
    /// Packets that the system did not send because they are larger.
    pub too_large: u64,
}
