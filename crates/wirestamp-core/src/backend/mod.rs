//! The traits that a system with timestamps implements, with what each operation must do. `wirestamp-sys` fulfils it for Linux and Windows, `wirestamp-sim` in virtual
//! time; the facade picks one at run time behind a private enum, and the conformance suite
//! holds all of them to it.
//!
//! Nothing here blocks except [`DatagramSocket::wait`]. Everything can be called from several
//! threads at once.

mod bind;
mod change;
mod packet;
mod socket;

pub use bind::BindOptions;
pub use change::{Change, ChangeKind, ChangeSink, Polled};
pub use packet::{Ethernet, Incoming, Outgoing, Received, Transport, Udp, check_source};
pub use socket::{DatagramSocket, Interest, InternetSocket, NoSocket, Readiness};

use crate::capability::Capabilities;
use crate::configuration::HardwareConfiguration;
use crate::cross::CrossTimestamp;
use crate::error::Result;
use crate::ethernet::Ethertype;
use crate::interface::{InterfaceDescription, InterfaceIndex};
use crate::time::{Adjusted, Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

/// How long a turn of [`Backend::wait_any`] takes where sockets are asked in turn.
const TURN: Span = Span::from_milliseconds(1);

/// Work done again and again: returns after which span to run next, `None` to stop.
pub type Job = Box<dyn FnMut() -> Option<Span> + Send>;

/// A system that timestamps packets.
pub trait Backend {
    /// An open hardware clock.
    type HardwareClock: HardwareClock;
    /// A UDP socket.
    type Socket: InternetSocket;
    /// A socket for Ethernet frames; [`NoSocket`] where there are none.
    type EthernetSocket: DatagramSocket<Ethernet>;
    /// A running subscription; dropping it ends it without waiting for a running call.
    type Subscription: Send;
    /// A running job; dropping it ends it and waits for a running call (unless dropped by
    /// that call itself).
    type Task: Send;

    /// Reads the monotonic clock.
    fn now(&self) -> MonotonicTime;

    /// Reads the real-time clock between two readings of the monotonic clock, as closely as it can.
    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp;

    /// Says how the real-time clock may run against the monotonic clock.
    fn real_time_clock(&self) -> RealTimeClock {
        RealTimeClock::LINUX
    }

    /// Reads how far adjustments have moved the monotonic clock; by nothing where nobody can adjust it.
    fn adjusted(&self) -> Adjusted {
        Adjusted::never(self.now())
    }

    /// Lists the interfaces, loopback included.
    ///
    /// # Errors
    /// `Io` if the system can't list them.
    fn interfaces(&self) -> Result<Vec<InterfaceDescription>>;

    /// Finds the loopback interface; `None` where there is none.
    ///
    /// # Errors
    /// As [`interfaces`](Self::interfaces).
    fn loopback(&self) -> Result<Option<InterfaceIndex>> {
        let interfaces = self.interfaces()?;
        let loopback = interfaces.iter().find(|interface| interface.loopback);
        Ok(loopback.map(|interface| interface.index))
    }

    /// Says what `interface` could timestamp.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `NotSupported` if the system can't tell; `Io` otherwise,
    /// with the system's number.
    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities>;

    /// Says what `interface` timestamps now.
    ///
    /// # Errors
    /// As [`supported`](Self::supported).
    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities>;

    /// Reads how the hardware timestamping of `interface` is switched.
    ///
    /// # Errors
    /// `NotSupported` if the NIC has none, or the driver can't tell.
    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration>;

    /// Switches the hardware timestamping of `interface` and returns what the driver really granted.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege; `NotSupported` if the NIC or the system
    /// can't; `InvalidInput` if the driver rejects the value; `Busy`.
    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration>;

    /// Finds the interfaces that packets of `interface` pass now, itself first, the device that makes its hardware timestamps
    /// last: what is below a VLAN, the active member of a bond. Never empty.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `Io`.
    fn path(&self, interface: &InterfaceDescription) -> Result<Vec<InterfaceDescription>> {
        Ok(Vec::from([interface.clone()]))
    }

    /// Says which set of interfaces the calling thread sees; elsewhere the same name or number
    /// is another interface's (Linux: the network namespace).
    fn network(&self) -> u64 {
        0
    }

    /// Opens what programs share about who holds the hardware timestamping of `interface` on.
    /// `None`: this backend has nothing of the kind, or this program may not use it.
    fn shared_holders(&self, _interface: &InterfaceDescription) -> Option<Box<dyn SharedHolders>> {
        None
    }

    /// Opens the hardware clock of `interface` for reading.
    ///
    /// # Errors
    /// `NotSupported` if it has none; `NotPermitted` if the clock may not be opened.
    fn open_clock(&self, interface: &InterfaceDescription) -> Result<Self::HardwareClock>;

    /// Binds a UDP socket to `local`, and to `interface` alone where one is given.
    ///
    /// # Errors
    /// `Busy` if the address is taken; `NoSuchDevice` if the address or interface is none
    /// of this system's; `NotPermitted` for a port or interface that needs privilege.
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

    /// Opens a socket for the frames of one ethertype on `interface`.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege; `NoSuchDevice` if the interface is gone; `NotSupported` where the
    /// system has no such sockets, or the interface has no Ethernet frames.
    fn open_ethernet(
        &self,
        interface: &InterfaceDescription,
        _ethertype: Ethertype,
    ) -> Result<Self::EthernetSocket> {
        Err(NoSocket::refused(interface))
    }

    /// Waits until one of `sockets` has a datagram to receive, or something in its queue of
    /// transmit timestamps, or is closed, or `until` has passed. May end early for no reason.
    /// Adds the places of those that ended it to `ready`.
    ///
    /// Where a backend can't wait for several at once, it asks them in turn.
    ///
    /// # Errors
    /// `Io`.
    fn wait_any(
        &self,
        sockets: &[&Self::Socket],
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

    /// Reports every change from now on; may coalesce, may report too much, loses none.
    ///
    /// # Errors
    /// `Io` if the system call fails.
    fn subscribe(&self, sink: ChangeSink) -> Result<Self::Subscription>;

    /// Runs `job` `first_after` from now, and again as it asks, in this backend's time.
    ///
    /// # Errors
    /// `Io` if no thread can be had.
    fn run(&self, first_after: Span, job: Job) -> Result<Self::Task>;
}

/// What programs share about one NIC: whose turn it is to switch its hardware timestamping,
/// who holds it on, and a text. A program that ends in any way holds nothing any more.
pub trait SharedHolders: Send {
    /// Waits for this program's turn; until [`end_turn`](Self::end_turn) no other has one.
    ///
    /// # Errors
    /// `Busy` if another program's turn does not end; `Io`.
    fn begin_turn(&mut self) -> Result<()>;

    /// Ends the turn.
    fn end_turn(&mut self);

    /// Whether other programs hold, in a turn, while this one does not.
    ///
    /// # Errors
    /// `Io`.
    fn are_others(&mut self) -> Result<bool>;

    /// Holds from now on.
    ///
    /// # Errors
    /// `Io`.
    fn hold(&mut self) -> Result<()>;

    /// Holds no longer.
    fn release(&mut self);

    /// Reads the text, in a turn. `None`: there is none, or it can't be read.
    fn read(&mut self) -> Option<String>;

    /// Replaces the text, in a turn.
    ///
    /// # Errors
    /// `Io`.
    fn write(&mut self, text: &str) -> Result<()>;

    /// Removes everything, in a turn, when nobody holds.
    fn clear(&mut self);
}

/// An open hardware clock.
pub trait HardwareClock: Send {
    /// Returns how finely the system clock counts, which the readings bracket the hardware clock with.
    fn system_frequency(&self) -> Frequency {
        Frequency::GIGAHERTZ
    }

    /// Takes up to `count` readings in one go by the best method that works, and appends the
    /// valid ones to `readings`.
    ///
    /// # Errors
    /// `NotSupported` if no method works; `NoSuchDevice` if the NIC is gone; `Busy`;
    /// `Io` if every reading was invalid.
    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()>;

    /// Asks which clock is behind `interface` now, which it was opened for: that of a bond changes at a failover. `None`:
    /// the interface has none, or the system numbers no clocks.
    ///
    /// # Errors
    /// `NoSuchDevice` if the interface is gone; `Io`.
    fn behind(&self, interface: &InterfaceDescription) -> Result<Option<u32>> {
        Ok(interface.hardware_clock)
    }
}
