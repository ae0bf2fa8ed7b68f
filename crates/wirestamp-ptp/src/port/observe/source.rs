//! A source that is compared: its identity and its incomplete exchanges.

use super::super::ledger::Run;
use crate::message::{Kind, Message, PortIdentity};
use crate::trust::Pin;
use wirestamp::{MonotonicTime, Span, TransmitId};
use wirestamp_offset::{Estimator, Told};

/// The octets of an Announce with its grandmaster's priorities, quality and identity, and its
/// distance; lower values are better.
const DATA_SET: std::ops::Range<usize> = 47..63;

/// A time of the timestamping clock, on the timescale of messages, with its clock generation.
#[derive(Debug, Clone, Copy)]
pub(in crate::port) struct Timestamped {
    pub(in crate::port) at: i64,
    /// Its largest error beyond the clock's resolution.
    pub(in crate::port) unsure: i64,
    pub(in crate::port) run: Run,
}

/// A delay request in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) id: TransmitId,
    pub(super) sent: Option<Timestamped>,
}

/// A source.
#[derive(Debug)]
pub(super) struct Source {
    /// The pin; `None` for the best timeTransmitter that announces itself in the domain.
    pub(super) pin: Option<Pin>,
    announced: Option<Announced>,
    pub(super) estimator: Estimator,
    sync: Option<PendingSync>,
    /// The time at which the timeTransmitter received the request in progress.
    pub(super) answered: Option<i64>,
    pub(super) estimated_at: MonotonicTime,
}

/// The best announced timeTransmitter of a domain.
#[derive(Debug, Clone, Copy)]
struct Announced {
    identity: PortIdentity,
    data_set: [u8; DATA_SET.end - DATA_SET.start],
    at: MonotonicTime,
}

/// The two parts of a Sync: its arrival and its transmit time.
#[derive(Debug, Clone, Copy)]
struct PendingSync {
    sequence: u16,
    received: Option<Timestamped>,
    sent: Option<i64>,
}

impl Source {
    pub(super) fn new(pin: Option<Pin>, estimator: Estimator) -> Self {
        Self {
            pin,
            announced: None,
            estimator,
            sync: None,
            answered: None,
            estimated_at: MonotonicTime::MIN,
        }
    }

    pub(super) fn is(&self, source: PortIdentity) -> bool {
        match self.pin {
            Some(pin) => pin.is(source),
            None => self
                .announced
                .is_some_and(|announced| announced.identity == source),
        }
    }

    pub(super) fn name(&self) -> PortIdentity {
        match (self.pin, self.announced) {
            (Some(pin), _) => PortIdentity {
                clock: pin.clock,
                port: pin.port.unwrap_or(0),
            },
            (None, announced) => announced
                .map(|announced| announced.identity)
                .unwrap_or_default(),
        }
    }

    /// Processes an Announce. Without a pin, the best one that is not silent is used.
    pub(super) fn announced(&mut self, message: &Message<'_>, timeout: Span, now: MonotonicTime) {
        if self.pin.is_some() {
            return;
        }
        let Ok(data_set) = message.bytes[DATA_SET].try_into() else {
            return;
        };
        let fresh = Announced {
            identity: message.source(),
            data_set,
            at: now,
        };
        let known = self.announced.filter(|known| now - known.at <= timeout);
        let is_better =
            known.is_none_or(|known| known.identity == fresh.identity || data_set < known.data_set);
        if !is_better {
            return;
        }
        let changed = self
            .announced
            .replace(fresh)
            .is_some_and(|before| before.identity != fresh.identity);
        if changed {
            self.restarted();
        }
    }

    pub(super) fn sync(
        &mut self,
        message: &Message<'_>,
        received: Option<Timestamped>,
        asymmetry: i64,
        now: MonotonicTime,
    ) {
        let sequence = message.sequence();
        let known = self.sync.filter(|sync| sync.sequence == sequence);
        let mut sync = known.unwrap_or(PendingSync {
            sequence,
            received: None,
            sent: None,
        });
        if message.kind == Kind::Sync {
            let correction = message.correction().saturating_nanoseconds();
            sync.received = received.map(|received| Timestamped {
                at: received.at.saturating_sub(correction),
                ..received
            });
        }
        if message.kind == Kind::FollowUp || !message.is_two_step() {
            // a Follow_Up's correction is added to its timestamp; that of a Sync was subtracted
            // above
            let correction = if message.kind == Kind::FollowUp {
                message.correction().saturating_nanoseconds()
            } else {
                0
            };
            sync.sent = message.timestamp().map(|at| at.saturating_add(correction));
        }
        self.sync = Some(sync);
        let (Some(Timestamped { at, unsure, .. }), Some(sent)) = (sync.received, sync.sent) else {
            return;
        };
        self.sync = None;
        match self
            .estimator
            .unsure_by(unsure)
            .from_reference(at, at.saturating_sub(sent).saturating_sub(asymmetry))
        {
            Ok(Told::Estimate(_)) => self.estimated_at = now,
            Ok(_) => {}
            Err(_) => self.estimator.reset(),
        }
    }

    /// Uses the request's exchange, if it is complete and of the current generation.
    pub(super) fn delay(&mut self, request: Request, current: Option<Run>, asymmetry: i64) {
        let (Some(left), Some(answered)) = (request.sent, self.answered) else {
            return;
        };
        let Timestamped {
            at: sent,
            unsure,
            run,
        } = left;
        self.answered = None;
        if Some(run) != current {
            return;
        }
        if self
            .estimator
            .unsure_by(unsure)
            .to_reference(
                sent,
                sent.saturating_sub(answered).saturating_sub(asymmetry),
            )
            .is_err()
        {
            self.estimator.reset();
        }
    }

    pub(super) fn restarted(&mut self) {
        self.estimator.reset();
        (self.sync, self.answered) = (None, None);
        self.estimated_at = MonotonicTime::MIN;
    }
}
