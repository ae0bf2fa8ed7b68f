//! The configuration of a session, and the relation of the clocks.

use crate::key::Key;
use crate::timestamp::TimestampFormat;
use wirestamp_core::time::{RealTimeClock, Span};

/// The relation of the two hosts' real-time clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// They are the same clock, because both ends run on one host. The caller guarantees this.
    Same,
    /// Both follow UTC: the local one within this error bound, the reflector's within its Error
    /// Estimate if it claims to be synchronised (S bit).
    Synchronized(Span),
    /// Their relation is unknown: one-way delays are not reported.
    Unrelated,
}

/// The configuration of a session.
#[derive(Debug, Clone)]
pub struct SessionConfiguration {
    /// The key; if set, the session is authenticated.
    pub key: Option<Key>,
    /// The session's identifier (SSID); not 0.
    pub ssid: u16,
    /// The format of T1.
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for the PTP format of either end.
    pub tai_offset: i32,
    /// The minimum size of each packet in octets; the extensions need 104 (172 with a key).
    pub size: usize,
    /// The DSCP and ECN of requests.
    pub traffic_class: u8,
    /// The DSCP that is requested for replies.
    pub reply_dscp: u8,
    /// The timeout: a later reply counts as lost.
    pub timeout: Span,
    /// The relation of the clocks.
    pub clocks: Clocks,
    /// The minimum delay of any packet in each direction. The caller guarantees it.
    pub least_delay: Span,
    /// Whether to keep the distributions of all delays for the report, which takes up to 700 kB per
    /// session. Otherwise the report has counts only, and the caller summarises the delays of each
    /// packet.
    pub keeps_distributions: bool,
    /// This host's real-time clock, which says what a step of it is. Default: of any host; the one
    /// of the socket shows smaller steps.
    pub real_time_clock: RealTimeClock,
}

impl Default for SessionConfiguration {
    fn default() -> Self {
        Self {
            key: None,
            ssid: 1,
            format: TimestampFormat::Ntp,
            tai_offset: 37,
            size: 0,
            traffic_class: 0,
            reply_dscp: 0,
            timeout: Span::from_seconds(2),
            clocks: Clocks::Unrelated,
            least_delay: Span::ZERO,
            keeps_distributions: true,
            real_time_clock: RealTimeClock::ANY,
        }
    }
}
