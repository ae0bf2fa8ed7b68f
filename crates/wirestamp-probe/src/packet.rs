//! The packets of both ends without their extensions: 44 octets, or 112 if authenticated.
//!
//! Source: RFC 8762, sections 4.2 and 4.3; RFC 8972, section 3 (SSID).

use crate::error_estimate::ErrorEstimate;
use crate::key::{Key, TAG};
use crate::timestamp::WireTimestamp;

/// Whether packets carry an HMAC. Both ends of a session must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Unauthenticated.
    Open,
    /// Authenticated by HMAC-SHA-256-128.
    Authenticated,
}

impl Mode {
    /// Returns the mode of a session with or without a key.
    pub fn of(key: Option<&Key>) -> Self {
        key.map_or(Self::Open, |_| Self::Authenticated)
    }

    /// Returns the length of a packet without extensions in octets, which is where TLVs begin.
    pub const fn base_length(self) -> usize {
        match self {
            Self::Open => 44,
            Self::Authenticated => 112,
        }
    }
}

/// The number of octets that the tag covers.
const COVERED: usize = 96;

/// The reason why octets are not a packet of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Invalid {
    /// It is shorter than a packet.
    Truncated,
    /// The HMAC does not match the key: it was made with another key, or the packet was changed.
    WrongHmac,
    /// The Error Estimate has a multiplier of 0.
    ErrorEstimate,
}

/// A packet of the session-sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The sequence number, which counts from 0.
    pub sequence: u32,
    /// T1, read before sending.
    pub timestamp: WireTimestamp,
    /// The Error Estimate of `timestamp`, as received, because it is returned unchanged.
    pub error_bits: u16,
    /// The session's identifier; 0 for none.
    pub ssid: u16,
}

/// A packet of the session-reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The reflector's own sequence number (stateful), or the request's (stateless).
    pub sequence: u32,
    /// T3, read before sending.
    pub timestamp: WireTimestamp,
    /// The Error Estimate of `timestamp` and `received`.
    pub error: ErrorEstimate,
    /// The session's identifier; 0 for none, or if the reflector does not support RFC 8972.
    pub ssid: u16,
    /// T2.
    pub received: WireTimestamp,
    /// The request's.
    pub sender_sequence: u32,
    /// The request's T1, in the sender's format.
    pub sender_timestamp: WireTimestamp,
    /// The request's.
    pub sender_error_bits: u16,
    /// The request's TTL or hop limit on arrival.
    pub sender_ttl: u8,
}

/// The positions of a packet's fields.
struct Layout {
    timestamp: usize,
    error: usize,
    ssid: usize,
    received: usize,
    sender_sequence: usize,
    sender_timestamp: usize,
    sender_error: usize,
    sender_ttl: usize,
}

const OPEN: Layout = Layout {
    timestamp: 4,
    error: 12,
    ssid: 14,
    received: 16,
    sender_sequence: 24,
    sender_timestamp: 28,
    sender_error: 36,
    sender_ttl: 40,
};
const AUTHENTICATED: Layout = Layout {
    timestamp: 16,
    error: 24,
    ssid: 26,
    received: 32,
    sender_sequence: 48,
    sender_timestamp: 64,
    sender_error: 72,
    sender_ttl: 80,
};

impl Layout {
    fn of(mode: Mode) -> &'static Self {
        match mode {
            Mode::Open => &OPEN,
            Mode::Authenticated => &AUTHENTICATED,
        }
    }
}

impl Request {
    /// Writes the packet to the start of `into`, and signs it if there is a key.
    ///
    /// # Panics
    /// If `into` is shorter than [`Mode::base_length`].
    pub fn write(&self, key: Option<&Key>, into: &mut [u8]) {
        let (base, _) = self.begin(key, into);
        sign(key, base);
    }

    /// Writes the fields with which packets of both ends begin, followed by zeros.
    fn begin<'a>(&self, key: Option<&Key>, into: &'a mut [u8]) -> (&'a mut [u8], &'static Layout) {
        let mode = Mode::of(key);
        let layout = Layout::of(mode);
        let base = &mut into[..mode.base_length()];
        base.fill(0);
        put(base, 0, self.sequence.to_be_bytes());
        put(base, layout.timestamp, self.timestamp.0);
        put(base, layout.error, self.error_bits.to_be_bytes());
        put(base, layout.ssid, self.ssid.to_be_bytes());
        (base, layout)
    }

    /// Decodes a packet; with a key, only one that is signed with it.
    ///
    /// # Errors
    /// [`Invalid`] if it is not a valid packet.
    pub fn read(bytes: &[u8], key: Option<&Key>) -> Result<Self, Invalid> {
        let (base, layout) = verified(bytes, key)?;
        let error_bits = u16::from_be_bytes(get(base, layout.error));
        ErrorEstimate::from_bits(error_bits).ok_or(Invalid::ErrorEstimate)?;
        Ok(Self {
            sequence: u32::from_be_bytes(get(base, 0)),
            timestamp: WireTimestamp(get(base, layout.timestamp)),
            error_bits,
            ssid: u16::from_be_bytes(get(base, layout.ssid)),
        })
    }
}

impl Reply {
    /// Writes the packet to the start of `into`, and signs it if there is a key.
    ///
    /// # Panics
    /// If `into` is shorter than [`Mode::base_length`].
    pub fn write(&self, key: Option<&Key>, into: &mut [u8]) {
        let beginning = Request {
            sequence: self.sequence,
            timestamp: self.timestamp,
            error_bits: self.error.bits(),
            ssid: self.ssid,
        };
        let (base, layout) = beginning.begin(key, into);
        put(base, layout.received, self.received.0);
        put(
            base,
            layout.sender_sequence,
            self.sender_sequence.to_be_bytes(),
        );
        put(base, layout.sender_timestamp, self.sender_timestamp.0);
        put(
            base,
            layout.sender_error,
            self.sender_error_bits.to_be_bytes(),
        );
        base[layout.sender_ttl] = self.sender_ttl;
        sign(key, base);
    }

    /// Decodes a packet; with a key, only one that is signed with it.
    ///
    /// # Errors
    /// [`Invalid`] if it is not a valid packet.
    pub fn read(bytes: &[u8], key: Option<&Key>) -> Result<Self, Invalid> {
        let (base, layout) = verified(bytes, key)?;
        let error = u16::from_be_bytes(get(base, layout.error));
        Ok(Self {
            sequence: u32::from_be_bytes(get(base, 0)),
            timestamp: WireTimestamp(get(base, layout.timestamp)),
            error: ErrorEstimate::from_bits(error).ok_or(Invalid::ErrorEstimate)?,
            ssid: u16::from_be_bytes(get(base, layout.ssid)),
            received: WireTimestamp(get(base, layout.received)),
            sender_sequence: u32::from_be_bytes(get(base, layout.sender_sequence)),
            sender_timestamp: WireTimestamp(get(base, layout.sender_timestamp)),
            sender_error_bits: u16::from_be_bytes(get(base, layout.sender_error)),
            sender_ttl: base[layout.sender_ttl],
        })
    }
}

/// The times of an unauthenticated packet, decoded as a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyTimes {
    /// T3; in a request, T1.
    pub(crate) sent: WireTimestamp,
    /// T2.
    pub(crate) received: WireTimestamp,
    /// T1, repeated by a reply.
    pub(crate) repeated: WireTimestamp,
}

/// Returns the times of an unauthenticated packet, decoded as a reply. `octets` must have the
/// length of a base packet.
pub(crate) fn reply_times(octets: &[u8]) -> ReplyTimes {
    let time = |at| WireTimestamp(get(octets, at));
    ReplyTimes {
        sent: time(OPEN.timestamp),
        received: time(OPEN.received),
        repeated: time(OPEN.sender_timestamp),
    }
}

/// Returns whether an authenticated packet has non-zero octets where only a reply has fields.
/// `octets` must have the length of a base packet.
pub(crate) fn has_reply_fields(octets: &[u8]) -> bool {
    octets[AUTHENTICATED.ssid + 2..COVERED]
        .iter()
        .any(|octet| *octet != 0)
}

fn verified<'a>(
    bytes: &'a [u8],
    key: Option<&Key>,
) -> Result<(&'a [u8], &'static Layout), Invalid> {
    let mode = Mode::of(key);
    let base = bytes.get(..mode.base_length()).ok_or(Invalid::Truncated)?;
    if let Some(key) = key
        && !key.verifies(&[&base[..COVERED]], &base[COVERED..])
    {
        return Err(Invalid::WrongHmac);
    }
    Ok((base, Layout::of(mode)))
}

fn sign(key: Option<&Key>, base: &mut [u8]) {
    if let Some(key) = key {
        let tag: [u8; TAG] = key.tag(&[&base[..COVERED]]);
        put(base, COVERED, tag);
    }
}

fn put<const N: usize>(base: &mut [u8], at: usize, octets: [u8; N]) {
    base[at..at + N].copy_from_slice(&octets);
}

/// Reads a field. `at` must be within the base packet, whose length was checked.
fn get<const N: usize>(base: &[u8], at: usize) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(&base[at..at + N]);
    octets
}

#[cfg(test)]
mod tests;
