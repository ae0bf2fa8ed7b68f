//! The configuration of a session, and how the clocks are related.

use crate::key::Key;
use crate::timestamp::TimestampFormat;
use wirestamp_core::time::Span;

/// How the two hosts' real-time clocks are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// They are one: both ends run on one host. The caller's word.
    Same,
    /// Both follow UTC: ours within this bound, the reflector's within its Error Estimate where it says so (S bit).
    Synchronized(Span),
    /// Their relation is unknown: delays of one direction are not reported.
    Unrelated,
}

/// The configuration of a session: its packets, and the conditions for replies.
#[derive(Debug, Clone)]
pub struct SessionConfiguration {
    /// `Some`: authenticated mode.
    pub key: Option<Key>,
    /// The session's identifier; not 0.
    pub ssid: u16,
    /// The format of T1.
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for PTP's format of either end.
    pub tai_offset: i32,
    /// Octets of each packet, at least; the extensions need 104 (172 with a key).
    pub size: usize,
    /// DSCP and ECN that requests are sent with.
    pub traffic_class: u8,
    /// The DSCP that replies are asked to have.
    pub reply_dscp: u8,
    /// A reply that takes longer is lost.
    pub timeout: Span,
    /// How the clocks are related.
    pub clocks: Clocks,
    /// A delay that no packet can be faster than, in each direction: the caller's word.
    pub least_delay: Span,
    /// Keep the distributions of all delays for the report: up to 700 kB a session. Without, the report has counts alone, and the delays of each packet are the
    /// caller's to sum up.
    pub keeps_distributions: bool,
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
        }
    }
}
