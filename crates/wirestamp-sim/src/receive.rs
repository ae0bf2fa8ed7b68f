//! The way of a packet from the wire to the application.

use crate::agenda::Happening;
use crate::codes::Refusal;
use crate::packet::{Packet, PacketKey};
use crate::socket::{Arrived, SocketId, SocketState};
use crate::state::State;
use crate::timestamps::Waiting;
use crate::truth::Fate;
use std::net::SocketAddr;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{IcmpError, Notice};

/// How long a refusal takes to come back.
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
        let (ipv6, port) = (packet.destination.is_ipv6(), packet.destination.port());
        if nic.timestamps_received(ipv6, port, &packet.payload) {
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
        packet.interface = Some(nic.index);
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
        }
    }

    /// The packet reaches the sockets that want it.
    pub(crate) fn deliver(&mut self, key: PacketKey) {
        let Some(packet) = self.packets.remove(key) else {
            return;
        };
        if packet.destination.ip().is_multicast() {
            self.deliver_to_members(packet);
            return;
        }
        let Some(ingress) = packet.ingress.filter(|place| self.nics[*place].present) else {
            self.settle(packet, Fate::NicGone);
            return;
        };
        let nic = &self.nics[ingress];
        // no two sockets can claim it: their addresses would have been refused as taken
        let claims = |socket: &SocketState| socket.claims(nic, packet.source, packet.destination);
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
            None => {
                self.send_refusal(&packet);
                self.settle(packet, Fate::Refused);
            }
        }
    }

    fn deliver_to_members(&mut self, packet: Packet) {
        let Some(ingress) = packet.ingress.filter(|place| self.nics[*place].present) else {
            self.settle(packet, Fate::NicGone);
            return;
        };
        let mut fate = Fate::Refused;
        // socket numbers are looked up one by one: handing over borrows the sockets
        let mut next = SocketId(0);
        while let Some((id, socket)) = self.sockets.range(next..).next() {
            let (id, nic) = (*id, &self.nics[ingress]);
            let wants = socket.is_member(packet.destination.ip(), ingress)
                && socket.claims(nic, packet.source, packet.destination);
            if wants {
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
            source: packet.source,
            destination: packet.destination.ip(),
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

    /// Nobody listens: the sender hears of it.
    fn send_refusal(&mut self, packet: &Packet) {
        let at = self.now.saturating_add(REFUSAL_AFTER);
        let Some(origin) = self.sockets.get(&packet.origin) else {
            return;
        };
        if origin.timestamping.icmp_errors {
            let notice = refused(
                packet.destination,
                Refusal::ConnectionRefused.code(self.platform),
            );
            self.agenda.enter(
                at,
                Happening::Queued(packet.origin, Waiting::Notice(notice)),
            );
        }
        if origin.peer == Some(packet.destination) {
            self.agenda.enter(at, Happening::Refused(packet.origin));
        }
    }

    /// A peer's refusal reaches a connected socket: its next call reports it.
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
