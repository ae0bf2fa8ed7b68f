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
    /// Its number.
    pub sequence: u32,
    /// Just before it was sent.
    pub before: MonotonicTime,
    /// Its transmit timestamp, or why there is none.
    pub sent: Result<HostTimestamp, Missing>,
    /// Whether a reply came in time.
    pub is_answered: bool,
    /// How many more replies came: the request was duplicated.
    pub duplicates: usize,
    /// From leaving to the reply's arrival, with the time in the reflector.
    pub round_trip: Option<Bounded<Span>>,
    /// The same without the time in the reflector: both ways together.
    pub path_delay: Option<Bounded<Span>>,
    /// To the reflector. Only where the clocks are related. The interval is no wider than what the least delay and the round trip leave.
    pub forward: Option<Bounded<Span>>,
    /// From the reflector. Only where the clocks are related and the reflector reports when its reply left.
    pub backward: Option<Bounded<Span>>,
    /// When the reflector received it minus when it left, each by its host's own real-time clock: how much the reflector's is ahead, and the delay
    /// forward. Needs no relation of the clocks, which the error bound leaves out.
    pub forward_difference: Option<Bounded<Span>>,
    /// When the reply arrived here minus when it left the reflector, likewise. Where the reflector does not report when it left, minus
    /// the time before that which the reply carries: the difference is then too great, never too small.
    pub backward_difference: Option<Bounded<Span>>,
    /// In the reflector, until the reply left.
    pub residence: Option<Bounded<Span>>,
    /// In the reflector, until just before it sent the reply: its receive path and its processing.
    pub residence_as_written: Option<Bounded<Span>>,
    /// In the reflector, from just before it sent the reply until that left, where it reported when.
    pub reflector_send_path: Option<Bounded<Span>>,
    /// In this host, from just before the send call until the packet left.
    pub send_path: Option<Bounded<Span>>,
    /// In this host, from the reply's arrival until the program had it.
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

/// The offset of the reflector's clock (reflector minus local; positive: the reflector is ahead) as packets bound it: from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetInterval {
    /// The least that it can be.
    pub low: Span,
    /// The most.
    pub high: Span,
}

/// The report of a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionReport {
    /// From leaving to the reply's arrival, with the time in the reflector.
    pub round_trip: Delays,
    /// The same without the time in the reflector: both ways together.
    pub path_delay: Delays,
    /// To the reflector. Empty where the clocks are not related.
    pub forward: Delays,
    /// From the reflector. Empty where the clocks are not related, or the reflector does not report when its replies left.
    pub backward: Delays,
    /// In the reflector, until the reply left.
    pub residence: Delays,
    /// In the reflector, until just before it sent the reply: its receive path and its processing.
    pub residence_as_written: Delays,
    /// In the reflector, from just before it sent the reply until that left, where it reported when.
    pub reflector_send_path: Delays,
    /// In this host, from just before the send call until the packet left.
    pub send_path: Delays,
    /// In this host, from the reply's arrival until the program had it.
    pub receive_path: Delays,
    /// How much forward delays vary.
    pub forward_variation: Option<DelayVariation>,
    /// How much backward delays vary.
    pub backward_variation: Option<DelayVariation>,
    /// How much round trips vary.
    pub round_trip_variation: Option<DelayVariation>,
    /// Losses, duplicates, reordering.
    pub losses: Losses,
    pub(super) rejected: [u64; Rejected::ALL.len()],
    /// Why the replies that came could not be used, as of most of those that could not; `None`: there are none.
    pub unusable: Option<Unusable>,
    /// The offset of the clocks as the newest packet shows it.
    pub offset: Option<OffsetInterval>,
    /// How often one of the clocks was stepped, as the packets show: a step that is smaller than the path delay can stay unnoticed.
    pub clock_steps: u64,
    /// Packets during which the local real-time clock was stepped; they have no delays of one direction.
    pub stepped_in_flight: u64,
    /// Packets whose delays cannot lie between the least delay and the round trip, whatever their errors are: the clocks are not related as was said,
    /// the least delay is wrong, or a real-time clock was stepped meanwhile by too little to show. If there is one, there are no delays of one direction.
    pub contradictions: u64,
    /// Packets without a transmit timestamp here, by reason.
    pub missing_transmit_timestamps: MissingCounts,
    /// Answered packets without a receive timestamp here.
    pub missing_receive_timestamps: u64,
    /// Replies whose exact T3 the reflector reported, made by its NIC.
    pub followed_up_hardware: u64,
    /// Replies whose exact T3 the reflector reported, made by its kernel or program.
    pub followed_up_software: u64,
    /// Replies whose exact T3 it did not report.
    pub not_followed_up: u64,
    /// Replies that say that the reflector's clock is synchronised to UTC.
    pub synchronized: u64,
    /// The largest Error Estimate that the reflector advertised.
    pub largest_error_estimate: Option<Span>,
    /// The format of the reflector's timestamps.
    pub reflector_format: Option<TimestampFormat>,
    /// The properties of its clock that the reflector reports.
    pub information: Option<TimestampInformation>,
    /// Whether the reflector knows the extensions of RFC 8972.
    pub knows_extensions: bool,
    /// Whether its timestamps look like UTC in PTP's format, which means TAI.
    pub sends_utc_in_ptp_format: bool,
    /// The most routers on the way to the reflector.
    pub forward_hops: Option<u8>,
    /// The most routers on the way back, if the reflector sends with a hop limit of 255.
    pub backward_hops: Option<u8>,
    /// Requests that arrived with another DSCP than they were sent with.
    pub forward_dscp_changed: u64,
    /// Requests that arrived with another ECN field than they were sent with.
    pub forward_ecn_changed: u64,
    /// Replies that arrived with another DSCP than the reflector gave them.
    pub backward_dscp_changed: u64,
}

impl SessionReport {
    /// Returns how many packets were rejected for a reason.
    pub fn rejected_for(&self, reason: Rejected) -> u64 {
        self.rejected[reason as usize]
    }
}
