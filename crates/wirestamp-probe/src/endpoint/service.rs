//! A reflector on its sockets.

use super::Clock;
use super::seen::{Awaited, Observer, Passed, Seen, sequence};
use crate::missing::Missing;
use crate::reflector::{Arrival, Decision, Dropped, Prepared, Reflector, ReflectorCounters};
use std::net::{IpAddr, SocketAddr};
use wirestamp::socket::Deadline;
use wirestamp::{ErrorKind, Incoming, Outgoing, Received, Result, Span, TransmitRecord, UdpSocket};

/// The number of packets that are received or sent with one call.
const BATCH: usize = 32;
/// The longest request in octets, that of an Ethernet jumbo frame. Longer ones are dropped.
const LONGEST: usize = 9_216;
/// The capacity of each socket's transmit timestamps.
const TIMESTAMPS: u16 = 4_096;

/// A reflector with its sockets. A reply leaves from the address that the request was sent to, even
/// if the socket is bound to all addresses of the host.
#[derive(Debug)]
pub struct ReflectorService {
    reflector: Reflector,
    ports: Vec<Port>,
    clock: Clock,
    buffer: Vec<u8>,
    records: Vec<TransmitRecord>,
    awaited: Awaited,
}

#[derive(Debug)]
struct Port {
    socket: UdpSocket,
    local: SocketAddr,
    /// The current traffic class of sent packets, and their source address if the socket has
    /// several.
    traffic_class: u8,
    source: Option<IpAddr>,
    /// Prepared replies, and buffers for more.
    replies: Vec<(Prepared, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl ReflectorService {
    /// Creates a service for bound sockets, and switches their timestamps on.
    ///
    /// # Errors
    /// As [`UdpSocket::configure`].
    pub fn new(mut reflector: Reflector, sockets: Vec<UdpSocket>, clock: Clock) -> Result<Self> {
        let mut ports = Vec::with_capacity(sockets.len());
        for socket in sockets {
            // the destination address is part of a session's key
            let wanted = clock.timestamping(TIMESTAMPS).packet_information();
            socket.configure(wanted)?;
            // not supported on every system; the fields are then 0
            let _ = socket.report_header();
            let _ = socket.set_hop_limit(255);
            // a fragmented reply would not measure the path
            let _ = socket.forbid_fragments();
            ports.push(Port {
                local: socket.local_address()?,
                socket,
                traffic_class: 0,
                source: None,
                replies: Vec::with_capacity(BATCH),
                spare: Vec::new(),
            });
        }
        reflector.set_ports(ports.iter().map(|port: &Port| port.local.port()));
        Ok(Self {
            reflector,
            ports,
            clock,
            buffer: vec![0; BATCH * LONGEST],
            records: vec![TransmitRecord::EMPTY; BATCH],
            awaited: Awaited::new(),
        })
    }

    /// Returns the addresses of the sockets.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.ports.iter().map(|port| port.local)
    }

    /// Returns the sockets, for programs with an event loop.
    pub fn sockets(&self) -> impl Iterator<Item = &UdpSocket> + '_ {
        self.ports.iter().map(|port| &port.socket)
    }

    /// Returns the counts of requests and replies.
    pub fn counters(&self) -> ReflectorCounters {
        self.reflector.counters()
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.reflector.sessions()
    }

    /// Sets the error bound of the real-time clock relative to UTC: see
    /// [`Reflector::set_clock_bound`].
    pub fn set_clock_bound(&mut self, bound: Option<Span>) {
        self.reflector.set_clock_bound(bound);
    }

    /// Waits for requests, at most until `deadline`, and answers all that are available.
    ///
    /// # Errors
    /// `Io` if a socket's queues cannot be read; `NoSuchDevice` if the interface is gone. Errors of
    /// single packets are ignored.
    pub fn serve(&mut self, deadline: impl Into<Deadline>) -> Result<()> {
        self.serve_for(deadline.into(), None)
    }

    /// Serves requests like [`serve`](Self::serve), and calls `tell` for each request that is
    /// answered or lacks only its timestamp, and for each reply when its transmit timestamp has
    /// come or is known to be missing. Replies that were sent before the call are left out.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn serve_observed(
        &mut self,
        deadline: impl Into<Deadline>,
        tell: &mut dyn FnMut(&Seen),
    ) -> Result<()> {
        self.serve_for(deadline.into(), Some(tell))
    }

    fn serve_for(
        &mut self,
        deadline: Deadline,
        mut tell: Option<&mut dyn FnMut(&Seen)>,
    ) -> Result<()> {
        if tell.is_none() {
            self.awaited.clear();
        }
        if self.answer_all(tell.as_mut().map(|tell| &mut **tell as _))? {
            return Ok(());
        }
        let sockets: Vec<_> = self.ports.iter().map(|port| &port.socket).collect();
        UdpSocket::wait_any(&sockets, deadline)?;
        self.answer_all(tell).map(drop)
    }

    /// Answers all available requests, and returns whether there was one.
    fn answer_all(&mut self, tell: Option<&mut dyn FnMut(&Seen)>) -> Result<bool> {
        let mut any = false;
        let awaited = &mut self.awaited;
        let mut at = Desk {
            reflector: &mut self.reflector,
            clock: &self.clock,
            records: &mut self.records,
            observer: Observer { tell, awaited },
        };
        for port in &mut self.ports {
            port.collect(&mut at)?;
            let mut batch: Vec<_> = self.buffer.chunks_mut(LONGEST).map(Incoming::new).collect();
            let count = match port.socket.try_receive_batch(&mut batch) {
                Ok(count) => count,
                // the interface is gone: no more packets will come
                Err(error) if error.kind() == ErrorKind::NoSuchDevice => return Err(error),
                // the peer rejected an earlier reply: the error is reported here, and no packet is
                // lost
                Err(_) => 0,
            };
            any |= count > 0;
            for incoming in &batch[..count] {
                let (payload, received) = (incoming.payload(), &incoming.received);
                if !port.answer(payload, received, &mut at) {
                    // the previous reply, whose timestamp it carries, is not yet sent
                    port.send(&mut at)?;
                    port.collect(&mut at)?;
                    port.answer(payload, received, &mut at);
                }
            }
            port.send(&mut at)?;
            port.collect(&mut at)?;
        }
        Ok(any)
    }
}

/// The state that all ports share.
struct Desk<'a, 'b> {
    reflector: &'a mut Reflector,
    clock: &'a Clock,
    records: &'a mut [TransmitRecord],
    observer: Observer<'b, 'a>,
}

impl Port {
    /// Answers a request. Returns `false` if the prepared replies must be sent first.
    fn answer(&mut self, payload: &[u8], received: &Received, at: &mut Desk<'_, '_>) -> bool {
        let Some(source) = received.source.filter(|_| !received.truncated) else {
            return true;
        };
        if self.is_another(received.destination) {
            at.reflector.refuse(Dropped::NotUnicast);
            return true;
        }
        let arrival = Arrival {
            payload,
            source,
            destination: received.destination,
            port: self.local.port(),
            now: self.socket.now(),
            received: at.clock.read(&received.timestamps, &self.socket),
            hop_limit: received.hop_limit,
            traffic_class: received.traffic_class,
        };
        let asked = self.asked(received);
        let mut octets = self.spare.pop().unwrap_or_default();
        match at.reflector.prepare(&arrival, &mut octets) {
            Decision::Reply(prepared) => {
                if at.observer.is_there() {
                    at.observer.tell(&self.seen(&arrival, asked));
                }
                if !self.is_alike(&prepared, asked) {
                    self.change(&prepared, asked, at);
                }
                self.replies.push((prepared, octets));
                true
            }
            Decision::SendFirst => {
                self.spare.push(octets);
                false
            }
            Decision::Drop(reason) => {
                if reason == Dropped::NoTimestamp && at.observer.is_there() {
                    at.observer.tell(&self.seen(&arrival, asked));
                }
                self.spare.push(octets);
                true
            }
        }
    }

    /// Sets the socket's traffic class and source address, after sending the replies with other
    /// ones.
    fn change(&mut self, prepared: &Prepared, asked: Option<IpAddr>, at: &mut Desk<'_, '_>) {
        let _ = self.send(at);
        if self.socket.set_source(asked).is_ok() {
            self.source = asked;
        }
        let class = prepared.traffic_class;
        if self.socket.set_traffic_class(class).is_ok() {
            self.traffic_class = class;
        }
    }

    fn seen(&self, arrival: &Arrival<'_>, asked: Option<IpAddr>) -> Seen {
        Seen {
            local: self.own(asked),
            remote: arrival.source,
            // every answered request has one
            sequence: sequence(arrival.payload).unwrap_or_default(),
            passed: Passed::Received(arrival.received),
        }
    }

    /// The address that the request was sent to, with the port.
    fn own(&self, asked: Option<IpAddr>) -> SocketAddr {
        SocketAddr::new(asked.unwrap_or(self.local.ip()), self.local.port())
    }

    fn is_alike(&self, prepared: &Prepared, asked: Option<IpAddr>) -> bool {
        prepared.traffic_class == self.traffic_class && asked == self.source
    }

    /// Whether a packet was sent to another address than the one that the socket is bound to. On
    /// Windows a socket also receives its network's broadcasts, and a reply to one would leave from
    /// the socket's address.
    fn is_another(&self, destination: Option<IpAddr>) -> bool {
        let own = self.local.ip().to_canonical();
        let others = destination.is_some_and(|asked| asked.to_canonical() != own);
        others && !own.is_unspecified()
    }

    /// The address that the request was sent to, if the socket has several: senders ignore a reply
    /// from another one.
    fn asked(&self, received: &Received) -> Option<IpAddr> {
        let destination = received.destination;
        destination.filter(|_| self.local.ip().is_unspecified())
    }

    /// Sends the prepared replies, with T3 read now.
    fn send(&mut self, at: &mut Desk<'_, '_>) -> Result<()> {
        if self.replies.is_empty() {
            return Ok(());
        }
        let written = self.socket.now();
        for (prepared, octets) in &mut self.replies {
            prepared.complete(written, at.reflector.key(), octets);
        }
        let local = self.own(self.source);
        for (prepared, octets) in &self.replies {
            at.observer
                .awaits(prepared.id, [local, prepared.to], octets);
        }
        let (mut first, mut refused) = (0, Vec::new());
        while first < self.replies.len() {
            let mut batch: [Outgoing<'_>; BATCH] = [NOTHING; BATCH];
            let rest = &self.replies[first..];
            for (slot, (prepared, octets)) in batch.iter_mut().zip(rest) {
                *slot = Outgoing::new(octets).to(prepared.to).id(prepared.id);
            }
            let count = rest.len().min(BATCH);
            match self.socket.send_batch(&batch[..count]) {
                Ok(sent) if sent > 0 => first += sent,
                // to the sender, a reply that cannot be sent is lost on the backward path
                _ => {
                    refused.push(self.replies[first].0.id);
                    first += 1;
                }
            }
        }
        let ids = self.replies.iter().map(|(prepared, _)| prepared.id);
        at.reflector.batch_sent(ids, written);
        for id in refused {
            at.reflector.not_timestamped(id, Missing::NotSent);
            at.observer.ended(id, Err(Missing::NotSent));
        }
        self.spare
            .extend(self.replies.drain(..).map(|(_, octets)| octets));
        Ok(())
    }

    /// Takes the transmit timestamps that are available.
    fn collect(&self, at: &mut Desk<'_, '_>) -> Result<()> {
        loop {
            let count = self.socket.transmit_timestamps(at.records)?;
            for record in &at.records[..count] {
                let sent = at.clock.outcome(&record.outcome, &self.socket);
                let sent = sent.map(|(stamp, _)| stamp);
                match sent {
                    Ok(sent) => at.reflector.sent(record.id, sent.at, sent.method),
                    Err(reason) => at.reflector.not_timestamped(record.id, reason),
                }
                at.observer.ended(record.id, sent);
            }
            if count < at.records.len() {
                return Ok(());
            }
        }
    }
}

const NOTHING: Outgoing<'static> = Outgoing::new(&[]);

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
