//! Losses by direction, duplicates and reordering.
//!
//! A stateful reflector counts the received requests, so a gap in its numbers is a lost reply; the
//! other missing packets were lost on the forward path (RFC 8762, section 4.2). A duplicated
//! request whose second reply is lost hides one loss.

use super::flight::Flight;
use crate::tlv::DirectMeasurement;

/// The losses by direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectionalLoss {
    /// Requests lost on the path to the reflector.
    pub forward: u64,
    /// Replies lost on the path back.
    pub backward: u64,
    /// Lost packets at the end, without a later reply that shows the direction.
    pub undecided: u64,
}

/// The numbers of lost, duplicated and reordered packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Packets sent, except those that close the session.
    pub sent: u64,
    /// Those of `sent` that were answered in time.
    pub answered: u64,
    /// The losses by direction; `None` if the reflector is stateless, does not show that it is
    /// stateful, or counts differently.
    pub by_direction: Option<DirectionalLoss>,
    /// Requests that were duplicated on the path to the reflector.
    pub duplicated_forward: u64,
    /// Replies that were duplicated on the path back.
    pub duplicated_backward: u64,
    /// Requests that were reordered on the path to the reflector: they arrived after later ones.
    pub reordered_forward: u64,
    /// Replies that were reordered on the path back: they arrived after later ones.
    pub reordered_backward: u64,
}

impl Losses {
    /// Returns the number of packets without a reply.
    pub fn lost(&self) -> u64 {
        self.sent - self.answered
    }
}

#[derive(Debug, Default)]
pub(super) struct LossTally {
    losses: Losses,
    /// Answered packets, including those that close the session.
    replies: u64,
    closing_unanswered: u64,
    /// The reply with the highest reflector sequence number, as (reflector, sender).
    newest: Option<(u32, u32)>,
    last_answered: Option<u32>,
    /// The number of received requests that the reflector reports.
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
        // more than sent: duplicates that are otherwise invisible, because one of their replies was
        // lost
        let hidden = reached.saturating_sub(sent);
        let known = self.replies + self.losses.duplicated_forward + hidden;
        let mut backward = received.checked_sub(known)?;
        // packets that close the session are not counted
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
