//! The session-sender: it makes requests and evaluates the replies. Its socket is that of whoever measures.
//!
//! [`Session::request`] makes the next packet, [`Session::transmitted`] takes its transmit timestamp, [`Session::received`] takes the
//! packets that arrive, and [`Session::finish`] reports. A packet is judged when its timeout is over: by then its transmit timestamp and
//! the follow-up of its reply are known. [`Windows`] groups judged packets for the analysis of many hosts' clocks.
//!
//! A packet yields, with T1 … T4 the times at which request and reply left and arrived:
//!
//! | quantity | estimate | error bound |
//! |---|---|---|
//! | forward delay | T2 − T1 | e1 + the reflector's Error Estimate + the largest offset between the clocks |
//! | backward delay | T4 − T3 | e4 + the reflector's Error Estimate + the largest offset between the clocks |
//! | round trip | T4 − T1 | e1 + e4 |
//! | residence time | T3 − T2, in seconds of the reflector's clock | twice the reflector's Error Estimate |
//! | path delay, both ways | round trip − residence time | the sum of both + drift between the clocks (1,200 ppm) |
//!
//! All are in seconds of the clocks that timestamp: round trips and path delays of the local monotonic clock, delays of one direction of the real-time clocks.
//! The reflector's Error Estimate is its own claim. Delays of one direction exist only where the clocks are related ([`Clocks`]).
//! A delay of one direction lies between [`least_delay`](SessionConfiguration::least_delay) and the round trip without the residence time and the least
//! delay of the other direction. Its interval is narrowed to these limits: the estimate is then the middle of the rest.

mod configuration;
mod direction;
mod flight;
mod losses;
mod receive;
mod reply;
mod report;
mod tally;
mod unusable;
mod windows;

pub use configuration::{Clocks, SessionConfiguration};
pub use direction::{DelayVariation, Delays};
pub use losses::{DirectionalLoss, Losses};
pub use reply::{Rejected, ReplyArrival};
pub use report::{OffsetInterval, Sample, SessionReport};
pub use unusable::Unusable;
pub use windows::{Departed, Differences, Window, Windows};

use crate::error_estimate::ErrorEstimate;
use crate::missing::Missing;
use crate::packet::{Mode, Request};
use crate::stamp::HostTimestamp;
use crate::timestamp::WireTimestamp;
use crate::tlv::{Area, ClassOfService, DirectMeasurement, FollowUp, TimestampInformation, kind};
use flight::{Flight, Sent};
use losses::LossTally;
use std::collections::VecDeque;
use tally::Tally;
use wirestamp_core::time::{MonotonicTime, Span, UtcTime};

/// A session with one reflector.
#[derive(Debug)]
pub struct Session {
    configuration: SessionConfiguration,
    flights: VecDeque<Flight>,
    /// How many of them have no reply: they are asked for after each packet, and there may be a hundred thousand.
    unanswered: usize,
    /// The sequence number of the first of them.
    first: u32,
    /// So many of the first of them are measured; they are kept until their time is over, for their duplicates.
    measured: usize,
    /// The highest number that was answered.
    newest_answered: Option<u32>,
    tally: Tally,
    losses: LossTally,
    rejected: [u64; Rejected::ALL.len()],
    /// Octets of the last reply that was too short, and of the shortest that is not.
    truncated: Option<(usize, usize)>,
    /// The newest replies, by the reflector's number and ours: follow-ups name one of them.
    recent: VecDeque<(u32, u32)>,
    /// Set while requests are sent that only close the session.
    closing: bool,
    /// About now, for the eras of timestamps.
    utc: UtcTime,
    /// How much later than T1 says a request left, at most.
    slowest_departure: Span,
}

impl Session {
    /// Begins a session.
    pub fn new(configuration: SessionConfiguration) -> Self {
        Self {
            tally: Tally::new(&configuration),
            configuration,
            flights: VecDeque::new(),
            unanswered: 0,
            first: 0,
            measured: 0,
            newest_answered: None,
            losses: LossTally::default(),
            rejected: [0; Rejected::ALL.len()],
            truncated: None,
            recent: VecDeque::new(),
            closing: false,
            utc: UtcTime::from_nanoseconds(0),
            slowest_departure: Span::ZERO,
        }
    }

    /// Sets the error bound of synchronised clocks, for packets that are judged from now on; `None`: it is unknown, and they have no delay
    /// of one direction. Clocks with another relation keep it.
    pub fn set_clock_bound(&mut self, bound: Option<Span>) {
        if let Clocks::Synchronized(_) = self.configuration.clocks {
            self.configuration.clocks = bound.map_or(Clocks::Unrelated, Clocks::Synchronized);
            self.tally.set_clocks(self.configuration.clocks);
        }
    }

    /// Makes the next request; returns its sequence number. `now` and `utc` are the clocks just before it is sent, `bound` how far T1 as written may be
    /// from when it leaves; more where an earlier request took longer.
    pub fn request(
        &mut self,
        now: MonotonicTime,
        utc: UtcTime,
        bound: Span,
        into: &mut Vec<u8>,
    ) -> u32 {
        let sequence = self.first.wrapping_add(self.flights.len() as u32);
        self.utc = utc;
        let bound = bound.max(self.slowest_departure);
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
        self.unanswered += 1;
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
            let taken = self.flights.pop_back();
            self.unanswered -= usize::from(taken.is_some_and(|flight| flight.replied.is_none()));
        }
    }

    /// Takes the transmit timestamp of a request, or the reason why there is none.
    pub fn transmitted(&mut self, sequence: u32, sent: Result<HostTimestamp, Missing>) {
        let Some(flight) = self.flight(sequence) else {
            return;
        };
        flight.sent = sent.map_or_else(Sent::Missing, Sent::At);
        if let Ok(sent) = sent {
            let late = sent.at.value - flight.before + sent.at.bound;
            self.slowest_departure = self.slowest_departure.max(late);
        }
    }

    /// Judges the packets whose time is over: no reply, and no follow-up of it, is waited for any more. Calls `each` with every packet that is measured, answered or not.
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
        self.unanswered -= usize::from(flight.replied.is_none());
        self.losses.judged(sequence, &flight);
        if self.measured > 0 {
            self.measured -= 1;
        } else if flight.is_counted {
            each(&self.tally.judge(sequence, &flight));
        }
    }

    /// Measures the packets that are complete before their time is over: the reply is there, and so is what comes after it,
    /// the transmit timestamp and the next reply, which brings the exact T3. In the order in which they were sent, so that
    /// none is measured while one before it may still be answered. [`expire`](Self::expire) does not call `each` with them again, and
    /// their duplicates are counted until their time is over.
    pub fn complete(&mut self, mut each: impl FnMut(&Sample)) {
        while let Some(flight) = self.flights.get(self.measured) {
            let sequence = self.first.wrapping_add(self.measured as u32);
            if !flight.is_complete(self.is_before_newest(sequence)) {
                return;
            }
            if flight.is_counted {
                each(&self.tally.judge(sequence, flight));
            }
            self.measured += 1;
        }
    }

    /// Whether a packet that was sent later is answered.
    fn is_before_newest(&self, sequence: u32) -> bool {
        let after = |newest: u32| newest.wrapping_sub(sequence) as usize;
        let newest = self.newest_answered.map(after);
        newest.is_some_and(|after| (1..self.flights.len()).contains(&after))
    }

    /// Returns how many packets are in flight or not yet measured.
    pub fn in_flight(&self) -> usize {
        self.flights.len() - self.measured
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
        let mut flights = self.flights.iter();
        debug_assert_eq!(
            self.unanswered == 0,
            flights.all(|flight| flight.replied.is_some())
        );
        self.unanswered == 0
    }

    /// Returns why the replies that came could not be used, as of most of those that could not; `None`: there are none.
    pub fn unusable(&self) -> Option<Unusable> {
        let is_authenticated = self.configuration.key.is_some();
        Unusable::of(&self.rejected, self.truncated, is_authenticated)
    }

    /// Returns how many packets were rejected for a reason.
    pub fn rejected_for(&self, reason: Rejected) -> u64 {
        self.rejected[reason as usize]
    }

    /// Judges the packets that are left, and returns the report.
    pub fn finish(mut self, mut each: impl FnMut(&Sample)) -> SessionReport {
        while !self.flights.is_empty() {
            self.judge(&mut each);
        }
        let unusable = self.unusable();
        let losses = self.losses.losses();
        SessionReport {
            unusable,
            ..self
                .tally
                .report(losses, self.rejected, &self.configuration)
        }
    }

    fn flight(&mut self, sequence: u32) -> Option<&mut Flight> {
        let place = sequence.wrapping_sub(self.first) as usize;
        self.flights.get_mut(place)
    }
}

#[cfg(test)]
mod tests;
