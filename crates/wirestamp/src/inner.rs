//! The choice between this system and a simulated one, made at run time: a closed set,
//! so an enum. Decides nothing else; every method hands over.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::Result;
use wirestamp_core::backend::{
    Backend, ChangeSink, DatagramSocket, HardwareClock, Incoming, Interest, Job, Outgoing,
    Readiness, SharedHolders,
};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::{Granted, HardwareConfiguration, Timestamping};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{Frequency, MonotonicTime, Span, UtcCrossTimestamp};
use wirestamp_core::timestamp::{TransmitId, TransmitTracker};
use wirestamp_sim::World;
use wirestamp_sys::System;

/// A system that timestamps: this one, or a simulated one.
pub(crate) enum Inner {
    Native(System),
    Simulated(World),
}

/// A hardware clock of either.
pub(crate) enum Clock {
    Native(<System as Backend>::HardwareClock),
    Simulated(<World as Backend>::HardwareClock),
}

/// A socket of either.
#[allow(
    clippy::large_enum_variant,
    reason = "made once and never moved; a box would cost each call"
)]
pub(crate) enum Socket {
    Native(<System as Backend>::Socket),
    Simulated(<World as Backend>::Socket),
}

/// A subscription of either.
#[allow(dead_code, reason = "held for what dropping it does")]
pub(crate) enum Subscription {
    Native(<System as Backend>::Subscription),
    Simulated(<World as Backend>::Subscription),
}

/// A running job of either.
#[allow(dead_code, reason = "held for what dropping it does")]
pub(crate) enum Task {
    Native(<System as Backend>::Task),
    Simulated(<World as Backend>::Task),
}

macro_rules! hand_over {
    ($this:ident, $inner:ident => $call:expr) => {
        match $this {
            Self::Native($inner) => $call,
            Self::Simulated($inner) => $call,
        }
    };
}

macro_rules! hand_over_and_wrap {
    ($this:ident, $wrapper:ident, $inner:ident => $call:expr) => {
        match $this {
            Self::Native($inner) => $call.map($wrapper::Native),
            Self::Simulated($inner) => $call.map($wrapper::Simulated),
        }
    };
}

impl Inner {
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(_))
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_simulated() {
            "Simulated"
        } else {
            "Native"
        })
    }
}

impl Backend for Inner {
    type HardwareClock = Clock;
    type Socket = Socket;
    type Subscription = Subscription;
    type Task = Task;

    fn now(&self) -> MonotonicTime {
        hand_over!(self, inner => inner.now())
    }

    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        hand_over!(self, inner => inner.utc_cross_timestamp())
    }

    fn interfaces(&self) -> Result<Vec<InterfaceDescription>> {
        hand_over!(self, inner => inner.interfaces())
    }

    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        hand_over!(self, inner => inner.supported(interface))
    }

    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        hand_over!(self, inner => inner.active(interface))
    }

    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration> {
        hand_over!(self, inner => inner.configuration(interface))
    }

    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration> {
        hand_over!(self, inner => inner.configure(interface, wanted))
    }

    fn network(&self) -> u64 {
        hand_over!(self, inner => inner.network())
    }

    fn shared_holders(&self, interface: &InterfaceDescription) -> Option<Box<dyn SharedHolders>> {
        hand_over!(self, inner => inner.shared_holders(interface))
    }

    fn open_clock(&self, interface: &InterfaceDescription) -> Result<Clock> {
        hand_over_and_wrap!(self, Clock, inner => inner.open_clock(interface))
    }

    fn bind(&self, local: SocketAddr, interface: Option<&InterfaceDescription>) -> Result<Socket> {
        hand_over_and_wrap!(self, Socket, inner => inner.bind(local, interface))
    }

    fn wait_any(&self, sockets: &[&Socket], until: MonotonicTime) -> Result<()> {
        let (mut native, mut simulated) = (Vec::with_capacity(sockets.len()), Vec::new());
        for socket in sockets {
            match socket {
                Socket::Native(socket) => native.push(socket),
                Socket::Simulated(socket) => simulated.push(socket),
            }
        }
        match self {
            Self::Native(system) => system.wait_any(&native, until),
            Self::Simulated(world) => world.wait_any(&simulated, until),
        }
    }

    fn subscribe(&self, sink: ChangeSink) -> Result<Subscription> {
        hand_over_and_wrap!(self, Subscription, inner => inner.subscribe(sink))
    }

    fn run(&self, first_after: Span, job: Job) -> Result<Task> {
        hand_over_and_wrap!(self, Task, inner => inner.run(first_after, job))
    }
}

impl HardwareClock for Clock {
    fn system_frequency(&self) -> Frequency {
        hand_over!(self, clock => clock.system_frequency())
    }

    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()> {
        hand_over!(self, clock => clock.cross_timestamps(count, readings))
    }
}

impl DatagramSocket for Socket {
    fn local_address(&self) -> Result<SocketAddr> {
        hand_over!(self, socket => socket.local_address())
    }

    fn connect(&self, peer: SocketAddr) -> Result<()> {
        hand_over!(self, socket => socket.connect(peer))
    }

    fn join_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        hand_over!(self, socket => socket.join_multicast(group, interface))
    }

    fn leave_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        hand_over!(self, socket => socket.leave_multicast(group, interface))
    }

    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()> {
        hand_over!(self, socket => socket.set_multicast(interface, hops, loopback))
    }

    fn tracker(&self) -> TransmitTracker {
        hand_over!(self, socket => socket.tracker())
    }

    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted> {
        hand_over!(self, socket => socket.configure(wanted, tracker))
    }

    fn send(&self, batch: &[Outgoing<'_>]) -> Result<usize> {
        hand_over!(self, socket => socket.send(batch))
    }

    fn send_counted(&self, batch: &[Outgoing<'_>], tracker: &mut TransmitTracker) -> Result<usize> {
        hand_over!(self, socket => socket.send_counted(batch, tracker))
    }

    fn receive(&self, batch: &mut [Incoming<'_>]) -> Result<usize> {
        hand_over!(self, socket => socket.receive(batch))
    }

    fn read_transmit_timestamps(
        &self,
        tracker: &mut TransmitTracker,
        awaited: usize,
    ) -> Result<bool> {
        hand_over!(self, socket => socket.read_transmit_timestamps(tracker, awaited))
    }

    fn is_asked_by_id(&self) -> bool {
        hand_over!(self, socket => socket.is_asked_by_id())
    }

    fn ask_for_timestamps(&self, tracker: &mut TransmitTracker, ids: &[TransmitId]) -> Result<()> {
        hand_over!(self, socket => socket.ask_for_timestamps(tracker, ids))
    }

    fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        hand_over!(self, socket => socket.wait(interest, until))
    }

    fn wake(&self) {
        hand_over!(self, socket => socket.wake());
    }

    fn close(&self) {
        hand_over!(self, socket => socket.close());
    }

    fn dropped(&self) -> u64 {
        hand_over!(self, socket => socket.dropped())
    }
}
