//! A packet that was sent, and its reply.

use crate::missing::Missing;
use crate::stamp::HostTimestamp;
use crate::timestamp::WireTimestamp;
use crate::tlv::Method;
use wirestamp_core::time::{MonotonicTime, Span, UtcTime};

/// Of so many further replies to one packet is known whether the request or the reply was duplicated; of others, the reply
/// counts as duplicated.
pub(super) const DUPLICATES: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Flight {
    /// Just before it was sent.
    pub(super) before: MonotonicTime,
    /// T1 and its Error Estimate as written: a reply must return both.
    pub(super) timestamp: WireTimestamp,
    pub(super) error_bits: u16,
    /// Not one that closes the session.
    pub(super) is_counted: bool,
    pub(super) sent: Sent,
    pub(super) replied: Option<Replied>,
    /// The reflector's numbers of further replies: the request was duplicated.
    pub(super) duplicates: Vec<u32>,
}

impl Flight {
    /// Whether nothing more will be known of it, but for duplicates. `is_followed`: a later reply is there, which would have
    /// brought the exact T3.
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

/// The reply that was accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replied {
    pub(super) reflector_sequence: u32,
    /// T2.
    pub(super) received: UtcTime,
    /// T3 before sending.
    pub(super) sent_as_written: UtcTime,
    /// T3 when it left.
    pub(super) followed_up: Option<(UtcTime, Method)>,
    /// The error bound of its times, as the reflector claims it.
    pub(super) error: Span,
    /// Whether that includes the offset of its clock from UTC.
    pub(super) is_synchronized: bool,
    /// T4.
    pub(super) arrived: Option<HostTimestamp>,
    pub(super) read: MonotonicTime,
}
