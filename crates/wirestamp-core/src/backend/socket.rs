//! The traits of sockets with timestamps, and the contract of each operation.

use super::Backend;
use super::packet::{Ethernet, Incoming, Outgoing, Transport, Udp};
use crate::configuration::{Granted, Timestamping};
use crate::error::{Error, ErrorKind, Result};
use crate::ethernet::MacAddress;
use crate::interface::{InterfaceDescription, InterfaceIndex};
use crate::time::MonotonicTime;
use crate::timestamp::{TransmitId, TransmitTracker};
use core::convert::Infallible;
use core::net::{IpAddr, SocketAddr};

/// The events that a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// A datagram can be received.
    Receive,
    /// The error queue has an entry.
    Timestamps,
    /// The send buffer has room.
    Send,
    /// The socket is closed: a pause that closing can end.
    Close,
}

/// The reasons why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readiness {
    /// A datagram can be received, or receiving would report an error.
    pub receive: bool,
    /// The error queue is not empty (or the system reports an error).
    pub timestamps: bool,
    /// The send buffer has room.
    pub send: bool,
    /// [`DatagramSocket::wake`] was called.
    pub woken: bool,
    /// [`DatagramSocket::close`] was called, now or earlier.
    pub closed: bool,
}

impl Readiness {
    /// Returns whether the wait ended without an event.
    pub fn timed_out(&self) -> bool {
        *self == Self::default()
    }
}

/// A UDP or Ethernet socket with timestamps.
///
/// The owner of a socket also owns its [`TransmitTracker`] and lends it to these methods, always
/// the same one. The socket therefore needs no logic and no lock for transmit timestamps.
pub trait DatagramSocket<T: Transport = Udp>: Send + Sync {
    /// Creates a tracker for this socket, initialised with the clocks' current values. An adopted
    /// socket comes with its own.
    fn tracker(&self) -> TransmitTracker;

    /// Returns the bound address.
    ///
    /// # Errors
    /// `Closed`.
    fn local_address(&self) -> Result<T::Address>;

    /// Joins a multicast group on an interface.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is not a multicast address; `NoSuchDevice`; `Busy`.
    fn join_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()>;

    /// Leaves a multicast group on an interface.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is not joined there.
    fn leave_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()>;

    /// Replaces the whole timestamping configuration, and returns the granted one.
    ///
    /// # Errors
    /// `NotSupported` if the system does not support it. All timestamping is then off.
    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted>;

    /// Sends datagrams in order until one cannot be sent, and returns the number sent; 0 if there
    /// is no room now. If the tracker [is needed](TransmitTracker::is_needed_to_send), they get no
    /// timestamps.
    ///
    /// # Errors
    /// The error of the first datagram; that of a later one is returned by the next call.
    /// `InvalidInput` for one that is too long; `Unreachable`; `NotPermitted`; `Busy`; `Closed`.
    fn send(&self, batch: &[Outgoing<'_, T>]) -> Result<usize>;

    /// Sends like [`send`](Self::send) if the tracker [is
    /// needed](TransmitTracker::is_needed_to_send): with timestamps, if the system counts the
    /// datagrams and timestamps of a former owner can no longer arrive. Waits do not report the
    /// entries that the tracker then has.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn send_counted(&self, batch: &[Outgoing<'_, T>], _: &mut TransmitTracker) -> Result<usize> {
        self.send(batch)
    }

    /// Makes room for the transmit timestamps of datagrams that are about to be sent. Returns the
    /// number of timestamps of such datagrams that the system can hold; `None` if their length does
    /// not matter: the number is then [`Granted::system_queue`].
    fn make_room(&self, _batch: &[Outgoing<'_, T>]) -> Option<u32> {
        None
    }

    /// Receives as many datagrams as are available and fit, without waiting. Returns their number.
    ///
    /// # Errors
    /// `Unreachable` if an earlier datagram of a connected socket was rejected (no received
    /// datagram is lost; call again); `Closed`.
    fn receive(&self, batch: &mut [Incoming<'_, T>]) -> Result<usize>;

    /// Reads entries of the error queue into `tracker`, and returns whether there may be more.
    /// `awaited` is the approximate number of unresolved IDs; if it is 1, reads only one entry.
    ///
    /// # Errors
    /// `Closed`; `Io`.
    fn read_transmit_timestamps(
        &self,
        tracker: &mut TransmitTracker,
        awaited: usize,
    ) -> Result<bool>;

    /// Returns whether the system is [asked for each ID](Self::ask_for_timestamps) instead
    /// (Windows).
    fn is_asked_by_id(&self) -> bool {
        false
    }

    /// Reads the available timestamps of `ids` into `tracker`.
    ///
    /// # Errors
    /// `Closed`; `Io`.
    fn ask_for_timestamps(
        &self,
        _tracker: &mut TransmitTracker,
        _ids: &[TransmitId],
    ) -> Result<()> {
        Ok(())
    }

    /// Waits until `interest` is ready, [`wake`](Self::wake) or [`close`](Self::close) is called,
    /// or `until` has passed. May return early without a cause, but never so often that it becomes
    /// a busy loop.
    ///
    /// # Errors
    /// `Io`.
    fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness>;

    /// Ends the current wait for [`Interest::Timestamps`], or the next one.
    fn wake(&self);

    /// Ends all current and later waits. The address stays bound until the socket is dropped.
    fn close(&self);

    /// Returns the number of datagrams that the system dropped because the receive queue was full.
    fn dropped(&self) -> u64;
}

/// A socket of a backend, whatever its transport.
#[derive(Debug)]
pub enum AnySocket<'a, B: Backend + ?Sized> {
    /// A UDP socket.
    Udp(&'a B::Socket),
    /// A socket for Ethernet frames.
    Ethernet(&'a B::EthernetSocket),
}

impl<B: Backend + ?Sized> AnySocket<'_, B> {
    /// Waits for this socket alone: [`DatagramSocket::wait`].
    ///
    /// # Errors
    /// `Io`.
    pub fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        match self {
            Self::Udp(socket) => socket.wait(interest, until),
            Self::Ethernet(socket) => socket.wait(interest, until),
        }
    }
}

/// The settings that only UDP sockets have.
pub trait InternetSocket: DatagramSocket {
    /// Connects to a peer: sends go to it, and only its datagrams are received.
    ///
    /// # Errors
    /// `Unreachable` if there is no route; `InvalidInput` for the wrong address family.
    fn connect(&self, peer: SocketAddr) -> Result<()>;

    /// Sets the interface and the hop limit for sent multicast, and whether this host receives it
    /// too.
    ///
    /// # Errors
    /// `NoSuchDevice`; `InvalidInput` for a hop limit above 255.
    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()>;

    /// Sets the source address of datagrams sent from now on. `None` restores the bound address, or
    /// the route's.
    ///
    /// # Errors
    /// `InvalidInput` for the wrong address family. If this host does not have the address, later
    /// sends fail.
    fn set_source(&self, source: Option<IpAddr>) -> Result<()>;

    /// Enables the traffic class and hop limit of received datagrams.
    ///
    /// # Errors
    /// `NotSupported` if the backend does not read them.
    fn report_header(&self) -> Result<()> {
        Err(no_header("report packet headers"))
    }

    /// Sets the traffic class (DSCP and ECN) of datagrams sent from now on.
    ///
    /// # Errors
    /// `NotSupported` if it cannot be set; `NotPermitted`.
    fn set_traffic_class(&self, _traffic_class: u8) -> Result<()> {
        Err(no_header("set the traffic class"))
    }

    /// Sets the hop limit or TTL of unicast datagrams sent from now on.
    ///
    /// # Errors
    /// `NotSupported` if it cannot be set; `InvalidInput` for 0.
    fn set_hop_limit(&self, _hop_limit: u8) -> Result<()> {
        Err(no_header("set the hop limit"))
    }

    /// Forbids fragmentation: sending a datagram that is larger than the path MTU fails.
    ///
    /// # Errors
    /// `NotSupported` if it cannot be set.
    fn forbid_fragments(&self) -> Result<()> {
        Err(no_header("forbid fragments"))
    }

    /// Returns the MTU of the path to the connected peer, as known to the system, in bytes
    /// including the IP header.
    ///
    /// # Errors
    /// `NotSupported` if it cannot be read; `Io` if the socket is not connected.
    fn path_mtu(&self) -> Result<u32> {
        Err(no_header("read the path's MTU"))
    }
}

fn no_header(operation: &'static str) -> Error {
    let cause = "wirestamp does not read or write IP headers on this system";
    Error::new(ErrorKind::NotSupported, operation, "a socket", cause)
        .with_remedy("it works on Linux; elsewhere leave it out")
}

/// The Ethernet socket type of a system without Ethernet sockets. There are no values of it.
#[derive(Debug)]
pub struct NoSocket(Infallible);

impl NoSocket {
    /// Returns the error for opening one.
    pub fn refused(interface: &InterfaceDescription) -> Error {
        let cause = "wirestamp has Ethernet sockets on Linux alone";
        let operation = "open an Ethernet socket";
        Error::new(ErrorKind::NotSupported, operation, &interface.name, cause)
            .with_remedy("use a UDP socket, which has the same timestamps")
    }
}

impl DatagramSocket<Ethernet> for NoSocket {
    fn tracker(&self) -> TransmitTracker {
        match self.0 {}
    }

    fn local_address(&self) -> Result<MacAddress> {
        match self.0 {}
    }

    fn join_multicast(&self, _: MacAddress, _: InterfaceIndex) -> Result<()> {
        match self.0 {}
    }

    fn leave_multicast(&self, _: MacAddress, _: InterfaceIndex) -> Result<()> {
        match self.0 {}
    }

    fn configure(&self, _: &Timestamping, _: &mut TransmitTracker) -> Result<Granted> {
        match self.0 {}
    }

    fn send(&self, _: &[Outgoing<'_, Ethernet>]) -> Result<usize> {
        match self.0 {}
    }

    fn receive(&self, _: &mut [Incoming<'_, Ethernet>]) -> Result<usize> {
        match self.0 {}
    }

    fn read_transmit_timestamps(&self, _: &mut TransmitTracker, _: usize) -> Result<bool> {
        match self.0 {}
    }

    fn wait(&self, _: Interest, _: MonotonicTime) -> Result<Readiness> {
        match self.0 {}
    }

    fn wake(&self) {
        match self.0 {}
    }

    fn close(&self) {
        match self.0 {}
    }

    fn dropped(&self) -> u64 {
        match self.0 {}
    }
}
