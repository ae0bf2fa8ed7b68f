//! The session-reflector: what becomes of each request. Its sockets are `endpoint`'s.
//!
//! A reply is made in two steps, so that T3 is read as late as possible: [`Reflector::prepare`] decides and fills in the extensions,
//! [`Prepared::complete`] writes T3 and signs. [`Reflector::sent`] takes the transmit timestamp, which the session's next reply carries as Follow-Up
//! Telemetry.
//!
//! Peers choose what it costs and cannot choose more: a reply is never longer than its request, a source has a rate limit, and sessions and sources live in
//! tables of fixed size. All sources of an open session can be forged; a key prevents that.

mod limiter;
mod replay;
mod sessions;

use crate::error_estimate::ErrorEstimate;
use crate::key::Key;
use crate::packet::{self, Invalid, Mode, Request};
use crate::stamp::{HostTimestamp, utc_of};
use crate::timestamp::{TimestampFormat, WireTimestamp};
use crate::tlv::{
    ClassOfService, DirectMeasurement, FollowUp, Method, SyncSource, TimestampInformation, kind,
    reflect, walk,
};
use limiter::Limiter;
use sessions::{Previous, Session, SessionKey, Sessions};
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// A sender's header in TWAMP Light, the shortest request there is (RFC 5357, section 4.1.2).
const SHORTEST: usize = 14;
/// So many replies can await their transmit timestamp.
const PENDING: usize = 1 << 16;
/// Encoding and decoding a timestamp round to the nanosecond.
const ROUNDING: Span = Span::from_nanoseconds(1);

/// How a reflector behaves.
#[derive(Debug, Clone)]
pub struct ReflectorConfiguration {
    /// Whether replies are numbered by session, so that losses can be attributed to a direction; Follow-Up Telemetry needs it.
    pub stateful: bool,
    /// `Some`: only packets that this key has signed are answered.
    pub key: Option<Key>,
    /// The format of T2, T3 and the Follow-Up Timestamp.
    pub format: TimestampFormat,
    /// TAI − UTC in seconds, for PTP's format.
    pub tai_offset: i32,
    /// What synchronises the real-time clock, for Timestamp Information.
    pub source: SyncSource,
    /// Whether a reply may have the DSCP that the request asks for.
    pub grant_dscp: bool,
    /// Whether requests shorter than a base packet are answered (TWAMP Light). The reply is then longer than the request: up to three times.
    pub answer_short: bool,
    /// How many sessions there may be.
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

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dropped {
    /// Shorter than a request can be, or than what may be answered without amplifying.
    Short,
    /// Not signed by the key.
    WrongHmac,
    /// An invalid Error Estimate.
    Invalid,
    /// From a reflector's port: two reflectors would answer each other for ever.
    Loop,
    /// Its source sends more than its limit.
    RateLimit,
    /// There is no room for another session.
    SessionsFull,
    /// Its number was answered before (authenticated sessions).
    Replayed,
    /// Its receive timestamp is missing.
    NoTimestamp,
}

impl Dropped {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Short,
        Self::WrongHmac,
        Self::Invalid,
        Self::Loop,
        Self::RateLimit,
        Self::SessionsFull,
        Self::Replayed,
        Self::NoTimestamp,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::WrongHmac => "wrong_hmac",
            Self::Invalid => "invalid",
            Self::Loop => "loop",
            Self::RateLimit => "rate_limit",
            Self::SessionsFull => "sessions_full",
            Self::Replayed => "replayed",
            Self::NoTimestamp => "no_timestamp",
        }
    }
}

/// What is to be done about a request.
#[derive(Debug)]
pub enum Decision {
    /// Send this reply.
    Reply(Prepared),
    /// Send what is prepared first, take the transmit timestamps, and ask again: this reply carries the one before it.
    SendFirst,
    /// Nothing.
    Drop(Dropped),
}

/// A reply that lacks T3 and its signature.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    /// Where it goes.
    pub to: SocketAddr,
    /// Under which its transmit timestamp is awaited.
    pub id: TransmitId,
    /// DSCP and ECN that it shall have.
    pub traffic_class: u8,
    reply: packet::Reply,
    /// UTC − monotonic.
    offset: Span,
    tai_offset: i32,
}

impl Prepared {
    /// Writes the base packet with T3 = `now`, and signs it. `octets` is what [`Reflector::prepare`] filled.
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

/// A reply whose transmit timestamp is awaited.
#[derive(Debug, Clone, Copy)]
struct Pending {
    id: TransmitId,
    session: Option<usize>,
    offset: Span,
    /// When T3 was read.
    written: Option<MonotonicTime>,
}

/// How many requests were answered and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectorCounters {
    /// Replies made.
    pub replies: u64,
    dropped: [u64; Dropped::ALL.len()],
}

impl ReflectorCounters {
    /// Returns how many were dropped for a reason.
    pub fn dropped_for(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    /// Returns how many were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

/// The sessions and limits of a reflector.
#[derive(Debug)]
pub struct Reflector {
    configuration: ReflectorConfiguration,
    sessions: Sessions,
    limiter: Limiter,
    counters: ReflectorCounters,
    pending: Vec<Option<Pending>>,
    next_id: u32,
    /// Counts what is sent together.
    batch: u64,
    /// How much later than T3 says packets left lately, at most.
    send_path: Span,
    /// What the real-time clock may be off; `None`: it is not synchronised.
    clock_bound: Option<Span>,
}

impl Reflector {
    /// Makes a reflector without sessions.
    pub fn new(configuration: ReflectorConfiguration) -> Self {
        Self {
            sessions: Sessions::new(configuration.sessions),
            limiter: Limiter::new(configuration.rate),
            counters: ReflectorCounters::default(),
            pending: vec![None; PENDING],
            next_id: 0,
            batch: 1,
            send_path: Span::ZERO,
            clock_bound: None,
            configuration,
        }
    }

    /// Returns what became of the requests.
    pub fn counters(&self) -> ReflectorCounters {
        self.counters
    }

    /// Returns how many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the key.
    pub fn key(&self) -> Option<&Key> {
        self.configuration.key.as_ref()
    }

    /// Says how far the real-time clock may be from UTC, which replies then claim (S bit); `None`: unknown.
    pub fn set_clock_bound(&mut self, bound: Option<Span>) {
        self.clock_bound = bound;
    }

    /// Decides what becomes of a request. For a reply, `into` then holds it but for T3 and signature.
    pub fn prepare(&mut self, arrival: &Arrival<'_>, into: &mut Vec<u8>) -> Decision {
        match self.decide(arrival, into) {
            Ok(Some(prepared)) => {
                self.counters.replies += 1;
                Decision::Reply(prepared)
            }
            Ok(None) => Decision::SendFirst,
            Err(reason) => {
                self.counters.dropped[reason as usize] += 1;
                Decision::Drop(reason)
            }
        }
    }

    fn decide(
        &mut self,
        arrival: &Arrival<'_>,
        into: &mut Vec<u8>,
    ) -> Result<Option<Prepared>, Dropped> {
        let received = arrival.received.ok_or(Dropped::NoTimestamp)?;
        // nobody can answer port 0
        if arrival.source.port() == arrival.port || arrival.source.port() == 0 {
            return Err(Dropped::Loop);
        }
        self.copy(arrival.payload, into)?;
        let key = self.configuration.key.clone();
        let request = Request::read(into, key.as_ref()).map_err(|invalid| match invalid {
            Invalid::WrongHmac => Dropped::WrongHmac,
            Invalid::Truncated => Dropped::Short,
            Invalid::ErrorEstimate => Dropped::Invalid,
        })?;
        if self.limiter.is_over(arrival.source.ip(), arrival.now) {
            return Err(Dropped::RateLimit);
        }
        let area = &mut into[Mode::of(key.as_ref()).base_length()..];
        let follows_up = walk(area)
            .any(|step| matches!(step, crate::tlv::Step::Tlv(tlv) if tlv.kind == kind::FOLLOW_UP));
        let mut session = None;
        if self.configuration.stateful {
            let found = self
                .sessions
                .find(&SessionKey::of(arrival, &request), arrival.now);
            let place = found.ok_or(Dropped::SessionsFull)?;
            let state = self.sessions.at(place);
            if follows_up
                && state
                    .previous
                    .is_some_and(|previous| previous.batch == self.batch)
            {
                return Ok(None);
            }
            if key.is_some()
                && state
                    .replay
                    .is_seen(&request, self.configuration.tai_offset, received.utc)
            {
                return Err(Dropped::Replayed);
            }
            session = Some(place);
        }
        self.limiter.count(arrival.source.ip(), arrival.now);
        let id = TransmitId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        self.pending[id.0 as usize % PENDING] = Some(Pending {
            id,
            session,
            offset: received.offset(),
            written: None,
        });
        let mut fresh = Session::stateless(request.sequence);
        let state = session.map_or(&mut fresh, |place| self.sessions.at(place));
        let (sequence, previous) = state.count(id, self.batch);
        if key.is_some() {
            state
                .replay
                .see(&request, self.configuration.tai_offset, received.utc);
        }
        let counts = state.counts();
        let error = self.error_estimate(&received, previous, follows_up);
        let (ecn, mut dscp) = match arrival.traffic_class {
            Some(class) => (class & 3, class >> 2),
            None => (0, 0),
        };
        let fill = Fill {
            configuration: &self.configuration,
            received: &received,
            previous,
            counts: session.and(Some(counts)),
            traffic_class: arrival.traffic_class,
        };
        let filled = reflect(area, request.sequence, key.as_ref(), |kind, value| {
            dscp = fill.value(kind, value).unwrap_or(dscp);
        });
        filled.sign(area, sequence, key.as_ref());
        Ok(Some(Prepared {
            to: arrival.source,
            id,
            traffic_class: dscp << 2 | ecn,
            reply: packet::Reply {
                sequence,
                timestamp: WireTimestamp::NONE,
                error,
                ssid: request.ssid,
                received: WireTimestamp::encode(
                    received.utc,
                    self.configuration.format,
                    self.configuration.tai_offset,
                ),
                sender_sequence: request.sequence,
                sender_timestamp: request.timestamp,
                sender_error_bits: request.error_bits,
                sender_ttl: arrival.hop_limit.unwrap_or(0),
            },
            offset: received.offset(),
            tai_offset: self.configuration.tai_offset,
        }))
    }

    /// Copies the request, lengthened to a base packet if that is allowed.
    fn copy(&self, payload: &[u8], into: &mut Vec<u8>) -> Result<(), Dropped> {
        let base = Mode::of(self.key()).base_length();
        let is_short = payload.len() < base;
        let may_be_short = self.configuration.answer_short && self.key().is_none();
        if is_short && !(may_be_short && payload.len() >= SHORTEST) {
            return Err(Dropped::Short);
        }
        into.clear();
        into.extend_from_slice(payload);
        if is_short {
            into.resize(base, 0);
        }
        Ok(())
    }

    /// Covers T2 and the Follow-Up Timestamp; where there is no follow-up, T3 as it is written too.
    fn error_estimate(
        &self,
        received: &HostTimestamp,
        previous: Option<Previous>,
        follows_up: bool,
    ) -> ErrorEstimate {
        let sent = previous.and_then(|previous| previous.sent);
        let mut bound = sent.map_or(received.bound, |sent| sent.bound.max(received.bound));
        if !follows_up {
            bound += self.send_path;
        }
        let total = bound + ROUNDING + self.clock_bound.unwrap_or(Span::ZERO);
        ErrorEstimate::at_least(total, self.clock_bound.is_some(), self.configuration.format)
    }

    /// Says that what was prepared so far is sent, with T3 read at `written`: see [`Decision::SendFirst`].
    pub fn batch_sent(&mut self, ids: impl Iterator<Item = TransmitId>, written: MonotonicTime) {
        for id in ids {
            if let Some(pending) = &mut self.pending[id.0 as usize % PENDING]
                && pending.id == id
            {
                pending.written = Some(written);
            }
        }
        self.batch += 1;
    }

    /// Takes the transmit timestamp of a reply; without one there is nothing to report.
    pub fn sent(&mut self, id: TransmitId, at: MonotonicTime, bound: Span, method: Method) {
        let place = &mut self.pending[id.0 as usize % PENDING];
        let Some(pending) = place.take_if(|pending| pending.id == id) else {
            return;
        };
        if let Some(written) = pending.written {
            let fading = Span::from_nanoseconds(self.send_path.nanoseconds() * 255 / 256);
            self.send_path = fading.max(at - written + bound);
        }
        if let Some(session) = pending.session
            && let Some(previous) = &mut self.sessions.at(session).previous
            && previous.id == id
        {
            let utc = utc_of(at, pending.offset);
            previous.sent = Some(HostTimestamp {
                at,
                utc,
                bound,
                method,
            });
        }
    }
}

/// What the extensions are filled in with.
struct Fill<'a> {
    configuration: &'a ReflectorConfiguration,
    received: &'a HostTimestamp,
    previous: Option<Previous>,
    counts: Option<(u32, u32)>,
    traffic_class: Option<u8>,
}

impl Fill<'_> {
    /// Fills in one; returns the DSCP that the reply shall have, if it says so.
    fn value(&self, kind: u8, value: &mut [u8]) -> Option<u8> {
        let sent = self
            .previous
            .and_then(|previous| Some((previous.sequence, previous.sent?)));
        match kind {
            kind::TIMESTAMP_INFORMATION => {
                let information = TimestampInformation {
                    source_in: Some(self.configuration.source),
                    method_in: Some(self.received.method),
                    source_out: Some(self.configuration.source),
                    method_out: Some(Method::Software),
                };
                value[..4].copy_from_slice(&information.octets());
            }
            kind::CLASS_OF_SERVICE => {
                let class = self.traffic_class?;
                let wanted = ClassOfService::read(value)?.wanted_dscp;
                let granted = self.configuration.grant_dscp || wanted == class >> 2;
                let answer = ClassOfService {
                    wanted_dscp: wanted,
                    received_dscp: class >> 2,
                    received_ecn: class & 3,
                    refused: !granted,
                };
                value.copy_from_slice(&answer.octets());
                return granted.then_some(wanted);
            }
            kind::DIRECT_MEASUREMENT => {
                let counts = DirectMeasurement::read(value)?;
                let (reflector_received, reflector_sent) = self.counts.unwrap_or_default();
                let counts = DirectMeasurement {
                    reflector_received,
                    reflector_sent,
                    ..counts
                };
                value.copy_from_slice(&counts.octets());
            }
            kind::FOLLOW_UP => {
                let follow_up = sent.map(|(sequence, sent)| FollowUp {
                    sequence,
                    timestamp: WireTimestamp::encode(
                        sent.utc,
                        self.configuration.format,
                        self.configuration.tai_offset,
                    ),
                    method: sent.method,
                });
                value.copy_from_slice(&FollowUp::octets(follow_up));
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
