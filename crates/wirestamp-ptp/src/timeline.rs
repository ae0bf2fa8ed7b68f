//! Which time the messages of one clock's ports carry: one timescale for all ports,
//! whatever clock timestamps each. Measures nothing.
//!
//! The port that follows a timeTransmitter keeps its own clock's time: its offset is what is being
//! measured. Other ports pass the timeTransmitter's time on, by that offset; so a boundary clock
//! transmits the right time although no clock is moved.

use crate::timestamping::{LocalTimestamp, TimestampClock};
use std::cell::RefCell;
use std::rc::Rc;
use wirestamp::TimestampSource;
use wirestamp_offset::Estimate;

/// A timestamping clock that several ports may read.
pub(crate) type SharedClock = Rc<RefCell<TimestampClock>>;

/// How timestamps become the times in messages.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    /// Whose time it is.
    pub(crate) reference: SharedClock,
    /// What to add to timestamps of the system clock: it shows UTC, and PTP time may be wanted.
    pub(crate) utc_shift: i64,
    /// What the other ports take off.
    pub(crate) taken_off: TakenOff,
}

/// By how much the time of the other ports differs from that of the reference.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TakenOff {
    /// Nothing: nobody is followed, or the clock itself is steered.
    Nothing,
    /// Somebody is followed, by how much the clock is off is not known yet: no time is passed on.
    Unknown,
    /// The offset of the reference.
    Offset(Estimate),
}

impl Timeline {
    /// The time that a message carries. `None` if the two clocks can't be related now.
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

/// The best guess of the offset some time after the last Sync.
fn offset_at(estimate: &Estimate, at: i64) -> i64 {
    let drift = estimate.rate.unwrap_or(0.0) * at.saturating_sub(estimate.at) as f64;
    estimate.offset.saturating_add(drift.round() as i64)
}
