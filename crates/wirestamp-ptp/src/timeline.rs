//! The time that messages carry: one timescale for all ports, whichever clock timestamps each.
//!
//! The port that follows a timeTransmitter uses its own clock's time, whose offset is measured.
//! Other ports subtract that offset and pass on the timeTransmitter's time, so a boundary clock
//! transmits the right time even if no clock is steered.

use crate::timestamping::{LocalTimestamp, TimestampClock};
use std::cell::RefCell;
use std::rc::Rc;
use wirestamp::TimestampSource;
use wirestamp_offset::Estimate;

/// A timestamping clock that several ports may share.
pub(crate) type SharedClock = Rc<RefCell<TimestampClock>>;

/// The conversion of timestamps to times in messages.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    /// The clock whose time it is.
    pub(crate) reference: SharedClock,
    /// The shift for timestamps of the system clock, which shows UTC while PTP time may be
    /// required.
    pub(crate) utc_shift: i64,
    /// The offset that the other ports subtract.
    pub(crate) taken_off: TakenOff,
}

/// The difference between the time of the other ports and that of the reference.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TakenOff {
    /// Nothing: no timeTransmitter is followed, or the clock itself is steered.
    Nothing,
    /// A timeTransmitter is followed, but the offset is not known yet: no time is passed on.
    Unknown,
    /// The offset of the reference.
    Offset(Estimate),
}

impl Timeline {
    /// Returns the time that a message carries; `None` if the two clocks cannot be related now.
    pub(crate) fn place(&self, clock: &SharedClock, timestamp: &LocalTimestamp) -> Option<i64> {
        if Rc::ptr_eq(clock, &self.reference) {
            return Some(self.shifted(timestamp.at));
        }
        let sources = (clock.borrow().source(), self.reference.borrow().source());
        let at = match sources {
            (TimestampSource::Software, TimestampSource::Software) => timestamp.at,
            _ => self.reference.borrow().at(timestamp.system)?,
        };
        let at = self.shifted(at);
        match self.taken_off {
            TakenOff::Nothing => Some(at),
            TakenOff::Unknown => None,
            TakenOff::Offset(estimate) => Some(at.saturating_sub(offset_at(&estimate, at))),
        }
    }

    /// Returns the shift of timestamps of this clock.
    pub(crate) fn shift_of(&self, clock: &SharedClock) -> i64 {
        match clock.borrow().source() {
            TimestampSource::Software => self.utc_shift,
            TimestampSource::Hardware => 0,
        }
    }

    fn shifted(&self, at: i64) -> i64 {
        at.saturating_add(self.shift_of(&self.reference))
    }
}

/// Returns the estimated offset some time after the last Sync.
fn offset_at(estimate: &Estimate, at: i64) -> i64 {
    let drift = estimate.rate.unwrap_or(0.0) * at.saturating_sub(estimate.at) as f64;
    estimate.offset.saturating_add(drift.round() as i64)
}
