//! The session-sender, which creates requests and evaluates replies. The caller provides the
//! socket.
//!
//! [`Session::request`] creates the next packet, [`Session::transmitted`] takes its transmit
//! timestamp, [`Session::received`] takes the packets that arrive, and [`Session::finish`] returns
//! the report. A packet is evaluated when its timeout is over: by then its transmit timestamp and
//! the follow-up of its reply are known. [`Windows`] groups evaluated packets for the analysis of
//! many hosts' clocks.
//!
//! T1 to T4 are the times at which the request left and arrived, and the reply left and arrived. A
//! packet yields:
//!
//! | quantity | estimate | error bound |
//! |---|---|---|
//! | forward delay | T2 − T1 | e1 + the reflector's Error Estimate + the largest offset between the clocks |
//! | backward delay | T4 − T3 | e4 + the reflector's Error Estimate + the largest offset between the clocks |
//! | round trip | T4 − T1 | e1 + e4 |
//! | residence time | T3 − T2, in seconds of the reflector's clock | twice the reflector's Error Estimate |
//! | path delay, both ways | round trip − residence time | the sum of both + drift between the clocks (1,200 ppm) + [fast slews](Session::adjusted) |
//!
//! Round trips and path delays are measured on the local monotonic clock, one-way delays on the
//! real-time clocks. The reflector's Error Estimate is its own claim. One-way delays require a
//! relation of the clocks ([`Clocks`]). A one-way delay is at least
//! [`least_delay`](SessionConfiguration::least_delay), and at most the round trip without the
//! residence time and the least delay of the other direction. Its interval is narrowed to these
//! limits, and the estimate is the middle of the result.

mod configuration;
mod direction;
mod flight;
mod losses;
mod receive;
mod reply;
mod report;
mod slews;
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
use slews::Slews;
use std::collections::VecDeque;
use tally::Tally;
use wirestamp_core::time::{MonotonicTime, Span, UtcTime};

/// A session with one reflector.
#[derive(Debug)]
pub struct Session {
    configuration: SessionConfiguration,
    flights: VecDeque<Flight>,
    /// The number of flights without a reply. It is kept, because it is queried after each packet
    /// and there may be a hundred thousand flights.
    unanswered: usize,
    /// The sequence number of the first flight.
    first: u32,
    /// The number of first flights that are measured already; they are kept until their timeout, to
    /// detect duplicates.
    measured: usize,
    /// The highest answered sequence number.
    newest_answered: Option<u32>,
    tally: Tally,
    losses: LossTally,
    rejected: [u64; Rejected::ALL.len()],
    /// The length in octets of the last reply that was too short, and of the shortest valid reply.
    truncated: Option<(usize, usize)>,
    /// The sequence numbers of the newest replies and their requests, to which follow-ups refer.
    recent: VecDeque<(u32, u32)>,
    /// Whether requests only close the session.
    closing: bool,
    /// The approximate current time, for the eras of timestamps.
    utc: UtcTime,
    /// The longest time from T1 to the transmit timestamp of a request.
    slowest_departure: Span,
    slews: Slews,
}

impl Session {
    /// Creates a session.
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
            slews: Slews::default(),
        }
    }

    /// Sets the error bound of synchronised clocks, for packets that are evaluated from now on;
    /// `None` if unknown, which gives no one-way delays. Has no effect on clocks with another
    /// relation.
    pub fn set_clock_bound(&mut self, bound: Option<Span>) {
        if let Clocks::Synchronized(_) = self.configuration.clocks {
            self.configuration.clocks = bound.map_or(Clocks::Unrelated, Clocks::Synchronized);
            self.tally.set_clocks(self.configuration.clocks);
        }
    }

    /// Creates the next request, and returns its sequence number. `now` and `utc` are the clocks'
    /// values just before sending, `bound` the largest difference from the written T1 to the
    /// departure; a longer one of an earlier request takes precedence.
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
            begun: self.slews.begin(),
        });
        sequence
    }

    /// Begins the closing of the session. Further requests are not counted: they only bring the
    /// follow-up of the last reply and show in which direction the last packets were lost.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Removes a request that could not be sent. Only the newest one can be removed.
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

    /// Evaluates the packets whose timeout is over, for which no reply or follow-up is expected any
    /// more. Calls `each` for every packet, answered or not.
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

    /// Measures packets that are complete before their timeout: they have a reply, a transmit
    /// timestamp and the next reply, which carries the exact T3. Packets are measured in the order
    /// of sending, so none is measured while an earlier one may still be answered.
    /// [`expire`](Self::expire) does not call `each` for them again, and their duplicates are
    /// counted until their timeout.
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

    /// Whether a later packet is answered.
    fn is_before_newest(&self, sequence: u32) -> bool {
        let after = |newest: u32| newest.wrapping_sub(sequence) as usize;
        let newest = self.newest_answered.map(after);
        newest.is_some_and(|after| (1..self.flights.len()).contains(&after))
    }

    /// Returns the number of packets in flight or not yet measured.
    pub fn in_flight(&self) -> usize {
        self.flights.len() - self.measured
    }

    /// Returns whether a packet is answered.
    pub fn is_answered(&self, sequence: u32) -> bool {
        let place = sequence.wrapping_sub(self.first) as usize;
        self.flights
            .get(place)
            .is_none_or(|flight| flight.replied.is_some())
    }

    /// Returns the time since a packet was sent; `None` if it is already evaluated.
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

    /// Returns the most frequent reason why replies could not be used; `None` if there are no such
    /// replies.
    pub fn unusable(&self) -> Option<Unusable> {
        let is_authenticated = self.configuration.key.is_some();
        Unusable::of(&self.rejected, self.truncated, is_authenticated)
    }

    /// Returns the number of packets rejected for a reason.
    pub fn rejected_for(&self, reason: Rejected) -> u64 {
        self.rejected[reason as usize]
    }

    /// Evaluates the remaining packets, and returns the report.
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
