//! The counts of timestamps, of lost exchanges and of ignored messages.

use crate::message::Fault;
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp::{MissingReason, TimestampSource};

/// The reason why an exchange gave no sample. Only that exchange is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lost {
    /// The transmit timestamp of our event message is missing.
    TransmitTimestamp(MissingReason),
    /// An event message arrived without a timestamp of the selected clock.
    ReceiveTimestamp,
    /// The system clock was stepped between a timestamp and its reading.
    ClockStepped,
    /// The NIC's clock cannot currently be related to the system clock: it was restarted, or not
    /// read for too long.
    Unrelated,
    /// The timestamps of the exchange are of two clock generations, or the clock was found to be
    /// changed after one of them.
    ClockGeneration,
    /// The NIC's clock was not read after the timestamp, so an earlier change of it would not be
    /// detected.
    Unconfirmed,
    /// The interface has another hardware clock: a bond has failed over. If the port transmits its
    /// NIC's time, that steps to the other NIC's.
    ClockReplaced,
    /// The system's clocks were never read closely enough to see how somebody adjusts the one that
    /// timestamps.
    AdjustmentsUnknown,
    /// The message could not be sent.
    NotSent,
    /// A Sync came so late that a clock may have been stepped; it was not used.
    Suspect,
    /// The exchange contradicts earlier ones: a clock was stepped. Earlier exchanges are forgotten.
    Contradiction,
    /// Peer to peer, the neighbour is not the timeTransmitter: there is a transparent clock in
    /// between, and nothing bounds the delay of a Sync. Use end to end to get an error bound.
    Unbounded,
}

impl Lost {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransmitTimestamp(MissingReason::BufferFull) => "transmit_timestamp_buffer_full",
            Self::TransmitTimestamp(MissingReason::NeverGenerated) => {
                "transmit_timestamp_never_generated"
            }
            Self::TransmitTimestamp(MissingReason::Deadline) => "transmit_timestamp_deadline",
            Self::TransmitTimestamp(MissingReason::Reset) => "transmit_timestamp_reset",
            Self::TransmitTimestamp(MissingReason::SocketClosed) => {
                "transmit_timestamp_socket_closed"
            }
            Self::TransmitTimestamp(MissingReason::ClockStepped) => {
                "transmit_timestamp_clock_stepped"
            }
            Self::TransmitTimestamp(MissingReason::NotSupported) => {
                "transmit_timestamp_not_supported"
            }
            Self::TransmitTimestamp(_) => "transmit_timestamp",
            Self::ReceiveTimestamp => "receive_timestamp",
            Self::ClockStepped => "clock_stepped",
            Self::Unrelated => "unrelated",
            Self::ClockGeneration => "generation",
            Self::Unconfirmed => "unconfirmed",
            Self::ClockReplaced => "clock_replaced",
            Self::AdjustmentsUnknown => "adjustments_unknown",
            Self::NotSent => "not_sent",
            Self::Suspect => "suspect",
            Self::Contradiction => "contradiction",
            Self::Unbounded => "unbounded",
        }
    }
}

/// Counts of timestamps by source, and of lost exchanges and ignored messages by reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Timestamps of sent and received event messages that were used, by the clock that made them:
    /// hardware (the NIC's) or software (the system's).
    pub stamps: BTreeMap<&'static str, u64>,
    /// Exchanges without a sample, by reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// Ignored messages, by reason.
    pub ignored: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub(crate) fn stamp(&mut self, source: TimestampSource) {
        *self.stamps.entry(source.name()).or_default() += 1;
    }

    pub(crate) fn lost(&mut self, reason: Lost) {
        *self.lost.entry(reason.name()).or_default() += 1;
    }

    pub(crate) fn ignored(&mut self, fault: Fault) {
        self.ignored_many(fault, 1);
    }

    pub(crate) fn ignored_many(&mut self, fault: Fault, count: u64) {
        if count > 0 {
            *self.ignored.entry(fault.name()).or_default() += count;
        }
    }

    /// Returns the number of exchanges without a sample, for all reasons together.
    pub fn lost_in_all(&self) -> u64 {
        self.lost.values().sum()
    }

    /// Returns the number of exchanges lost for one reason.
    pub fn lost_for(&self, reason: Lost) -> u64 {
        self.lost.get(reason.name()).copied().unwrap_or(0)
    }

    /// Adds the counts of another port.
    pub(crate) fn add(&mut self, other: &Self) {
        for (source, count) in &other.stamps {
            *self.stamps.entry(source).or_default() += count;
        }
        for (reason, count) in &other.lost {
            *self.lost.entry(reason).or_default() += count;
        }
        for (fault, count) in &other.ignored {
            *self.ignored.entry(fault).or_default() += count;
        }
    }
}
