//! Ends a session after its packets: some more bring the last replies' follow-ups, then it waits for packets in flight.

use super::phase::Phase;
use super::{StampTask, yields};
use crate::report::{PathMtu, StampReport};
use crate::sink::Sink;
use crate::task::Turn;
use crate::undelivered::SAID;
use wirestamp::{MonotonicTime, Result, Span};
use wirestamp_probe::session::{Sample, Session, SessionConfiguration};

/// So many requests close a session at most: the last reply's follow-up comes with the next one.
const CLOSING: u32 = 5;
/// What a reply may take longer than the slowest so far.
const STEP: Span = Span::from_milliseconds(20);

impl StampTask {
    /// Serves a session of so many packets.
    pub(super) fn serve_until(&mut self, count: u64, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        if matches!(self.phase, Phase::Measuring) {
            self.judge(turn);
            if self.sent < count {
                self.send_if_due(turn)?;
                return Ok(if self.is_behind(turn.now) {
                    turn.now
                } else {
                    self.due
                });
            }
        }
        if self.is_behind(turn.now) {
            return Ok(turn.now);
        }
        while let Some(until) = self.ends() {
            if turn.now < until && !self.is_enough() {
                return Ok(until);
            }
            self.phase = self.next(turn)?;
        }
        Ok(self.provisional.next(turn.now))
    }

    /// Until when this phase lasts at most; `None`: for ever.
    fn ends(&self) -> Option<MonotonicTime> {
        match self.phase {
            Phase::Measuring => Some(self.due),
            Phase::Settling(until)
            | Phase::Closing { until, .. }
            | Phase::Waiting(until)
            | Phase::Doubting(until) => Some(until),
            Phase::Over => None,
        }
    }

    /// Whether everything has come that this phase waits for.
    fn is_enough(&self) -> bool {
        match self.phase {
            Phase::Measuring => false,
            Phase::Settling(_) | Phase::Waiting(_) => self.session.all_answered(),
            Phase::Closing { sequence, .. } => self.session.is_answered(sequence),
            Phase::Doubting(_) => !self.may_not_have_left(),
            Phase::Over => true,
        }
    }

    /// How long a phase lasts; how long a packet is waited for is `Session::expire`'s affair.
    fn next(&mut self, turn: &mut Turn<'_>) -> Result<Phase> {
        let timeout = Span::from(self.configuration.timeout);
        let patience = (self.slowest + self.slowest + STEP).min(timeout);
        let left = match self.phase {
            Phase::Measuring => {
                self.session.close();
                return Ok(Phase::Settling(turn.now + patience));
            }
            Phase::Settling(_) => CLOSING,
            Phase::Closing { left, .. } if left > 0 && !self.is_enough() => left,
            Phase::Closing { .. } => return Ok(Phase::Waiting(turn.now + timeout)),
            Phase::Waiting(_) if self.may_not_have_left() => {
                return Ok(Phase::Doubting(self.opened + SAID));
            }
            Phase::Waiting(_) | Phase::Doubting(_) | Phase::Over => return Ok(Phase::Over),
        };
        Ok(Phase::Closing {
            sequence: self.send(turn)?,
            left: left - 1,
            until: turn.now + patience,
        })
    }

    /// Whether it looks as if no packet had left, and ICMP has not said so yet.
    fn may_not_have_left(&self) -> bool {
        let is_silent = self.stamps == 0 && self.answered == 0;
        is_silent && self.hears_of_neighbours && self.undelivered.said().is_none()
    }

    pub(super) fn path_mtu(&self) -> PathMtu {
        PathMtu {
            packet: self.request.len(),
            headers: if self.peer.is_ipv4() { 28 } else { 48 },
            first: self.first_mtu,
            last: self.socket.path_mtu().ok(),
            too_large: self.too_large,
        }
    }

    /// Returns the next packet at the end: of a session without an end, if its times are final. The report of one that ends
    /// says whether all are.
    fn left_over(&mut self) -> Option<Sample> {
        match self.configuration.count {
            Some(_) => self.held.take(),
            None => self.held.next(&self.provisional),
        }
    }

    /// Judges what is left.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) -> StampReport {
        if self.answered == 0 {
            self.listen_to_icmp();
        }
        let session = Session::new(SessionConfiguration::default());
        let session = std::mem::replace(&mut self.session, session);
        let reading = self.socket.utc_cross_timestamp();
        self.phase = Phase::Over;
        let session = session.finish(|packet: &Sample| self.held.put(*packet, &self.provisional));
        let (at, utc) = (reading.after, reading.utc);
        while let Some(packet) = self.left_over() {
            yields(&self.configuration, &packet, at, utc, sink);
        }
        StampReport {
            peer: self.peer,
            source: self.source(),
            stamps: self.stamps,
            session,
            path: self.path_mtu(),
            sent: self.sent,
            refused: self.refused,
            unreachable: self.undelivered.said().cloned(),
            diverted: self.diverted.clone(),
            unconfirmed: !self.provisional.is_empty(),
        }
    }
}
