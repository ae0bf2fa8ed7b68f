//! The configuration of a reflector, and the packets that arrive.

use crate::key::Key;
use crate::stamp::HostTimestamp;
use crate::timestamp::TimestampFormat;
use crate::tlv::SyncSource;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::time::MonotonicTime;

/// How a reflector behaves.
#[derive(Debug, Clone)]
pub struct ReflectorConfiguration {
    /// Whether replies are numbered by session, so that losses can be attributed to a direction; Follow-Up Telemetry needs it. With a key there
    /// are sessions in any case, so that a packet that is sent again is not answered again.
    pub stateful: bool,
    /// `Some`: only packets that this key has signed are answered.
    pub key: Option<Key>,
    /// The format of T2, T3 and the Follow-Up Timestamp.
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for PTP's format.
    pub tai_offset: i32,
    /// The source that synchronises the real-time clock, for Timestamp Information.
    pub source: SyncSource,
    /// Whether a reply may have the DSCP that the request asks for.
    pub grant_dscp: bool,
    /// Whether requests shorter than a base packet are answered (TWAMP Light). The reply is then longer than the request: up to three times.
    pub answer_short: bool,
    /// How many sessions there may be. One source may have as many as it leaves free; beyond that replies have their requests' numbers.
    pub sessions: usize,
    /// Replies a second to one source: an IPv4 address or an IPv6 /64.
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
    /// Who sent it.
    pub source: SocketAddr,
    /// To which of our addresses.
    pub destination: Option<IpAddr>,
    /// The port that it came to.
    pub port: u16,
    /// When it is looked at.
    pub now: MonotonicTime,
    /// T2.
    pub received: Option<HostTimestamp>,
    /// TTL or hop limit.
    pub hop_limit: Option<u8>,
    /// DSCP and ECN.
    pub traffic_class: Option<u8>,
}
