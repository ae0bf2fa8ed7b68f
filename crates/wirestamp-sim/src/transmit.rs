//! The way of a datagram from the application to the wire, and the way back of its timestamp.

use crate::agenda::Happening;
use crate::codes::{Refusal, closed};
use crate::packet::{Packet, PacketKey, Tag};
use crate::scenario::{Platform, TransmitTimestamps};
use crate::socket::{SocketId, SocketState};
use crate::state::State;
use crate::timestamps::{KernelTimestamps, Waiting};
use crate::truth::{Datagram, Ends, Fate};
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::backend::{Outgoing, Transport, Udp};
use wirestamp_core::capability::TimestampSource;
use wirestamp_core::capture::CapturedDirection;
use wirestamp_core::configuration::Source;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::{IcmpError, Notice, TransmitId, TransmitTracker};
use wirestamp_core::{Error, Result};

const LONGEST_IPV4: usize = 65_507;
const LONGEST_IPV6: usize = 65_527;
/// From the queueing discipline to the driver; less where the whole send takes less.
const IN_QUEUE: i64 = 100;
/// How long the host asks for a neighbour before it gives up.
const NEIGHBOUR_TIMEOUT: i64 = 3_000_000_000;

/// By which NIC a packet leaves, and by which it comes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) egress: usize,
    pub(crate) ingress: Option<usize>,
}

/// The way of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) route: Route,
    pub(crate) ends: Ends,
    /// Whether the host keeps a copy for itself.
    pub(crate) loopback: bool,
    /// Bytes of payload that it has at least.
    pub(crate) least: usize,
}

/// A transport whose packets carry payloads in the simulation.
pub(crate) trait Carried: Transport {
    /// The way of a packet that a socket sends.
    fn way(
        state: &State,
        socket: &SocketState,
        outgoing: &Outgoing<'_, Self>,
    ) -> Result<Way, Refusal>;

    /// The own address of a socket; `None` if it or its NIC is gone.
    fn local(state: &State, id: SocketId) -> Option<Self::Address>;

    /// Joins a group on an interface.
    fn join(
        state: &mut State,
        id: SocketId,
        group: Self::Group,
        interface: InterfaceIndex,
    ) -> Result<()>;

    /// Leaves a group on an interface.
    fn leave(
        state: &mut State,
        id: SocketId,
        group: Self::Group,
        interface: InterfaceIndex,
    ) -> Result<()>;

    /// From where and to where a packet came.
    fn ends(ends: &Ends) -> Option<(Self::Address, Self::Destination)>;
}

impl Carried for Udp {
    fn way(state: &State, socket: &SocketState, outgoing: &Outgoing<'_>) -> Result<Way, Refusal> {
        let to = outgoing.to.or(socket.peer);
        let to = canonical(to.ok_or(Refusal::DestinationRequired)?);
        if !socket.can_name(to) {
            return Err(Refusal::AddressFamily);
        }
        if to.port() == 0 {
            return Err(Refusal::InvalidArgument);
        }
        let longest = if to.is_ipv4() {
            LONGEST_IPV4
        } else {
            LONGEST_IPV6
        };
        if outgoing.payload.len() > longest {
            return Err(Refusal::MessageSize);
        }
        let port = socket.address().map_or(0, |local| local.port());
        let route = state.route(socket, to.ip())?;
        let own = outgoing.source.map(|source| source.to_canonical());
        if own.is_some_and(|own| !socket.can_name((own, 0).into())) {
            return Err(Refusal::AddressFamily);
        }
        let source = SocketAddr::new(state.source_for(socket, own, to.ip())?, port);
        Ok(Way {
            route,
            ends: Ends::Internet {
                source,
                destination: to,
            },
            loopback: socket.multicast_loopback && to.ip().is_multicast(),
            least: 0,
        })
    }

    fn local(state: &State, id: SocketId) -> Option<SocketAddr> {
        state.sockets.get(&id)?.address()
    }

    fn join(
        state: &mut State,
        id: SocketId,
        group: IpAddr,
        interface: InterfaceIndex,
    ) -> Result<()> {
        state.join(id, group, interface)
    }

    fn leave(
        state: &mut State,
        id: SocketId,
        group: IpAddr,
        interface: InterfaceIndex,
    ) -> Result<()> {
        state.leave_group(id, group, interface)
    }

    fn ends(ends: &Ends) -> Option<(SocketAddr, IpAddr)> {
        match ends {
            Ends::Internet {
                source,
                destination,
            } => Some((*source, destination.ip())),
            Ends::Ethernet { .. } => None,
        }
    }
}

impl State {
    /// Sends a packet; `false` if there is no room for it yet.
    pub(crate) fn send<T: Carried>(
        &mut self,
        id: SocketId,
        outgoing: &Outgoing<'_, T>,
        mut tracker: Option<&mut TransmitTracker>,
    ) -> Result<bool> {
        let Some(socket) = self.sockets.get(&id) else {
            return Err(closed("send", "the socket"));
        };
        if socket.closed {
            return Err(closed("send", socket.local));
        }
        let counted = match tracker.as_deref_mut().filter(|_| outgoing.id.is_some()) {
            Some(tracker) => self.counts(id, tracker),
            None => false,
        };
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(closed("send", "the socket"));
        };
        let pending = socket.pending.take();
        let (peer, local) = (socket.peer, socket.local);
        let failed = |refusal: Refusal, platform: Platform| -> Error {
            let bytes = outgoing.payload.len();
            let operation = match (outgoing.to, peer) {
                (Some(to), _) => format!("send {bytes} bytes to {to}"),
                (None, Some(to)) => format!("send {bytes} bytes to {to}"),
                (None, None) => format!("send {bytes} bytes"),
            };
            refusal.error(platform, operation, format_args!("socket {local}"))
        };
        let sent = match pending {
            Some(refusal) => Err(refusal),
            None => self.route_and_send(id, outgoing, tracker.as_deref_mut()),
        };
        if pending.is_none() {
            self.pass(self.cost.send);
        }
        let Err(refusal) = sent else { return Ok(true) };
        let tracker = tracker.filter(|_| counted);
        if let Some((socket, tracker)) = self.sockets.get_mut(&id).zip(tracker) {
            let (failure, moved) = refusal.counted(self.host.old_count);
            socket.count = socket.count.wrapping_add(u32::from(moved));
            tracker.failed(failure);
        }
        if refusal == Refusal::NoRoom {
            Ok(false)
        } else {
            Err(failed(refusal, self.platform))
        }
    }

    fn route_and_send<T: Carried>(
        &mut self,
        id: SocketId,
        outgoing: &Outgoing<'_, T>,
        tracker: Option<&mut TransmitTracker>,
    ) -> Result<(), Refusal> {
        let sent_at = self.now;
        let Some(socket) = self.sockets.get(&id) else {
            return Err(Refusal::InvalidArgument);
        };
        let way = T::way(self, socket, outgoing)?;
        self.fail_by_chance(id, outgoing.id, way.route.egress)?;
        let nic = &mut self.nics[way.route.egress];
        let delay = nic.chance.delay(&nic.settings.path.send);
        self.advance_to(self.now.saturating_add(delay));
        let in_queue = IN_QUEUE.min(delay);
        let times = [sent_at, self.now.saturating_sub(in_queue)];
        self.leave(id, (outgoing.payload, outgoing.id), way, times, tracker);
        Ok(())
    }

    /// Where a socket's datagram to `to` goes.
    fn route(&self, socket: &SocketState, to: IpAddr) -> Result<Route, Refusal> {
        let port = self.port_towards(socket.interface, to);
        let bound = match (socket.interface, socket.home) {
            _ if port.is_some() => port,
            (Some(interface), _) => Some(self.place_of(interface).ok_or(Refusal::NoDevice)?),
            (None, home) => home,
        };
        let multicast = socket.multicast_from.filter(|_| to.is_multicast());
        let any = || self.nics.iter().position(|nic| nic.present);
        let egress = bound
            .or(multicast)
            .or_else(any)
            .ok_or(Refusal::NetworkUnreachable)?;
        if !self.nics[egress].present {
            return Err(Refusal::NoDevice);
        }
        if to.is_multicast() {
            return Ok(Route {
                egress,
                ingress: Some(1 - egress),
            });
        }
        if !is_on_link(to) {
            return Err(Refusal::NetworkUnreachable);
        }
        let ingress = [egress, 1 - egress]
            .into_iter()
            .find(|place| self.nics[*place].has(to));
        Ok(Route { egress, ingress })
    }

    /// Which address a datagram to `to` would come from; `own` is its own wish.
    pub(crate) fn source_for(
        &self,
        socket: &SocketState,
        own: Option<IpAddr>,
        to: IpAddr,
    ) -> Result<IpAddr, Refusal> {
        let route = self.route(socket, to)?;
        // as Linux: the socket's IPv4 source is none for IPv6
        let usual = socket.source.filter(|own| own.is_ipv6() || to.is_ipv4());
        if let Some(source) = own.or(usual) {
            if source.is_ipv6() == to.is_ipv6() && self.nics.iter().any(|nic| nic.has(source)) {
                return Ok(source);
            }
            return Err(if source.is_ipv4() && to.is_ipv4() {
                Refusal::NetworkUnreachable
            } else {
                Refusal::InvalidArgument
            });
        }
        let local = socket.address().map_or(to, |local| local.ip());
        Ok(if local.is_unspecified() || local.is_multicast() {
            self.nics[route.egress].address(to.is_ipv6())
        } else {
            local
        })
    }

    /// The packet passes the kernel's timestamp point, after it was sent and entered the queueing discipline.
    fn leave(
        &mut self,
        id: SocketId,
        (payload, asked): (&[u8], Option<TransmitId>),
        way: Way,
        [sent_at, queued_at]: [i64; 2],
        tracker: Option<&mut TransmitTracker>,
    ) {
        let (now, monotonic_now) = (self.now, self.monotonic_now());
        let Way { route, ends, .. } = way;
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        let reaches_the_driver = self.nics[route.egress].carrier && route.ingress.is_some();
        let tag = asked
            .filter(|_| socket.timestamping.transmit.is_some())
            .and_then(|asked| socket.tag(asked, monotonic_now, tracker));
        let wanted = socket.timestamping.source;
        let sequence = self.record.next_sequence();
        let sent = Datagram::sent(sequence, asked, ends, sent_at, queued_at, now);
        self.record.add(sent);
        let tag = tag.filter(|_| reaches_the_driver);
        if let Some(tag) = tag {
            self.enter_queue(route.egress, id, tag, queued_at);
        }
        let hardware_tag = tag.and_then(|tag| self.timestamp(route.egress, id, tag, wanted));
        let mut payload = self.packets.payload(payload);
        payload.resize(payload.len().max(way.least), 0);
        let packet = Packet {
            sequence: sent.sequence,
            origin: id,
            ends,
            egress: route.egress,
            ingress: route.ingress,
            payload,
            tag: hardware_tag,
            looped_copy: false,
            vlan: None,
            sent_by: None,
            hardware: None,
            software: None,
            interface: None,
        };
        let key = self.packets.insert(packet);
        if way.loopback {
            self.keep_copy(key);
        }
        if !reaches_the_driver {
            self.no_wire(key, route.ingress.is_none());
            return;
        }
        self.hand_to_driver(key);
    }

    /// The packet entered the queueing discipline of its device.
    fn enter_queue(&mut self, egress: usize, id: SocketId, tag: Tag, at: i64) {
        let is_linux = self.platform == Platform::Linux;
        let wants = |socket: &SocketState| is_linux && socket.timestamping.queueing;
        if self.sockets.get(&id).is_some_and(wants) {
            let tag = self.as_counted(egress, id, tag);
            let queued = self.clocks.timestamp(at);
            self.queue(id, Waiting::Queued(tag, queued));
        }
    }

    /// The packet is on its way to the NIC's timestamp point; captures see it here.
    pub(crate) fn hand_to_driver(&mut self, key: PacketKey) {
        let Some(egress) = self.packets.find(key).map(|packet| packet.egress) else {
            return;
        };
        self.tap(key, egress, CapturedDirection::Sent);
        let nic = &mut self.nics[egress];
        let delay = nic.chance.delay(&nic.settings.path.transmit_hardware);
        nic.last_departure = nic.last_departure.max(self.now.saturating_add(delay));
        self.agenda
            .enter(nic.last_departure, Happening::Departs(key));
    }

    /// Makes the software timestamp, if one is wanted, and reserves the hardware timestamp; returns
    /// the tag if the NIC will timestamp.
    fn timestamp(&mut self, egress: usize, id: SocketId, tag: Tag, wanted: Source) -> Option<Tag> {
        let software = self.clocks.timestamp(self.now);
        let nic = &mut self.nics[egress];
        let settings = &nic.settings;
        if settings.transmit_silent {
            return None;
        }
        if !settings.active {
            self.come_back(egress, id, tag, KernelTimestamps::default(), self.now);
            return None;
        }
        let counts_by_software = self.sockets.get(&id).is_some_and(SocketState::counts_ids)
            && self.count_rules().counts_by_software(wanted);
        let nic = &mut self.nics[egress];
        let settings = &nic.settings;
        let by_software = wanted.includes(TimestampSource::Software) && settings.software_transmit;
        let by_hardware = wanted.includes(TimestampSource::Hardware)
            && settings.hardware_transmit != TransmitTimestamps::None;
        let hardware = by_hardware && nic.reserves() && nic.take_slot();
        if by_software && (wanted == Source::Both || !hardware) {
            self.come_back(
                egress,
                id,
                tag,
                KernelTimestamps {
                    software: Some(software),
                    hardware: None,
                },
                self.now,
            );
        }
        if counts_by_software && !hardware {
            self.come_back(egress, id, tag, KernelTimestamps::default(), self.now); // asked for, and not reported
        }
        hardware.then_some(tag)
    }

    /// Ends a datagram without a timestamp: no host has the destination, or the cable is out.
    fn no_wire(&mut self, key: PacketKey, nobody: bool) {
        let Some(packet) = self.packets.remove(key) else {
            return;
        };
        self.record.note(packet.sequence, |datagram| {
            datagram.fate = Fate::NotOnTheWire;
        });
        let asked = self
            .sockets
            .get(&packet.origin)
            .is_some_and(|socket| socket.timestamping.icmp_errors);
        if nobody && asked && self.link.report_unreachable {
            self.report_unreachable(&packet);
        }
        self.packets.recycle(packet.payload);
    }

    /// The host itself reports that nobody has the destination, some time later.
    fn report_unreachable(&mut self, packet: &Packet) {
        let Ends::Internet {
            source,
            destination,
        } = packet.ends
        else {
            return;
        };
        let notice = Notice::Icmp(IcmpError {
            destination: Some(destination),
            reporter: Some(source.ip()),
            code: Refusal::HostUnreachable.code(self.platform),
            icmp_type: if destination.is_ipv4() { 3 } else { 1 },
            icmp_code: if destination.is_ipv4() { 1 } else { 3 },
        });
        let at = self.now.saturating_add(NEIGHBOUR_TIMEOUT);
        self.agenda.enter(
            at,
            Happening::Queued(packet.origin, Waiting::Notice(notice)),
        );
    }

    /// The packet passes the NIC's timestamp point.
    pub(crate) fn depart(&mut self, key: PacketKey) {
        let now = self.now;
        let Some(packet) = self.packets.find(key) else {
            return;
        };
        let (sequence, egress, origin, tag) = (
            packet.sequence,
            packet.egress,
            packet.origin,
            packet.tag.take(),
        );
        if !self.nics[egress].present {
            self.lose(key, Fate::NicGone);
            return;
        }
        let at = MonotonicTime::from_nanoseconds(now);
        self.record.note(sequence, |datagram| {
            datagram.transmit_hardware_at = Some(at);
        });
        if let Some(tag) = tag {
            self.timestamp_in_hardware(egress, origin, tag);
        }
        self.put_on_wire(key);
    }

    fn timestamp_in_hardware(&mut self, egress: usize, origin: SocketId, tag: Tag) {
        let now = self.now;
        let nic = &mut self.nics[egress];
        if nic.is_silent() {
            return; // the slot stays taken: the NIC waits for a timestamp that never comes
        }
        let index = nic.index;
        let Some(ticks) = nic.ticks(now) else {
            return;
        };
        let delay = nic.chance.delay(&nic.settings.transmit.collection);
        nic.last_collection = nic.last_collection.max(now.saturating_add(delay));
        let collected = nic.last_collection;
        self.agenda.enter(
            collected,
            Happening::SlotFree {
                nic: egress,
                run: nic.run,
            },
        );
        let raw = KernelTimestamps {
            software: None,
            hardware: Some((ticks, index)),
        };
        self.come_back(egress, origin, tag, raw, collected);
    }

    /// A timestamp or notice reaches its socket's queue.
    pub(crate) fn queue(&mut self, id: SocketId, waiting: Waiting) {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return;
        };
        if let Waiting::Timestamp(tag, _) = waiting {
            let capacity = usize::from(socket.timestamping.transmit.unwrap_or(0));
            let full = socket.queue.len() >= capacity;
            if self.platform == Platform::Windows && (tag.configured != socket.configured || full) {
                return;
            }
        }
        socket.push(waiting);
    }
}

/// An IPv4 address is never written as a mapped one inside the system, nor reported so.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether an address lies in the networks of the two NICs.
fn is_on_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [192, 0, 2],
        IpAddr::V6(v6) => v6.segments()[..4] == [0x2001, 0xdb8, 0, 0],
    }
}
