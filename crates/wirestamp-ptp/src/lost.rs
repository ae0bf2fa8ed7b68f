//! Owns the counts of what was not used, by reason. Decides about nothing.

use crate::message::Fault;
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp::LossReason;

/// Why an exchange told nothing. It costs that exchange only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lost {
    /// The transmit stamp of our event message did not come.
    TransmitStamp(LossReason),
    /// An event message arrived without a stamp of the chosen clock.
    ReceiveStamp,
    /// The system clock was stepped between stamp and reading.
    ClockStepped,
    /// The adapter's clock can't be related to the system clock at present: it was restarted, or
    /// not read for long.
    Unrelated,
    /// The stamps of the exchange are of two runs of the clock.
    Epoch,
    /// The message could not be sent.
    NotSent,
    /// A Sync came so late that a clock may have been stepped; it was not used.
    Suspect,
    /// The exchange contradicts earlier ones: a clock was stepped. What was known is forgotten.
    Contradiction,
    /// Peer to peer, and the neighbour is not the transmitter: a transparent clock stands between,
    /// and nothing says how late a Sync may be. End to end has a bound.
    Unbounded,
}

impl Lost {
    /// A short, stable name: what `--json` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransmitStamp(LossReason::BufferFull) => "transmit_stamp_buffer_full",
            Self::TransmitStamp(LossReason::NeverGenerated) => "transmit_stamp_never_generated",
            Self::TransmitStamp(LossReason::Deadline) => "transmit_stamp_deadline",
            Self::TransmitStamp(LossReason::Reset) => "transmit_stamp_reset",
            Self::TransmitStamp(LossReason::SocketClosed) => "transmit_stamp_socket_closed",
            Self::TransmitStamp(LossReason::ClockStepped) => "transmit_stamp_clock_stepped",
            Self::TransmitStamp(_) => "transmit_stamp",
            Self::ReceiveStamp => "receive_stamp",
            Self::ClockStepped => "clock_stepped",
            Self::Unrelated => "unrelated",
            Self::Epoch => "epoch",
            Self::NotSent => "not_sent",
            Self::Suspect => "suspect",
            Self::Contradiction => "contradiction",
            Self::Unbounded => "unbounded",
        }
    }
}

/// How often each reason occurred.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Exchanges that told nothing, by [`Lost::name`].
    pub lost: BTreeMap<&'static str, u64>,
    /// Datagrams that are no concern of ours, by [`Fault::name`].
    pub ignored: BTreeMap<&'static str, u64>,
}

impl Counts {
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

    /// Exchanges that told nothing, for whatever reason.
    pub fn lost_in_all(&self) -> u64 {
        self.lost.values().sum()
    }

    /// How often one reason occurred.
    pub fn lost_for(&self, reason: Lost) -> u64 {
        self.lost.get(reason.name()).copied().unwrap_or(0)
    }

    /// Adds what another port counted.
    pub(crate) fn add(&mut self, other: &Self) {
        for (reason, count) in &other.lost {
            *self.lost.entry(reason).or_default() += count;
        }
        for (fault, count) in &other.ignored {
            *self.ignored.entry(fault).or_default() += count;
        }
    }
}
