//! Validation of arriving packets: replies, and their follow-ups of earlier replies.

use super::flight::{DUPLICATES, Replied};
use super::{Rejected, ReplyArrival, Session, tally};
use crate::error_estimate::ErrorEstimate;
use crate::key::Key;
use crate::packet::{self, Invalid, Mode};
use crate::timestamp::WireTimestamp;
use crate::tlv::{
    ClassOfService, DirectMeasurement, Distrust, FollowUp, TimestampInformation, accept, kind,
};
use wirestamp_core::time::{Span, UtcTime};

/// The number of replies that can still get a follow-up.
const RECENT: usize = 256;

/// The extensions of a reply.
#[derive(Debug, Clone, Copy, Default)]
struct Extensions {
    follow_up: Option<FollowUp>,
    counts: Option<DirectMeasurement>,
    class: Option<ClassOfService>,
    information: Option<TimestampInformation>,
}

impl Session {
    /// Processes a packet that arrived, and returns the sequence number that it answers.
    ///
    /// # Errors
    /// [`Rejected`] if it is not a valid reply. It is counted and has no other effect.
    pub fn received(&mut self, arrival: &ReplyArrival<'_>) -> Result<u32, Rejected> {
        let accepted = self.take(arrival);
        if let Err(reason) = accepted {
            self.rejected[reason as usize] += 1;
            if reason == Rejected::Truncated {
                let least = Mode::of(self.configuration.key.as_ref()).base_length();
                self.truncated = Some((arrival.payload.len(), least));
            }
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
                    Invalid::ErrorEstimate => Rejected::InvalidErrorEstimate,
                },
            )?;
        // a reflector without RFC 8972 returns 0
        if reply.ssid != self.configuration.ssid && reply.ssid != 0 {
            return Err(Rejected::Foreign);
        }
        let near = arrival.received.map_or(self.utc, |received| received.utc);
        let tai_offset = self.configuration.tai_offset;
        let decode =
            |timestamp: WireTimestamp| timestamp.decode(reply.error.format(), tai_offset, near);
        let (Some(received), Some(sent)) = (decode(reply.received), decode(reply.timestamp)) else {
            return Err(Rejected::InvalidTime);
        };
        let error = reply.error.bound() + tally::ROUNDING;
        let extensions = self.extensions(arrival.payload, reply.sequence, key.as_ref());
        let (extensions, is_trusted) = match extensions {
            Ok(extensions) => (extensions, true),
            Err(_) => (Extensions::default(), false),
        };
        let slews = self.slews;
        let flight = self
            .flight(reply.sender_sequence)
            .ok_or(Rejected::Unmatched)?;
        if flight.timestamp != reply.sender_timestamp
            || flight.error_bits != reply.sender_error_bits
        {
            return Err(Rejected::Unmatched);
        }
        let residence = sent - received;
        let slewed_in_flight = slews.since(&flight.begun);
        let readings = slews.readings(&flight.begun);
        let drift = tally::drift(residence.abs()) + slewed_in_flight;
        if residence + error + error < Span::ZERO
            || sent - received > arrival.read - flight.before + error + error + drift
        {
            return Err(Rejected::InvalidTime);
        }
        if let Some(replied) = flight.replied {
            let is_new = replied.reflector_sequence != reply.sequence
                && !flight.duplicates.contains(&reply.sequence);
            if is_new && flight.duplicates.len() < DUPLICATES {
                flight.duplicates.push(reply.sequence);
                // the reply to the duplicate is the next reply, which carries the follow-up
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
            slewed_in_flight,
            readings,
        };
        let is_counted = match self.flight(reply.sender_sequence) {
            Some(flight) => {
                flight.replied = Some(replied);
                let is_counted = flight.is_counted;
                self.unanswered -= 1;
                let newest = self.newest_answered.unwrap_or(reply.sender_sequence);
                let ahead = reply.sender_sequence.wrapping_sub(newest);
                if self.newest_answered.is_none() || (1..1 << 31).contains(&ahead) {
                    self.newest_answered = Some(reply.sender_sequence);
                }
                is_counted
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

    /// Sets the exact T3 of the reply that a follow-up refers to, if it is plausible: not before
    /// the written T3, and not after the reply arrived.
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
        let drift = tally::drift(residence.abs()) + replied.slewed_in_flight;
        let is_plausible = exact - replied.sent_as_written + both + both >= Span::ZERO
            && residence <= replied.read - before + both + both + drift;
        if is_plausible && replied.followed_up.is_none() {
            replied.followed_up = Some((exact, follow_up.method));
            replied.error = both;
        }
    }
}
