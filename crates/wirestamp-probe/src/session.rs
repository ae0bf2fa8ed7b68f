//! The session-sender: requests, and what their replies say. Its socket is `endpoint`'s.
//!
//! [`Session::request`] makes the next packet, [`Session::transmitted`] takes its transmit timestamp, [`Session::received`] takes what arrives, and
//! [`Session::finish`] reports. A packet is judged when its timeout is over: by then its transmit timestamp and the follow-up of its reply are known.
//!
//! What a packet shows, with T1 … T4 the times at which request and reply left and arrived:
//!
//! | quantity | estimate | error bound |
//! |---|---|---|
//! | forward delay | T2 − T1 | e1 + the reflector's Error Estimate + what the clocks may differ |
//! | backward delay | T4 − T3 | e4 + the reflector's Error Estimate + what the clocks may differ |
//! | round trip | T4 − T1 | e1 + e4 |
//! | residence time | T3 − T2, in seconds of the reflector's clock | twice the reflector's Error Estimate |
//! | path delay, both ways | round trip − residence time | the sum of both + drift between the clocks (1,200 ppm) |
//!
//! All are in seconds of the clocks that timestamp: round trips and path delays of the local monotonic clock, delays of one direction of the real-time clocks.
//! The reflector's Error Estimate is its own claim. Delays of one direction exist only where the clocks are related ([`Clocks`]).

mod direction;
mod flight;
mod losses;
mod report;
mod tally;

pub use direction::{DelayVariation, Delays};
pub use losses::{DirectionalLoss, Losses};
pub use report::{Measured, OffsetInterval, Sample, SessionReport};

use crate::error_estimate::ErrorEstimate;
use crate::key::Key;
use crate::packet::{self, Invalid, Mode, Request};
use crate::stamp::HostTimestamp;
use crate::timestamp::{TimestampFormat, WireTimestamp};
use crate::tlv::{
    Area, ClassOfService, DirectMeasurement, Distrust, FollowUp, TimestampInformation, accept, kind,
};
use flight::{DUPLICATES, Flight, Replied, Sent};
use losses::LossTally;
use std::collections::VecDeque;
use tally::Tally;
use wirestamp_core::time::{MonotonicTime, Span, UtcTime};

/// How many replies can still be followed up.
const RECENT: usize = 256;

/// How the two hosts' real-time clocks are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// They are one: both ends run on one host. The caller's word.
    Same,
    /// Both follow UTC: ours within this bound, the reflector's within its Error Estimate where it says so (S bit).
    Synchronized(Span),
    /// Nobody knows: no delay of one direction is given.
    Unrelated,
}

/// What a session sends and expects.
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
        }
    }
}

/// A packet as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct ReplyArrival<'a> {
    /// The datagram. From whom it came is checked by the caller: a session has one reflector.
    pub payload: &'a [u8],
    /// T4.
    pub received: Option<HostTimestamp>,
    /// When the program had it.
    pub read: MonotonicTime,
    /// TTL or hop limit.
    pub hop_limit: Option<u8>,
    /// DSCP and ECN.
    pub traffic_class: Option<u8>,
}

/// Why a packet is no reply to this session. None changes a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// Shorter than a reply of this mode.
    Truncated,
    /// Not signed by the session's key: the reflector has another one, or the packet is forged.
    WrongHmac,
    /// Of another session, or invalid: identifier, Error Estimate, T2 or T3.
    Foreign,
    /// Answers nothing that is awaited: sequence number or T1 are not as sent, or the reply is over its time.
    Unmatched,
    /// A second reply with the number of one that was accepted.
    Duplicate,
    /// Its extensions are not signed by the session's key, or the reflector says that ours were not.
    Distrusted,
}

impl Rejected {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Truncated,
        Self::WrongHmac,
        Self::Foreign,
        Self::Unmatched,
        Self::Duplicate,
        Self::Distrusted,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::WrongHmac => "wrong_hmac",
            Self::Foreign => "foreign",
            Self::Unmatched => "unmatched",
            Self::Duplicate => "duplicate",
            Self::Distrusted => "distrusted",
        }
    }
}

/// A session with one reflector.
#[derive(Debug)]
pub struct Session {
    configuration: SessionConfiguration,
    flights: VecDeque<Flight>,
    /// The sequence number of the first of them.
    first: u32,
    tally: Tally,
    losses: LossTally,
    rejected: [u64; Rejected::ALL.len()],
    /// The newest replies, by the reflector's number and ours: follow-ups name one of them.
    recent: VecDeque<(u32, u32)>,
    /// Set while requests are sent that only close the session.
    closing: bool,
}

/// What the extensions of a reply say.
#[derive(Debug, Clone, Copy, Default)]
struct Extensions {
    follow_up: Option<FollowUp>,
    counts: Option<DirectMeasurement>,
    class: Option<ClassOfService>,
    information: Option<TimestampInformation>,
}

impl Session {
    /// Begins a session.
    pub fn new(configuration: SessionConfiguration) -> Self {
        Self {
            tally: Tally::new(&configuration),
            configuration,
            flights: VecDeque::new(),
            first: 0,
            losses: LossTally::default(),
            rejected: [0; Rejected::ALL.len()],
            recent: VecDeque::new(),
            closing: false,
        }
    }

    /// Makes the next request; returns its sequence number. `now` and `utc` are the clocks just before it is sent, `bound` how far T1 as written may be
    /// from when it leaves.
    pub fn request(
        &mut self,
        now: MonotonicTime,
        utc: UtcTime,
        bound: Span,
        into: &mut Vec<u8>,
    ) -> u32 {
        let sequence = self.first.wrapping_add(self.flights.len() as u32);
        let configuration = &self.configuration;
        let key = configuration.key.as_ref();
        let base = Mode::of(key).base_length();
        let clock = match configuration.clocks {
            Clocks::Synchronized(bound) => Some(bound),
            Clocks::Same | Clocks::Unrelated => None,
        };
        let error = ErrorEstimate::at_least(
            bound + clock.unwrap_or(Span::ZERO),
            clock.is_some(),
            configuration.format,
        );
        let timestamp = WireTimestamp::encode(utc, configuration.format, configuration.tai_offset);
        into.clear();
        into.resize(base, 0);
        Request {
            sequence,
            timestamp,
            error_bits: error.bits(),
            ssid: configuration.ssid,
        }
        .write(key, into);
        let mut area = Area::default();
        area.push(
            kind::TIMESTAMP_INFORMATION,
            &TimestampInformation::default().octets(),
        );
        let class = ClassOfService {
            wanted_dscp: configuration.reply_dscp,
            ..ClassOfService::default()
        };
        area.push(kind::CLASS_OF_SERVICE, &class.octets());
        let counts = DirectMeasurement {
            sent: sequence.wrapping_add(1),
            ..DirectMeasurement::default()
        };
        area.push(kind::DIRECT_MEASUREMENT, &counts.octets());
        area.push(kind::FOLLOW_UP, &FollowUp::octets(None));
        if let Some(key) = key {
            area.sign(sequence, key);
        }
        area.pad_to(configuration.size.saturating_sub(base));
        into.extend_from_slice(area.octets());
        self.flights.push_back(Flight {
            before: now,
            timestamp,
            error_bits: error.bits(),
            is_counted: !self.closing,
            sent: Sent::Awaited,
            replied: None,
            duplicates: Vec::new(),
        });
        sequence
    }

    /// From now on requests only close the session: they bring the follow-up of the last reply and show what became of the last packets, and are not counted.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Takes back a request that could not be sent; only the newest can be.
    pub fn not_sent(&mut self, sequence: u32) {
        if sequence.wrapping_add(1) == self.first.wrapping_add(self.flights.len() as u32) {
            self.flights.pop_back();
        }
    }

    /// Takes the transmit timestamp of a request; `None`: there will be none.
    pub fn transmitted(&mut self, sequence: u32, sent: Option<HostTimestamp>) {
        if let Some(flight) = self.flight(sequence) {
            flight.sent = sent.map_or(Sent::Missing, Sent::At);
        }
    }

    /// Takes what arrived; returns the sequence number that it answers.
    ///
    /// # Errors
    /// [`Rejected`], if it is no reply. It is counted, and changes nothing else.
    pub fn received(&mut self, arrival: &ReplyArrival<'_>) -> Result<u32, Rejected> {
        let accepted = self.take(arrival);
        if let Err(reason) = accepted {
            self.rejected[reason as usize] += 1;
        }
        accepted
    }

    fn take(&mut self, arrival: &ReplyArrival<'_>) -> Result<u32, Rejected> {
        let key = self.configuration.key.clone();
        let reply =
            packet::Reply::read(arrival.payload, key.as_ref()).map_err(
                |invalid| match invalid {
                    Invalid::Truncated => Rejected::Truncated,
                    Invalid::WrongHmac => Rejected::WrongHmac,
                    Invalid::ErrorEstimate => Rejected::Foreign,
                },
            )?;
        // a reflector of RFC 8762 alone returns 0
        if reply.ssid != self.configuration.ssid && reply.ssid != 0 {
            return Err(Rejected::Foreign);
        }
        let near = arrival
            .received
            .map_or(UtcTime::from_nanoseconds(0), |received| received.utc);
        let tai_offset = self.configuration.tai_offset;
        let decode =
            |timestamp: WireTimestamp| timestamp.decode(reply.error.format(), tai_offset, near);
        let (Some(received), Some(sent)) = (decode(reply.received), decode(reply.timestamp)) else {
            return Err(Rejected::Foreign);
        };
        let error = reply.error.bound() + tally::ROUNDING;
        let extensions = self.extensions(arrival.payload, reply.sequence, key.as_ref());
        let (extensions, is_trusted) = match extensions {
            Ok(extensions) => (extensions, true),
            Err(_) => (Extensions::default(), false),
        };
        let flight = self
            .flight(reply.sender_sequence)
            .ok_or(Rejected::Unmatched)?;
        if flight.timestamp != reply.sender_timestamp
            || flight.error_bits != reply.sender_error_bits
        {
            return Err(Rejected::Unmatched);
        }
        let residence = sent - received;
        if residence + error + error < Span::ZERO
            || sent - received
                > arrival.read - flight.before + error + error + tally::drift(residence.abs())
        {
            return Err(Rejected::Foreign);
        }
        if let Some(replied) = flight.replied {
            let is_new = replied.reflector_sequence != reply.sequence
                && !flight.duplicates.contains(&reply.sequence);
            if is_new && flight.duplicates.len() < DUPLICATES {
                flight.duplicates.push(reply.sequence);
                // the reply to a duplicate is the next one, which carries the follow-up
                self.follow_up(&extensions, reply.error, near);
                self.losses.duplicated_forward(reply.sequence);
            } else {
                self.losses.duplicated_backward();
            }
            return Err(Rejected::Duplicate);
        }
        if !is_trusted {
            self.rejected[Rejected::Distrusted as usize] += 1;
        }
        let replied = Replied {
            reflector_sequence: reply.sequence,
            received,
            sent_as_written: sent,
            followed_up: None,
            error,
            is_synchronized: reply.error.is_synchronized(),
            arrived: arrival.received,
            read: arrival.read,
        };
        let is_counted = match self.flight(reply.sender_sequence) {
            Some(flight) => {
                flight.replied = Some(replied);
                flight.is_counted
            }
            None => false,
        };
        self.follow_up(&extensions, reply.error, near);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent
            .push_back((reply.sequence, reply.sender_sequence));
        self.losses.replied(
            reply.sender_sequence,
            reply.sequence,
            extensions.counts,
            is_counted,
        );
        let header = tally::Header {
            format: reply.error.format(),
            sender_ttl: reply.sender_ttl,
            hop_limit: arrival.hop_limit,
            traffic_class: arrival.traffic_class,
            class: extensions.class,
            information: extensions.information,
            ssid: reply.ssid,
        };
        self.tally.header(&header, &self.configuration);
        Ok(reply.sender_sequence)
    }

    fn extensions(
        &self,
        payload: &[u8],
        sequence: u32,
        key: Option<&Key>,
    ) -> Result<Extensions, Distrust> {
        let mut found = Extensions::default();
        let area = &payload[Mode::of(key).base_length()..];
        accept(area, sequence, key, |kind, value| match kind {
            kind::FOLLOW_UP => found.follow_up = FollowUp::read(value),
            kind::DIRECT_MEASUREMENT => found.counts = DirectMeasurement::read(value),
            kind::CLASS_OF_SERVICE => found.class = ClassOfService::read(value),
            kind::TIMESTAMP_INFORMATION => found.information = TimestampInformation::read(value),
            _ => {}
        })?;
        Ok(found)
    }

    /// Gives the reply that a follow-up names its exact T3, if it can be that: not before the T3 that was written, and not after the
    /// reply arrived.
    fn follow_up(&mut self, extensions: &Extensions, estimate: ErrorEstimate, near: UtcTime) {
        let Some(follow_up) = extensions.follow_up else {
            return;
        };
        let Some(exact) =
            follow_up
                .timestamp
                .decode(estimate.format(), self.configuration.tai_offset, near)
        else {
            return;
        };
        let error = estimate.bound() + tally::ROUNDING;
        let is_named = |recent: &&(u32, u32)| recent.0 == follow_up.sequence;
        let Some((_, sequence)) = self.recent.iter().rev().find(is_named).copied() else {
            return;
        };
        let Some(flight) = self.flight(sequence) else {
            return;
        };
        let before = flight.before;
        let Some(replied) = flight.replied.as_mut() else {
            return;
        };
        let both = replied.error.max(error);
        let residence = exact - replied.received;
        let is_plausible = exact - replied.sent_as_written + both + both >= Span::ZERO
            && residence <= replied.read - before + both + both + tally::drift(residence.abs());
        if is_plausible && replied.followed_up.is_none() {
            replied.followed_up = Some((exact, follow_up.method));
            replied.error = both;
        }
    }

    /// Judges the packets whose time is over; calls `each` with every packet that was answered.
    pub fn expire(&mut self, now: MonotonicTime, mut each: impl FnMut(&Sample)) {
        while let Some(flight) = self.flights.front()
            && now - flight.before > self.configuration.timeout
        {
            self.judge(&mut each);
        }
    }

    fn judge(&mut self, each: &mut impl FnMut(&Sample)) {
        let Some(flight) = self.flights.pop_front() else {
            return;
        };
        let sequence = self.first;
        self.first = sequence.wrapping_add(1);
        self.losses.judged(sequence, &flight);
        if flight.is_counted
            && let Some(sample) = self.tally.judge(sequence, &flight)
        {
            each(&sample);
        }
    }

    /// Returns how many packets are in flight or not yet judged.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Returns whether a reply to a packet has come.
    pub fn is_answered(&self, sequence: u32) -> bool {
        let place = sequence.wrapping_sub(self.first) as usize;
        self.flights
            .get(place)
            .is_none_or(|flight| flight.replied.is_some())
    }

    /// Returns how long ago a packet was sent; `None`: it is judged already.
    pub fn age(&self, sequence: u32, now: MonotonicTime) -> Option<Span> {
        let place = sequence.wrapping_sub(self.first) as usize;
        self.flights.get(place).map(|flight| now - flight.before)
    }

    /// Returns whether every packet in flight is answered.
    pub fn all_answered(&self) -> bool {
        self.flights.iter().all(|flight| flight.replied.is_some())
    }

    /// Returns how many packets were rejected for a reason.
    pub fn rejected_for(&self, reason: Rejected) -> u64 {
        self.rejected[reason as usize]
    }

    /// Judges what is left, and reports.
    pub fn finish(mut self, mut each: impl FnMut(&Sample)) -> SessionReport {
        while !self.flights.is_empty() {
            self.judge(&mut each);
        }
        let losses = self.losses.losses();
        self.tally
            .report(losses, self.rejected, &self.configuration)
    }

    fn flight(&mut self, sequence: u32) -> Option<&mut Flight> {
        let place = sequence.wrapping_sub(self.first) as usize;
        self.flights.get_mut(place)
    }
}
