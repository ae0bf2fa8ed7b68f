//! The way of a packet from the wire to the application.

use crate::agenda::Happening;
use crate::codes::Refusal;
use crate::nic::Nic;
use crate::packet::{Packet, PacketKey};
use crate::socket::{Arrived, SocketId, SocketState};
use crate::state::State;
use crate::timestamps::{KernelTimestamps, Waiting};
use crate::truth::{Ends, Fate};
use std::net::SocketAddr;
use wirestamp_core::capture::CapturedDirection;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{IcmpError, Notice};

/// How long an ICMP error takes to come back.
const REFUSAL_AFTER: i64 = 2_000;

impl State {
    /// The packet passes the receiving NIC's timestamp point.
    pub(crate) fn arrive(&mut self, key: PacketKey) {
        let now = self.now;
        let Some(packet) = self.packets.find(key) else {
            return;
        };
        let Some(ingress) = packet.ingress else {
            return;
        };
        let nic = &mut self.nics[ingress];
        if !nic.present || !nic.carrier {
            let fate = if nic.present {
                Fate::LostOnTheWire
            } else {
                Fate::NicGone
            };
            self.lose(key, fate);
            return;
        }
        if let Ends::Ethernet { destination, .. } = packet.ends {
            if !nic.lets_through(destination, &self.sockets)
                && !self.captures.is_promiscuous(nic.index)
            {
                self.lose(key, Fate::Refused);
                return;
            }
        }
        if nic.timestamps_received(&packet.ends, &packet.payload) {
            let index = nic.index;
            packet.hardware = nic.ticks(now).map(|ticks| (ticks, index));
        }
        let faults = &nic.settings.faults;
        let delay = nic.chance.delay(&nic.settings.path.receive_hardware);
        let mut at = now.saturating_add(delay);
        if nic.chance.happens(faults.receive_reordered) {
            at = at.saturating_add(faults.receive_reordered_by.nanoseconds()); // another queue
        } else {
            nic.last_entry = nic.last_entry.max(at);
            at = nic.last_entry;
        }
        let (sequence, time) = (packet.sequence, MonotonicTime::from_nanoseconds(now));
        self.record.note(sequence, |datagram| {
            datagram.receive_hardware_at = datagram.receive_hardware_at.or(Some(time));
        });
        self.agenda.enter(at, Happening::Enters(key));
    }

    /// The packet passes the kernel's timestamp point.
    pub(crate) fn enter(&mut self, key: PacketKey) {
        let now = self.now;
        let timestamp = self.clocks.timestamp(now);
        let warm = self
            .timestamping_since
            .is_some_and(|since| now - since >= self.host.cold_start.nanoseconds());
        let Some(packet) = self.packets.find(key) else {
            return;
        };
        let Some(ingress) = packet.ingress else {
            return;
        };
        let nic = &mut self.nics[ingress];
        packet.interface = Some(match packet.ends {
            // packet sockets see a frame before the bridge takes it
            Ends::Ethernet { .. } => nic.index,
            Ends::Internet { .. } => nic.delivers_by(),
        });
        let direction = match packet.ends {
            Ends::Ethernet { destination, .. } if nic.is_for_others(destination) => {
                CapturedDirection::Others
            }
            _ => CapturedDirection::Received,
        };
        if nic.settings.active && nic.settings.software_receive && warm {
            packet.software = Some(timestamp);
        }
        if nic.chance.happens(nic.settings.faults.receive_zero) {
            (packet.software, packet.hardware) = (None, None);
        }
        let delay = nic.chance.delay(&nic.settings.path.receive);
        let at = now.saturating_add(delay);
        nic.last_delivery = nic.last_delivery.max(at);
        let (sequence, time) = (packet.sequence, MonotonicTime::from_nanoseconds(now));
        let (at, looped_copy) = (nic.last_delivery, packet.looped_copy);
        self.agenda.enter(at, Happening::Delivered(key));
        if !looped_copy {
            self.record.note(sequence, |datagram| {
                datagram.receive_software_at = datagram.receive_software_at.or(Some(time));
            });
            self.tap(key, ingress, direction);
        }
    }

    /// The packet reaches the sockets that want it.
    pub(crate) fn deliver(&mut self, key: PacketKey) {
        let Some(mut packet) = self.packets.remove(key) else {
            return;
        };
        if let Some(place) = packet.ingress {
            let raw = KernelTimestamps {
                software: packet.software,
                hardware: packet.hardware,
            };
            let decided = self.decided(place, raw);
            (packet.software, packet.hardware) = (decided.software, decided.hardware);
        }
        let (source, destination) = match packet.ends {
            Ends::Internet {
                source,
                destination,
            } => (source, destination),
            Ends::Ethernet {
                ethertype,
                destination,
                ..
            } => {
                let is_for_others = |nic: &Nic| nic.is_for_others(destination);
                self.deliver_to_each(packet, |socket, nic, _| {
                    socket.claims_frame(nic, ethertype) && !is_for_others(nic)
                });
                return;
            }
        };
        if destination.ip().is_multicast() {
            self.deliver_to_each(packet, |socket, nic, ingress| {
                socket.is_member(destination.ip(), ingress)
                    && socket.claims(nic, source, destination)
            });
            return;
        }
        let Some(ingress) = packet.ingress.filter(|place| self.nics[*place].present) else {
            self.settle(packet, Fate::NicGone);
            return;
        };
        let nic = &self.nics[ingress];
        // no two sockets can claim it: the second one's address would have been an error (in use)
        let claims =
            |socket: &SocketState| packet.vlan.is_none() && socket.claims(nic, source, destination);
        let claimant = self
            .sockets
            .iter()
            .find(|(_, socket)| claims(socket))
            .map(|(id, _)| *id);
        match claimant {
            Some(id) => {
                let fate = self.hand_to(id, &packet);
                self.settle(packet, fate);
            }
            None if packet.sent_by.is_some() => self.came_to_a_program(packet),
            None => {
                self.send_refusal(packet.origin, destination);
                self.settle(packet, Fate::Refused);
            }
        }
    }

    fn deliver_to_each(
        &mut self,
        packet: Packet,
        wants: impl Fn(&SocketState, &Nic, usize) -> bool,
    ) {
        let Some(ingress) = packet.ingress.filter(|place| self.nics[*place].present) else {
            self.settle(packet, Fate::NicGone);
            return;
        };
        let mut fate = Fate::Refused;
        // socket numbers are looked up one by one: handing over borrows the sockets
        let mut next = SocketId(0);
        while let Some((id, socket)) = self.sockets.range(next..).next() {
            let (id, nic) = (*id, &self.nics[ingress]);
            if wants(socket, nic, ingress) {
                fate = self.hand_to(id, &packet);
            }
            next = SocketId(id.0 + 1);
        }
        if packet.looped_copy {
            self.packets.recycle(packet.payload);
        } else {
            self.settle(packet, fate);
        }
    }

    /// Puts the packet into a socket's receive queue.
    fn hand_to(&mut self, id: SocketId, packet: &Packet) -> Fate {
        let control_truncated = packet.ingress.is_some_and(|place| {
            let nic = &mut self.nics[place];
            nic.chance.happens(nic.settings.faults.control_truncated)
        });
        let payload = self.packets.payload(&packet.payload);
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Fate::Refused;
        };
        let arrived = Arrived {
            payload,
            ends: packet.ends,
            interface: packet.interface,
            software: packet.software,
            hardware: packet.hardware,
            control_truncated,
        };
        if let Some(refused) = socket.accept(arrived) {
            self.packets.recycle(refused.payload);
            return Fate::QueueFull;
        }
        let time = MonotonicTime::from_nanoseconds(self.now);
        if !packet.looped_copy {
            self.record.note(packet.sequence, |datagram| {
                datagram.delivered_at = datagram.delivered_at.or(Some(time));
            });
        }
        Fate::Delivered
    }

    /// Reports to the sender that no socket listens at the destination.
    fn send_refusal(&mut self, origin: SocketId, destination: SocketAddr) {
        let at = self.now.saturating_add(REFUSAL_AFTER);
        let Some(socket) = self.sockets.get(&origin) else {
            return;
        };
        if socket.timestamping.icmp_errors {
            let notice = refused(destination, Refusal::ConnectionRefused.code(self.platform));
            self.agenda
                .enter(at, Happening::Queued(origin, Waiting::Notice(notice)));
        }
        if socket.peer == Some(destination) {
            self.agenda.enter(at, Happening::Refused(origin));
        }
    }

    /// A peer's ICMP error reaches a connected socket: its next call reports it.
    pub(crate) fn refuse(&mut self, id: SocketId) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.pending = Some(Refusal::ConnectionRefused);
        }
    }
}

fn refused(destination: SocketAddr, code: i32) -> Notice {
    let (icmp_type, icmp_code) = if destination.is_ipv4() {
        (3, 3)
    } else {
        (1, 4)
    };
    let reporter = Some(destination.ip());
    Notice::Icmp(IcmpError {
        destination: Some(destination),
        reporter,
        code,
        icmp_type,
        icmp_code,
    })
}
