//! Which packets were lost, in which direction; duplicates and reordering.
//!
//! A stateful reflector counts the requests that it receives, so that a gap in its numbers is a reply that was lost; the other missing
//! packets were lost on the way to it (RFC 8762, section 4.2). A duplicated request whose second reply is lost hides one loss.

use super::flight::Flight;
use crate::tlv::DirectMeasurement;

/// The losses of one direction, if they can be attributed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectionalLoss {
    /// Requests that did not reach the reflector.
    pub forward: u64,
    /// Replies that did not come back.
    pub backward: u64,
    /// The last packets, with nothing after them that says where they were lost.
    pub undecided: u64,
}

/// Lost, duplicated and reordered packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Packets sent, but for those that close the session.
    pub sent: u64,
    /// Those of them that were answered in time.
    pub answered: u64,
    /// `None`: the reflector is stateless, or does not show that it is stateful, or counts something else.
    pub by_direction: Option<DirectionalLoss>,
    /// Requests that reached the reflector twice.
    pub duplicated_forward: u64,
    /// Replies that came twice.
    pub duplicated_backward: u64,
    /// Requests that reached the reflector after later ones.
    pub reordered_forward: u64,
    /// Replies that came after later ones.
    pub reordered_backward: u64,
}

impl Losses {
    /// Returns how many packets were not answered.
    pub fn lost(&self) -> u64 {
        self.sent - self.answered
    }
}

#[derive(Debug, Default)]
pub(super) struct LossTally {
    losses: Losses,
    /// Answered ones, those that close the session included.
    replies: u64,
    closing_unanswered: u64,
    /// By their numbers: the reply of greatest reflector number, as (reflector, sender).
    newest: Option<(u32, u32)>,
    last_answered: Option<u32>,
    /// The number of requests that the reflector reports as received.
    reflector_received: Option<u32>,
    is_stateful: bool,
}

impl LossTally {
    pub(super) fn replied(
        &mut self,
        sequence: u32,
        reflector_sequence: u32,
        counts: Option<DirectMeasurement>,
        is_counted: bool,
    ) {
        self.replies += 1;
        self.is_stateful |= sequence != reflector_sequence;
        if let Some(counts) = counts.filter(|counts| counts.reflector_received > 0) {
            self.is_stateful = true;
            self.reflector_received = self.reflector_received.max(Some(counts.reflector_received));
        }
        self.last_answered = self.last_answered.max(Some(sequence));
        match self.newest {
            Some((newest, _)) if reflector_sequence < newest => {
                self.losses.reordered_backward += u64::from(is_counted);
            }
            Some((_, of)) if sequence < of => {
                self.losses.reordered_forward += u64::from(is_counted);
                self.newest = Some((reflector_sequence, of));
            }
            _ => self.newest = Some((reflector_sequence, sequence)),
        }
    }

    pub(super) fn duplicated_forward(&mut self, reflector_sequence: u32) {
        self.losses.duplicated_forward += 1;
        self.is_stateful = true;
        if let Some((newest, _)) = &mut self.newest {
            *newest = (*newest).max(reflector_sequence);
        }
    }

    pub(super) fn duplicated_backward(&mut self) {
        self.losses.duplicated_backward += 1;
    }

    pub(super) fn judged(&mut self, sequence: u32, flight: &Flight) {
        let is_answered = flight.replied.is_some();
        if flight.is_counted {
            self.losses.sent += 1;
            self.losses.answered += u64::from(is_answered);
        } else if !is_answered && self.last_answered.is_some_and(|last| sequence < last) {
            self.closing_unanswered += 1;
        }
    }

    pub(super) fn losses(self) -> Losses {
        let by_direction = self.by_direction();
        Losses {
            by_direction,
            ..self.losses
        }
    }

    fn by_direction(&self) -> Option<DirectionalLoss> {
        let lost = self.losses.lost();
        if lost == 0 {
            return Some(DirectionalLoss {
                forward: 0,
                backward: 0,
                undecided: 0,
            });
        }
        let (last, (newest, _)) = (self.last_answered?, self.newest?);
        if !self.is_stateful {
            return None;
        }
        let sent = u64::from(last) + 1;
        let received = u64::from(
            self.reflector_received
                .unwrap_or(0)
                .max(newest.checked_add(1)?),
        );
        let reached = received.checked_sub(self.losses.duplicated_forward)?;
        let mut forward = sent.saturating_sub(reached);
        // more than was sent: duplicates that show in nothing else, because one of their replies was lost
        let hidden = reached.saturating_sub(sent);
        let known = self.replies + self.losses.duplicated_forward + hidden;
        let mut backward = received.checked_sub(known)?;
        // those that only close the session are not counted
        let closing = self.closing_unanswered.min(forward);
        forward -= closing;
        backward = backward.checked_sub(self.closing_unanswered - closing)?;
        Some(DirectionalLoss {
            forward,
            backward,
            undecided: lost.checked_sub(forward + backward)?,
        })
    }
}
