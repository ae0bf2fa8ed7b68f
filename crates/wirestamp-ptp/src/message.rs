//! Decoding of PTPv2 messages, as far as this crate needs it, and the checks that reject messages
//! before the engine gets them.
//!
//! Source: IEEE 1588-2008, clause 13 (formats), 9.3.2.5 (which Announce messages count).

use wirestamp::Span;

/// The longest accepted message, the engine's own limit.
pub(crate) const LONGEST: usize = statime::port::MAX_DATA_LEN;
/// The length of the common header.
const HEADER: usize = 34;
/// The largest plausible correction. The limit also keeps sums in the engine in range.
const LARGEST_CORRECTION: u128 = 10_000_000_000;
/// An Announce with this many steps removed is not used (9.3.2.5).
const MOST_STEPS: u16 = 255;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Sync,
    DelayRequest,
    PeerDelayRequest,
    PeerDelayResponse,
    FollowUp,
    DelayResponse,
    PeerDelayResponseFollowUp,
    Announce,
}

/// The reason why a datagram is ignored. The names are those of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// It is shorter than its kind, or than its own length field.
    Truncated,
    /// It is longer than any supported message.
    Oversized,
    /// It has another PTP version.
    Version,
    /// It has another domain or profile.
    Domain,
    /// It is a Signaling or management message, or of an unknown kind.
    Kind,
    /// It came to the wrong one of the two ports.
    Port,
    /// Its timestamp is invalid, with or without its correction.
    Timestamp,
    /// Its correction is not a plausible residence time.
    Correction,
    /// It is an Announce that has passed too many clocks.
    StepsRemoved,
    /// It is our own message, which came back.
    Own,
    /// Its clock is not pinned.
    Identity,
    /// Its source address is not pinned.
    Address,
    /// It is a request beyond the rate limit.
    Rate,
    /// The system dropped it before it was read, during a flood or for lack of room.
    NotRead,
}

impl Fault {
    /// All reasons.
    pub const ALL: [Self; 14] = [
        Self::Truncated,
        Self::Oversized,
        Self::Version,
        Self::Domain,
        Self::Kind,
        Self::Port,
        Self::Timestamp,
        Self::Correction,
        Self::StepsRemoved,
        Self::Own,
        Self::Identity,
        Self::Address,
        Self::Rate,
        Self::NotRead,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Oversized => "oversized",
            Self::Version => "version",
            Self::Domain => "domain",
            Self::Kind => "kind",
            Self::Port => "port",
            Self::Timestamp => "timestamp",
            Self::Correction => "correction",
            Self::StepsRemoved => "steps_removed",
            Self::Own => "own",
            Self::Identity => "unpinned_identity",
            Self::Address => "unpinned_address",
            Self::Rate => "rate_limit",
            Self::NotRead => "not_read",
        }
    }
}

/// A port identity: a clock identity and a port number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PortIdentity {
    /// The clock.
    pub clock: [u8; 8],
    /// The number of the port, from 1.
    pub port: u16,
}

impl std::fmt::Display for PortIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.clock;
        write!(
            f,
            "{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{g:02x}{h:02x}{i:02x}-{}",
            self.port
        )
    }
}

/// A well-formed message, without the octets that follow it in the datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) kind: Kind,
    pub(crate) bytes: &'a [u8],
}

impl Kind {
    fn from_nibble(nibble: u8) -> Option<Self> {
        Some(match nibble {
            0x0 => Self::Sync,
            0x1 => Self::DelayRequest,
            0x2 => Self::PeerDelayRequest,
            0x3 => Self::PeerDelayResponse,
            0x8 => Self::FollowUp,
            0x9 => Self::DelayResponse,
            0xa => Self::PeerDelayResponseFollowUp,
            0xb => Self::Announce,
            _ => return None,
        })
    }

    /// Whether it is an event message: sent to port 319 and timestamped.
    pub(crate) fn is_event(self) -> bool {
        matches!(
            self,
            Self::Sync | Self::DelayRequest | Self::PeerDelayRequest | Self::PeerDelayResponse
        )
    }

    fn least_length(self) -> usize {
        match self {
            Self::Sync | Self::DelayRequest | Self::FollowUp => 44,
            Self::PeerDelayRequest
            | Self::PeerDelayResponse
            | Self::DelayResponse
            | Self::PeerDelayResponseFollowUp => 54,
            Self::Announce => 64,
        }
    }
}

impl<'a> Message<'a> {
    /// Decodes a datagram that came to the event port (319) or the general port (320).
    ///
    /// # Errors
    /// The reason why it is ignored.
    pub(crate) fn read(datagram: &'a [u8], event_port: bool, domain: u8) -> Result<Self, Fault> {
        let [first, version, high, low, its_domain, ..] = *datagram else {
            return Err(Fault::Truncated);
        };
        if version & 0x0f != 2 {
            return Err(Fault::Version);
        }
        if datagram.len() < HEADER {
            return Err(Fault::Truncated);
        }
        if its_domain != domain || first & 0xf0 != 0 {
            return Err(Fault::Domain);
        }
        let kind = Kind::from_nibble(first & 0x0f).ok_or(Fault::Kind)?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < kind.least_length() || length > datagram.len() {
            return Err(Fault::Truncated);
        }
        if length > LONGEST {
            return Err(Fault::Oversized);
        }
        if kind.is_event() != event_port {
            return Err(Fault::Port);
        }
        let message = Self {
            kind,
            bytes: &datagram[..length],
        };
        message.check()?;
        Ok(message)
    }

    /// Rejects values that would overflow the engine's arithmetic.
    fn check(&self) -> Result<(), Fault> {
        let correction = self.correction().nanoseconds().unsigned_abs();
        if correction > LARGEST_CORRECTION {
            return Err(Fault::Correction);
        }
        if self.kind == Kind::Announce && self.steps_removed() >= MOST_STEPS {
            return Err(Fault::StepsRemoved);
        }
        let at = self.timestamp().ok_or(Fault::Timestamp)?;
        let matters = matches!(
            self.kind,
            Kind::FollowUp
                | Kind::DelayResponse
                | Kind::PeerDelayResponse
                | Kind::PeerDelayResponseFollowUp
        );
        if matters && u128::from(at.unsigned_abs()) < correction {
            return Err(Fault::Timestamp);
        }
        Ok(())
    }

    fn number(&self, place: usize) -> u16 {
        u16::from_be_bytes([self.bytes[place], self.bytes[place + 1]])
    }

    fn identity(&self, place: usize) -> PortIdentity {
        let mut clock = [0; 8];
        clock.copy_from_slice(&self.bytes[place..place + 8]);
        PortIdentity {
            clock,
            port: self.number(place + 8),
        }
    }

    /// The sender's port identity.
    pub(crate) fn source(&self) -> PortIdentity {
        self.identity(20)
    }

    /// The port identity of the requester, in responses.
    pub(crate) fn requester(&self) -> Option<PortIdentity> {
        let answers = matches!(
            self.kind,
            Kind::DelayResponse | Kind::PeerDelayResponse | Kind::PeerDelayResponseFollowUp
        );
        answers.then(|| self.identity(44))
    }

    pub(crate) fn domain(&self) -> u8 {
        self.bytes[4]
    }

    /// Whether a Follow_Up carries the transmit time of this Sync.
    pub(crate) fn is_two_step(&self) -> bool {
        self.bytes[6] & 0x02 != 0
    }

    pub(crate) fn sequence(&self) -> u16 {
        self.number(30)
    }

    pub(crate) fn log_interval(&self) -> i8 {
        self.bytes[33] as i8
    }

    fn steps_removed(&self) -> u16 {
        self.number(61)
    }

    /// The correction field in whole nanoseconds.
    pub(crate) fn correction(&self) -> Span {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[8..16]);
        Span::from_nanoseconds(i128::from(i64::from_be_bytes(bytes) >> 16))
    }

    /// The timestamp after the header, in nanoseconds; `None` if it is invalid or after 2262.
    pub(crate) fn timestamp(&self) -> Option<i64> {
        let mut seconds = [0; 8];
        seconds[2..].copy_from_slice(&self.bytes[34..40]);
        let mut nanoseconds = [0; 4];
        nanoseconds.copy_from_slice(&self.bytes[40..44]);
        let nanoseconds = u32::from_be_bytes(nanoseconds);
        let seconds = i64::from_be_bytes(seconds).checked_mul(1_000_000_000)?;
        if nanoseconds >= 1_000_000_000 {
            None
        } else {
            seconds.checked_add(i64::from(nanoseconds))
        }
    }

    /// The time at which a neighbour received our Pdelay_Req, from its Pdelay_Resp; `None` if the
    /// neighbour leaves the field zero and reports only its residence time (IEEE 1588-2019,
    /// 11.4.2).
    pub(crate) fn request_received(&self) -> Option<i64> {
        self.timestamp().filter(|at| *at != 0)
    }
}

/// Encodes a Delay_Req message.
pub(crate) fn delay_request(
    source: PortIdentity,
    sequence: u16,
    domain: u8,
    minor_version: u8,
) -> [u8; 44] {
    let mut bytes = [0; 44];
    bytes[..2].copy_from_slice(&[0x1, minor_version << 4 | 2]);
    bytes[3] = 44;
    bytes[4] = domain;
    bytes[20..28].copy_from_slice(&source.clock);
    bytes[28..30].copy_from_slice(&source.port.to_be_bytes());
    bytes[30..32].copy_from_slice(&sequence.to_be_bytes());
    bytes[32..34].copy_from_slice(&[0x01, 0x7f]); // control field of Delay_Req; interval unknown
    bytes
}

/// The time properties in our own Announce messages, which the engine does not fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnnouncedTime {
    pub(crate) ptp_timescale: bool,
    pub(crate) utc_offset: i16,
    pub(crate) utc_valid: bool,
    pub(crate) time_traceable: bool,
    pub(crate) frequency_traceable: bool,
    pub(crate) clock_class: u8,
    pub(crate) clock_accuracy: u8,
    pub(crate) time_source: u8,
}

/// Writes the message interval into a message of the engine, which leaves it out. In requests and
/// in answers to peer requests it is "unknown" (13.3.2.11).
pub(crate) fn set_log_interval(bytes: &mut [u8], kind: Kind, sync: i8, announce: i8) {
    bytes[33] = match kind {
        Kind::Sync | Kind::FollowUp => sync as u8,
        Kind::Announce => announce as u8,
        Kind::DelayResponse => return, // the engine fills it in
        _ => 0x7f,
    };
}

/// Makes an Announce better than that of a timeReceiver-only clock, whose priority 255 the engine
/// considers the worst.
pub(crate) fn better_than_a_receiver(bytes: &mut [u8]) {
    bytes[47] = bytes[47].min(u8::MAX - 1);
}

/// Returns the kind of a message of the engine.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<Kind> {
    bytes
        .first()
        .and_then(|first| Kind::from_nibble(first & 0x0f))
}

/// Writes a grandmaster's time properties into an Announce of the engine.
pub(crate) fn set_announced_time(bytes: &mut [u8], time: AnnouncedTime) {
    const LEAP_FLAGS: u8 = 0b11;
    let flag = |condition: bool, bit: u8| if condition { bit } else { 0 };
    bytes[7] = bytes[7] & LEAP_FLAGS
        | flag(time.utc_valid, 0x04)
        | flag(time.ptp_timescale, 0x08)
        | flag(time.time_traceable, 0x10)
        | flag(time.frequency_traceable, 0x20);
    bytes[44..46].copy_from_slice(&time.utc_offset.to_be_bytes());
    bytes[48] = time.clock_class;
    bytes[49] = time.clock_accuracy;
    bytes[63] = time.time_source;
}

#[cfg(test)]
mod tests;
