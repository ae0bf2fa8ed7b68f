//! The report of a session.

use super::direction::{DelayVariation, Delays};
use super::flight::{Flight, Sent};
use super::losses::Losses;
use super::{Rejected, Unusable};
use crate::missing::{Missing, MissingCounts};
use crate::stamp::HostTimestamp;
use crate::timestamp::TimestampFormat;
use crate::tlv::TimestampInformation;
use wirestamp_core::time::{Bounded, MonotonicTime, Span};

/// The measurements of one packet and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The sequence number.
    pub sequence: u32,
    /// The time just before it was sent.
    pub before: MonotonicTime,
    /// Its transmit timestamp, or the reason why there is none.
    pub sent: Result<HostTimestamp, Missing>,
    /// Whether a reply came in time.
    pub is_answered: bool,
    /// The number of further replies, which show that the request was duplicated.
    pub duplicates: usize,
    /// The round trip: from the request's departure to the reply's arrival.
    pub round_trip: Option<Bounded<Span>>,
    /// The round trip without the residence time: both directions together.
    pub path_delay: Option<Bounded<Span>>,
    /// The one-way delay to the reflector, if the clocks are related. Its interval is limited by
    /// the least delay and the round trip.
    pub forward: Option<Bounded<Span>>,
    /// The one-way delay from the reflector, if the clocks are related and the reflector reports
    /// the exact T3.
    pub backward: Option<Bounded<Span>>,
    /// The receive time at the reflector minus the transmit time here, each on its host's real-time
    /// clock: the sum of the reflector's clock offset and the forward delay. It does not require a
    /// relation of the clocks, and the error bound does not include one.
    pub forward_difference: Option<Bounded<Span>>,
    /// The receive time of the reply here minus its transmit time at the reflector, likewise. If
    /// the reflector does not report the exact T3, the written T3 is used: the difference is then
    /// too large, never too small.
    pub backward_difference: Option<Bounded<Span>>,
    /// The residence time in the reflector, until the reply left.
    pub residence: Option<Bounded<Span>>,
    /// The residence time until just before the reflector sent the reply: its receive path and
    /// processing.
    pub residence_as_written: Option<Bounded<Span>>,
    /// The reflector's send path: from just before it sent the reply until the reply left, if it
    /// reports the exact T3.
    pub reflector_send_path: Option<Bounded<Span>>,
    /// This host's send path: from just before the send call until the packet left.
    pub send_path: Option<Bounded<Span>>,
    /// This host's receive path: from the reply's arrival until the program received it.
    pub receive_path: Option<Bounded<Span>>,
}

impl Sample {
    pub(super) fn of(sequence: u32, flight: &Flight) -> Self {
        Self {
            sequence,
            before: flight.before,
            sent: match flight.sent {
                Sent::At(sent) => Ok(sent),
                Sent::Missing(reason) => Err(reason),
                Sent::Awaited => Err(Missing::Awaited),
            },
            is_answered: flight.replied.is_some(),
            duplicates: flight.duplicates.len(),
            round_trip: None,
            path_delay: None,
            forward_difference: None,
            backward_difference: None,
            forward: None,
            backward: None,
            residence: None,
            residence_as_written: None,
            reflector_send_path: None,
            send_path: None,
            receive_path: None,
        }
    }
}

/// The interval of the reflector's clock offset, which packets bound: reflector minus local
/// (positive: the reflector is ahead).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetInterval {
    /// The lowest possible offset.
    pub low: Span,
    /// The highest possible offset.
    pub high: Span,
}

/// The report of a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionReport {
    /// The round trip: from the request's departure to the reply's arrival.
    pub round_trip: Delays,
    /// The round trip without the residence time: both directions together.
    pub path_delay: Delays,
    /// The one-way delays to the reflector. Empty if the clocks are not related.
    pub forward: Delays,
    /// The one-way delays from the reflector. Empty if the clocks are not related, or the reflector
    /// does not report the exact T3.
    pub backward: Delays,
    /// The residence time in the reflector, until the reply left.
    pub residence: Delays,
    /// The residence time until just before the reflector sent the reply: its receive path and
    /// processing.
    pub residence_as_written: Delays,
    /// The reflector's send path: from just before it sent the reply until the reply left, if it
    /// reports the exact T3.
    pub reflector_send_path: Delays,
    /// This host's send path: from just before the send call until the packet left.
    pub send_path: Delays,
    /// This host's receive path: from the reply's arrival until the program received it.
    pub receive_path: Delays,
    /// The variation of forward delays.
    pub forward_variation: Option<DelayVariation>,
    /// The variation of backward delays.
    pub backward_variation: Option<DelayVariation>,
    /// The variation of round trips.
    pub round_trip_variation: Option<DelayVariation>,
    /// Losses, duplicates and reordering.
    pub losses: Losses,
    pub(super) rejected: [u64; Rejected::ALL.len()],
    /// The most frequent reason why replies could not be used; `None` if there are no such replies.
    pub unusable: Option<Unusable>,
    /// The offset of the clocks by the newest packet.
    pub offset: Option<OffsetInterval>,
    /// The number of detected steps of either clock. A step that is smaller than the path delay may
    /// not be detected.
    pub clock_steps: u64,
    /// Packets during which the local real-time clock was stepped; they have no one-way delays.
    pub stepped_in_flight: u64,
    /// Packets whose delays cannot be between the least delay and the round trip within their error
    /// bounds: the clocks are not related as configured, the least delay is wrong, or a real-time
    /// clock was stepped by too little to be detected. If there is any, the report has no one-way
    /// delays.
    pub contradictions: u64,
    /// Packets without a local transmit timestamp, by reason.
    pub missing_transmit_timestamps: MissingCounts,
    /// Answered packets without a local receive timestamp.
    pub missing_receive_timestamps: u64,
    /// Replies with an exact T3 from the reflector's NIC.
    pub followed_up_hardware: u64,
    /// Replies with an exact T3 from the reflector's kernel or program.
    pub followed_up_software: u64,
    /// Replies without an exact T3.
    pub not_followed_up: u64,
    /// Replies that claim that the reflector's clock is synchronised to UTC.
    pub synchronized: u64,
    /// The largest Error Estimate that the reflector advertised.
    pub largest_error_estimate: Option<Span>,
    /// The format of the reflector's timestamps.
    pub reflector_format: Option<TimestampFormat>,
    /// The properties of the reflector's clock, as reported.
    pub information: Option<TimestampInformation>,
    /// Whether the reflector supports the extensions of RFC 8972.
    pub knows_extensions: bool,
    /// Whether the reflector's timestamps seem to be UTC in the PTP format, which should be TAI.
    pub sends_utc_in_ptp_format: bool,
    /// The largest number of routers on the path to the reflector.
    pub forward_hops: Option<u8>,
    /// The largest number of routers on the path back, if the reflector sends with a hop limit of
    /// 255.
    pub backward_hops: Option<u8>,
    /// Requests whose DSCP was changed on the path.
    pub forward_dscp_changed: u64,
    /// Requests whose ECN field was changed on the path.
    pub forward_ecn_changed: u64,
    /// Replies whose DSCP was changed on the path.
    pub backward_dscp_changed: u64,
}

impl SessionReport {
    /// Returns the number of packets rejected for a reason.
    pub fn rejected_for(&self, reason: Rejected) -> u64 {
        self.rejected[reason as usize]
    }
}
