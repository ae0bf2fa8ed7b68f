//! The execution of the engine's actions: sending messages, setting timers and awaiting timestamps.

use super::ledger::Run;
use super::timers::{Timer, Timers};
use super::vigil::Vigil;
use crate::configuration::{Configuration, Role};
use crate::lost::{Counts, Lost};
use crate::message::{self, AnnouncedTime, Kind, LONGEST};
use crate::sockets::Sockets;
use statime::port::{PortAction, PortActionIterator, TimestampContext};
use std::time::Duration;
use wirestamp::{MonotonicTime, Span, TransmitId};

/// An event message whose timestamp has not come yet.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) id: TransmitId,
    pub(super) context: TimestampContext,
    pub(super) kind: Kind,
    pub(super) sequence: u16,
    /// The clock generation of the request that it answers.
    pub(super) answers: Option<Run>,
}

/// The output of a port.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) sockets: Sockets,
    pub(super) timers: Timers,
    pub(super) awaited: Vec<Awaited>,
    pub(super) counts: Counts,
    /// The properties of our own time in Announce messages; `None` while they pass on another
    /// clock's time.
    pub(super) announced: Option<AnnouncedTime>,
    /// The shortest interval of delay requests that the timeTransmitter accepts, as the binary
    /// logarithm of seconds.
    pub(super) wanted_delay_interval: Option<i8>,
    /// The clock generation of the message that is being answered.
    pub(super) answering: Option<Run>,
    /// The number of delay requests sent.
    pub(super) requests: u64,
    /// Whether a send failed because the interface is gone.
    pub(super) broken: bool,
    /// Whether transmit timestamps come.
    pub(super) vigil: Vigil,
    next_id: u32,
    /// Whether messages that only a timeTransmitter sends are suppressed.
    mute: bool,
    log_sync: i8,
    log_announce: i8,
    log_delay: i8,
}

impl Outlet {
    pub(super) fn new(sockets: Sockets, configuration: &Configuration) -> Self {
        Self {
            sockets,
            timers: Timers::default(),
            awaited: Vec::new(),
            counts: Counts::default(),
            announced: None,
            wanted_delay_interval: None,
            answering: None,
            requests: 0,
            broken: false,
            vigil: Vigil::default(),
            next_id: 0,
            mute: configuration.role == Role::TimeReceiver,
            log_sync: configuration.log_sync_interval,
            log_announce: configuration.log_announce_interval,
            log_delay: configuration.log_delay_interval,
        }
    }

    /// Executes the engine's actions.
    pub(super) fn perform(&mut self, actions: PortActionIterator<'_>, now: MonotonicTime) {
        for action in actions {
            match action {
                PortAction::SendEvent {
                    context,
                    data,
                    link_local,
                } => self.send_event(context, data, link_local),
                PortAction::SendGeneral { data, link_local } => {
                    self.send(data, link_local, None);
                }
                PortAction::ResetAnnounceTimer { duration } => {
                    self.set(Timer::Announce, now, duration);
                }
                PortAction::ResetSyncTimer { duration } => self.set(Timer::Sync, now, duration),
                PortAction::ResetDelayRequestTimer { duration } => {
                    self.set(Timer::DelayRequest, now, self.patient(duration));
                }
                PortAction::ResetAnnounceReceiptTimer { duration } => {
                    self.set(Timer::AnnounceReceipt, now, duration);
                }
                // our filter sets no timer; TLVs of Announce messages are not forwarded
                PortAction::ResetFilterUpdateTimer { .. } | PortAction::ForwardTLV { .. } => {}
            }
        }
    }

    fn set(&mut self, timer: Timer, now: MonotonicTime, after: Duration) {
        self.timers.set(timer, now + Span::from(after));
    }

    /// Extends an interval if the timeTransmitter accepts fewer delay requests than configured
    /// (9.5.11.2).
    fn patient(&self, duration: Duration) -> Duration {
        let wanted = self.wanted_delay_interval.unwrap_or(self.log_delay);
        let doublings = u32::from((wanted - self.log_delay).max(0).unsigned_abs());
        duration.saturating_mul(1 << doublings.min(16))
    }

    fn send_event(&mut self, context: TimestampContext, data: &[u8], peers: bool) {
        let id = TransmitId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        let Some(kind) = message::kind_of(data) else {
            return;
        };
        if self.keeps_back(kind) {
            return;
        }
        if self.send(data, peers, Some(id)) {
            let is_request = matches!(kind, Kind::DelayRequest | Kind::PeerDelayRequest);
            self.requests += u64::from(is_request);
            let sequence = u16::from_be_bytes([data[30], data[31]]);
            self.awaited.push(Awaited {
                id,
                context,
                kind,
                sequence,
                answers: self.answering,
            });
        }
    }

    /// Sends an event message without the engine, and returns its transmit ID if it was sent.
    pub(super) fn send_beside(&mut self, data: &[u8]) -> Option<TransmitId> {
        let id = TransmitId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        self.send(data, false, Some(id)).then_some(id)
    }

    fn keeps_back(&self, kind: Kind) -> bool {
        (self.mute || self.vigil.is_silent())
            && matches!(
                kind,
                Kind::Announce | Kind::Sync | Kind::FollowUp | Kind::DelayResponse
            )
    }

    /// Completes a message of the engine and sends it. Returns whether it was sent.
    fn send(&mut self, data: &[u8], peers: bool, id: Option<TransmitId>) -> bool {
        let mut room = [0; LONGEST];
        let length = data.len().min(LONGEST);
        let bytes = &mut room[..length];
        bytes.copy_from_slice(&data[..length]);
        if let Some(kind) = message::kind_of(bytes) {
            if self.keeps_back(kind) {
                return false;
            }
            message::set_log_interval(bytes, kind, self.log_sync, self.log_announce);
            if let (Kind::Announce, Some(time)) = (kind, self.announced) {
                message::set_announced_time(bytes, time);
            }
        }
        let sent = self.sockets.send(bytes, peers, id);
        if let Err(error) = &sent {
            self.counts.lost(Lost::NotSent);
            self.broken |= super::is_gone(error);
        }
        sent.is_ok()
    }
}
