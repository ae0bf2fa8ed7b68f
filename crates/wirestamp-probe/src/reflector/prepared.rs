//! Prepared replies, which still lack T3 and the signature.

use crate::key::Key;
use crate::packet;
use crate::stamp::utc_of;
use crate::timestamp::WireTimestamp;
use std::net::SocketAddr;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// A prepared reply, which still lacks T3 and the signature.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    /// Its destination.
    pub to: SocketAddr,
    /// The ID of its transmit timestamp.
    pub id: TransmitId,
    /// Its DSCP and ECN.
    pub traffic_class: u8,
    pub(super) reply: packet::Reply,
    /// UTC − monotonic.
    pub(super) offset: Span,
    pub(super) tai_offset: i32,
}

impl Prepared {
    /// Writes the base packet with T3 = `now`, and signs it. `octets` must be the buffer that
    /// `Reflector::prepare` filled.
    ///
    /// # Panics
    /// If `octets` is shorter than a base packet.
    pub fn complete(&self, now: MonotonicTime, key: Option<&Key>, octets: &mut [u8]) {
        let format = self.reply.error.format();
        let timestamp = WireTimestamp::encode(utc_of(now, self.offset), format, self.tai_offset);
        packet::Reply {
            timestamp,
            ..self.reply
        }
        .write(key, octets);
    }
}
