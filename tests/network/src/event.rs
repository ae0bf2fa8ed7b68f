//! What the router did to a packet.

use serde::Serialize;

/// One packet, or one copy of it, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Name of the host that sent it.
    pub from: String,
    /// Name of the host that it was for; `None` if no host has that address.
    pub to: Option<String>,
    /// Counts the packets of this direction from 0; a copy has the number of its original.
    pub number: u64,
    /// UTC, nanoseconds since 1970, just after the router read it.
    pub arrived_ns: i64,
    /// UTC, nanoseconds since 1970, just before the router wrote it; `None` if it never did.
    pub left_ns: Option<i64>,
    /// What became of it.
    pub fate: Fate,
    /// Whether this is the second copy of a duplicated packet.
    pub is_copy: bool,
    /// Whether it was held back for others to overtake it.
    pub is_late: bool,
    /// Bytes, IP header included.
    pub size: usize,
    /// Source and destination port, if it is an unfragmented UDP datagram.
    pub udp_ports: Option<(u16, u16)>,
    /// The first bytes of the UDP payload, at most 16.
    pub payload: Vec<u8>,
    /// DSCP and ECN field as it came.
    pub traffic_class: u8,
    /// DSCP and ECN field as it left.
    pub traffic_class_left: u8,
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// It was written to the receiver's device.
    Forwarded,
    /// Chance lost it, as configured.
    Lost,
    /// Too many packets waited for the limited rate.
    QueueFull,
    /// It was larger than the path's MTU.
    TooLarge,
    /// Its hop count ran out.
    HopsExceeded,
    /// No host has its destination address (multicast included).
    NoRoute,
    /// It is no IP packet, or the receiver's device took no packet.
    Undeliverable,
}
