//! The minimum and median differences of the packets of each time window, the input of the analysis
//! of a fleet's clocks.

use super::Sample;
use crate::missing::Missing;
use std::time::Duration;
use wirestamp_core::time::{Bounded, Span, UtcTime};

/// A clock that is set back by more windows than this starts a new sequence, so that the number of
/// held packets is bounded.
const BACK: i64 = 8;

/// The differences of one direction in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Differences {
    /// The minimum.
    pub least: Span,
    /// The median.
    pub middle: Span,
}

/// The differences of the packets that left in one window: receive time minus transmit time, each
/// on its host's real-time clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The start, a multiple of `length` since 1970, on the sender's real-time clock.
    pub start: UtcTime,
    /// The length of the window.
    pub length: Span,
    /// The differences to the reflector; `None` if no packet has one.
    pub forward: Option<Differences>,
    /// The differences from the reflector; `None` if no packet has one.
    pub backward: Option<Differences>,
    /// The number of packets sent, answered or not.
    pub sent: u64,
}

/// The parts of an evaluated packet that windows need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed {
    /// The transmit timestamp on the real-time clock; `None` if it is missing.
    pub left: Option<UtcTime>,
    /// Whether the system sent it.
    pub is_sent: bool,
    /// The receive time at the reflector minus the transmit time.
    pub forward: Option<Span>,
    /// The receive time of the reply minus its transmit time at the reflector.
    pub backward: Option<Span>,
}

impl From<&Sample> for Departed {
    fn from(sample: &Sample) -> Self {
        let value = |measured: Bounded<Span>| measured.value;
        Self {
            left: sample.sent.map(|sent| sent.utc).ok(),
            is_sent: sample.sent != Err(Missing::NotSent),
            forward: sample.forward_difference.map(value),
            backward: sample.backward_difference.map(value),
        }
    }
}

/// Groups the packets of a session by the time window in which they left.
///
/// Windows begin at multiples of their length on the sender's clock, so those of all hosts coincide
/// within the errors of their clocks. If the clock is set back by up to eight windows, packets
/// count in the open window, and no second window with the same start begins. If it is set back by
/// more, a second one begins, because otherwise packets would be held for as long as the clock was
/// set back.
///
/// The minimum differences of a window belong to one offset only if neither clock was stepped in
/// it. Around a step of less than a round trip they may come from both sides, and suggest an offset
/// that never existed: the host's record of its clock's steps shows which windows are invalid.
///
/// ```
/// use std::time::Duration;
/// use wirestamp_probe::session::Windows;
///
/// let mut windows = Windows::new(Duration::from_secs(1));
/// // session.expire(now, |sample| if let Some(window) = windows.add(sample) { … });
/// assert_eq!(windows.close(), None);
/// ```
#[derive(Debug)]
pub struct Windows {
    length: i64,
    start: Option<i64>,
    forward: Vec<i64>,
    backward: Vec<i64>,
    sent: u64,
}

impl Windows {
    /// Creates windows of this length, at least 1 ns.
    pub fn new(length: Duration) -> Self {
        Self {
            length: Span::from(length).saturating_nanoseconds().max(1),
            start: None,
            forward: Vec::new(),
            backward: Vec::new(),
            sent: 0,
        }
    }

    /// Returns the length of a window.
    pub fn length(&self) -> Span {
        Span::from_nanoseconds(self.length.into())
    }

    /// Adds the next evaluated packet. Returns the previous window if it is complete.
    ///
    /// A packet without a transmit timestamp counts in the open window; one that the system did not
    /// send does not count.
    pub fn add(&mut self, packet: impl Into<Departed>) -> Option<Window> {
        let packet = packet.into();
        let left = packet.left.map(UtcTime::nanoseconds);
        let start = left.map(|at| at.saturating_sub(at.rem_euclid(self.length)));
        let window = match (self.start, start) {
            (Some(open), Some(start)) if self.ends(open, start) => self.close(),
            _ => None,
        };
        self.start = self.start.or(start);
        if self.start.is_some() && packet.is_sent {
            self.sent += 1;
            self.forward
                .extend(packet.forward.map(Span::saturating_nanoseconds));
            self.backward
                .extend(packet.backward.map(Span::saturating_nanoseconds));
        }
        window
    }

    /// Whether a packet in the window that begins at `start` ends the open one.
    fn ends(&self, open: i64, start: i64) -> bool {
        start > open || open.saturating_sub(start) > self.length.saturating_mul(BACK)
    }

    /// Ends the open window and returns it.
    pub fn close(&mut self) -> Option<Window> {
        let (forward, backward) = (
            differences(&mut self.forward),
            differences(&mut self.backward),
        );
        let sent = std::mem::take(&mut self.sent);
        Some(Window {
            start: UtcTime::from_nanoseconds(self.start.take()?),
            length: self.length(),
            forward,
            backward,
            sent,
        })
    }
}

/// Returns the differences of the values, and clears these.
fn differences(values: &mut Vec<i64>) -> Option<Differences> {
    values.sort_unstable();
    let span = |nanoseconds: &i64| Span::from_nanoseconds((*nanoseconds).into());
    let found = values.first().map(|least| Differences {
        least: span(least),
        middle: values.get((values.len() - 1) / 2).map_or(span(least), span),
    });
    values.clear();
    found
}

#[cfg(test)]
mod tests;
