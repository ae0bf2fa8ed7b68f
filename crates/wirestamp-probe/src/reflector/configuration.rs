//! The configuration of a reflector, and the packets that arrive.

use crate::key::Key;
use crate::stamp::HostTimestamp;
use crate::timestamp::TimestampFormat;
use crate::tlv::SyncSource;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::time::MonotonicTime;

/// The configuration of a reflector.
#[derive(Debug, Clone)]
pub struct ReflectorConfiguration {
    /// Whether replies are numbered by session, so that losses can be attributed to a direction.
    /// Follow-Up Telemetry requires it. With a key there are always sessions, so that replayed
    /// packets are not answered.
    pub stateful: bool,
    /// The key; if set, only packets that are signed with it are answered.
    pub key: Option<Key>,
    /// The format of T2, T3 and the Follow-Up Timestamp.
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for the PTP format.
    pub tai_offset: i32,
    /// The source that synchronises the real-time clock, for Timestamp Information.
    pub source: SyncSource,
    /// Whether a reply may have the DSCP that its request asks for.
    pub grant_dscp: bool,
    /// Whether to answer requests that are shorter than a base packet (TWAMP Light). The reply is
    /// then up to three times as long as the request.
    pub answer_short: bool,
    /// The largest number of sessions. A source may use at most as many as it leaves free; replies
    /// without a session have their request's number.
    pub sessions: usize,
    /// The rate limit in replies per second for a source: an IPv4 address or an IPv6 /64.
    pub rate: u32,
}

impl Default for ReflectorConfiguration {
    fn default() -> Self {
        Self {
            stateful: true,
            key: None,
            format: TimestampFormat::Ntp,
            tai_offset: 37,
            source: SyncSource::Local,
            grant_dscp: false,
            answer_short: false,
            sessions: 1 << 16,
            rate: 10_000,
        }
    }
}

/// A request as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The datagram.
    pub payload: &'a [u8],
    /// The sender's address.
    pub source: SocketAddr,
    /// The local address that it was sent to.
    pub destination: Option<IpAddr>,
    /// The local port.
    pub port: u16,
    /// The current time.
    pub now: MonotonicTime,
    /// The receive timestamp T2.
    pub received: Option<HostTimestamp>,
    /// TTL or hop limit.
    pub hop_limit: Option<u8>,
    /// DSCP and ECN.
    pub traffic_class: Option<u8>,
}
