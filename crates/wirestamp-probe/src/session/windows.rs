//! Least differences of the packets of each window, from which the analysis of a fleet's clocks starts.

use super::Sample;
use crate::missing::Missing;
use std::time::Duration;
use wirestamp_core::time::{Bounded, Span, UtcTime};

/// A clock that is set back by more windows than this begins anew, so that the packets held stay bounded.
const BACK: i64 = 8;

/// The differences of one direction in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Differences {
    /// The least.
    pub least: Span,
    /// The median.
    pub middle: Span,
}

/// The differences of the packets that left in one window: receive time minus transmit time, each by its own host's real-time clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// A multiple of `length` since 1970, by the real-time clock of the host that probes.
    pub start: UtcTime,
    /// Its length.
    pub length: Span,
    /// To the reflector; `None`: no packet has a difference.
    pub forward: Option<Differences>,
    /// From the reflector; `None`: no packet has a difference.
    pub backward: Option<Differences>,
    /// Packets that were sent, answered or not.
    pub sent: u64,
}

/// The parts of a judged packet that windows need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed {
    /// When it left, by the real-time clock; `None`: its transmit timestamp is missing.
    pub left: Option<UtcTime>,
    /// Whether the system sent it.
    pub is_sent: bool,
    /// When the reflector received it minus when it left.
    pub forward: Option<Span>,
    /// When the reply arrived minus when it left the reflector.
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

/// Groups the packets of a session by the window in which they left.
///
/// Windows begin at multiples of their length, by the clock of the host that probes: those of all hosts are the same ones up to the error
/// of their clocks. A clock that is set back a little makes no second window of the same start: packets count in the one that is open. One
/// that is set back by more than eight windows does, as they would be held for as long as the clock was set back.
///
/// The least differences of a window are of one offset only if neither clock was stepped in it. Those of a step of less than a round trip
/// may be of both sides of it, and leave an offset between them that was never there: the host's record of its own clock's steps shows
/// which windows are void.
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
    /// Makes windows of a length of at least 1 ns.
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

    /// Takes the next packet that was judged. Returns the window before it, if that is over.
    ///
    /// A packet without a transmit timestamp counts in the window that is open; one that the system did not send does not count.
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

    /// Whether a packet of the window that begins at `start` ends the one that is open.
    fn ends(&self, open: i64, start: i64) -> bool {
        start > open || open.saturating_sub(start) > self.length.saturating_mul(BACK)
    }

    /// Ends the window that is open, and returns it.
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

/// Empties them.
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
