//! The traffic of other programs of the simulated host: requests and answers, as the scenario says. They request no timestamps.

use crate::agenda::Happening;
use crate::chance::Chance;
use crate::packet::{Packet, PacketKey};
use crate::scenario::Traffic;
use crate::socket::SocketId;
use crate::state::State;
use crate::truth::{Datagram, Ends, Fate};
use crate::world::World;
use std::net::SocketAddr;
use wirestamp_core::ethernet::VlanTag;

/// No socket has this number.
const OTHER_PROGRAM: SocketId = SocketId(u64::MAX);
/// The port of the first flow; below those that the system gives out.
const FIRST_PORT: u16 = 40_000;
/// Of the random numbers of the first one.
const FIRST_STREAM: u64 = 30;

/// A program that sends.
#[derive(Debug)]
pub(crate) struct Sender {
    settings: Traffic,
    chance: Chance,
    sent: u64,
}

/// A packet that another program has sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    /// Which sender's request.
    Request(usize),
    Answer,
}

impl World {
    /// Whether the scenario has programs that send, or some were started.
    pub fn has_traffic(&self) -> bool {
        self.with(|state| !state.senders.is_empty())
    }

    /// Starts the traffic of a `[[traffic]]` without any field: every 10 ms, `sim1` sends `sim0` a UDP request, and a program there
    /// answers.
    pub fn start_traffic(&self) {
        self.with(|state| state.start_traffic(&Traffic::default()));
    }
}

impl State {
    pub(crate) fn start_traffic(&mut self, settings: &Traffic) {
        let number = self.senders.len();
        let stream = FIRST_STREAM + number as u64;
        self.senders.push(Sender {
            settings: settings.clone(),
            chance: Chance::new(self.seed, stream),
            sent: 0,
        });
        let first = self.now.saturating_add(settings.start.nanoseconds());
        self.agenda.enter(first, Happening::Asks(number));
    }

    /// A program sends its next request.
    pub(crate) fn ask(&mut self, number: usize) {
        let Some(sender) = self.senders.get_mut(number) else {
            return;
        };
        let (request, settings) = (sender.sent, &sender.settings);
        sender.sent += 1;
        if settings.count == 0 || sender.sent < settings.count {
            let next = self.now.saturating_add(settings.interval.nanoseconds());
            self.agenda.enter(next, Happening::Asks(number));
        }
        let (from, to) = (settings.from.place(), 1 - settings.from.place());
        let flow = (request % u64::from(settings.flows)) as u16;
        let address = |place: usize| self.nics[place].address(settings.ipv6);
        let ends = Ends::Internet {
            source: SocketAddr::new(address(from), FIRST_PORT + flow),
            destination: SocketAddr::new(address(to), settings.port),
        };
        // distinguishes requests of different senders, and those of one
        let mut payload = self.packets.payload(&(number as u64).to_be_bytes());
        payload.extend(request.to_be_bytes());
        payload.resize(settings.size as usize, 0);
        let key = self.packets.insert(Packet {
            sequence: 0,
            origin: OTHER_PROGRAM,
            ends,
            egress: from,
            ingress: Some(to),
            payload,
            tag: None,
            looped_copy: false,
            vlan: VlanTag::new(settings.vlan, 0).filter(|tag| tag.vlan() != 0),
            sent_by: Some(Sent::Request(number)),
            hardware: None,
            software: None,
            interface: None,
        });
        self.put_out(key);
    }

    /// A packet of another program passes the kernel's timestamp point.
    pub(crate) fn put_out(&mut self, key: PacketKey) {
        let now = self.now;
        let sequence = self.record.next_sequence();
        let Some(packet) = self.packets.find(key) else {
            return;
        };
        packet.sequence = sequence;
        let (ends, egress, ingress) = (packet.ends, packet.egress, packet.ingress);
        self.record
            .add(Datagram::sent(sequence, None, ends, now, now, now));
        let there = ingress.is_some_and(|place| self.nics[place].present);
        if !self.nics[egress].present {
            self.lose(key, Fate::NicGone);
        } else if self.nics[egress].carrier && there {
            self.hand_to_driver(key);
        } else {
            self.lose(key, Fate::NotOnTheWire);
        }
    }

    /// A packet of another program came, and no socket has its port.
    pub(crate) fn came_to_a_program(&mut self, packet: Packet) {
        if let Some(Sent::Request(number)) = packet.sent_by {
            self.answer(number, &packet);
        }
        self.settle(packet, Fate::Delivered);
    }

    fn answer(&mut self, number: usize, request: &Packet) {
        let (Some(sender), Some(here)) = (self.senders.get_mut(number), request.ingress) else {
            return;
        };
        let Ends::Internet {
            source,
            destination,
        } = request.ends
        else {
            return;
        };
        if !sender.chance.happens(sender.settings.answered) {
            return;
        }
        let after = sender.chance.delay(&sender.settings.answer_after);
        let answer = Packet {
            ends: Ends::Internet {
                source: destination,
                destination: source,
            },
            egress: here,
            ingress: Some(request.egress),
            payload: self.packets.payload(&request.payload),
            sent_by: Some(Sent::Answer),
            hardware: None,
            software: None,
            interface: None,
            ..*request
        };
        let key = self.packets.insert(answer);
        let at = self.now.saturating_add(after);
        self.agenda.enter(at, Happening::Answers(key));
    }
}
