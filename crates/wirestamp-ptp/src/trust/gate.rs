//! The gate of a port: passes only messages that the engine would use, from pinned senders if there
//! are pins, and limits the rate of requests.

use super::limit::{Bucket, PerSource};
use super::{Pin, Trust};
use crate::configuration::{Configuration, DelayMechanism, Role};
use crate::engine::PortState;
use crate::message::{Fault, Kind, Message, PortIdentity};
use std::net::IpAddr;
use wirestamp::{MonotonicTime, Result, Span};

/// The limits of answered delay requests per second: for one sender (twice the rate of PTP's
/// shortest interval), and for all unknown senders; known senders have another limit of the same
/// size.
const REQUESTS: (u32, u32) = (256, 4_096);
/// The limits of peer delay requests per second: each answer needs a transmit timestamp, and a link
/// has one neighbour.
const PEER_REQUESTS: (u32, u32) = (256, 256);
/// How long a neighbour counts as present after its last peer delay request: somewhat more than
/// twice PTP's longest interval.
const NEIGHBOUR: Span = Span::from_seconds(150);
/// How long no peer delay requests of unknown senders are answered after they exceeded the limit.
const SHUT: Span = Span::from_seconds(10);
/// The bursts of requests from one sender and from all.
const BURSTS: (u32, u32) = (16, 128);
/// The most answers to peers that may await their transmit timestamps; pinned peers have as many
/// again. The remaining capacity is for the clock's own messages.
const MOST_ANSWERS: usize = 16;

/// The state of a port that determines which messages it can use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) identity: PortIdentity,
    pub(crate) parent: PortIdentity,
    pub(crate) state: PortState,
    /// The number of answers to peers that await their transmit timestamps.
    pub(crate) answers: usize,
    /// Whether the sender is known: it was served for a while.
    pub(crate) is_known: bool,
}

/// The pins and limits of one port.
#[derive(Debug)]
pub(crate) struct Gate {
    pins: Vec<Pin>,
    neighbours: Vec<Pin>,
    addresses: Vec<IpAddr>,
    mechanism: DelayMechanism,
    receives_only: bool,
    requests: Shares,
    peer_requests: Shares,
    /// The limits of pinned senders, each with its own.
    pinned: Vec<Bucket>,
    /// When a pinned and a known neighbour was last answered.
    pinned_neighbour: Option<MonotonicTime>,
    known_neighbour: Option<MonotonicTime>,
    /// Until when peer delay requests of unknown senders are not answered.
    shut_until: MonotonicTime,
}

/// Separate limits for known and unknown senders.
#[derive(Debug)]
struct Shares {
    known: PerSource,
    strangers: PerSource,
}

impl Shares {
    fn new((of_one, of_all): (u32, u32), seed: u64) -> Self {
        let limit = || {
            PerSource::new(
                Bucket::new(of_all, BURSTS.1),
                Bucket::new(of_one, BURSTS.0),
                seed,
            )
        };
        Self {
            known: limit(),
            strangers: limit(),
        }
    }
}

impl Gate {
    pub(crate) fn new(configuration: &Configuration, seed: u64) -> Result<Self> {
        let Trust { addresses, .. } = &configuration.trust;
        let pins = configuration.trust.pins()?;
        Ok(Self {
            pinned: vec![Bucket::new(REQUESTS.0, BURSTS.0); pins.len()],
            pins,
            neighbours: configuration.trust.neighbour_pins()?,
            addresses: addresses.clone(),
            mechanism: configuration.delay_mechanism,
            receives_only: configuration.role == Role::TimeReceiver,
            requests: Shares::new(REQUESTS, seed),
            peer_requests: Shares::new(PEER_REQUESTS, seed),
            pinned_neighbour: None,
            known_neighbour: None,
            shut_until: MonotonicTime::MIN,
        })
    }

    /// Checks that a timeTransmitter's message comes from a pinned one, if any is pinned.
    ///
    /// # Errors
    /// The pin that it does not match.
    pub(crate) fn is_trusted(
        &self,
        message: &Message<'_>,
        from: Option<IpAddr>,
    ) -> Result<(), Fault> {
        let known = |pins: &[Pin]| pins.iter().any(|pin| pin.is(message.source()));
        let is_answer = matches!(
            message.kind,
            Kind::PeerDelayResponse | Kind::PeerDelayResponseFollowUp
        );
        let known =
            self.pins.is_empty() || known(&self.pins) || is_answer && known(&self.neighbours);
        if !known {
            return Err(Fault::Identity);
        }
        if !self.addresses.is_empty() && from.is_none_or(|from| !self.addresses.contains(&from)) {
            return Err(Fault::Address);
        }
        Ok(())
    }

    /// Returns whether to pass a message to the engine; `Ok(false)` if the engine would ignore it,
    /// so that reading a clock is unnecessary.
    ///
    /// # Errors
    /// The reason why the sender is rejected.
    pub(crate) fn admits(
        &mut self,
        message: &Message<'_>,
        from: Option<IpAddr>,
        standing: &Standing,
        now: MonotonicTime,
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
            Kind::DelayRequest if standing.state == PortState::TimeTransmitter => self
                .has_room(message, standing.is_known, now)
                .map(|()| true),
            Kind::DelayRequest => Ok(false),
            Kind::PeerDelayRequest if !peer_to_peer => Ok(false),
            Kind::PeerDelayRequest => self.admits_peer(message, standing, now).map(|()| true),
        }
    }

    /// Returns whether to answer a peer delay request. The answer goes to all hosts on the link,
    /// and a neighbour may take one that is not meant for it as a fault (ptp4l does). While a
    /// pinned neighbour sends requests, unknown senders get no answers.
    fn admits_peer(
        &mut self,
        message: &Message<'_>,
        standing: &Standing,
        now: MonotonicTime,
    ) -> Result<(), Fault> {
        let known = |pins: &[Pin]| pins.iter().any(|pin| pin.is(message.source()));
        let is_pinned = known(&self.pins) || known(&self.neighbours);
        let is_there =
            |last: Option<MonotonicTime>| last.is_some_and(|last| now - last <= NEIGHBOUR);
        if !is_pinned
            && (self.receives_only && !self.pins.is_empty() || is_there(self.pinned_neighbour))
        {
            return Err(Fault::Identity);
        }
        // others cannot use up the capacity of pinned senders
        if standing.answers
            >= if is_pinned {
                2 * MOST_ANSWERS
            } else {
                MOST_ANSWERS
            }
        {
            return Err(Fault::Rate);
        }
        let is_stranger = !is_pinned && !standing.is_known;
        if is_stranger && is_there(self.known_neighbour) && now < self.shut_until {
            return Err(Fault::Rate);
        }
        let answered = self.has_room(message, is_pinned || standing.is_known, now);
        match answered {
            Ok(()) if is_pinned => self.pinned_neighbour = Some(now),
            Ok(()) if standing.is_known => self.known_neighbour = Some(now),
            Err(_) if is_stranger => self.shut_until = now + SHUT,
            _ => {}
        }
        answered
    }

    fn has_room(
        &mut self,
        message: &Message<'_>,
        is_known: bool,
        now: MonotonicTime,
    ) -> Result<(), Fault> {
        let source = message.source();
        let has_room = if let Some(place) = self.pins.iter().position(|pin| pin.is(source)) {
            let bucket = &mut self.pinned[place];
            let has_room = bucket.has_room(now);
            if has_room {
                bucket.take(now);
            }
            has_room
        } else {
            let shares = if message.kind == Kind::DelayRequest {
                &mut self.requests
            } else {
                &mut self.peer_requests
            };
            if is_known {
                &mut shares.known
            } else {
                &mut shares.strangers
            }
            .admits(source, now)
        };
        if has_room { Ok(()) } else { Err(Fault::Rate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: u8 = 1;

    fn request(last: u8, port: u16) -> [u8; 54] {
        let mut bytes = [0; 54];
        (bytes[0], bytes[1], bytes[3]) = (2, 2, 54);
        bytes[20..28].copy_from_slice(&[2, 0, 0, 0, 0, 0, 0, last]);
        bytes[28..30].copy_from_slice(&port.to_be_bytes());
        bytes
    }

    fn answered(
        gate: &mut Gate,
        bytes: &[u8],
        is_known: bool,
        milliseconds: i64,
    ) -> Result<bool, Fault> {
        let identity = PortIdentity {
            clock: [9; 8],
            port: 1,
        };
        let standing = Standing {
            identity,
            parent: identity,
            state: PortState::TimeTransmitter,
            answers: 0,
            is_known,
        };
        let message = Message::read(bytes, true, 0).expect("well-formed");
        gate.admits(
            &message,
            None,
            &standing,
            MonotonicTime::from_nanoseconds(milliseconds * 1_000_000),
        )
    }

    fn gate(pins: &[&str]) -> Gate {
        let mut configuration = Configuration::default();
        (configuration.role, configuration.delay_mechanism) =
            (Role::TimeTransmitter, DelayMechanism::P2p);
        configuration.trust.timetransmitters = pins.iter().map(|pin| (*pin).to_owned()).collect();
        Gate::new(&configuration, 3).expect("valid")
    }

    #[test]
    fn while_a_pinned_neighbour_asks_no_stranger_is_answered() {
        let mut gate = gate(&["020000.0000.000001"]);
        assert_eq!(
            answered(&mut gate, &request(2, 1), false, 0),
            Ok(true),
            "the pinned one is not there"
        );
        assert_eq!(answered(&mut gate, &request(PEER, 1), false, 10), Ok(true));
        assert_eq!(
            answered(&mut gate, &request(2, 1), false, 20),
            Err(Fault::Identity)
        );
        assert_eq!(
            answered(&mut gate, &request(2, 1), false, 200_000),
            Ok(true),
            "it is gone"
        );
    }

    #[test]
    fn a_flood_of_strangers_leaves_a_known_neighbour_its_answers_and_gets_none() {
        let mut gate = gate(&[]);
        assert_eq!(answered(&mut gate, &request(PEER, 1), true, 0), Ok(true));
        let strangers = |gate: &mut Gate, second: i64| {
            let answers = (0..1_000).map(|number| {
                let stranger = answered(
                    gate,
                    &request(2, number),
                    false,
                    1_000 * second + i64::from(number),
                );
                if number % 125 == 0 {
                    let known = answered(
                        gate,
                        &request(PEER, 1),
                        true,
                        1_000 * second + i64::from(number),
                    );
                    assert_eq!(known, Ok(true), "in second {second}");
                }
                usize::from(stranger == Ok(true))
            });
            answers.sum::<usize>()
        };
        let first = strangers(&mut gate, 1);
        assert!((1..=400).contains(&first), "{first}");
        assert_eq!(
            (2..10)
                .map(|second| strangers(&mut gate, second))
                .sum::<usize>(),
            0
        );
        assert_eq!(
            answered(&mut gate, &request(3, 1), false, 30_000),
            Ok(true),
            "after the flood"
        );
    }
}
