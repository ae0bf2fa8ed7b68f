//! Which messages of others reach the engine: those that it would use, from pinned senders if
//! there are pins, and no more requests than can be answered beside the clock's own work.

use super::limit::{Bucket, PerSource};
use super::{Pin, Trust};
use crate::configuration::{Configuration, DelayMechanism, Role};
use crate::engine::PortState;
use crate::message::{Fault, Kind, Message, PortIdentity};
use std::net::{IpAddr, SocketAddr};
use wirestamp::{Result, SystemTime};

/// Delay requests a second that are answered: of one sender (twice what PTP's shortest interval
/// asks for), and of all that are not pinned.
const REQUESTS: (u32, u32) = (256, 4_096);
/// Peer delay requests a second: each answer needs a transmit timestamp, and a link has one neighbour.
const PEER_REQUESTS: (u32, u32) = (256, 512);
/// So many requests may come at once: of one sender, and of all.
const BURSTS: (u32, u32) = (16, 128);
/// Answers to peers that may await their transmit timestamps, and as many again to pinned ones; the
/// other places are for the clock's own messages.
const MOST_ANSWERS: usize = 16;

/// What a port is and whom it follows, as far as it decides which messages it can use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) identity: PortIdentity,
    pub(crate) parent: PortIdentity,
    pub(crate) state: PortState,
    /// Answers to peers that await their transmit timestamps.
    pub(crate) answers: usize,
}

/// The pins and limits of one port.
#[derive(Debug)]
pub(crate) struct Gate {
    pins: Vec<Pin>,
    neighbours: Vec<Pin>,
    addresses: Vec<IpAddr>,
    mechanism: DelayMechanism,
    receives_only: bool,
    requests: PerSource,
    peer_requests: PerSource,
    /// Pinned senders do not share a limit with the others.
    pinned: Vec<Bucket>,
}

impl Gate {
    pub(crate) fn new(configuration: &Configuration, seed: u64) -> Result<Self> {
        let Trust { addresses, .. } = &configuration.trust;
        let pins = configuration.trust.pins()?;
        let of_one = |rate| Bucket::new(rate, BURSTS.0);
        let of_all = |rate| Bucket::new(rate, BURSTS.1);
        Ok(Self {
            pinned: vec![of_one(REQUESTS.0); pins.len()],
            pins,
            neighbours: configuration.trust.neighbour_pins()?,
            addresses: addresses.clone(),
            mechanism: configuration.delay_mechanism,
            receives_only: configuration.role == Role::Receiver,
            requests: PerSource::new(of_all(REQUESTS.1), of_one(REQUESTS.0), seed),
            peer_requests: PerSource::new(of_all(PEER_REQUESTS.1), of_one(PEER_REQUESTS.0), seed),
        })
    }

    /// Whether a timeTransmitter's message comes from a pinned one; from anyone if none is pinned.
    ///
    /// # Errors
    /// Which pin it does not fit.
    pub(crate) fn is_trusted(&self, message: &Message<'_>, from: Option<SocketAddr>) -> Result<(), Fault> {
        let known = |pins: &[Pin]| pins.iter().any(|pin| pin.is(message.source()));
        let is_answer = matches!(message.kind, Kind::PeerDelayResponse | Kind::PeerDelayResponseFollowUp);
        let known = self.pins.is_empty() || known(&self.pins) || is_answer && known(&self.neighbours);
        if !known {
            return Err(Fault::Identity);
        }
        let from = from.map(|from| from.ip().to_canonical());
        if !self.addresses.is_empty() && from.is_none_or(|from| !self.addresses.contains(&from)) {
            return Err(Fault::Address);
        }
        Ok(())
    }

    /// Whether the engine gets a message. What it would ignore anyway is not worth reading a clock:
    /// `Ok(false)`.
    ///
    /// # Errors
    /// Why the sender is not listened to.
    pub(crate) fn admits(
        &mut self,
        message: &Message<'_>,
        from: Option<SocketAddr>,
        standing: &Standing,
        now: SystemTime,
    ) -> Result<bool, Fault> {
        let peer_to_peer = self.mechanism == DelayMechanism::P2p;
        match message.kind {
            Kind::Announce => self.is_trusted(message, from).map(|()| true),
            Kind::Sync | Kind::FollowUp => {
                self.is_trusted(message, from)?;
                Ok(message.source() == standing.parent)
            }
            Kind::DelayResponse => {
                if message.requester() != Some(standing.identity) {
                    return Ok(false);
                }
                self.is_trusted(message, from)?;
                Ok(message.source() == standing.parent)
            }
            Kind::PeerDelayResponse | Kind::PeerDelayResponseFollowUp => {
                if !peer_to_peer || message.requester() != Some(standing.identity) {
                    return Ok(false);
                }
                self.is_trusted(message, from).map(|()| true)
            }
            Kind::DelayRequest if standing.state == PortState::Transmitter => self.has_room(message, now),
            Kind::DelayRequest => Ok(false),
            Kind::PeerDelayRequest if !peer_to_peer => Ok(false),
            Kind::PeerDelayRequest => {
                let known = |pins: &[Pin]| pins.iter().any(|pin| pin.is(message.source()));
                let is_pinned = known(&self.pins) || known(&self.neighbours);
                if self.receives_only && !self.pins.is_empty() && !is_pinned {
                    return Err(Fault::Identity);
                }
                // others can't use up the places of those who are pinned
                if standing.answers >= if is_pinned { 2 * MOST_ANSWERS } else { MOST_ANSWERS } {
                    return Err(Fault::Rate);
                }
                self.has_room(message, now)
            }
        }
    }

    fn has_room(&mut self, message: &Message<'_>, now: SystemTime) -> Result<bool, Fault> {
        let source = message.source();
        if let Some(place) = self.pins.iter().position(|pin| pin.is(source)) {
            if !self.pinned[place].has_room(now) {
                return Err(Fault::Rate);
            }
            self.pinned[place].take(now);
            return Ok(true);
        }
        let limit = if message.kind == Kind::DelayRequest { &mut self.requests } else { &mut self.peer_requests };
        if limit.admits(source, now) { Ok(true) } else { Err(Fault::Rate) }
    }
}
