//! A sent packet and its reply.

use super::slews::{Begun, Readings};
use crate::missing::Missing;
use crate::stamp::HostTimestamp;
use crate::timestamp::WireTimestamp;
use crate::tlv::Method;
use wirestamp_core::time::{MonotonicTime, Span, UtcTime};

/// The number of further replies to a packet for which it is determined whether the request or the
/// reply was duplicated. For more, the reply counts as duplicated.
pub(super) const DUPLICATES: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Flight {
    /// The time just before it was sent.
    pub(super) before: MonotonicTime,
    /// T1 as written, which a reply must return together with its Error Estimate.
    pub(super) timestamp: WireTimestamp,
    pub(super) error_bits: u16,
    /// Whether it is counted, unlike packets that close the session.
    pub(super) is_counted: bool,
    pub(super) sent: Sent,
    pub(super) replied: Option<Replied>,
    /// The reflector's sequence numbers of further replies, which show that the request was
    /// duplicated.
    pub(super) duplicates: Vec<u32>,
    /// The slews of this host's clock that were known.
    pub(super) begun: Begun,
}

impl Flight {
    /// Whether it is complete except for duplicates. `is_followed` is true if a later reply has
    /// come, which would carry the exact T3.
    pub(super) fn is_complete(&self, is_followed: bool) -> bool {
        let is_left = !matches!(self.sent, Sent::Awaited);
        let replied = self.replied.as_ref();
        is_left && replied.is_some_and(|replied| is_followed || replied.followed_up.is_some())
    }
}

/// T1.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
    Awaited,
    At(HostTimestamp),
    Missing(Missing),
}

/// The accepted reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replied {
    pub(super) reflector_sequence: u32,
    /// T2.
    pub(super) received: UtcTime,
    /// T3 as written before sending.
    pub(super) sent_as_written: UtcTime,
    /// The exact T3 of its departure.
    pub(super) followed_up: Option<(UtcTime, Method)>,
    /// The error bound of its times, as claimed by the reflector.
    pub(super) error: Span,
    /// Whether the error bound includes the offset of the reflector's clock from UTC.
    pub(super) is_synchronized: bool,
    /// T4.
    pub(super) arrived: Option<HostTimestamp>,
    pub(super) read: MonotonicTime,
    /// The fast slews of this host's clock from before the request until then.
    pub(super) slewed_in_flight: Span,
    /// The readings at both times.
    pub(super) readings: Readings,
}
