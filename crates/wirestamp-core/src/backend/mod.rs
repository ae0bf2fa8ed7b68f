//! The traits that a system with timestamps implements, and the contract of each operation.
//! `wirestamp-sys` implements them for Linux and Windows, `wirestamp-sim` in virtual time. The
//! facade chooses one at run time, and the conformance suite tests all of them.
//!
//! Nothing blocks except [`DatagramSocket::wait`], [`Backend::wait_any`],
//! [`SharedHolders::begin_turn`], and [`DatagramSocket::configure`] until the system makes receive
//! timestamps. All operations can be called from several threads at once.

mod bind;
mod change;
mod packet;
mod socket;

pub use bind::BindOptions;
pub use change::{Change, ChangeKind, ChangeSink, Polled};
pub use packet::{Ethernet, Incoming, Outgoing, Received, Transport, Udp, check_source};
pub use socket::{AnySocket, DatagramSocket, Interest, InternetSocket, NoSocket, Readiness};

use crate::capability::Capabilities;
use crate::configuration::HardwareConfiguration;
use crate::cross::CrossTimestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::ethernet::Ethertype;
use crate::interface::{InterfaceDescription, InterfaceIndex, NeighbourState};
use crate::time::{Adjusted, Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// How long [`Backend::wait_any`] pauses between rounds if it polls the sockets in turn.
const TURN: Span = Span::from_milliseconds(1);

/// A repeated job: returns the time until its next run, or `None` to stop.
pub type Job = Box<dyn FnMut() -> Option<Span> + Send>;

/// A system that timestamps packets.
pub trait Backend {
    /// An open hardware clock.
    type HardwareClock: HardwareClock;
    /// A UDP socket.
    type Socket: InternetSocket;
    /// A socket for Ethernet frames; [`NoSocket`] where there are none.
    type EthernetSocket: DatagramSocket<Ethernet>;
    /// A subscription to changes. Dropping it ends it without waiting for a running call.
    type Subscription: Send;
    /// A repeated job. Dropping it ends it after waiting for a running call (unless that call drops
    /// it).
    type Task: Send;

    /// Reads the monotonic clock.
    fn now(&self) -> MonotonicTime;

    /// Reads the real-time clock between two readings of the monotonic clock, as close together as
    /// possible.
    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp;

    /// Returns how the real-time clock may run relative to the monotonic clock.
    fn real_time_clock(&self) -> RealTimeClock {
        RealTimeClock::LINUX
    }

    /// Reads how far frequency adjustments have moved the monotonic clock; zero if it cannot be
    /// adjusted.
    fn adjusted(&self) -> Adjusted {
        Adjusted::never(self.now())
    }

    /// Lists the interfaces, including loopback.
    ///
    /// # Errors
    /// `Io` if the system cannot list them.
    fn interfaces(&self) -> Result<Vec<InterfaceDescription>>;

    /// Finds the loopback interface; `None` if there is none.
    ///
    /// # Errors
    /// As [`interfaces`](Self::interfaces).
    fn loopback(&self) -> Result<Option<InterfaceIndex>> {
        let interfaces = self.interfaces()?;
        let loopback = interfaces.iter().find(|interface| interface.loopback);
        Ok(loopback.map(|interface| interface.index))
    }

    /// Returns what `interface` can timestamp.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `NotSupported` if the system does not report it; otherwise
    /// `Io` with the system's error number.
    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities>;

    /// Returns what `interface` timestamps now.
    ///
    /// # Errors
    /// As [`supported`](Self::supported).
    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities>;

    /// Returns the hardware timestamping configuration of `interface`.
    ///
    /// # Errors
    /// `NotSupported` if the NIC has no hardware timestamping, or the driver does not report it.
    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration>;

    /// Sets the hardware timestamping configuration of `interface`, and returns the one that the
    /// driver granted.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege; `NotSupported` if the NIC or the system does not
    /// support it; `InvalidInput` if the driver rejects the value; `Busy`.
    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration>;

    /// Returns the interfaces that packets of `interface` pass through: first itself, then the one
    /// below a VLAN or the active member of a bond; the last one makes the hardware timestamps.
    /// Never empty.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `Io`.
    fn path(&self, interface: &InterfaceDescription) -> Result<Vec<InterfaceDescription>> {
        Ok(Vec::from([interface.clone()]))
    }

    /// Returns the state of the neighbour by which packets to `address` leave `interface`; `None` if
    /// it was not looked for.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `NotSupported` if the system is not asked, or does
    /// not have the address family; `Unreachable` if the system has no route; `Io`.
    fn neighbour(
        &self,
        interface: &InterfaceDescription,
        _address: IpAddr,
    ) -> Result<Option<NeighbourState>> {
        let (operation, cause) = ("look for a neighbour", "not known on this system");
        let kind = ErrorKind::NotSupported;
        Err(Error::new(kind, operation, interface.name.clone(), cause))
    }

    /// Identifies the set of interfaces that the calling thread sees (Linux: the network
    /// namespace). In another set the same name or index can be another interface.
    fn network(&self) -> u64 {
        0
    }

    /// Opens the state by which programs share who keeps the hardware timestamping of `interface`
    /// on. `None` if the backend has no such state, or this program may not use it.
    fn shared_holders(&self, _interface: &InterfaceDescription) -> Option<Box<dyn SharedHolders>> {
        None
    }

    /// Opens the hardware clock of `interface` for reading.
    ///
    /// # Errors
    /// `NotSupported` if it has none; `NotPermitted` if this process may not open it.
    fn open_clock(&self, interface: &InterfaceDescription) -> Result<Self::HardwareClock>;

    /// Binds a UDP socket to `local` and, if given, to `interface` only.
    ///
    /// # Errors
    /// `Busy` if the address is in use; `NoSuchDevice` if this system does not have the address or
    /// interface; `NotPermitted` for a port or interface that requires a privilege.
    fn bind(
        &self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<Self::Socket>;

    /// Binds a UDP socket as [`bind`](Self::bind) does, with options.
    ///
    /// # Errors
    /// As [`bind`](Self::bind); `NotSupported` for an option that this backend lacks.
    fn bind_with(
        &self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
        options: &BindOptions,
    ) -> Result<Self::Socket> {
        options.refuse(local)?;
        self.bind(local, interface)
    }

    /// Opens a socket for Ethernet frames of one ethertype on `interface`.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege; `NoSuchDevice` if the interface is gone;
    /// `NotSupported` if the system has no such sockets, or the interface has no Ethernet frames.
    fn open_ethernet(
        &self,
        interface: &InterfaceDescription,
        _ethertype: Ethertype,
    ) -> Result<Self::EthernetSocket> {
        Err(NoSocket::refused(interface))
    }

    /// Waits until one of `sockets` has a datagram or an entry in its error queue, or is closed, at
    /// most until `until`. May return early without a cause. Adds the indexes of the ready sockets
    /// to `ready`.
    ///
    /// The default implementation polls the sockets in turn.
    ///
    /// # Errors
    /// `Io`.
    fn wait_any(
        &self,
        sockets: &[AnySocket<'_, Self>],
        until: MonotonicTime,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        let Some((last, others)) = sockets.split_last() else {
            return Ok(());
        };
        loop {
            let now = self.now();
            for (place, socket) in others.iter().enumerate() {
                if !socket.wait(Interest::Receive, now)?.timed_out() {
                    ready.push(place);
                }
            }
            let turn = if ready.is_empty() {
                until.min(now + TURN)
            } else {
                now
            };
            if !last.wait(Interest::Receive, turn)?.timed_out() {
                ready.push(others.len());
            }
            if !ready.is_empty() || turn == until {
                return Ok(());
            }
        }
    }

    /// Reports every change from now on. It may combine changes or report too many, but loses none.
    ///
    /// # Errors
    /// `Io` if the system call fails.
    fn subscribe(&self, sink: ChangeSink) -> Result<Self::Subscription>;

    /// Runs `job` after `first_after`, and again as it requests, in this backend's time.
    ///
    /// # Errors
    /// `Io` if no thread can be started.
    fn run(&self, first_after: Span, job: Job) -> Result<Self::Task>;
}

/// State of one NIC that programs share: whose turn it is to switch its hardware timestamping,
/// which programs keep it on, and a text. When a program ends, however it ends, it is no longer a
/// holder.
pub trait SharedHolders: Send {
    /// Waits for this program's turn. It excludes other programs until
    /// [`end_turn`](Self::end_turn).
    ///
    /// # Errors
    /// `Busy` if another program's turn does not end; `Io`.
    fn begin_turn(&mut self) -> Result<()>;

    /// Ends the turn.
    fn end_turn(&mut self);

    /// Returns whether other programs are holders. Call it during a turn, while this program is not
    /// a holder.
    ///
    /// # Errors
    /// `Io`.
    fn are_others(&mut self) -> Result<bool>;

    /// Makes this program a holder.
    ///
    /// # Errors
    /// `Io`.
    fn hold(&mut self) -> Result<()>;

    /// Releases this program's hold.
    fn release(&mut self);

    /// Reads the text, during a turn. `None` if there is none or it cannot be read.
    fn read(&mut self) -> Option<String>;

    /// Replaces the text, during a turn.
    ///
    /// # Errors
    /// `Io`.
    fn write(&mut self, text: &str) -> Result<()>;

    /// Removes the shared state, during a turn, when there is no holder.
    fn clear(&mut self);
}

/// An open hardware clock.
pub trait HardwareClock: Send {
    /// Returns the tick frequency of the monotonic clock that brackets each reading of the hardware
    /// clock.
    fn system_frequency(&self) -> Frequency {
        Frequency::GIGAHERTZ
    }

    /// Takes up to `count` cross timestamps at once by the best method that works, and appends the
    /// valid ones to `readings`.
    ///
    /// # Errors
    /// `NotSupported` if no method works; `NoSuchDevice` if the NIC is gone; `Busy`; `Io` if every
    /// cross timestamp was invalid.
    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()>;

    /// Returns the number of the clock that `interface`, for which this one was opened, has now:
    /// that of a bond changes at a failover. `None` if the interface has no clock, or the system
    /// does not number clocks.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `Io`.
    fn behind(&self, interface: &InterfaceDescription) -> Result<Option<u32>> {
        Ok(interface.hardware_clock)
    }
}
