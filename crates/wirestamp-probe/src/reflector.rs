//! The session-reflector, which answers or drops each request. Its sockets are in
//! [`endpoint`](crate::endpoint).
//!
//! A reply is created in two steps, so that T3 is read as late as possible: [`Reflector::prepare`]
//! decides and fills in the extensions, [`Prepared::complete`] writes T3 and signs.
//! [`Reflector::sent`] takes the transmit timestamp, which the session's next reply carries as
//! Follow-Up Telemetry.
//!
//! Resource use is limited: a reply is never longer than its request (unless
//! [`answer_short`](ReflectorConfiguration::answer_short) is on), each source has a rate limit, and
//! sessions and sources are in tables of fixed size. Source addresses can be forged. With a key
//! only signed packets are answered, but an attacker can send a captured one again from another
//! address, where it begins another session.
//!
//! A forged packet cannot start an endless chain of answers. Replies and their echoes are never
//! answered, nor are packets from servers' ports. Any other program that answers gets about 40
//! replies, as long as its packets come at least once a minute and are not numbered like a
//! sender's. After that, a forged packet starts a chain of seven replies on average.
//!
//! An attacker who forges a sender's address can use up its rate, falsify its counts, and cause one
//! in eight of its packets to be dropped. With a key this requires captured packets, of a session
//! for which there is no room.

mod answer;
mod chain;
mod configuration;
mod counters;
mod fill;
mod limiter;
mod prepared;
mod replay;
mod sessions;

pub use configuration::{Arrival, ReflectorConfiguration};
pub use counters::{Dropped, ReflectorCounters};
pub use prepared::Prepared;

use crate::error_estimate::ErrorEstimate;
use crate::key::Key;
use crate::missing::Missing;
use crate::packet::{self, Invalid, Mode, Request};
use crate::stamp::{HostTimestamp, utc_of};
use crate::timestamp::WireTimestamp;
use crate::tlv::{Method, kind, reflect, walk};
use chain::Chains;
use fill::Fill;
use limiter::Limiter;
use sessions::{Previous, Session, SessionKey, Sessions};
use std::net::IpAddr;
use wirestamp_core::time::{Bounded, MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// The shortest request in octets: a sender's header in TWAMP Light (RFC 5357, section 4.1.2).
const SHORTEST: usize = 14;
/// The lowest port of a sender. Ports below belong to servers: echo (7), chargen (19) and others
/// that answer any packet.
const FIRST_SENDER: u16 = 1_024;
/// STAMP's own port (RFC 8762, section 4.1), which other senders use as their source port too.
/// Reflectors there are recognised by their packets.
const STAMP: u16 = 862;
/// The most replies that can await their transmit timestamp.
const PENDING: usize = 1 << 16;
/// The rounding error of encoding and decoding a timestamp.
const ROUNDING: Span = Span::from_nanoseconds(1);

/// The decision about a request.
#[derive(Debug)]
pub enum Decision {
    /// Send this reply.
    Reply(Prepared),
    /// Send the prepared replies first, take their transmit timestamps, and call
    /// [`Reflector::prepare`] again: this reply carries the timestamp of the previous one.
    SendFirst,
    /// Do not answer.
    Drop(Dropped),
}

/// A reply whose transmit timestamp is awaited.
#[derive(Debug, Clone, Copy)]
struct Pending {
    id: TransmitId,
    session: Option<usize>,
    offset: Span,
    /// The time at which T3 was read.
    written: Option<MonotonicTime>,
}

/// The sessions and limits of a reflector.
#[derive(Debug)]
pub struct Reflector {
    configuration: ReflectorConfiguration,
    sessions: Sessions,
    limiter: Limiter,
    chains: Chains,
    /// The ports on which it answers.
    ports: Vec<u16>,
    counters: ReflectorCounters,
    pending: Vec<Option<Pending>>,
    next_id: u32,
    /// The longest recent time from T3 to the transmit timestamp.
    send_path: Span,
    /// The error bound of the real-time clock relative to UTC; `None` if it is not synchronised.
    clock_bound: Option<Span>,
}

impl Reflector {
    /// Creates a reflector without sessions.
    pub fn new(configuration: ReflectorConfiguration) -> Self {
        Self {
            sessions: Sessions::new(configuration.sessions),
            limiter: Limiter::new(configuration.rate),
            chains: Chains::new(),
            ports: Vec::new(),
            counters: ReflectorCounters::default(),
            pending: vec![None; PENDING],
            next_id: 0,
            send_path: Span::ZERO,
            clock_bound: None,
            configuration,
        }
    }

    /// Returns the counts of requests and replies.
    pub fn counters(&self) -> ReflectorCounters {
        self.counters
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the key.
    pub fn key(&self) -> Option<&Key> {
        self.configuration.key.as_ref()
    }

    /// Sets all ports on which it answers: packets from these ports are assumed to come from other
    /// reflectors.
    pub fn set_ports(&mut self, ports: impl IntoIterator<Item = u16>) {
        self.ports = ports.into_iter().collect();
    }

    /// Sets the error bound of the real-time clock relative to UTC, which replies then claim (S
    /// bit); `None` if unknown.
    pub fn set_clock_bound(&mut self, bound: Option<Span>) {
        self.clock_bound = bound;
    }

    /// Answers or drops a request. A reply is written to `into`, without T3 and signature.
    pub fn prepare(&mut self, arrival: &Arrival<'_>, into: &mut Vec<u8>) -> Decision {
        match self.decide(arrival, into) {
            Ok(Some(prepared)) => {
                self.counters.replies += 1;
                arrival
                    .received
                    .iter()
                    .for_each(|received| self.counters.stamped(received.method));
                Decision::Reply(prepared)
            }
            Ok(None) => Decision::SendFirst,
            Err(reason) => {
                self.counters.drop(reason);
                Decision::Drop(reason)
            }
        }
    }

    /// Counts a request that is dropped without further checks.
    pub(crate) fn refuse(&mut self, reason: Dropped) {
        self.counters.drop(reason);
    }

    fn decide(
        &mut self,
        arrival: &Arrival<'_>,
        into: &mut Vec<u8>,
    ) -> Result<Option<Prepared>, Dropped> {
        if self.is_server(arrival.source.port()) || arrival.source.port() == arrival.port {
            return Err(Dropped::Loop);
        }
        if arrival.destination.is_some_and(|to| !is_unicast(to)) {
            return Err(Dropped::NotUnicast);
        }
        self.copy(arrival.payload, into)?;
        let key = self.configuration.key.clone();
        let mode = Mode::of(key.as_ref());
        let request = Request::read(into, key.as_ref()).map_err(|invalid| match invalid {
            Invalid::WrongHmac => Dropped::WrongHmac,
            Invalid::Truncated => Dropped::Short,
            Invalid::ErrorEstimate => Dropped::Invalid,
        })?;
        if answer::is_reply(into, mode) {
            return Err(Dropped::Loop);
        }
        if self.limiter.is_over(arrival.source.ip(), arrival.now) {
            return Err(Dropped::RateLimit);
        }
        let received = arrival.received.ok_or(Dropped::NoTimestamp)?;
        if mode == Mode::Open && answer::answers_us(into, received.utc, &self.configuration) {
            return Err(Dropped::Loop);
        }
        let area = &mut into[mode.base_length()..];
        let follows_up = walk(area)
            .any(|step| matches!(step, crate::tlv::Step::Tlv(tlv) if tlv.kind == kind::FOLLOW_UP));
        let identity = SessionKey::of(arrival, &request);
        let keeps = self.configuration.stateful || key.is_some();
        let place = keeps
            .then(|| self.sessions.find(&identity, arrival.now))
            .flatten();
        let numbered = place.filter(|_| self.configuration.stateful);
        if let Some(place) = numbered
            && follows_up
            && let Some(previous) = self.sessions.at(place).previous
            && is_unsent(&self.pending, previous.id)
        {
            return Ok(None);
        }
        if let Some(place) = place {
            let tai_offset = self.configuration.tai_offset;
            let session = self.sessions.at(place);
            if key.is_some() && session.replay.is_seen(&request, tai_offset, received.utc) {
                return Err(Dropped::Replayed);
            }
            if session
                .replay
                .starts_again(&request, tai_offset, received.utc)
            {
                session.begin_anew();
            }
            session.replay.see(&request, tai_offset, received.utc);
        }
        let counts = place.map(|place| &mut self.sessions.at(place).counts);
        self.chains
            .check(&identity, counts, request.sequence, arrival.now)?;
        self.limiter.count(arrival.source.ip(), arrival.now);
        let id = TransmitId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        self.pending[id.0 as usize % PENDING] = Some(Pending {
            id,
            session: numbered,
            offset: received.offset(),
            written: None,
        });
        let mut fresh = Session::stateless(request.sequence);
        let state = numbered.map_or(&mut fresh, |place| self.sessions.at(place));
        let (sequence, previous) = state.count(id);
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
            counts: numbered.and(Some(counts)),
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

    /// Returns whether a program at this port may answer any packet, or cannot be answered at all
    /// (port 0).
    fn is_server(&self, port: u16) -> bool {
        port < FIRST_SENDER && port != STAMP || self.ports.contains(&port)
    }

    /// Copies the request, extended to a base packet if that is allowed.
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

    /// The Error Estimate: it covers T2 and the Follow-Up Timestamp, or T3 as written if there is
    /// no follow-up.
    fn error_estimate(
        &self,
        received: &HostTimestamp,
        previous: Option<Previous>,
        follows_up: bool,
    ) -> ErrorEstimate {
        let sent = previous.and_then(|previous| previous.sent);
        let mut bound = sent.map_or(received.at.bound, |sent| {
            sent.at.bound.max(received.at.bound)
        });
        if !follows_up {
            bound += self.send_path;
        }
        let total = bound + ROUNDING + self.clock_bound.unwrap_or(Span::ZERO);
        ErrorEstimate::at_least(total, self.clock_bound.is_some(), self.configuration.format)
    }

    /// Notes that the replies prepared so far were sent, with T3 read at `written`: see
    /// [`Decision::SendFirst`].
    pub fn batch_sent(&mut self, ids: impl Iterator<Item = TransmitId>, written: MonotonicTime) {
        for id in ids {
            if let Some(pending) = &mut self.pending[id.0 as usize % PENDING]
                && pending.id == id
            {
                pending.written = Some(written);
            }
        }
    }

    /// Notes that a reply has no transmit timestamp, so that no later reply carries it.
    pub fn not_timestamped(&mut self, id: TransmitId, reason: Missing) {
        let place = &mut self.pending[id.0 as usize % PENDING];
        if place.take_if(|pending| pending.id == id).is_some() {
            self.counters.missing_transmit_timestamps.count(reason);
            self.counters.not_sent += u64::from(reason == Missing::NotSent);
        }
    }

    /// Takes the transmit timestamp of a reply.
    pub fn sent(&mut self, id: TransmitId, at: Bounded<MonotonicTime>, method: Method) {
        let place = &mut self.pending[id.0 as usize % PENDING];
        let Some(pending) = place.take_if(|pending| pending.id == id) else {
            return;
        };
        self.counters.stamped(method);
        if let Some(written) = pending.written {
            let fading = Span::from_nanoseconds(self.send_path.nanoseconds() * 255 / 256);
            self.send_path = fading.max(at.value - written + at.bound);
        }
        if let Some(session) = pending.session
            && let Some(previous) = &mut self.sessions.at(session).previous
            && previous.id == id
        {
            previous.sent = Some(HostTimestamp {
                at,
                utc: utc_of(at.value, pending.offset),
                method,
            });
        }
    }
}

/// Whether an address is unicast. A subnet's broadcast address cannot be recognised, but causes no
/// reply: a socket that is bound to one address ignores packets to others, and no system sends from
/// a broadcast address.
fn is_unicast(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast(),
        IpAddr::V6(v6) => !v6.is_multicast(),
    }
}

/// Whether a reply is prepared but not yet sent.
fn is_unsent(pending: &[Option<Pending>], id: TransmitId) -> bool {
    pending[id.0 as usize % PENDING]
        .is_some_and(|pending| pending.id == id && pending.written.is_none())
}

#[cfg(test)]
mod tests;
