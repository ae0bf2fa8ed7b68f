//! The backend that is chosen at run time: this system or, with feature `sim`, a simulated one. The
//! set is closed, so it is an enum; every method delegates.

use crate::address::ToAddress;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::Result;
use wirestamp_core::backend::{
    AnySocket, Backend, BindOptions, ChangeSink, DatagramSocket, Ethernet, HardwareClock, Incoming,
    Interest, InternetSocket, Job, Outgoing, Readiness, SharedHolders, Transport, Udp,
};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::{Granted, HardwareConfiguration, Timestamping};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex, NeighbourState};
use wirestamp_core::time::{
    Adjusted, Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp,
};
use wirestamp_core::timestamp::{TransmitId, TransmitTracker};
#[cfg(feature = "sim")]
use wirestamp_sim::World;
use wirestamp_sys::System;

/// The backend: this system, or a simulated one.
pub enum Inner {
    /// This system.
    Native(System),
    /// A simulated one.
    #[cfg(feature = "sim")]
    Simulated(World),
}

/// A hardware clock of either backend.
pub enum Clock {
    /// Of this system.
    Native(<System as Backend>::HardwareClock),
    /// A simulated one.
    #[cfg(feature = "sim")]
    Simulated(<World as Backend>::HardwareClock),
}

/// A transport for the packets of a socket: [`Udp`] or [`Ethernet`].
pub trait Supported: Transport<Address: ToAddress<Self>> {
    /// The system's sockets.
    #[doc(hidden)]
    type Native: DatagramSocket<Self> + Handle;
    /// Simulated ones.
    #[cfg(feature = "sim")]
    #[doc(hidden)]
    type Simulated: DatagramSocket<Self>;
    /// The socket's name in `Debug` output.
    #[doc(hidden)]
    const SOCKET: &'static str;
}

impl Supported for Udp {
    type Native = <System as Backend>::Socket;
    #[cfg(feature = "sim")]
    type Simulated = <World as Backend>::Socket;
    const SOCKET: &'static str = "UdpSocket";
}

impl Supported for Ethernet {
    type Native = <System as Backend>::EthernetSocket;
    #[cfg(feature = "sim")]
    type Simulated = <World as Backend>::EthernetSocket;
    const SOCKET: &'static str = "EthernetSocket";
}

/// A socket of either backend.
#[allow(
    clippy::large_enum_variant,
    reason = "made once and never moved; a box would cost each call"
)]
pub enum Socket<T: Supported = Udp> {
    /// Of this system.
    Native(T::Native),
    /// A simulated one.
    #[cfg(feature = "sim")]
    Simulated(T::Simulated),
}

/// A subscription of either backend.
#[allow(dead_code, reason = "held for what dropping it does")]
pub enum Subscription {
    /// Of this system.
    Native(<System as Backend>::Subscription),
    /// Of a simulated one.
    #[cfg(feature = "sim")]
    Simulated(<World as Backend>::Subscription),
}

/// A running job of either backend.
#[allow(dead_code, reason = "held for what dropping it does")]
pub enum Task {
    /// Of this system.
    Native(<System as Backend>::Task),
    /// Of a simulated one.
    #[cfg(feature = "sim")]
    Simulated(<World as Backend>::Task),
}

macro_rules! hand_over {
    ($this:ident, $inner:ident => $call:expr) => {
        match $this {
            Self::Native($inner) => $call,
            #[cfg(feature = "sim")]
            Self::Simulated($inner) => $call,
        }
    };
}

macro_rules! hand_over_and_wrap {
    ($this:ident, $wrapper:ident, $inner:ident => $call:expr) => {
        match $this {
            Self::Native($inner) => $call.map($wrapper::Native),
            #[cfg(feature = "sim")]
            Self::Simulated($inner) => $call.map($wrapper::Simulated),
        }
    };
}

mod capture;
mod handle;

pub(crate) use capture::{Block, Capture, Captured};
pub(crate) use handle::Handle;
#[cfg(all(windows, feature = "tokio", not(wirestamp_unsupported)))]
pub(crate) use handle::Ring;

impl<T: Supported> Socket<T> {
    /// Returns the system's socket; `None` for a simulated one.
    pub fn native(&self) -> Option<&T::Native> {
        match self {
            Self::Native(socket) => Some(socket),
            #[cfg(feature = "sim")]
            Self::Simulated(_) => None,
        }
    }
}

impl Inner {
    /// Advances virtual time to the next event, at most to `until`. Returns `false` if time is
    /// real.
    #[cfg(feature = "sim")]
    pub(crate) fn pass_virtual_time(&self, until: MonotonicTime) -> bool {
        let Self::Simulated(world) = self else {
            return false;
        };
        let next = world.next_event().map_or(until, |next| next.min(until));
        world.advance_to(next);
        true
    }

    /// Sleeps until `until`; in a simulation, advances virtual time.
    pub(crate) fn sleep_until(&self, until: MonotonicTime) {
        #[cfg(feature = "sim")]
        if let Self::Simulated(world) = self {
            world.advance_to(until);
            return;
        }
        std::thread::sleep((until - self.now()).to_duration());
    }

    /// Returns `false`: time is real.
    #[cfg(not(feature = "sim"))]
    pub(crate) fn pass_virtual_time(&self, _until: MonotonicTime) -> bool {
        false
    }

    pub(crate) fn is_simulated(&self) -> bool {
        !matches!(self, Self::Native(_))
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
    type EthernetSocket = Socket<Ethernet>;
    type Subscription = Subscription;
    type Task = Task;

    fn now(&self) -> MonotonicTime {
        hand_over!(self, inner => inner.now())
    }

    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        hand_over!(self, inner => inner.utc_cross_timestamp())
    }

    fn real_time_clock(&self) -> RealTimeClock {
        hand_over!(self, inner => inner.real_time_clock())
    }

    fn adjusted(&self) -> Adjusted {
        hand_over!(self, inner => inner.adjusted())
    }

    fn interfaces(&self) -> Result<Vec<InterfaceDescription>> {
        hand_over!(self, inner => inner.interfaces())
    }

    fn loopback(&self) -> Result<Option<InterfaceIndex>> {
        hand_over!(self, inner => inner.loopback())
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

    fn path(&self, interface: &InterfaceDescription) -> Result<Vec<InterfaceDescription>> {
        hand_over!(self, inner => inner.path(interface))
    }

    fn neighbour(
        &self,
        interface: &InterfaceDescription,
        address: IpAddr,
    ) -> Result<Option<NeighbourState>> {
        hand_over!(self, inner => inner.neighbour(interface, address))
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

    fn bind_with(
        &self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
        options: &BindOptions,
    ) -> Result<Socket> {
        hand_over_and_wrap!(self, Socket, inner => inner.bind_with(local, interface, options))
    }

    fn bind(&self, local: SocketAddr, interface: Option<&InterfaceDescription>) -> Result<Socket> {
        hand_over_and_wrap!(self, Socket, inner => inner.bind(local, interface))
    }

    fn open_ethernet(
        &self,
        interface: &InterfaceDescription,
        ethertype: Ethertype,
    ) -> Result<Socket<Ethernet>> {
        hand_over_and_wrap!(self, Socket, inner => inner.open_ethernet(interface, ethertype))
    }

    fn wait_any(
        &self,
        sockets: &[AnySocket<'_, Self>],
        until: MonotonicTime,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        match self {
            Self::Native(system) => {
                let native = sockets.iter().filter_map(|socket| match socket {
                    AnySocket::Udp(socket) => socket.native().map(AnySocket::Udp),
                    AnySocket::Ethernet(socket) => socket.native().map(AnySocket::Ethernet),
                });
                system.wait_any(&native.collect::<Vec<_>>(), until, ready)
            }
            #[cfg(feature = "sim")]
            Self::Simulated(world) => {
                let simulated = sockets.iter().filter_map(|socket| match socket {
                    AnySocket::Udp(Socket::Simulated(socket)) => Some(AnySocket::Udp(socket)),
                    AnySocket::Ethernet(Socket::Simulated(socket)) => {
                        Some(AnySocket::Ethernet(socket))
                    }
                    _ => None,
                });
                world.wait_any(&simulated.collect::<Vec<_>>(), until, ready)
            }
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
    fn behind(&self, interface: &InterfaceDescription) -> Result<Option<u32>> {
        hand_over!(self, clock => clock.behind(interface))
    }

    fn system_frequency(&self) -> Frequency {
        hand_over!(self, clock => clock.system_frequency())
    }

    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()> {
        hand_over!(self, clock => clock.cross_timestamps(count, readings))
    }
}

impl<T: Supported> DatagramSocket<T> for Socket<T> {
    fn local_address(&self) -> Result<T::Address> {
        hand_over!(self, socket => socket.local_address())
    }

    fn join_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()> {
        hand_over!(self, socket => socket.join_multicast(group, interface))
    }

    fn leave_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()> {
        hand_over!(self, socket => socket.leave_multicast(group, interface))
    }

    fn tracker(&self) -> TransmitTracker {
        hand_over!(self, socket => socket.tracker())
    }

    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted> {
        hand_over!(self, socket => socket.configure(wanted, tracker))
    }

    fn send(&self, batch: &[Outgoing<'_, T>]) -> Result<usize> {
        hand_over!(self, socket => socket.send(batch))
    }

    fn send_counted(
        &self,
        batch: &[Outgoing<'_, T>],
        tracker: &mut TransmitTracker,
    ) -> Result<usize> {
        hand_over!(self, socket => socket.send_counted(batch, tracker))
    }

    fn make_room(&self, batch: &[Outgoing<'_, T>]) -> Option<u32> {
        hand_over!(self, socket => socket.make_room(batch))
    }

    fn receive(&self, batch: &mut [Incoming<'_, T>]) -> Result<usize> {
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

impl InternetSocket for Socket {
    fn connect(&self, peer: SocketAddr) -> Result<()> {
        hand_over!(self, socket => socket.connect(peer))
    }

    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()> {
        hand_over!(self, socket => socket.set_multicast(interface, hops, loopback))
    }

    fn set_source(&self, source: Option<IpAddr>) -> Result<()> {
        hand_over!(self, socket => socket.set_source(source))
    }

    fn report_header(&self) -> Result<()> {
        hand_over!(self, socket => socket.report_header())
    }

    fn set_traffic_class(&self, traffic_class: u8) -> Result<()> {
        hand_over!(self, socket => socket.set_traffic_class(traffic_class))
    }

    fn set_hop_limit(&self, hop_limit: u8) -> Result<()> {
        hand_over!(self, socket => socket.set_hop_limit(hop_limit))
    }

    fn forbid_fragments(&self) -> Result<()> {
        hand_over!(self, socket => socket.forbid_fragments())
    }

    fn path_mtu(&self) -> Result<u32> {
        hand_over!(self, socket => socket.path_mtu())
    }
}
