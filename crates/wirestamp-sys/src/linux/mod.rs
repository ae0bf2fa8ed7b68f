//! The Linux backend: the types that implement the contract, and their files.

#[cfg(feature = "bare")]
pub mod bare;
mod call;
mod capability;
mod capture;
mod clock;
mod device;
mod error;
mod ethtool;
mod hardware_clock;
mod holders;
mod interface;
mod links;
#[cfg(test)]
mod namespace;
mod neighbour;
mod netlink;
mod requested;
mod socket;
pub mod steered;
#[path = "../task.rs"]
mod task;
mod warm;
mod watch;
pub mod wire;
mod xdp;

pub use capture::{Block, Capture, Captured};
pub use hardware_clock::Clock;
pub use socket::{Datagrams, Frames, Header, Kind, Socket, Tag};
#[cfg(feature = "io-uring")]
pub use socket::{Lent, PacketRing};
pub use task::Task;
pub use watch::Subscription;
pub use xdp::{Xdp, XdpBatch, XdpPacket, XdpSend, xdp_features};

use std::io;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::backend::{AnySocket, Backend, BindOptions, ChangeSink, Job, SharedHolders};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex, NeighbourState};
use wirestamp_core::time::{Adjusted, MonotonicTime, Span, UtcCrossTimestamp};
use wirestamp_core::{Error, ErrorKind, Result};

/// The running Linux. Interfaces and sockets are those of the calling thread's network
/// namespace.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl System {
    /// The running system.
    pub const fn new() -> Self {
        Self
    }
}

impl Backend for System {
    type HardwareClock = Clock;
    type Socket = Socket;
    type EthernetSocket = Socket<Frames>;
    type Subscription = Subscription;
    type Task = Task;

    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        clock::close_wall()
    }

    fn adjusted(&self) -> Adjusted {
        clock::adjusted()
    }

    /// The kernel gives it the number 1 in each network namespace (`LOOPBACK_IFINDEX`, `include/net/flow.h`).
    fn loopback(&self) -> Result<Option<InterfaceIndex>> {
        Ok(InterfaceIndex::new(1))
    }

    fn interfaces(&self) -> Result<Vec<InterfaceDescription>> {
        interface::list()
    }

    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        capability::supported(interface)
    }

    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        capability::active(interface)
    }

    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration> {
        capability::configuration(interface)
    }

    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration> {
        capability::configure(interface, wanted)
    }

    fn neighbour(
        &self,
        interface: &InterfaceDescription,
        address: IpAddr,
    ) -> Result<Option<NeighbourState>> {
        let failed =
            |error: io::Error| error::system_error("look for a neighbour", &interface.name, &error);
        let found = neighbour::state(interface.index, address).map_err(failed)?;
        Ok(found.and_then(NeighbourState::from_linux))
    }

    fn path(&self, interface: &InterfaceDescription) -> Result<Vec<InterfaceDescription>> {
        device::path(interface)
    }

    fn network(&self) -> u64 {
        holders::network()
    }

    fn shared_holders(&self, interface: &InterfaceDescription) -> Option<Box<dyn SharedHolders>> {
        holders::open(interface)
    }

    fn open_clock(&self, interface: &InterfaceDescription) -> Result<Clock> {
        let number = interface.hardware_clock.ok_or_else(|| {
            Error::new(
                ErrorKind::NotSupported,
                "open the hardware clock",
                &interface.name,
                "the NIC has none",
            )
            .with_remedy("software timestamps work without one")
        })?;
        Clock::open(number)
    }

    fn bind(&self, local: SocketAddr, interface: Option<&InterfaceDescription>) -> Result<Socket> {
        Socket::bind(local, interface)
    }

    fn bind_with(
        &self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
        options: &BindOptions,
    ) -> Result<Socket> {
        Socket::bind_with(local, interface, options)
    }

    fn open_ethernet(
        &self,
        interface: &InterfaceDescription,
        ethertype: Ethertype,
    ) -> Result<Socket<Frames>> {
        Socket::open_frames(interface, ethertype)
    }

    fn wait_any(
        &self,
        sockets: &[AnySocket<'_, Self>],
        until: MonotonicTime,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        socket::wait_any(sockets, until, ready)
    }

    fn subscribe(&self, sink: ChangeSink) -> Result<Subscription> {
        watch::subscribe(sink)
    }

    fn run(&self, first_after: Span, job: Job) -> Result<Task> {
        task::run(first_after, job)
    }
}
