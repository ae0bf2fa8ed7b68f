//! A world with sockets and their results, for the tests below.

use std::net::SocketAddr;
use wirestamp_core::Result;
use wirestamp_core::backend::{Backend, DatagramSocket, Incoming, Interest, Outgoing, Received};
use wirestamp_core::configuration::{
    Granted, HardwareConfiguration, ReceiveFilter, Source, Timestamping,
};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{
    Arrival, MissingReason, Notice, Timestamps, TransmitId, TransmitTracker,
};
use wirestamp_sim::{Scenario, SimulatedSocket, World};

/// Whatever came out of a queue of transmit timestamps.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) timestamped: Vec<(TransmitId, Timestamps)>,
    pub(crate) queued: Vec<(TransmitId, MonotonicTime)>,
    pub(crate) lost: Vec<(TransmitId, MissingReason)>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) overflows: usize,
    pub(crate) awaited: Vec<TransmitId>,
}

impl Collected {
    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Timestamped(id, timestamps) => {
                self.timestamped.push((id, timestamps));
                self.awaited.retain(|other| *other != id);
            }
            Arrival::Queued(id, queued) => self.queued.push((id, queued.at.value)),
            Arrival::Lost(id, reason) => {
                self.lost.push((id, reason));
                self.awaited.retain(|other| *other != id);
            }
            Arrival::Notice(notice) => self.notices.push(notice),
            Arrival::Overflowed => self.overflows += 1,
        }
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        self.timestamped.iter().map(|(id, _)| id.0).collect()
    }

    pub(crate) fn hardware(&self) -> usize {
        self.timestamped
            .iter()
            .filter(|(_, timestamps)| timestamps.hardware.is_some())
            .count()
    }

    pub(crate) fn software(&self) -> usize {
        self.timestamped
            .iter()
            .filter(|(_, timestamps)| timestamps.software.is_some())
            .count()
    }
}

/// A sender on `sim0` and a receiver on `sim1`.
pub(crate) struct Station {
    pub(crate) world: World,
    pub(crate) sender: SimulatedSocket,
    pub(crate) receiver: SimulatedSocket,
    pub(crate) to: SocketAddr,
    pub(crate) collected: Collected,
    pub(crate) tracker: TransmitTracker,
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

pub(crate) fn world(preset: &str) -> World {
    World::new(&Scenario::preset(preset).expect("a preset"), 1)
}

pub(crate) fn custom(text: &str) -> World {
    World::new(&Scenario::from_toml(text).expect("a scenario"), 1)
}

pub(crate) fn interface(world: &World, name: &str) -> InterfaceDescription {
    let all = world.interfaces().expect("interfaces");
    all.into_iter()
        .find(|interface| interface.is_called(name))
        .expect("an interface of this name")
}

pub(crate) const EVERYTHING: HardwareConfiguration = HardwareConfiguration {
    transmit: true,
    receive: ReceiveFilter::All,
};

impl Station {
    pub(crate) fn new(preset: &str) -> Self {
        Self::of(world(preset))
    }

    pub(crate) fn of(world: World) -> Self {
        Self::on_port(world, "192.0.2.1:0", "192.0.2.2:0")
    }

    pub(crate) fn on_port(world: World, from: &str, to: &str) -> Self {
        let sender = world.bind(address(from), None).expect("bind");
        let receiver = world.bind(address(to), None).expect("bind");
        let to = receiver.local_address().expect("bound");
        let tracker = sender.tracker();
        Self {
            world,
            sender,
            receiver,
            to,
            collected: Collected::default(),
            tracker,
        }
    }

    /// Switches both NICs to timestamp everything in hardware.
    pub(crate) fn with_hardware(self) -> Self {
        for name in ["sim0", "sim1"] {
            self.world
                .configure(&interface(&self.world, name), EVERYTHING)
                .expect("configurable");
        }
        self
    }

    /// Switches on timestamps of `source` at both ends.
    pub(crate) fn timestamping(mut self, source: Source) -> Self {
        self.configure(Timestamping::OFF.transmit(1_024).source(source))
            .expect("sender");
        self.configure_receiver(Timestamping::OFF.receive().source(source))
            .expect("receiver");
        self
    }

    pub(crate) fn configure(&mut self, wanted: Timestamping) -> Result<Granted> {
        self.sender.configure(&wanted, &mut self.tracker)
    }

    /// For receiving alone.
    pub(crate) fn configure_receiver(&self, wanted: Timestamping) -> Result<Granted> {
        configure(&self.receiver, &wanted)
    }

    /// Sends one datagram with an id.
    pub(crate) fn send(&mut self, id: u32, payload: &[u8]) -> Result<()> {
        let id = TransmitId(id);
        self.collected.awaited.push(id);
        let mut sent = Ok(0);
        while sent == Ok(0) {
            let datagram = Outgoing::new(payload).to(self.to).id(id);
            sent = self.sender.send_counted(&[datagram], &mut self.tracker); // there may be no room
        }
        if sent.is_err() {
            self.collected.awaited.retain(|other| *other != id);
        }
        sent.map(drop)
    }

    /// Sends so many datagrams, letting `gap` pass after each.
    pub(crate) fn send_many(&mut self, count: u32, gap: Span) {
        for id in 0..count {
            self.send(id, &id.to_be_bytes()).expect("sent");
            self.world.advance(gap);
        }
    }

    pub(crate) fn collect(&mut self) -> &Collected {
        self.try_collect().expect("collected");
        &self.collected
    }

    /// Returns how many entries there were.
    pub(crate) fn try_collect(&mut self) -> Result<usize> {
        let mut count = 0;
        loop {
            let awaited = &self.collected.awaited;
            let more = if self.sender.is_asked_by_id() {
                self.sender.ask_for_timestamps(&mut self.tracker, awaited)?;
                false
            } else {
                self.sender
                    .read_transmit_timestamps(&mut self.tracker, awaited.len())?
            };
            self.tracker.take(|arrival| {
                count += usize::from(*arrival != Arrival::Overflowed);
                self.collected.take(*arrival);
            });
            if !more {
                return Ok(count);
            }
        }
    }

    /// Waits and then collects everything.
    pub(crate) fn collect_after(&mut self, span: Span) -> &Collected {
        self.world.advance(span);
        self.collect()
    }

    /// Receives a datagram, waiting for it.
    pub(crate) fn receive(&self) -> Option<(Received, Vec<u8>)> {
        receive(&self.world, &self.receiver)
    }

    /// Receives all that came, after a while.
    pub(crate) fn receive_all(&self) -> Vec<(Received, Vec<u8>)> {
        self.world.advance(Span::from_milliseconds(10));
        std::iter::from_fn(|| receive_now(&self.receiver).expect("open")).collect()
    }
}

/// Configures a socket that gets no transmit timestamps.
pub(crate) fn configure(socket: &SimulatedSocket, wanted: &Timestamping) -> Result<Granted> {
    socket.configure(wanted, &mut socket.tracker())
}

pub(crate) fn receive_now(socket: &SimulatedSocket) -> Result<Option<(Received, Vec<u8>)>> {
    let mut buffer = vec![0; 65_536];
    let mut incoming = [Incoming::new(&mut buffer)];
    Ok((socket.receive(&mut incoming)? == 1)
        .then(|| (incoming[0].received, incoming[0].payload().to_vec())))
}

pub(crate) fn receive(world: &World, socket: &SimulatedSocket) -> Option<(Received, Vec<u8>)> {
    socket
        .wait(
            Interest::Receive,
            after(world, Span::from_milliseconds(100)),
        )
        .expect("waits");
    receive_now(socket).expect("open")
}

pub(crate) fn after(world: &World, span: Span) -> MonotonicTime {
    world.truth().now() + span
}

/// Takes readings of a NIC's clock.
pub(crate) fn cross(world: &World, name: &str, count: usize) -> Result<Vec<CrossTimestamp>> {
    use wirestamp_core::backend::HardwareClock;
    let mut readings = Vec::new();
    world
        .open_clock(&interface(world, name))?
        .cross_timestamps(count, &mut readings)?;
    Ok(readings)
}
